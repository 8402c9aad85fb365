#!/usr/bin/env python3
"""Ranks that share one copy of the weights, and are killed within an update: the run goes on from a checkpoint, to the same bits."""

import os
import pathlib
import signal
import time
import unittest

from hang_run import LIBRARY
from jobs import Job
from tandem import DATA, MPIRUN, PROGRAM, TandemTest, tensor_bytes_sha256

TRAIN = ["train", "--data", DATA, "--model", "lenet", "--threads", 1, "--global-batch-size", 64, "--max-steps", 8, "--quiet",
         "--checkpoint-every", "3steps", "--resume", "auto", "--share-weights", "--run-id"]
# An update ends with a barrier of its own. Before it are the two of the sum of gradients, after it the agreement on stops, which the
# last of the 8 steps does not have.
LAST_OF_STEP = ["MPI_Barrier", "MPI_Barrier", "MPI_Barrier", "MPI_Allreduce"]


class KilledWithinAnUpdate(TandemTest):
    def start(self, run_id, rank, place):
        log = self.folder / f"{run_id}.places"
        log.unlink(missing_ok=True)
        job = Job([*MPIRUN, "-n", 2, "-x", f"LD_PRELOAD={LIBRARY}", PROGRAM, *TRAIN, run_id], self.folder,
                  {"HANG_POINTS_RANK": str(rank), "HANG_POINTS_LOG": str(log), "HANG_POINTS": str(place)})
        return job, log

    def last_checkpoint(self, run_id):
        return tensor_bytes_sha256(self.folder / "runs" / run_id / "checkpoints/step-00000008.safetensors")

    def test_the_run_goes_on_to_the_same_bits(self):
        job, log = self.start("whole", 1, 0)
        code, words = job.wait(50)
        self.assertEqual(code, 0, words)
        places = log.read_text().splitlines()
        updates = [at + 3 for at in range(len(places)) if places[at:at + 4] == LAST_OF_STEP]
        self.assertEqual(len(updates), 7, places)
        for rank in (0, 1):
            with self.subTest(rank=rank):
                self.check_killed(f"killed-{rank}", rank, updates[4])

    def check_killed(self, run_id, rank, place):
        """`rank` has written its part and stops in step 5, whose update the other rank sees no end of."""
        job, log = self.start(run_id, rank, place if rank == 1 else self.place_on_rank_0(place))
        end = time.monotonic() + 40
        while not (log.exists() and "stopped" in log.read_text()):
            self.assertLess(time.monotonic(), end)
            time.sleep(0.02)
        os.kill(int(log.read_text().split()[-1]), signal.SIGKILL)
        code, words = job.wait(30)
        self.assertNotEqual(code, 0, words)
        names = [path.name for path in pathlib.Path(self.folder / "runs" / run_id / "checkpoints").glob("step-*")]
        self.assertEqual(names, ["step-00000003.safetensors"])
        job, _ = self.start(run_id, rank, 0)
        code, words = job.wait(50)
        self.assertEqual(code, 0, words)
        self.assertEqual(self.last_checkpoint(run_id), self.last_checkpoint("whole"))


if __name__ == "__main__":
    unittest.main(verbosity=2)
