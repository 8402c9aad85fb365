#!/usr/bin/env python3
"""The time limit of a job: Slurm's signal comes before it, the run is saved, and the job goes back into the queue."""

import unittest

from slurm_test import SlurmTest


class TimeLimit(SlurmTest):
    def test_slurm_signals_before_the_limit(self):
        """Slurm looks every half minute and may signal a minute early; so this job has 40 s to begin, and 70 s at most."""
        job = self.submit("requeue", "--time=2", "--signal=USR1@20", "--ntasks-per-node=1")
        self.wait_for_steps(job)
        job.wait_for_state("PENDING", seconds=120)
        self.assertEqual(job["Restarts"], "1")
        self.assertIn("requeue 1 of 10\n", job.words())
        run_id = f"job-{job.number}"
        stopped = self.summary(run_id)
        self.assertEqual(stopped["exit_reason"], "stopped")
        job.begin_now()
        job.wait_for(lambda: self.steps(run_id) > stopped["steps"])


if __name__ == "__main__":
    unittest.main(verbosity=2)
