"""Files and folders with the changes made to them, and their content without some of these changes."""

import hashlib
import os
import pathlib

NEVER = float("inf")


class File:
    def __init__(self, content=b""):
        self.content = content  # before the record
        self.changes = []
        self.digests = {}


class Folder:
    def __init__(self, names=None):
        self.names = names or {}  # before the record
        self.changes = []


class Change:
    """A change that may or may not survive a power failure: of a file's bytes or size, or of names."""

    def __init__(self, call, file=None, offset=0, data=None, size=None, names=()):
        self.call = call
        self.file = file
        self.offset = offset
        self.data = data
        self.size = size
        self.names = names  # (folder, name, the file that it names from now on)
        self.synced = NEVER  # the call that synced it
        for owner in {file} if file else {folder for folder, _, _ in names}:
            owner.changes.append(self)


def scan(path, files=None):
    """The folder as it is now; hard links share one File."""
    files = {} if files is None else files
    names = {}
    for entry in os.scandir(path):
        if entry.is_dir():
            names[entry.name] = scan(entry.path, files)
        else:
            names[entry.name] = files.setdefault(entry.inode(), File(pathlib.Path(entry.path).read_bytes()))
    return Folder(names)


def content_of(file, changes):
    content = bytearray(file.content)
    for change, how in changes:
        if change.size is not None:
            del content[change.size:]
            content.extend(bytes(change.size - len(content)))
            continue
        data = change.data
        if how is not True and how[0] == "cut":
            data = data[:how[1]]
        elif how is not True:
            data = data[:how[1]] + bytes(len(data) - len(data[:how[1]]))
        content.extend(bytes(max(0, change.offset - len(content))))
        content[change.offset:change.offset + len(data)] = data
    return bytes(content)


def digest_of(file, changes):
    if changes not in file.digests:
        file.digests[changes] = hashlib.sha256(content_of(file, changes)).hexdigest()
    return file.digests[changes]


def is_whole(file, changes):
    """Whether the file has all bytes that were ever written to it."""
    return len(changes) == len(file.changes) and all(how is True for _, how in changes)
