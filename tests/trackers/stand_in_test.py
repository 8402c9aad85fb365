#!/usr/bin/env python3
"""python/to_tracker.py with a tracker that only records its calls, on a run folder of a few lines: no package is needed."""

import contextlib
import io
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest
from unittest import mock

ROOT = pathlib.Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "python"))
import to_tracker  # noqa: E402

LOCK = "process 1 on vm\nbeat {beat}\nstate {state}\n"


class StandIn(to_tracker.Tracker):
    """Notes experiments and values in the class, as a server would over several exports."""

    package, install = "json", "nothing"
    experiments, values, fails_at, reasons = {}, {}, None, []

    def open(self, stream, known):
        if known is None:
            self.experiments[self.run.identity(stream)] = (self.run.title(stream), self.run.parameters(stream))
        self.values.setdefault(stream, [])
        return stream

    def log(self, handle, lines):
        for line, numbers in lines:
            if handle == "job" and line["step"] == self.fails_at:
                raise OSError("no route to the server")
        self.values[handle] += [(name, line["step"], value) for line, numbers in lines for name, value in numbers.items()]

    def close(self, handle, reason):
        self.reasons.append(reason)


class AtEnd(StandIn):
    """Sends when it is closed, as Comet does."""

    keeps_only_at_end = True

    def open(self, stream, known):
        self.pending = getattr(self, "pending", {})
        return super().open(stream, known)

    def log(self, handle, lines):
        self.pending.setdefault(handle, []).extend(lines)

    def close(self, handle, reason):
        super().log(handle, self.pending.get(handle, []))


