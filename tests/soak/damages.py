"""Flipped bits and cut ends, at random places of data sets and checkpoints."""

import json
import re
import shutil
import subprocess

from damage import MOST_SECONDS, Damage, assert_refused
from tandem import PROGRAM

TRAIN = ["train", "--model", "lenet", "--global-batch-size", "16", "--lr", "0.01", "--threads", "1",
         "--eval-every", "0", "--quiet"]


class Damages:
    """Sets of damaged copies of one file, each of which `verify` refuses."""

    count = 100
    of_a_case = 10
    asked = f"{{items:,}} of {{items:,}} refused with 65 in less than {MOST_SECONDS} s of processor time"

    def __init__(self, folder):
        self.folder = folder
        self.run(["pack", "--input", "synthetic", "--images", "16", "--output", "data.h5"])

    def run(self, arguments):
        done = subprocess.run([PROGRAM, *arguments], cwd=self.folder, text=True, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, timeout=60)
        assert done.returncode == 0, f"exit code {done.returncode} of {arguments}\n{done.stdout}"
        return done.stdout

    def damaged(self, content, random):
        damages = [Damage.at_random(random, len(content)) for _ in range(self.of_a_case)]
        return [(damage, damage.of(content)) for damage in damages]

    def seconds_to_refuse(self, damage, *arguments):
        try:
            return assert_refused(self.folder, *arguments)
        except (AssertionError, subprocess.TimeoutExpired) as error:
            raise AssertionError(f"{damage}: {error}") from error

    def measured(self, results):
        seconds = [each for result in results for each in result]
        return f"{len(results) * self.of_a_case} of {{items:,}}; {max(seconds):.1f} s at most by the clock"


class DataDamages(Damages):
    what = "a packed data set is damaged, and verified; each tenth is trained on"

    def __init__(self, folder):
        super().__init__(folder)
        self.content = (folder / "data.h5").read_bytes()

    def check(self, index, random):
        path = self.folder / f"damaged-{index}.h5"
        seconds = []
        for damage, content in self.damaged(self.content, random):
            path.write_bytes(content)
            seconds.append(self.seconds_to_refuse(damage, "verify", path))
        seconds.append(self.seconds_to_refuse(damage, *TRAIN, "--data", path, "--run-id", f"run-{index}"))
        path.unlink()
        return seconds


class CheckpointDamages(Damages):
    what = "a checkpoint is damaged, and verified; a run with ten of them goes on from the valid one before"
    asked = Damages.asked + ", and by `--resume auto`, to the same bits"

    def __init__(self, folder):
        super().__init__(folder)
        self.train("start", 1)
        shutil.copytree(folder / "runs/start", folder / "runs/whole")
        self.train("whole", 2)
        self.content = self.checkpoint("whole", 2).read_bytes()

    def check(self, index, random):
        run = f"run-{index}"
        shutil.copytree(self.folder / "runs/start", self.folder / "runs" / run)
        seconds = []
        for step, (damage, content) in enumerate(self.damaged(self.content, random), 2):
            self.checkpoint(run, step).write_bytes(content)
            seconds.append(self.seconds_to_refuse(damage, "verify", self.checkpoint(run, step)))
        words = self.train(run, 2)
        refused = sorted(int(step) for step in re.findall(r"^  .*/step-(\d+)\.safetensors: ", words, re.MULTILINE))
        assert refused == list(range(2, 2 + self.of_a_case)), f"refused {refused}: {words}"
        assert self.digest(run) == self.digest("whole"), "the run that went on ended differently"
        shutil.rmtree(self.folder / "runs" / run)
        return seconds

    def train(self, run_id, steps):
        return self.run([*TRAIN, "--data", "data.h5", "--run-id", run_id, "--resume", "auto", "--max-steps", str(steps)])

    def checkpoint(self, run_id, step):
        return self.folder / f"runs/{run_id}/checkpoints/step-{step:08}.safetensors"

    def digest(self, run_id):
        return json.loads((self.folder / f"runs/{run_id}/summary.json").read_text())["weights_sha256"]
