#!/usr/bin/env python3
"""Ranks on a host whose /dev/shm has 64 MB, as in a container: they train on private copies and say so."""

import json
import os
import unittest

from tandem import MPIRUN, PROGRAM, TandemTest

UNSHARE = os.environ["TANDEM_TEST_UNSHARE"].split()
TRAIN = ["train", "--data", "large.h5", "--model", "mlp", "--max-steps", "2", "--eval-every", "0", "--json", "--quiet"]


class SmallSharedMemory(TandemTest):
    def in_namespace(self, megabytes):
        script = f'mount -t tmpfs -o size={megabytes}m tmpfs /dev/shm && exec "$@"'
        done = self.run_command([*UNSHARE, "bash", "-c", script, "bash", *MPIRUN, "-n", "2", PROGRAM, *TRAIN], 0, {})
        return done.stderr, json.loads(done.stdout.splitlines()[-1])

    def test_ranks_agree_to_keep_private_copies(self):
        self.tandem("pack", "--input", "synthetic", "--images", "20000", "--output", "large.h5")  # 74 MB
        small_warnings, small = self.in_namespace(64)
        large_warnings, large = self.in_namespace(512)
        self.assertEqual(small_warnings.count("shared memory"), 1, small_warnings)
        self.assertIn("--shm-size", small_warnings)
        self.assertEqual(large_warnings, "")
        self.assertEqual(small["weights_sha256"], large["weights_sha256"])


if __name__ == "__main__":
    unittest.main(verbosity=2)
