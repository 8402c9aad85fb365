"""Damage to a file, a flipped bit or a missing end, and whether the program finds it."""

import collections
import subprocess
import time

from tandem import PROGRAM

MOST_SECONDS = 2  # to refuse a file, on a processor that is not shared
HEADER_BYTES = 8192  # at most, of our files


class Damage(collections.namedtuple("Damage", ["kind", "place"])):
    """A `flip` of the bit `place`, or a `cut` to `place` bytes."""

    @staticmethod
    def at_random(random, size):
        """One of three cuts; one of two flips is in the header, which is small."""
        if random.randrange(3) == 0:
            return Damage("cut", random.randrange(size))
        return Damage("flip", random.randrange(8 * random.choice([size, min(size, HEADER_BYTES)])))

    def of(self, content):
        if self.kind == "cut":
            return content[:self.place]
        damaged = bytearray(content)
        damaged[self.place // 8] ^= 1 << self.place % 8
        return bytes(damaged)


def assert_refused(folder, *arguments):
    """The program ends with 65 and one message; returns its seconds. It dies at MOST_SECONDS of processor time."""
    began = time.monotonic()
    done = subprocess.run(["prlimit", f"--cpu={MOST_SECONDS}", PROGRAM, *map(str, arguments)], cwd=folder, text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=60)
    assert done.returncode == 65, f"exit code {done.returncode}, expected 65: {done.stdout}"
    assert done.stdout.count("tandem: error: ") == 1, done.stdout
    return time.monotonic() - began
