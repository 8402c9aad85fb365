"""What the tests of the whole program share: running the program, alone and under mpirun, in a folder of their own."""

import json
import os
import pathlib
import re
import subprocess
import tempfile
import time
import unittest

from rank_variable import FIND_RANK

if "TANDEM_TEST_KEPT_RANKS" in os.environ:  # without it, these files are enough to run a test of the program
    from kept_ranks import run_kept

PROGRAM = os.environ["TANDEM_TEST_PROGRAM"]
MPIRUN = os.environ["TANDEM_TEST_MPIRUN"].split()
DATA = os.environ["TANDEM_TEST_DATA"]  # 600 train and 120 test images of the built-in set

IS_WHOLE = bool(os.environ.get("TANDEM_TEST_WHOLE"))

QUICK = ["--data", DATA, "--model", "mlp", "--global-batch-size", "64", "--max-steps", "3", "--lr", "0.01"]


def whole(test):
    """Marks a long test whose code a shorter one mostly covers. Only `make -f Makefile.hpc whole` runs it; else unittest finds
    None in its place."""
    return test if IS_WHOLE else None


class TandemTest(unittest.TestCase):
    # Whether tandem() and mpirun() may reuse the ranks of earlier commands.
    keeps_ranks = False

    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="tandem-e2e-")
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def run_command(self, command, expected_code, environment):
        return self.expect(subprocess.run([str(word) for word in command], cwd=self.folder, text=True, capture_output=True,
                                          env={**os.environ, **environment}), expected_code)

    def expect(self, done, expected_code):
        self.assertEqual(done.returncode, expected_code, f"{done.args}\n{done.stdout}\n{done.stderr}")
        return done

    def tandem(self, *arguments, code=0, environment={}):
        return self.run_ranks(1, [], arguments, code, environment)

    def mpirun(self, ranks, *arguments, code=0, environment={}):
        return self.run_ranks(ranks, [*MPIRUN, "-n", ranks], arguments, code, environment)

    def run_ranks(self, ranks, launcher, arguments, code, environment):
        if self.keeps_ranks and not environment:
            return self.expect(run_kept(ranks, [str(word) for word in arguments], self.folder, MPIRUN), code)
        return self.run_command([*launcher, PROGRAM, *arguments], code, environment)

    def mpirun_in_shell(self, ranks, script, *arguments, code=0):
        """Every rank runs the script, which finds the command line in "$@"."""
        return self.run_command([*MPIRUN, "-n", ranks, "bash", "-c", script, "bash", PROGRAM, *arguments], code, {})

    def mpirun_in_own_folders(self, ranks, *arguments, code=0):
        """Every rank starts in the folder that is named after its number."""
        return self.mpirun_in_shell(ranks, FIND_RANK + 'cd "$rank" && exec "$@"', *arguments, code=code)

    def wait_for_step(self, job, run, step):
        """Until this process has written the step into metrics.jsonl of the run's folder; fails with its words if it ends before."""
        metrics = self.folder / run / "metrics.jsonl"
        while not (metrics.exists() and f'"step":{step},' in metrics.read_text()):
            if job.poll() is not None:
                self.fail(f"ended with {job.returncode} before step {step}: {job.communicate(timeout=10)}")
            time.sleep(0.01)

    def train(self, ranks, run_id, *options):
        """The summary of a run of QUICK and these options."""
        done = self.mpirun(ranks, "train", *QUICK, "--run-id", run_id, "--quiet", "--json", *options)
        return json.loads(done.stdout.splitlines()[-1])

    def evaluate(self, ranks, checkpoint, *options, data=DATA):
        done = self.mpirun(ranks, "eval", "--data", data, "--checkpoint", checkpoint, "--json", *options)
        return json.loads(done.stdout)

    def assert_one_error(self, done, *patterns):
        """Our program spoke once, and said this."""
        errors = re.findall("^tandem: error: .*$", done.stderr, re.MULTILINE)
        self.assertEqual(len(errors), 1, done.stderr)
        for pattern in patterns:
            self.assertRegex(done.stderr, pattern)
        self.assertEqual(done.stdout, "")


def read_lines(path):
    """The objects of a .jsonl file."""
    return [json.loads(line) for line in pathlib.Path(path).read_text().splitlines()]