class ToTracker(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="tandem-tracker-")
        self.addCleanup(folder.cleanup)
        self.run_folder = pathlib.Path(folder.name) / "first"
        (self.run_folder / "ranks").mkdir(parents=True)
        self.write("manifest.json", json.dumps({
            "run_id": "first", "data": {"name": "cifar10"}, "segments": [{"started": 1764000000, "first_step": 1}],
            "ranks": [{"rank": r, "host": f"n{r}", "local_rank": 0, "device": "cpu", "threads": 4} for r in range(2)]}))
        self.write("config.ini", "# repeats the run\nlr = 0.05\ndata = a=b.h5\n")
        self.lock("free")
        self.write_steps(1, 4)
        self.use(StandIn)

    def use(self, kind):
        StandIn.experiments, StandIn.values, StandIn.fails_at, StandIn.reasons = {}, {}, None, []
        (self.run_folder / "tracker-mlflow.json").unlink(missing_ok=True)
        patch = mock.patch.dict(to_tracker.TRACKERS, {"mlflow": kind})
        patch.start()
        self.addCleanup(patch.stop)

    def write(self, name, text):
        (self.run_folder / name).write_text(text)

    def lock(self, state, beat=0):
        self.write("run.lock", LOCK.format(beat=beat, state=state))

    def append(self, name, line):
        with open(self.run_folder / name, "a") as file:
            file.write(line if isinstance(line, str) else json.dumps(line) + "\n")

    def write_steps(self, first, last, note=""):
        for step in range(first, last + 1):
            line = {"event": "step", "step": step, "epoch": step / 2, "time": 1764000000.0 + step, "note": note}
            self.append("metrics.jsonl", {**line, "loss": 1 / step, "grad_norm": float("nan"), "rank_images_per_second": {"min": 1}})
            if step % 2 == 0:
                self.append("metrics.jsonl", {**line, "event": "eval", "test_accuracy": step / 10, "images": 120, "seconds": 1})
                self.append("metrics.jsonl", {**line, "event": "checkpoint", "text": "step-2"})
            for rank in range(2):
                self.append(f"ranks/rank-000{rank}.jsonl", {**line, "step_seconds": step + rank})

    def cut_after(self, name, step):
        lines = [line for line in (self.run_folder / name).read_text().splitlines(True) if json.loads(line)["step"] <= step]
        self.write(name, "".join(lines))

    def export(self, *options, code=0):
        words, errors = io.StringIO(), io.StringIO()
        command = ["to_tracker.py", str(self.run_folder), "--to", "mlflow", *options]
        with mock.patch.object(sys, "argv", command), contextlib.redirect_stdout(words), contextlib.redirect_stderr(errors):
            self.assertEqual(to_tracker.main(), code, errors.getvalue())
        return words.getvalue() + errors.getvalue()

    def steps(self, stream, name):
        return [step for metric, step, _ in StandIn.values[stream] if metric == name]

    def assert_each_step_once(self, last):
        self.assertEqual(self.steps("job", "train/loss"), list(range(1, last + 1)))
        self.assertEqual(self.steps("job", "eval/accuracy"), list(range(2, last + 1, 2)))
        for rank in range(2):
            self.assertEqual(self.steps(f"rank-000{rank}", "step_seconds"), list(range(1, last + 1)))

    def test_values_names_groups_and_parameters(self):
        self.write("summary.json", '{"exit_reason": "completed"}')
        self.assertIn("first: 14 values sent to mlflow; the run is completed", self.export())
        self.assertEqual(StandIn.values["job"][:3], [("train/loss", 1, 1.0), ("train/loss", 2, 0.5), ("eval/accuracy", 2, 0.2)])
        self.assertEqual({name for name, _, _ in StandIn.values["job"]}, {"train/loss", "eval/accuracy"})
        self.assert_each_step_once(4)
        titles = {title: parameters for title, parameters in StandIn.experiments.values()}
        self.assertEqual(list(titles), ["first", "first rank-0000", "first rank-0001"])
        self.assertEqual(titles["first rank-0001"], {"lr": "0.05", "data": "a=b.h5", "run_id": "first", "ranks": "2",
                                                     "dataset": "cifar10", "rank": "1", "host": "n1", "device": "cpu", "threads": "4"})
        self.assertEqual(StandIn.reasons, ["completed"] * 3)

    def test_mean_average_precision_of_multi_label_runs(self):
        self.append("metrics.jsonl", {"event": "eval", "step": 5, "test_map": 0.25, "validation_map": 0.5})
        self.export()
        self.assertEqual(StandIn.values["job"][-2:], [("eval/map", 5, 0.25), ("validation/map", 5, 0.5)])

    def test_each_step_once_after_a_repeated_export_and_a_resume(self):
        for kind in (StandIn, AtEnd):
            with self.subTest(kind.__name__):
                self.use(kind)
                self.export()
                self.assertIn(" 0 values sent", self.export())
                for name in ("metrics.jsonl", "ranks/rank-0000.jsonl", "ranks/rank-0001.jsonl"):
                    self.cut_after(name, 2)
                self.write_steps(3, 6)
                self.assertIn(" 7 values sent", self.export())
                self.assert_each_step_once(6)
                self.assertEqual(len(StandIn.experiments), 3)
                for name in ("metrics.jsonl", "ranks/rank-0000.jsonl", "ranks/rank-0001.jsonl"):
                    self.cut_after(name, 4)

    def test_follows_a_run_that_is_resumed_until_it_ends(self):
        self.lock("held")
        half = '{"event": "step", "step": 9, "epoch": 4.5, "time": 1, '

        def resume():
            for name in ("metrics.jsonl", "ranks/rank-0000.jsonl", "ranks/rank-0001.jsonl"):
                self.cut_after(name, 4)
            self.write_steps(5, 8, "lines of another length")

        acts = [lambda: self.write_steps(5, 6), resume, lambda: self.append("metrics.jsonl", half),
                lambda: self.append("metrics.jsonl", '"loss": 0.5}\n'), lambda: self.lock("free")]
        seen = []

        def sleep(seconds):
            seen.append((seconds, len(StandIn.values["job"])))
            acts.pop(0)()

        with mock.patch.object(to_tracker.time, "sleep", sleep):
            self.export("--follow", "--every", "3")
        self.assertEqual(seen, [(3, 6), (3, 9), (3, 12), (3, 12), (3, 13)])
        self.assertEqual(self.steps("job", "train/loss"), list(range(1, 10)))
        self.assertEqual(self.steps("rank-0001", "step_seconds"), list(range(1, 9)))

    def test_follow_ends_when_the_heartbeat_does(self):
        self.lock("held")
        clock = [0]
        with mock.patch.object(to_tracker.time, "sleep", lambda seconds: clock.__setitem__(0, clock[0] + seconds)), \
             mock.patch.object(to_tracker.time, "monotonic", lambda: clock[0]):
            self.assertIn("the run is unfinished", self.export("--follow"))
        self.assertEqual(clock[0], to_tracker.BEAT_SECONDS)

    def test_what_was_not_sent_is_sent_by_the_next_export(self):
        for kind in (StandIn, AtEnd):
            with self.subTest(kind.__name__):
                self.use(kind)
                StandIn.fails_at = 3
                with self.assertRaises(OSError):
                    self.export()
                StandIn.fails_at = None
                self.export()
                self.assert_each_step_once(4)

    def test_faults_name_their_fix(self):
        with open(self.run_folder / "tracker-mlflow.lock", "w") as lock:
            to_tracker.fcntl.flock(lock, to_tracker.fcntl.LOCK_EX)
            self.assertIn("another export to mlflow is at work", self.export(code=75))
        with mock.patch.object(StandIn, "package", "no_such_package"):
            self.assertIn(f"fix: {sys.executable} -m pip install nothing", self.export(code=69))
        self.append("metrics.jsonl", "not JSON\n")
        self.assertIn("metrics.jsonl: a line is no JSON", self.export(code=65))
        (self.run_folder / "tracker-mlflow.json").write_text("{")
        self.assertIn("tracker-mlflow.json: is damaged", self.export(code=65))
        (self.run_folder / "manifest.json").write_text("{")
        self.assertIn("manifest.json: is damaged", self.export(code=65))
        os.remove(self.run_folder / "manifest.json")
        self.assertIn("holds no manifest.json; fix: ", self.export(code=66))

    def test_wandb_names_an_upload_only_for_an_offline_run(self):
        tracker = to_tracker.Wandb(to_tracker.Run(self.run_folder), "tandem")
        for mode, is_offline in ((None, True), ("offline", True), ("online", False), ("disabled", False)):
            with self.subTest(mode=mode), mock.patch.dict(os.environ, {"WANDB_MODE": mode} if mode else {}):
                if not mode:
                    os.environ.pop("WANDB_MODE", None)
                self.assertEqual(tracker.upload_command() is not None, is_offline)

    def test_mlflow_gets_at_most_100_parameters_at_once(self):
        self.write("config.ini", "".join(f"option-{i} = {i}\n" for i in range(220)))
        tracker = object.__new__(to_tracker.Mlflow)  # whose constructor needs the package
        tracker.run, tracker.experiment, tracker.job = to_tracker.Run(self.run_folder), "1", None
        tracker.client, tracker.entities = mock.MagicMock(), mock.MagicMock(Param=lambda name, value: (name, value))
        tracker.open("job", None)
        sent = [call.kwargs["params"] for call in tracker.client.log_batch.call_args_list]
        self.assertLessEqual(max(map(len, sent)), 100)
        self.assertEqual(dict(sum(sent, [])), tracker.run.parameters("job"))

    def test_is_a_program(self):
        done = subprocess.run([sys.executable, ROOT / "python/to_tracker.py", "--help"], capture_output=True, text=True)
        self.assertIn("--to {comet,mlflow,wandb}", done.stdout)


if __name__ == "__main__":
    unittest.main()
