#!/usr/bin/env python3
"""How the ranks of a host share its images: a small /dev/shm does not matter. Ranks in separate PID namespaces share through a file
in /dev/shm; if that has no room, each rank trains on its own copy and warns. The weights are the same."""

import json
import os
import unittest

import numpy
from PIL import Image

from rank_variable import FIND_RANK
from tandem import MPIRUN, PROGRAM, TandemTest, whole

UNSHARE = os.environ["TANDEM_TEST_UNSHARE"].split()
TRAIN = ["train", "--data", "large.h5", "--model", "mlp", "--max-steps", "2", "--eval-every", "0", "--json", "--quiet"]
# Open MPI's own shared memory fails between ranks in separate PID namespaces.
OWN_NUMBERS = ["--mca", "btl", "self,tcp", "--mca", "btl_tcp_if_include", "lo", "--mca", "btl_vader_single_copy_mechanism", "none",
               "-n", "2", *UNSHARE, "--pid", "--fork", "--kill-child", "--mount-proc"]


class SmallSharedMemory(TandemTest):
    def in_namespace(self, megabytes, *ranks, code=0, options=()):
        """Messages and result of a training; checks that it leaves nothing in its /dev/shm."""
        script = f'mount -t tmpfs -o size={megabytes}m tmpfs /dev/shm && "$@" && ls -A /dev/shm >&2'
        done = self.run_command([*UNSHARE, "bash", "-c", script, "bash", *MPIRUN, *ranks, PROGRAM, *TRAIN, *options], code, {})
        if code != 0:
            return done
        return done.stderr, json.loads(done.stdout.splitlines()[-1])["weights_sha256"]

    def test_ranks_share_where_they_can(self):
        self.tandem("pack", "--input", "synthetic", "--images", "20000", "--output", "large.h5")  # 74 MB
        warnings, weights = self.in_namespace(64, "-n", "2")
        self.assertEqual(warnings, "")
        self.assertEqual(self.in_namespace(512, *OWN_NUMBERS), ("", weights))
        warnings, of_copies = self.in_namespace(64, *OWN_NUMBERS)
        self.assertRegex(warnings, r"\A[^\n]*W180 the ranks of a host cannot share [^\n]*--ipc=host[^\n]*\n\Z")
        self.assertEqual(of_copies, weights)

    def pack_pictures(self):
        """78 MB for training, 87 MB in all."""
        random = numpy.random.default_rng(1)
        for split, count in (("train", 32), ("test", 4)):
            for label in ("a", "b"):
                (self.folder / "noise" / split / label).mkdir(parents=True)
            for i in range(count):
                pixels = Image.fromarray(random.integers(0, 256, (900, 900, 3), dtype=numpy.uint8))
                pixels.save(self.folder / "noise" / split / "ab"[i % 2] / f"{i:02}.png", compress_level=0)
        self.tandem("pack", "--input", "noise", "--size", "32", "--store", "encoded", "--check", "structure", "--output", "large.h5")

    def test_ranks_that_cannot_share_read_picture_files_from_the_set(self):
        self.pack_pictures()
        few = ["--batch-size", "2", "--read-lanes", "4", "--shuffle-mb", "8"]
        self.assertEqual(self.in_namespace(512, *OWN_NUMBERS, options=few)[0], "")
        warnings, weights = self.in_namespace(64, *OWN_NUMBERS, options=few)
        self.assertRegex(warnings, r"W180 the ranks of a host cannot share \d+.\d MB of memory, so every rank reads its pictures from the data set; ")
        self.assertEqual(self.in_namespace(512, *OWN_NUMBERS, options=few)[1], weights)
        warnings, _ = self.in_namespace(64, *OWN_NUMBERS, options=["--batch-size", "2", "--read-lanes", "0"])
        self.assertRegex(warnings, "so every rank keeps its own copy of the images; ")

    def test_a_copy_of_picture_files_needs_room(self):
        self.pack_pictures()
        few = ["--batch-size", "2", "--read-lanes", "4", "--shuffle-mb", "8"]
        staged = [*few, "--cache-mb", "60", "--stage", "/dev/shm"]
        _, weights = self.in_namespace(512, "-n", "2", options=few)
        for ranks in (["-n", "2"], OWN_NUMBERS):
            self.assertEqual(self.in_namespace(512, *ranks, options=staged), ("", weights))
        done = self.in_namespace(64, "-n", "2", options=staged, code=69)
        self.assert_one_error(done, r"--stage /dev/shm: the picture files take 8\d.\d MB, and the disk has [56]\d.\d MB free", "fix: name a folder on another disk")

    @whole
    def test_a_copy_of_another_data_set_is_refused(self):
        """As if the file were replaced after the first rank read it, by one with equal first bytes."""
        for rank in ("0", "1"):
            (self.folder / rank).mkdir()
            self.tandem("pack", "--input", "synthetic", "--images", "20000", "--seed", rank, "--output", f"{rank}/large.h5")
            path = self.folder / rank / "large.h5"
            path.write_bytes(path.read_bytes()[512:])
        in_own_folder = ["bash", "-c", FIND_RANK + 'cd "$rank" && exec "$@"', "bash"]
        done = self.in_namespace(64, *OWN_NUMBERS, *in_own_folder, code=65)
        self.assert_one_error(done, "rank 1 .*large.h5: holds the data set [0-9a-f]{16}, the first rank of this host has read")


if __name__ == "__main__":
    unittest.main(verbosity=2)
