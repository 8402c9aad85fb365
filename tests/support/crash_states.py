"""The states in which a power failure may leave a folder, from the record of all calls that changed it (fault_points.cpp).

The model assumes only what POSIX guarantees, after ALICE (Pillai et al., "All File Systems Are Not Created Equal", OSDI
2014) and the crash tests of SQLite. Written data are durable once the file was synced, a name once its folder was. Until
then each write and each change of a name may be there or not, in any order, and any part of a write. A rename is atomic.
After each call the states are those of `choices`.
"""

import collections
import hashlib
import os
import pathlib
import random

from file_changes import Change, File, Folder, content_of, digest_of

Call = collections.namedtuple("Call", ["name", "file", "number", "data", "path", "second"])
State = collections.namedtuple("State", ["after", "why", "files", "digest"])  # files: {path: content, or None of a folder}

SECTOR = 512


def read_calls(record):
    """The entries of a record (call_record.hpp)."""
    content = pathlib.Path(record).read_bytes()
    at = 0
    while at < len(content):
        end = content.index(b"\n", at)
        name, file, number, length, path, second = content[at:end].decode().split("\t")
        at = end + 1 + int(length)
        yield Call(name, int(file), int(number), content[end + 1:at], path, second)


class Recording:
    """The changes that a record's calls made to a folder, which was scanned before them."""

    def __init__(self, root, before, calls):
        self.root = str(root)
        self.top = before
        self.changes = []
        self.open = {}
        self.count = 0  # of the calls that change or sync
        self.names = []  # of these calls, for messages
        for call in calls:
            getattr(self, "do_" + call.name)(call)

    # The files after all calls so far.

    def split(self, path):
        """The folder of a path, and the name in it."""
        parts = os.path.relpath(path, self.root).split("/")
        folder = self.top
        for part in parts[:-1]:
            folder = self.named(folder, part)
        return folder, parts[-1]

    def named(self, folder, name):
        for change in reversed(folder.changes):
            for where, what, target in change.names:
                if where is folder and what == name:
                    return target
        return folder.names.get(name)

    def at(self, path):
        return self.top if os.path.relpath(path, self.root) == "." else self.named(*self.split(path))

    def counted(self, call, *texts):
        self.count += 1
        self.names.append(" ".join([call.name, *(os.path.relpath(text, self.root) for text in texts if text)]))

    def change(self, **fields):
        self.changes.append(Change(self.count, **fields))

    # The calls.

    def do_create(self, call):
        self.counted(call, call.path)
        file = self.at(call.path)
        if file is None:
            file = File()
            self.change(names=[(*self.split(call.path), file)])
        elif call.number:  # O_TRUNC
            self.change(file=file, size=0)
        self.open[call.file] = (file, call.path)

    def do_open(self, call):
        self.open[call.file] = (self.at(call.path), call.path)

    def do_close(self, call):
        self.open.pop(call.file, None)

    def change_file(self, call, **fields):
        file, path = self.open[call.file]
        self.counted(call, path)
        self.change(file=file, **fields)

    def do_write(self, call):
        self.change_file(call, offset=call.number, data=call.data)

    def do_ftruncate(self, call):
        self.change_file(call, size=call.number)

    def do_fallocate(self, call):
        self.change_file(call, offset=call.number, data=b"")

    def do_fsync(self, call):
        what, path = self.open[call.file]
        self.counted(call, path)
        for change in what.changes:
            change.synced = min(change.synced, self.count)

    do_fdatasync = do_fsync  # the size is synced too

    def do_rename(self, call):
        self.counted(call, call.path, call.second)
        moved = self.at(call.path)
        if moved is not self.at(call.second):  # POSIX: if both names are one file, rename() does nothing
            self.change(names=[(*self.split(call.path), None), (*self.split(call.second), moved)])

    def do_exchange(self, call):
        self.counted(call, call.path, call.second)
        one, other = self.at(call.path), self.at(call.second)
        self.change(names=[(*self.split(call.path), other), (*self.split(call.second), one)])

    def do_link(self, call):
        self.counted(call, call.path, call.second)
        self.change(names=[(*self.split(call.second), self.at(call.path))])

    def do_unlink(self, call):
        self.counted(call, call.path)
        self.change(names=[(*self.split(call.path), None)])

    def do_mkdir(self, call):
        self.counted(call, call.path)
        self.change(names=[(*self.split(call.path), Folder())])

    # The states.

    def state(self, after, why, keep):
        """The state after so many calls. keep(change): True, False, or for a write ("cut", bytes) or ("zeros", first byte)."""
        def kept(changes):
            for change in changes:
                if change.call > after:
                    return
                how = change.synced <= after or keep(change)
                if how:
                    yield change, how

        files = {}

        def visit(folder, path):
            names = dict(folder.names)
            for change, _ in kept(folder.changes):
                names.update((name, target) for where, name, target in change.names if where is folder)
            for name, target in sorted(names.items()):
                if isinstance(target, Folder):
                    files[path + name] = None
                    visit(target, path + name + "/")
                elif target is not None:
                    files[path + name] = (target, tuple(kept(target.changes)))

        visit(self.top, "")
        text = "\n".join(f"{name} {content and digest_of(*content)}" for name, content in files.items()
                         if not is_beside(name))
        return State(after, why, files, hashlib.sha256(text.encode()).hexdigest())

    def states(self, seed, after=None):
        """The distinct states after all calls, or after this one."""
        seen = set()
        for number in range(self.count + 1) if after is None else [after]:
            if number > 0 and is_beside(self.names[number - 1].split(" ")[1]):
                continue
            for why, keep in self.choices(number, random.Random(f"{seed} {number}")):
                state = self.state(number, why, keep)
                if state.digest not in seen:
                    seen.add(state.digest)
                    yield state

    def choices(self, after, dice):
        """Which unsynced changes survive: pairs of a description and a `keep` for state()."""
        open_ = [change for change in self.changes if change.call <= after < change.synced]
        names = [change for change in open_ if change.names]
        files = list({id(change.file): change.file for change in open_ if change.file}.values())
        yield "all is kept", lambda change: True
        if not open_:
            return
        yield "all is dropped", lambda change: False
        yield "names without content", lambda change: bool(change.names)
        yield "names with zeros", lambda change: True if change.names else ("zeros", 0)
        yield "content without names", lambda change: not change.names
        for one in names:
            yield f"without the names of call {one.call}", lambda change, one=one: change is not one
            yield f"only the names of call {one.call}", lambda change, one=one: change is one or not change.names
            yield f"nothing but the names of call {one.call}", lambda change, one=one: change is one
        for one in files:
            yield "one file's content dropped", lambda change, one=one: change.file is not one
            yield "one file's content alone dropped to zeros", lambda change, one=one: change.file is not one or ("zeros", 0)
        last = next((change for change in reversed(open_) if change.data), None)
        if last:
            for bytes_ in {len(last.data) // 2, min(SECTOR, len(last.data) - 1)}:
                for how in ("cut", "zeros"):
                    tear = (how, bytes_)
                    yield f"the last write torn, {how} at {bytes_}", lambda change, tear=tear: change is not last or tear
                    yield (f"nothing but the last write and names, {how} at {bytes_}",
                           lambda change, tear=tear: tear if change is last else bool(change.names))
        for _ in range(4):
            coins = {change: dice.choice([True, True, False, ("zeros", 0), ("cut", dice.randrange(SECTOR))])
                     for change in open_}
            yield "by chance", lambda change, coins=coins: coins[change] if change.data else bool(coins[change])


def is_beside(path):
    """Files that do not make two states different: the lock's text, and events for TensorBoard."""
    return path.endswith("/run.lock") or "/events.out.tfevents." in path


def build(state, folder, but=None):
    """Creates the state in an existing folder, all but one file; second names of a file are hard links."""
    first = {}
    for name, content in state.files.items():
        if name == but:
            continue
        path = pathlib.Path(folder, name)
        if content is None:
            path.mkdir()
        elif id(content[0]) in first:
            os.link(first[id(content[0])], path)
        else:
            path.write_bytes(content_of(*content))
            first[id(content[0])] = path


def contents(state):
    """{path: bytes}; None for a folder."""
    return {name: content and content_of(*content) for name, content in state.files.items()}


def contents_of_folder(folder):
    """The same for a real folder."""
    return {str(path.relative_to(folder)): path.read_bytes() if path.is_file() else None
            for path in sorted(pathlib.Path(folder).rglob("*"))}
