"""Flipped bits and cut ends, at random places of data sets and checkpoints."""

import json
import re
import shutil
import subprocess

from damage import HEADER_BYTES, MOST_SECONDS, Damage, assert_refused
from packed_files import resealed
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


class SetDamages(Damages):
    """Half of the damaged files are sealed again, so their content may be that of another valid file."""

    what = "a file of a set of three is damaged, half of them with a new seal, and verified; every fifth is used for training"
    asked = "{items:,} refused with 65, or valid and used for training; no signal"

    def __init__(self, folder):
        self.folder = folder
        self.run(["pack", "--input", "synthetic", "--images", "60", "--size", "32", "--store", "encoded", "--files", "3",
                  "--output", "set.h5"])
        self.files = {path.name: path.read_bytes() for path in sorted(folder.glob("set-*.h5"))}

    def check(self, index, random):
        folder = self.folder / f"damaged-{index}"
        folder.mkdir()
        codes = []
        for number in range(self.of_a_case):
            name, is_sealed = random.choice(list(self.files)), number % 2 == 1
            content = self.files[name]
            if is_sealed:
                damage, damaged = self.with_new_seal(content, random)
            else:
                damage = Damage.at_random(random, len(content))
                damaged = damage.of(content)
            for other, whole in self.files.items():
                (folder / other).write_bytes(damaged if other == name else whole)
            code = self.code_of(folder, "verify", "set-*.h5")
            trained = self.code_of(folder, *TRAIN, "--data", "set-*.h5", "--epochs", "1", "--run-id", f"run-{number}") if number < 2 else code
            allowed = (0, 65) if is_sealed else (65,)
            # With a new seal, only `verify` compares means with the pictures, and only training decodes all of these.
            assert code in allowed and trained in allowed, f"{name}, {damage}, sealed {is_sealed}: {code}, then {trained}"
            codes.append(code)
        shutil.rmtree(folder)
        return codes

    def with_new_seal(self, content, random):
        """A flip or a new value, outside of the user block and the table of digests."""
        end = len(content) - int.from_bytes(content[96:104], "little")
        place = random.randrange(512, random.choice([end, HEADER_BYTES]))
        if random.randrange(3) > 0:
            damage = Damage("flip", 8 * place + random.randrange(8))
            return damage, resealed(damage.of(content))
        value = random.randbytes(1)
        return f"{value} at {place}", resealed(content[:place] + value + content[place + 1:])

    def code_of(self, folder, *arguments):
        return subprocess.run([PROGRAM, *arguments], cwd=folder, capture_output=True, timeout=120).returncode

    def measured(self, results):
        codes = [code for result in results for code in result]
        return f"{codes.count(65):,} of {{items:,}} refused, {codes.count(0):,} valid, no signal"


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
