"""What the tests under Slurm share: one private Slurm for each class, to which the scripts of jobs/ are submitted as they are."""

import json
import os
import pathlib
import tempfile

from slurm import Slurm
from tandem import DATA, PROGRAM, TandemTest, read_lines

JOBS = pathlib.Path(__file__).parents[2] / "jobs"
# A run that goes on until it is stopped, with each step to be seen at once.
TRAIN = ["--model", "lenet", "--global-batch-size", 64, "--lr", 0.01, "--threads", 1, "--epochs", 100000, "--eval-every", 0,
         "--log-every", 1, "--quiet"]


class SlurmTest(TandemTest):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory(prefix="tandem-slurm-")
        cls.addClassCleanup(folder.cleanup)
        cls.slurm = Slurm(folder.name)
        cls.slurm.start()
        cls.addClassCleanup(cls.slurm.stop)

    def submit(self, script, *options, train=TRAIN, environment={}):
        """A job of jobs/SCRIPT.sbatch, in the test's folder, with these options of sbatch and of `tandem train`."""
        return self.submit_file(JOBS / f"{script}.sbatch", *options, train=train,
                                environment={"TANDEM_SITE": str(JOBS / "site.conf"), **environment})

    def submit_file(self, path, *options, train=TRAIN, environment={}):
        path_variable = f"{pathlib.Path(PROGRAM).parent}:{os.environ['PATH']}"
        job = self.slurm.submit(*options, path, *train, cwd=self.folder,
                                environment={"PATH": path_variable, "TANDEM_DATA": DATA, **environment})
        self.addCleanup(job.end)
        return job

    def stand_in(self, name, script):
        """The PATH on which the command `name` is this script of bash instead."""
        folder = self.folder / "bin"
        folder.mkdir(exist_ok=True)
        (folder / name).write_text(f"#!/bin/bash\n{script}\n")
        (folder / name).chmod(0o755)
        return f"{folder}:{pathlib.Path(PROGRAM).parent}:{os.environ['PATH']}"

    def assert_ends(self, job, code=0, seconds=180):
        self.assertEqual(job.wait(seconds), code, job.everything())

    def read_json(self, run_id, name):
        return json.loads((self.folder / "runs" / run_id / name).read_text())

    def summary(self, run_id):
        return self.read_json(run_id, "summary.json")

    def hosts(self, run_id):
        """The host of each rank."""
        return [rank["host"] for rank in self.read_json(run_id, "manifest.json")["ranks"]]

    def steps(self, run_id):
        """The last step that is written down; 0 before the first."""
        path = self.folder / "runs" / run_id / "metrics.jsonl"
        lines = path.read_text().split("\n")[:-1] if path.exists() else []  # the last may be under way
        return max((json.loads(line)["step"] for line in lines), default=0)

    def wait_for_steps(self, job, more=5, run_id=None):
        """Until the run has advanced by so many steps."""
        run_id = run_id or f"job-{job.number}"
        before = self.steps(run_id)
        job.wait_for(lambda: self.steps(run_id) >= before + more)

    def assert_each_step_once(self, run_id, last):
        lines = read_lines(self.folder / "runs" / run_id / "metrics.jsonl")
        self.assertEqual([line["step"] for line in lines if line["event"] == "step"], list(range(1, last + 1)))
