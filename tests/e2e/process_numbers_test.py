#!/usr/bin/env python3
"""Process 1, as in a container. Where every rank of a host is one, the number of one's process means another's."""

import json
import os
import subprocess
import time
import unittest

from tandem import MPIRUN, PROGRAM, TandemTest

AS_PROCESS_1 = [*os.environ["TANDEM_TEST_UNSHARE"].split(), "--pid", "--fork", "--kill-child", "--mount-proc"]
# Between such processes Open MPI's own shared memory fails.
EACH_ON_ITS_OWN = ["--mca", "btl", "self,tcp", "--mca", "btl_tcp_if_include", "lo", "-n", "2", *AS_PROCESS_1]


class ProcessNumbers(TandemTest):
    def test_sums_are_right(self):
        """By messages: each would take its own gradients for the other's."""
        done = self.run_command([*MPIRUN, *EACH_ON_ITS_OWN, PROGRAM, "bench", "allreduce", "--min-bytes", "256K", "--max-bytes", "256K",
                                 "--seconds", "0", "--json"], 0, {})
        result = json.loads(done.stdout.splitlines()[-1])
        self.assertEqual(result["ranks"], 2)
        self.assertEqual([size["wrong"] for size in result["sizes"]], [0])

    def test_a_signal_ends_it(self):
        """Though the kernel ignores signals that process 1 does not handle. The first ones may come before main()."""
        job = subprocess.Popen([*AS_PROCESS_1, PROGRAM, "bench", "step", "--steps", "100000"], cwd=self.folder,
                               stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.addCleanup(job.kill)
        end = time.monotonic() + 30
        while job.poll() is None:
            self.assertLess(time.monotonic(), end, "it goes on")
            subprocess.run(["pkill", "-TERM", "-P", str(job.pid)], check=False)
            time.sleep(0.1)
        self.assertEqual(job.returncode, 143)


if __name__ == "__main__":
    unittest.main(verbosity=2)
