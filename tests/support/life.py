"""Random lives of runs: random acts on a run, and what must be true after each act.

The tests do not depend on how tandem works. A life has the result of the same run without faults (Undisturbed) and its own
acts, and checks each outcome and the whole folder against them.
"""

import collections
import ctypes
import os
import signal
import subprocess
import time

from damage import Damage
from hurt_run import IN_RANK_0, LIBRARY
from jobs import Job
from life_folder import LifeFolder, read_checkpoint
from tandem import DATA, MPIRUN, PROGRAM
from undisturbed import RUN, SAFE, TOTALS

SAME_IN_SUMMARY = ["exit_reason", "steps", "epochs", "images_seen", "skipped_steps", "test_loss", "test_accuracy",
                   "test_accuracy_tta", "weights_sha256"]
DISK_MEGABYTES = 24
KILLED = (128 + signal.SIGKILL, -signal.SIGKILL)
FULL = (73, 74)  # exit codes of a start on a full disk
CLONE_NEWNS = 0x00020000


def own_mounts():
    """A mount namespace of its own: mounts of this thread and its children end with the process."""
    if ctypes.CDLL(None, use_errno=True).unshare(CLONE_NEWNS) != 0:
        raise OSError(ctypes.get_errno(), "random lives need mounts of their own: run as root")
    subprocess.run(["mount", "--make-rprivate", "/"], check=True)


