"""A terminal for tests: a program on a pseudo terminal, and what stands on a screen when its bytes have been obeyed."""

import fcntl
import os
import pty
import re
import select
import signal
import struct
import subprocess
import termios
import time

SEQUENCE = re.compile(rb"\x1b\[([?0-9;]*)([A-Za-z])")


class Screen:
    """Endless downwards. Knows carriage return, line feed, clearing to the end of a row, and attributes; asserts that nothing
    else is asked of it."""

    def __init__(self, columns):
        self.columns, self.rows, self.row, self.column = columns, [""], 0, 0
        self.attributes, self.wraps, self.pending = "", 0, b""
        self.overwritten = []  # rows as they stood whenever the cursor went back to begin them anew

    def feed(self, data):
        data, self.pending, at = self.pending + data, b"", 0
        while at < len(data):
            if data[at:at + 1] == b"\x1b":
                found = SEQUENCE.match(data, at)
                if not found:  # the rest comes later
                    self.pending = data[at:]
                    return
                self.obey(found[1].decode(), found[2].decode())
                at = found.end()
                continue
            byte = data[at:at + 1]
            at += 1
            if byte == b"\r":
                if data[at:at + 1] not in (b"\n", b""):
                    self.overwritten.append(self.rows[self.row])
                self.column = 0
            elif byte == b"\n":
                self.row += 1
                self.rows += [""] * (self.row + 1 - len(self.rows))
            elif byte >= b" ":
                self.put(byte)
            else:
                raise AssertionError(f"control character {byte}")

    def put(self, byte):
        if self.column == self.columns:  # as a terminal that wraps
            self.wraps += 1
            self.row, self.column = self.row + 1, 0
            self.rows += [""] * (self.row + 1 - len(self.rows))
        row = self.rows[self.row].ljust(self.column)
        self.rows[self.row] = row[:self.column] + byte.decode("latin-1") + row[self.column + 1:]
        self.column += 1

    def obey(self, numbers, letter):
        if letter == "K" and numbers in ("", "0"):
            self.rows[self.row] = self.rows[self.row][:self.column]
        elif letter == "m":
            self.attributes = "" if numbers in ("", "0") else numbers
        else:
            raise AssertionError(f"ESC [ {numbers} {letter} is not expected of this program")

    def lines(self):
        return [row.rstrip() for row in self.rows]


class Transcript:
    """For programs that ask more of a terminal: what they wrote, in the order in which they did."""

    def __init__(self):
        self.text = ""

    def feed(self, data):
        self.text += data.decode(errors="replace")

    def lines(self):
        return self.text.splitlines()


class OnTerminal:
    """A program whose three streams are a terminal of its own, of which it is the leader, so that Ctrl-C reaches it."""

    def __init__(self, command, columns, folder, environment={}, screen=None, **streams):
        self.master, slave = pty.openpty()
        self.resize(columns)
        self.screen, self.bytes = screen or Screen(columns), b""
        self.before = termios.tcgetattr(slave)

        def take_terminal():
            os.setsid()
            fcntl.ioctl(0, termios.TIOCSCTTY, 0)

        self.process = subprocess.Popen([str(word) for word in command], cwd=folder, stdin=slave, stdout=streams.get("stdout", slave),
                                        stderr=streams.get("stderr", slave), preexec_fn=take_terminal,
                                        env={**os.environ, "TERM": "xterm", **environment})
        self.slave = slave

    def resize(self, columns):
        fcntl.ioctl(self.master, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))

    def type(self, text):
        os.write(self.master, text)

    def read_until(self, is_there, seconds=60):
        """Feeds the screen until is_there(screen), or until the program has ended, where that is None."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            has_ended = self.process.poll() is not None
            ready, _, _ = select.select([self.master], [], [], 0 if has_ended else 0.05)
            if ready:
                data = os.read(self.master, 65536)
                self.bytes += data
                self.screen.feed(data)
            elif has_ended:
                if is_there is None:
                    return
                raise AssertionError(f"the program ended with {self.process.returncode}\n" + "\n".join(self.screen.lines()))
            if is_there is not None and is_there(self.screen):
                return
        raise AssertionError(f"not in {seconds} s\n" + "\n".join(self.screen.lines()))

    def finish(self, seconds=60):
        """The exit code."""
        self.read_until(None, seconds)
        return self.process.returncode

    def has_its_modes(self):
        """Whether the terminal is as it was lent."""
        return termios.tcgetattr(self.slave) == self.before

    def close(self):
        if self.process.poll() is None:
            os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()
        os.close(self.master)
        os.close(self.slave)
