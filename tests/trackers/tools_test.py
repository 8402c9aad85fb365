#!/usr/bin/env python3
"""Runs exported by python/to_tracker.py while they train and after a resume, read back by MLflow, by W&B's messages and by
Comet's reader of offline archives. Runs under a Python with these packages: make -f Makefile.hpc trackers-test."""

import glob
import json
import os
import pathlib
import struct
import subprocess
import sys
import time
import unittest

import comet_ml.offline
from mlflow import MlflowClient
from tandem import DATA, MPIRUN, PROGRAM, TandemTest, read_lines
from wandb.proto import wandb_internal_pb2

SCRIPT = pathlib.Path(__file__).parents[2] / "python/to_tracker.py"
TRAIN = ["train", "--data", DATA, "--model", "mlp", "--lr", "0.01", "--global-batch-size", "200", "--log-every", "1",
         "--run-id", "a", "--quiet"]
STREAMS = ("job", "rank-0000", "rank-0001")
# Of each stream: the tracker's name, and where the value is in the files of the run.
VALUES = {"job": [("train/loss", "step", "loss"), ("eval/accuracy", "eval", "test_accuracy")],
          "rank-0000": [("step_seconds", "step", "step_seconds")], "rank-0001": [("comm_seconds", "step", "comm_seconds")]}


def title(stream):
    return "a" if stream == "job" else f"a {stream}"


def wandb_records(path):
    """A file of W&B: a header of 7 bytes, then blocks of 32 KiB with the records of LevelDB's log."""
    content, at, record = path.read_bytes(), 7, b""
    while at + 7 <= len(content):
        if 32768 - at % 32768 < 7:
            at += 32768 - at % 32768
            continue
        _, size, kind = struct.unpack("<IHB", content[at:at + 7])
        record += content[at + 7:at + 7 + size]
        at += 7 + size
        if kind in (1, 4):  # whole, or the last part
            yield wandb_internal_pb2.Record.FromString(record)
            record = b""


class Tools(TandemTest):
    def export(self, tool, *options):
        done = subprocess.run([sys.executable, "-B", SCRIPT, "runs/a", "--to", tool, *options], cwd=self.folder, text=True,
                              capture_output=True, env=self.environment())
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        return done.stdout

    def environment(self):
        return {**os.environ, "MLFLOW_TRACKING_URI": f"sqlite:///{self.folder}/mlflow.db", "HOME": str(self.folder)}

    def export_a_run_that_is_killed_and_resumed(self, tool):
        """Followed while it trains, stopped after a checkpoint, resumed from an earlier one, exported at the end."""
        run = subprocess.Popen([*MPIRUN, "-n", "2", PROGRAM, *TRAIN, "--epochs", "2", "--max-steps", "5", "--checkpoint-every", "2"],
                               cwd=self.folder)
        while not (self.folder / "runs/a/manifest.json").exists():
            self.assertIsNone(run.poll())
            time.sleep(0.05)
        self.export(tool, "--follow", "--every", "0.2")
        self.assertEqual(run.wait(), 0)
        self.mpirun(2, *TRAIN, "--epochs", "2", "--resume", self.folder / "runs/a/checkpoints/step-00000004.safetensors")
        self.assertNotIn(" 0 values", self.export(tool))
        self.assertIn(" 0 values", self.export(tool))

    def expected(self, stream, event, field):
        """The values of the first life, which were exported, under those of the second."""
        name = "metrics.jsonl" if stream == "job" else f"ranks/{stream}.jsonl"
        paths = [*self.folder.glob(f"runs/a/checkpoints/superseded-*/{name}"), self.folder / "runs/a" / name]
        return {line["step"]: line[field] for path in paths for line in read_lines(path)
                if line["event"] == event and field in line}

    def assert_exported(self, found):
        """found(STREAM, NAME): (step, value) of a metric. Values of step 5 are those of the first life, so steps count here."""
        for stream, metrics in VALUES.items():
            for name, event, field in metrics:
                expected = self.expected(stream, event, field)
                pairs = sorted(found(stream, name))
                self.assertEqual([step for step, _ in pairs], sorted(expected), f"{stream} {name}")
                for step, value in pairs:
                    if step != 5 or field == "loss":
                        self.assertAlmostEqual(value, expected[step], places=6)

    def test_mlflow(self):
        self.export_a_run_that_is_killed_and_resumed("mlflow")
        client = MlflowClient(self.environment()["MLFLOW_TRACKING_URI"])
        experiment = client.get_experiment_by_name("tandem").experiment_id
        runs = {run.info.run_name: run for run in client.search_runs([experiment], "tags.run_id = 'a'")}
        self.assertEqual(sorted(runs), sorted(map(title, STREAMS)))
        for stream in STREAMS[1:]:
            self.assertEqual(runs[title(stream)].data.tags["mlflow.parentRunId"], runs["a"].info.run_id)
        self.assertEqual((runs["a"].info.status, runs["a"].data.params["lr"]), ("FINISHED", "0.01"))
        self.assert_exported(lambda stream, name: [
            (metric.step, metric.value) for metric in client.get_metric_history(runs[title(stream)].info.run_id, name)])

    def test_wandb(self):
        self.export_a_run_that_is_killed_and_resumed("wandb")
        names, values = {}, {}
        for path in sorted((self.folder / "runs/a/wandb").glob("offline-run-*/*.wandb")):
            for record in wandb_records(path):
                if record.WhichOneof("record_type") == "run":
                    names[record.run.run_id] = record.run.display_name
                    self.assertEqual((record.run.run_group, record.run.project), ("a", "tandem"))
                for item in record.history.item:
                    key = item.key or "/".join(item.nested_key)
                    values.setdefault((path.stem.removeprefix("run-"), key), []).append(
                        (record.history.step.num, json.loads(item.value_json)))
        self.assertEqual(sorted(names.values()), sorted(map(title, STREAMS)))
        ids = {name: identity for identity, name in names.items()}
        self.assert_exported(lambda stream, name: values[ids[title(stream)], name])

    def test_comet(self):
        self.export_a_run_that_is_killed_and_resumed("comet")
        names, values = {}, {}
        for path in sorted(glob.glob(f"{self.folder}/runs/a/comet/*.zip")):
            folder = comet_ml.offline.unzip_offline_archive(path)
            key = pathlib.Path(path).name[:40]
            for line in (pathlib.Path(folder) / "messages.json").read_text().splitlines():
                message = json.loads(line)
                payload = message["payload"]
                if message["type"] == "metric_msg":
                    metric = payload["metric"]
                    values.setdefault((key, metric["metricName"]), []).append((metric["step"], metric["metricValue"]))
                elif payload.get("key") == "Name":
                    names[payload["value"]] = key
        self.assertEqual(sorted(names), sorted(map(title, STREAMS)))
        self.assert_exported(lambda stream, name: values[names[title(stream)], name])


if __name__ == "__main__":
    unittest.main()
