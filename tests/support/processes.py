"""The processes of a running job: which they are, and what is in their memory."""

import contextlib
import os
import pathlib
import re
import signal
import subprocess

from rank_variable import rank_in


def by_rank(processes):
    """{rank: process} of those that are ranks of a job, still run, and are ours to look at; not of what a rank has started."""
    found = {}
    for process in sorted(processes, key=int):
        try:
            environment = pathlib.Path(f"/proc/{process}/environ").read_bytes()
        except OSError:
            continue
        rank = rank_in(environment)
        if rank is not None:
            found.setdefault(rank, int(process))
    return found


def kill_all(processes):
    """Also where some have ended since they were listed."""
    for process in processes:
        try:
            os.kill(process, signal.SIGKILL)
        except ProcessLookupError:
            pass


def namespace_of(process, kind):
    """Which one it is in, such as that of its "net"; None where it has ended."""
    try:
        return os.stat(f"/proc/{process}/ns/{kind}").st_ino
    except OSError:
        return None


def ranks_of(launcher):
    """{rank: process} of the processes that mpirun, with this process number, has started on this host."""
    children = subprocess.run(["pgrep", "-P", str(launcher)], capture_output=True, text=True).stdout
    return by_rank(children.split())


def state_of(process):
    """Its name, its state, and for each thread in which call of the kernel it is, to say where a job hangs."""
    try:
        folder = pathlib.Path(f"/proc/{process}")
        state = (folder / "stat").read_text().rpartition(")")[2].split()[0]
        calls = [(task / "syscall").read_text().split()[0] for task in (folder / "task").iterdir()]
        return f"{process} {(folder / 'comm').read_text().strip()} {state} in calls {' '.join(calls)}"
    except OSError:
        return f"{process} has ended"


@contextlib.contextmanager
def suspended(process):
    """Its memory would else change, or go, while it is looked at."""
    os.kill(process, signal.SIGSTOP)
    try:
        for task in pathlib.Path(f"/proc/{process}/task").iterdir():
            while (task / "stat").read_text().rpartition(")")[2].split()[0] not in "Tt":
                pass
        yield
    finally:
        os.kill(process, signal.SIGCONT)


def flip_a_bit_in_memory(process, values):
    """In each place where a process keeps these float32 values: the lowest bit of the one in the middle. How many places."""
    begin = len(values) // 8 * 4
    needle = values[begin:begin + 256]
    with suspended(process):
        places = [place for is_shared, _, place in search_memory(process, needle) if not is_shared]
        with open(f"/proc/{process}/mem", "r+b", buffering=0) as memory:
            for place in places:
                os.pwrite(memory.fileno(), bytes([needle[0] ^ 1]), place)
    return len(places)


def copies_in_memory(process, needle):
    """The places of these bytes in memory; those in what several processes share are the same for all of them."""
    with suspended(process):
        return {(file if is_shared else process, place) for is_shared, file, place in search_memory(process, needle)}


def search_memory(process, needle):
    """Whether it is shared, file, and address or place in the shared file of each finding in what can be written."""
    found = []
    with open(f"/proc/{process}/mem", "rb", buffering=0) as memory:
        for line in pathlib.Path(f"/proc/{process}/maps").read_text().splitlines():
            first, last, rights, offset, *file = re.match(r"(\w+)-(\w+) (\S+) (\w+) (\S+) (\d+)", line).groups()
            if rights in ("rw-p", "rw-s"):
                start = int(first, 16)
                content = os.pread(memory.fileno(), int(last, 16) - start, start)
                base = int(offset, 16) if rights == "rw-s" else start
                found += [(rights == "rw-s", tuple(file), base + place) for place in places_in(content, needle)]
    return found


def places_in(content, needle):
    place = content.find(needle)
    while place >= 0:
        yield place
        place = content.find(needle, place + 1)
