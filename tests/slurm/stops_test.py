#!/usr/bin/env python3
"""Jobs of jobs/ that are stopped by a user, by Slurm or by a fault: nothing is lost, and what comes next is what was promised."""

import os
import pathlib
import signal
import unittest

from slurm_test import TRAIN, SlurmTest
from tandem import DATA, whole


class Stops(SlurmTest):
    def finish(self, job, run_id, steps):
        """A job that goes on to the end of the run of another."""
        last = self.submit("cpu", train=[*TRAIN, "--max-steps", steps], environment={"TANDEM_RUN_ID": run_id})
        self.assert_ends(last)
        self.assertEqual(self.summary(run_id)["steps"], steps, job.everything())
        self.assert_each_step_once(run_id, steps)

    def stop(self, job, *options, name="USR1"):
        """The step at which a signal stopped the job."""
        self.wait_for_steps(job)
        job.signal(name, *options)
        job.wait()
        summary = self.summary(f"job-{job.number}")
        self.assertEqual(summary["exit_reason"], "stopped", job.everything())
        return summary["steps"]

    def assert_usr1_saves(self, script, *to):
        job = self.submit(script, "--nodes=2", "--ntasks-per-node=1")
        steps = self.stop(job, *to)
        self.assert_ends(job, 75)
        self.assertEqual(job.words().count("tandem: SIGUSR1: stopping after this step"), 1, job.words())
        self.finish(job, f"job-{job.number}", steps + 3)

    def test_usr1_saves_and_ends_with_75(self):
        self.assert_usr1_saves("cpu", "--full")

    @whole
    def test_usr1_to_the_batch_script_of_mpirun_saves_too(self):
        self.assert_usr1_saves("mpirun", "--batch")

    @whole
    def test_scancel_saves_and_ends_for_good(self):
        """Also a job that would put itself back into the queue, and one in which mpirun is told to end."""
        for script in ("requeue", "mpirun"):
            with self.subTest(script):
                job = self.submit(script)
                self.wait_for_steps(job)
                self.slurm.command("scancel", job.number)
                job.wait()
                self.assertEqual(job["JobState"], "CANCELLED")
                self.assertEqual(job["Restarts"], "0")
                summary = self.summary(f"job-{job.number}")
                self.assertEqual(summary["exit_reason"], "stopped")
                self.finish(job, f"job-{job.number}", summary["steps"] + 3)

    def test_scancel_leaves_mpirun_the_time_to_save(self):
        """A stand-in for a program that needs two seconds for its checkpoint."""
        path = self.stand_in("tandem", "trap 'sleep 2; touch saved; exit 75' TERM USR1; touch ready; sleep 60 & wait")
        job = self.submit("mpirun", "--ntasks-per-node=1", environment={"PATH": path})
        job.wait_for((self.folder / "ready").exists)
        self.slurm.command("scancel", job.number)
        job.wait()
        self.assertTrue((self.folder / "saved").exists(), job.everything())

    @whole
    def test_a_stopped_job_goes_back_into_the_queue_until_it_is_done(self):
        # Each step takes all images, so that signals come long before the end.
        train = [*TRAIN, "--global-batch-size", 600, "--max-steps", 80]
        self.mpirun(2, "train", "--data", DATA, *train, "--run-id", "whole")
        job = self.submit("requeue", train=train)
        for restarts in ("1", "2"):
            self.wait_for_steps(job)
            job.signal("USR1")
            job.begin_now()
            self.assertEqual(job["Restarts"], restarts)
        self.assert_ends(job)
        self.assertEqual(job.words().count("requeue 1 of 10\n"), 1)
        self.assertEqual(job.words().count("requeue 2 of 10\n"), 1)
        self.assertEqual(self.summary(f"job-{job.number}")["weights_sha256"], self.summary("whole")["weights_sha256"])
        self.assert_each_step_once(f"job-{job.number}", 80)

    def test_a_requeue_resumes_and_counts(self):
        job = self.submit("requeue", environment={"MOST_REQUEUES": "1"})
        run_id = f"job-{job.number}"
        self.wait_for_steps(job)
        self.slurm.command("scontrol", "requeue", job.number)
        job.wait_for_state("PENDING")
        job.wait_for((self.folder / "runs" / run_id / "summary.json").exists)
        stopped = self.summary(run_id)["steps"]
        job.begin_now()
        job.wait_for(lambda: self.steps(run_id) > stopped)
        self.assertEqual(job["Restarts"], "1")
        environment = environment_of(job, 0)
        self.assertEqual(environment["SLURM_RESTART_COUNT"], "1")
        # The one requeue that is allowed has been used.
        self.stop(job)
        self.assert_ends(job, 75)
        self.assertNotIn("requeue 1 of 1", job.words())
        self.assertEqual(len(self.read_json(run_id, "manifest.json")["segments"]), 2)

    @whole
    def test_a_job_that_is_requeued_three_times_without_a_new_checkpoint_ends(self):
        """Each time it stops before its first step, because its time is over."""
        job = self.submit("requeue", train=[*TRAIN, "--max-time", "00:00:01", "--stop-margin", 0.999])
        for restarts in ("1", "2", "3"):
            job.wait_for(lambda: job["Restarts"] == restarts)
            job.begin_now()
        self.assert_ends(job, 70)
        self.assertIn("requeue 3 of 10\n", job.words())
        self.assertNotIn("requeue 4 of 10\n", job.words())
        self.assertIn(f"runs/job-{job.number}: the last 3 starts began at step 0 and saved no new checkpoint", job.words())

    @whole
    def test_preemption_requeues_and_resumes(self):
        low = self.submit("cpu", "--nodes=2", "--ntasks-per-node=2", "--nodelist=n1,n2")
        self.wait_for_steps(low)
        high = self.submit("cpu", "--partition=high", "--nodes=2", "--ntasks-per-node=2", "--nodelist=n1,n2",
                           train=[*TRAIN, "--max-steps", 3])
        self.assert_ends(high)
        stopped = self.summary(f"job-{low.number}")
        self.assertEqual(stopped["exit_reason"], "stopped")
        low.begin_now()
        low.wait_for(lambda: self.steps(f"job-{low.number}") > stopped["steps"])
        self.assertEqual(low["Restarts"], "1")
        steps = self.stop(low)
        self.assertGreater(steps, stopped["steps"])
        self.assert_each_step_once(f"job-{low.number}", steps)

    @whole
    def test_a_killed_rank_ends_the_step(self):
        job = self.submit("cpu", "--nodes=2", "--ntasks-per-node=1", train=[*TRAIN, "--checkpoint-every", "5steps"])
        self.wait_for_steps(job, 20)
        os.kill(processes_of(job)[1], signal.SIGKILL)
        self.assert_ends(job, 137, seconds=15)
        self.assertEqual(processes_of(job), {})
        self.finish(job, f"job-{job.number}", self.steps(f"job-{job.number}") + 20)

    def test_ranks_that_end_one_after_the_other_keep_their_code(self):
        """A stand-in whose ranks stop a second apart: srun waits for the later one."""
        path = self.stand_in("tandem", 'sleep "$SLURM_PROCID"; exit 75')
        job = self.submit("cpu", "--nodes=2", "--ntasks-per-node=1", environment={"PATH": path})
        self.assert_ends(job, 75)

    @whole
    def test_a_rank_that_fails_alone_keeps_its_code(self):
        """A rank that stands still: another one ends the job with 124, and srun does not make 137 or 143 of it."""
        job = self.submit("cpu", "--nodes=2", "--ntasks-per-node=1",
                          train=[*TRAIN, "--stall-warn", 0, "--stall-abort", 15])
        self.wait_for_steps(job)
        os.kill(processes_of(job)[1], signal.SIGSTOP)
        self.assert_ends(job, 124)
        self.assertIn("rank 1", job.words())

    @whole
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


def environment_of(job, rank):
    content = pathlib.Path(f"/proc/{processes_of(job)[rank]}/environ").read_bytes().decode()
    return dict(line.split("=", 1) for line in content.split("\0") if "=" in line)


def processes_of(job):
    """{rank: process} of the ranks of a job that srun started."""
    found = {}
    for path in pathlib.Path("/proc").glob("[0-9]*"):
        try:
            if (path / "comm").read_text() != "tandem\n":
                continue
            words = (path / "environ").read_bytes().decode().split("\0")
        except OSError:  # it has ended since
            continue
        environment = dict(word.split("=", 1) for word in words if "=" in word)
        if environment.get("SLURM_JOB_ID") == job.number and environment.get("SLURM_CONF") == job.slurm.environment["SLURM_CONF"]:
            found[int(environment["SLURM_PROCID"])] = int(path.name)
    return found


if __name__ == "__main__":
    unittest.main(verbosity=2)