class Life:
    def __init__(self, folder, undisturbed, chance):
        self.undisturbed, self.chance = undisturbed, chance
        self.disk = folder
        folder.mkdir()
        subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={DISK_MEGABYTES}m", "tmpfs", folder], check=True)
        self.run = LifeFolder(folder / "runs/a")
        self.total = TOTALS[0]
        self.acts = []
        self.words = ""  # of the last job
        self.may_lack = set()  # steps whose lines did not fit on a full disk
        self.may_be_torn = False  # the last line of the metrics
        self.best_since = 0  # a best of an earlier step is not checked: it was damaged or superseded
        self.latest_is_damaged = False

    def live(self, acts):
        try:
            for _ in range(acts):
                act = self.chance.choices([self.go_on, self.damage, self.damage_all, self.evaluate], [6, 3, 0.5, 1])[0]
                act()
            self.start("auto", self.total, self.chance.choice([1, 2]), "nothing")
        except Exception as error:
            acts = "\n  ".join(self.acts)
            raise AssertionError(f"{error}\nof a life of these acts:\n  {acts}\nlast words: {self.words}") from error
        finally:
            subprocess.run(["umount", "--lazy", self.disk], check=True)
        return collections.Counter(act.split()[0] for act in self.acts)

    # Acts.

    def go_on(self):
        resume = "auto"
        if self.run.checkpoint_paths() and self.chance.random() < 0.3:
            resume = self.chance.choice(self.run.checkpoint_paths())
        if self.chance.random() < 0.4:
            self.total = TOTALS[min(TOTALS.index(self.total) + 1, len(TOTALS) - 1)]
        hurt = self.chance.choices(["nothing", "kill-at-a-call", "kill-at-a-moment", "stop", "fill"], [3, 3, 3, 2, 1.5])[0]
        self.start(resume, self.total, self.chance.choice([1, 2]), hurt)

    def start(self, resume, total, ranks, hurt):
        """Trains to this total, from `auto` or a path, disturbed by `hurt`, and checks the outcome."""
        self.acts.append(f"start {getattr(resume, 'name', resume)} to {total} on {ranks}, hurt by {hurt}")
        before, segments = self.run.contents(), len(self.run.segments())
        origin = self.run.newest_whole()
        if resume != "auto":
            checkpoint = read_checkpoint(resume)
            origin = checkpoint.step if checkpoint else None
        summary = self.run.document("summary.json") or {}
        is_complete = origin is not None and origin >= total and summary.get("exit_reason") == "completed"
        ballast = self.disk / "ballast"
        wrapper, environment = [], {}
        if hurt == "kill-at-a-call":
            call = f"any:{self.chance.randrange(1, 250)}:{self.chance.choice(['kill', 'kill-after'])}"
            self.acts[-1] += f" {call}"
            wrapper = ["bash", "-c", IN_RANK_0, "bash"]
            environment = {"FAULT_POINTS_LIBRARY": LIBRARY, "FAULT_POINTS_FOLDER": "runs/a", "FAULT_POINTS": call}
        elif hurt == "fill":
            self.fill(ballast)
        resume = resume if resume == "auto" else resume.relative_to(self.disk)
        job = Job([*MPIRUN, "-n", ranks, *wrapper, PROGRAM, "train", *RUN, *SAFE, "--max-steps", total, "--run-id", "a",
                   "--resume", resume], self.disk, environment)
        if hurt in ("kill-at-a-moment", "stop"):
            self.signal(job, signal.SIGKILL if hurt != "stop" else self.chance.choice([signal.SIGUSR1, signal.SIGTERM]))
        code, self.words = job.wait(60)
        ballast.unlink(missing_ok=True)
        self.acts[-1] += f": {code}"
        self.judge(code, total, resume != "auto", hurt, origin, is_complete, before, segments)

    def signal(self, job, number):
        """Sends a signal to a rank, at a random moment between its start and its end."""
        place = self.chance.random()
        delay = self.chance.uniform(0, 0.5)
        while not job.ranks() and job.process.poll() is None:
            time.sleep(0.005)
        if place < 0.6:  # within the training, or when the model appears
            mark = self.run.model if place < 0.15 else (lambda lines=self.lines(): self.lines() > lines)
            end = time.monotonic() + 1
            while not mark() and job.process.poll() is None and time.monotonic() < end:
                time.sleep(0.002)
            delay /= 10
        time.sleep(delay)
        ranks = job.ranks()
        if ranks:
            try:
                os.kill(self.chance.choice(list(ranks.values())), number)
            except ProcessLookupError:
                pass  # it has just ended
        self.acts[-1] += f" by {signal.Signals(number).name} after {self.lines()} steps"

    def lines(self):
        """The number of step lines in the metrics."""
        path = self.run.path / "metrics.jsonl"
        return path.read_text().count('"event":"step"') if path.exists() else 0

    def last_step(self):
        lines, _ = self.run.metrics()
        return max([self.run.newest_whole(), *(line["step"] for line in lines)])

    def fill(self, ballast):
        """Leaves space for up to three checkpoints."""
        space = os.statvfs(self.disk)
        room = self.chance.choice([0, 8, 64, self.chance.randrange(1600)]) << 10
        self.acts[-1] += f", {room >> 10} KiB left"
        with open(ballast, "wb") as file:
            os.posix_fallocate(file.fileno(), 0, max(1, space.f_bavail * space.f_frsize - room))

    def damage(self):
        """Damages files, but leaves one valid checkpoint. In place it changes all hard links of a file, by a new file only one."""
        whole = self.run.whole()
        documents = [path for name in ("summary.json", "evaluation.json", "metrics.jsonl", "checkpoints/latest")
                     if (path := self.run.path / name).exists()]
        path = self.chance.choice(list(whole) * 2 + documents) if whole or documents else None
        if path is None:
            return
        kind = self.chance.choice(["tear", "remove", "flip", "replace"])
        if path in whole:
            others = [other for other in whole if kind in ("replace", "remove") or not other.samefile(path)]
            if not set(others) - {path}:
                return
            self.best_since = max(self.best_since, self.last_step())
        self.latest_is_damaged |= path.name == "latest"
        if path.name == "metrics.jsonl":
            kind = "tear"
        self.acts.append(f"damage {path.name}: {kind}")
        if kind == "tear" and path not in whole:
            with open(path, "a") as file:
                file.write('{"event":"step","ste')
            self.may_be_torn |= path.name == "metrics.jsonl"
        elif kind == "remove":
            path.unlink()
        else:
            content = Damage.at_random(self.chance, path.stat().st_size).of(path.read_bytes())
            if kind == "replace":
                path.unlink()
            path.write_bytes(content)

    def damage_all(self):
        """A start is refused and begins no new run; then the checkpoints are brought back."""
        contents = {path: path.read_bytes() for path in self.run.checkpoint_paths()}
        if not self.run.whole():
            return
        self.acts.append("damage-all")
        for path, content in contents.items():
            path.write_bytes(content[:-1])
        before = self.run.contents()
        code, self.words = Job([PROGRAM, "train", *RUN, *SAFE, "--max-steps", self.total, "--run-id", "a", "--resume", "auto"],
                               self.disk).wait(60)
        assert code == 65, f"exit code {code} where all checkpoints are damaged"
        assert self.run.contents() == before, "changed although all checkpoints are damaged"
        for path, content in contents.items():
            path.write_bytes(content)

    def evaluate(self):
        """Resumes from the path of a checkpoint of a known step."""
        paths = self.run.checkpoint_paths()
        if not paths:
            return
        path = self.chance.choice(paths)
        checkpoint = read_checkpoint(path)
        self.acts.append(f"evaluate {path.name}")
        before = self.run.contents()
        code, self.words = Job([*MPIRUN, "-n", self.chance.choice([1, 2]), PROGRAM, "eval", "--data", DATA, "--threads", 1,
                                "--checkpoint", path.relative_to(self.disk), "--json"], self.disk).wait(60)
        assert code == (0 if checkpoint else 65), f"exit code {code} of eval"
        assert self.run.contents() == before, "eval changed the run"
        if checkpoint and checkpoint.step in (*TOTALS, 10):
            accuracy = f'"test_accuracy":{self.undisturbed.accuracy(checkpoint.step)},'
            assert accuracy in self.words, f"not {accuracy}"

    # Checks.

    def judge(self, code, total, is_path, hurt, origin, is_complete, before, segments):
        killed = hurt.startswith("kill") and code in KILLED
        ended_early = hurt == "stop" and code in (128 + signal.SIGUSR1, 128 + signal.SIGTERM, -signal.SIGTERM)
        if origin is None and not killed and not ended_early:  # a path to a damaged one
            assert code in ((65, *FULL) if hurt == "fill" else (65,)), f"exit code {code} of a damaged checkpoint"
        else:
            allowed = {0, *({75} if hurt == "stop" else ()), *(FULL if hurt == "fill" else ())}
            assert killed or ended_early or code in allowed, f"exit code {code}"
        if code == 65 or (code == 0 and is_complete):
            after = self.run.contents()
            changed = [name for name in {**before, **after} if before.get(name) != after.get(name)]
            assert not changed, f"changed without need: {changed}"
            return
        started = len(self.run.segments()) > segments
        if started:
            first = self.run.segments()[-1]["first_step"]
            assert first == origin, f"went on from step {first}, not from {origin}"
            summary = self.run.document("summary.json")
            assert not ended_early or summary, f"exit code {code} of a run that had begun"
        reached = self.run.newest_whole()
        least = min(origin or 0, reached) if origin is None else origin
        assert reached >= least, f"the newest whole checkpoint is of step {reached}, that of {least} is lost"
        if hurt == "fill" and started:
            self.may_lack |= set(range(origin + 1, total + 1))
        self.may_be_torn = killed or (self.may_be_torn and code not in (0, 75))
        if code == 0:
            self.best_since = origin if is_path else min(self.best_since, origin)
        elif is_path or hurt == "fill":
            self.best_since = max(self.best_since, self.last_step())
        if origin != reached:
            self.latest_is_damaged = False
        self.check_rest(killed or ended_early)
        if started or code in (0, 75):
            self.check_model(total)
        if code == 0:
            self.check_complete(total)
        if code == 75:
            summary = self.run.document("summary.json")
            assert (summary["exit_reason"], summary["steps"]) == ("stopped", reached), f"{summary}, newest {reached}"

    def check_rest(self, killed):
        """Of each run that nothing works on."""
        for path, checkpoint in self.run.whole().items():
            assert checkpoint.weights == self.undisturbed.weights_of(checkpoint), f"{path.name}: other weights"
        lines, rest = self.run.metrics()
        assert self.may_be_torn or not rest, f"a line of metrics.jsonl is torn: {rest}"
        steps = {line["step"]: line["loss"] for line in lines if line["event"] == "step"}
        numbers = [line["step"] for line in lines if line["event"] == "step"]
        assert numbers == sorted(steps), f"steps of metrics.jsonl: {numbers}"
        missing = set(range(1, max([*steps, self.run.newest_whole()], default=0) + 1)) - set(steps) - self.may_lack
        assert not missing, f"metrics.jsonl lacks the steps {sorted(missing)}"
        for step, loss in steps.items():
            assert loss == self.undisturbed.losses[step], f"step {step}: loss {loss}"
        evaluations = [line["step"] for line in lines if line["event"] == "eval"]
        assert evaluations == sorted(set(evaluations)), f"evaluations of metrics.jsonl: {evaluations}"
        assert killed or not self.run.temporaries(), f"left {self.run.temporaries()}"

    def check_model(self, total):
        """Checks a run that has begun to resume."""
        model = self.run.model()
        ends = [self.undisturbed.weights[step] for step in (total, *self.run.steps()[:1])]
        assert not model or model.weights in ends, f"model/ is of an earlier end than the steps {self.run.steps()}"

    def check_complete(self, total):
        end = self.undisturbed.end(total)
        expected, found = end.document("summary.json"), self.run.document("summary.json")
        for name in SAME_IN_SUMMARY:
            assert found[name] == expected[name], f"summary.json: {name} is {found[name]}, not {expected[name]}"
        assert abs(found["train_loss"] - expected["train_loss"]) < 1e-12, f"train_loss is {found['train_loss']}"
        assert self.run.document("evaluation.json") == end.document("evaluation.json"), "another evaluation.json"
        for path in end.path.glob("model/*"):
            assert (self.run.path / "model" / path.name).stat().st_size == path.stat().st_size, f"another {path.name}"
        assert self.run.model().weights == self.undisturbed.weights[total], "another model"
        steps = self.run.steps()
        assert steps[0] == total and len(steps) <= 3, f"checkpoints {steps}"
        latest = self.run.path / "checkpoints/latest"
        assert self.latest_is_damaged or latest.read_text() == f"step-{total:08}.safetensors\n", "another latest"
        assert (self.run.path / "report.html").exists(), "no report.html"
        lines, _ = self.run.metrics()
        expected = {step for step in range(10, total + 1, 10)} | {total}
        evaluations = {line["step"]: line["test_accuracy"] for line in lines if line["event"] == "eval"}
        missing = expected - set(evaluations) - self.may_lack
        assert not missing, f"metrics.jsonl lacks evaluations after the steps {missing}"
        for step, accuracy in evaluations.items():
            assert accuracy == self.undisturbed.accuracy(step), f"evaluation after step {step}: {accuracy}"
        since = [accuracy for step, accuracy in evaluations.items() if step > self.best_since]
        best = self.run.best()
        if since and max(since) > 0:
            assert best, "best.safetensors is not there, or damaged"
            accuracy = self.undisturbed.accuracy(best.step)
            assert accuracy >= max(since), f"the best is of step {best.step}, with {accuracy}; there was {max(since)}"

