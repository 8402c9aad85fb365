#!/usr/bin/env python3
"""Ranks that share one copy of the weights, and are killed within an update: the run goes on from a checkpoint, to the same bits."""

import os
import signal
import time
import unittest

from hang_run import LIBRARY
from jobs import Job
from safetensors_file import tensor_bytes_sha256
from tandem import DATA, MPIRUN, PROGRAM, TandemTest

TRAIN = ["train", "--data", DATA, "--model", "lenet", "--threads", 1, "--global-batch-size", 64, "--max-steps", 8, "--quiet",
         "--checkpoint-every", "3steps", "--resume", "auto", "--share-weights", "--run-id"]
# An update ends with a barrier of its own. Before it are the two of the sum of gradients.
UPDATE = ["MPI_Barrier", "MPI_Barrier", "MPI_Barrier"]


class KilledWithinAnUpdate(TandemTest):
    def start(self, run_id, rank, place):
        log = self.folder / f"{run_id}.places"
        log.unlink(missing_ok=True)
        job = Job([*MPIRUN, "-n", 2, "-x", f"LD_PRELOAD={LIBRARY}", PROGRAM, *TRAIN, run_id], self.folder,
                  {"HANG_POINTS_RANK": str(rank), "HANG_POINTS_LOG": str(log), "HANG_POINTS": str(place)})
        return job, log

    def finish(self, run_id, rank):
        """The calls of a run that ends, and a digest of its last checkpoint."""
        job, log = self.start(run_id, rank, 0)
        code, words = job.wait(50)
        self.assertEqual(code, 0, words)
        return log.read_text().splitlines(), tensor_bytes_sha256(self.checkpoints(run_id)[-1])

    def checkpoints(self, run_id):
        return sorted((self.folder / "runs" / run_id / "checkpoints").glob("step-*.safetensors"))

    def test_the_run_goes_on_to_the_same_bits(self):
        for rank in (0, 1):
            with self.subTest(rank=rank):
                places, end = self.finish(f"whole-{rank}", rank)
                updates = [at + 3 for at in range(len(places)) if places[at:at + 3] == UPDATE]
                self.assertGreaterEqual(len(updates), 8, places)
                self.kill(f"killed-{rank}", rank, updates[-2])
                # The save after step 6 has waited for it; that of step 6 may still have been written.
                self.assertEqual(self.checkpoints(f"killed-{rank}")[0].name, "step-00000003.safetensors")
                self.assertEqual(self.finish(f"killed-{rank}", rank)[1], end)

    def kill(self, run_id, rank, place):
        """In step 7, where the rank has updated its part and the other rank does not know it."""
        job, log = self.start(run_id, rank, place)
        end = time.monotonic() + 40
        while not (log.exists() and "stopped" in log.read_text()):
            self.assertLess(time.monotonic(), end)
            time.sleep(0.02)
        os.kill(int(log.read_text().split()[-1]), signal.SIGKILL)
        code, words = job.wait(30)
        self.assertNotEqual(code, 0, words)


if __name__ == "__main__":
    unittest.main(verbosity=2)
