"""Starts the program by forking a copy that is already loaded (tests/fault/fork_server.cpp): a quarter of the processor time."""

import os
import pathlib
import select
import signal
import socket
import subprocess
import threading
import time

from tandem import PROGRAM

FAULT_POINTS = os.environ["TANDEM_TEST_FAULT_POINTS"]
LIBRARY = str(pathlib.Path(FAULT_POINTS).with_name("libfork_server.so"))
_servers = threading.local()


class ForkServer:
    """For one start at a time. It ends when its socket is closed."""

    def __init__(self, libraries):
        self.socket, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs:
            subprocess.Popen([PROGRAM], stdin=subprocess.DEVNULL, pass_fds=[theirs.fileno()],
                             env={**os.environ, "LD_PRELOAD": " ".join(libraries), "FORK_SERVER": str(theirs.fileno())})

    def run(self, arguments, folder, environment, seconds):
        """Exit code, 128 + N for a signal, and output."""
        end = time.monotonic() + seconds
        reading, writing = os.pipe()
        fields = [str(folder), str(len(arguments)), *arguments, *(f"{name}={value}" for name, value in environment.items())]
        socket.send_fds(self.socket, ["".join(field + "\0" for field in fields).encode()], [writing])
        os.close(writing)
        process = int(self.socket.recv(64))
        with open(reading, "rb", buffering=0) as pipe:
            words = b""
            while part := self.read_until(pipe, end, process):
                words += part
        code = os.waitstatus_to_exitcode(int(self.socket.recv(64)))
        return 128 - code if code < 0 else code, words.decode()

    def read_until(self, pipe, end, process):
        if not select.select([pipe], [], [], max(0, end - time.monotonic()))[0]:
            os.kill(process, signal.SIGKILL)
            self.socket.recv(64)
            raise subprocess.TimeoutExpired(f"process {process}", 0)
        return pipe.read(1 << 16)


def run_forked(arguments, folder, environment, seconds, has_faults):
    """As ForkServer.run(), by a server of this thread; with fault_points.cpp if `has_faults`."""
    name = "with_faults" if has_faults else "plain"
    if not hasattr(_servers, name):
        setattr(_servers, name, ForkServer([LIBRARY, FAULT_POINTS] if has_faults else [LIBRARY]))
    return getattr(_servers, name).run(arguments, folder, environment, seconds)
