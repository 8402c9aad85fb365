#!/usr/bin/env python3
"""tandem train: the run folder and what repeats."""

import hashlib
import json
import re
import shlex
import unittest

from safetensors_file import bytes_of_tensors
from tandem import DATA, QUICK, TandemTest, read_lines, whole

SUMMARY_KEYS = {"run_id", "exit_reason", "world_size", "steps", "epochs", "images_seen", "train_seconds",
                "images_per_second", "train_loss", "test_loss", "test_accuracy", "test_accuracy_tta", "weights_sha256"}


def digest_of_weights(path):
    """SHA-256 over the tensors of a .safetensors file, names sorted bytewise."""
    tensors = bytes_of_tensors(path)
    return hashlib.sha256(b"".join(tensors[name] for name in sorted(tensors, key=str.encode))).hexdigest()


class Train(TandemTest):
    def test_run_folder_is_complete(self):
        summary = self.train(2, "a", "--log-every", "1")
        run = self.folder / "runs" / "a"
        files = {str(path.relative_to(run)) for path in run.rglob("*") if path.is_file()}
        events = {name for name in files if name.startswith("events.out.tfevents.")}
        self.assertEqual(len(events), 1, files)
        self.assertEqual(files - events, {"config.ini", "manifest.json", "metrics.jsonl", "ranks/rank-0000.jsonl",
                                          "ranks/rank-0001.jsonl", "summary.json", "model/model.safetensors",
                                          "model/synthetic_net.pth", "run.lock", "checkpoints/latest",
                                          "checkpoints/step-00000003.safetensors", "evaluation.json", "report.html"})
        self.assertEqual(json.loads((run / "summary.json").read_text()), summary)
        self.assertLessEqual(SUMMARY_KEYS, set(summary))
        self.assertEqual((summary["run_id"], summary["exit_reason"], summary["world_size"], summary["steps"]),
                         ("a", "completed", 2, 3))
        self.assertEqual(summary["images_seen"], 3 * 64)
        self.assertEqual(summary["weights_sha256"], digest_of_weights(run / "model/model.safetensors"))

        manifest = json.loads((run / "manifest.json").read_text())
        self.assertEqual([rank["rank"] for rank in manifest["ranks"]], [0, 1])
        self.assertIn("train", manifest["command_line"])

        lines = read_lines(run / "metrics.jsonl")
        for line in lines:
            self.assertLessEqual({"event", "step", "epoch", "time"}, set(line))
        steps = [line for line in lines if line["event"] == "step"]
        self.assertEqual([line["step"] for line in steps], [1, 2, 3])
        for line in steps:
            self.assertLessEqual({"loss", "accuracy", "lr", "images_per_second"}, set(line))
        evaluation = [line for line in lines if line["event"] == "eval"][-1]
        self.assertEqual(evaluation["test_accuracy"], summary["test_accuracy"])
        self.assertEqual(evaluation["test_loss"], summary["test_loss"])

    def test_every_rank_tells_of_its_machine(self):
        self.train(2, "a", "--log-every", "1", "--system-interval", "0.01")
        for rank in range(2):
            lines = read_lines(self.folder / f"runs/a/ranks/rank-000{rank}.jsonl")
            self.assertEqual([line["step"] for line in lines], [1, 2, 3])
            for line in lines:
                self.assertLessEqual({"cpu_percent", "rss_bytes", "threads", "step_seconds", "data_seconds", "comm_seconds",
                                      "host_cpus", "host_memory_bytes", "host_memory_total_bytes"},
                                     set(line))
                self.assertGreater(line["rss_bytes"], 1e7)
                self.assertGreater(line["threads"], 1)
        for line in read_lines(self.folder / "runs/a/metrics.jsonl"):
            if line["event"] == "step":
                ranks = line["rank_images_per_second"]
                self.assertTrue(0 < ranks["min"] <= ranks["mean"] <= ranks["max"], ranks)
                self.assertGreater(line["grad_norm"], 0)

    def test_no_system_metrics_where_nobody_wants_them(self):
        self.train(1, "a", "--log-every", "1", "--system-interval", "0")
        for line in read_lines(self.folder / "runs/a/ranks/rank-0000.jsonl"):
            self.assertIn("step_seconds", line)
            self.assertNotIn("cpu_percent", line)

    def test_equal_seeds_give_equal_weights(self):
        digests = [self.train(2, run_id, "--augment", "standard", "--seed", seed)["weights_sha256"]
                   for run_id, seed in (("a", 3), ("b", 3), ("c", 4))]
        self.assertEqual(digests[0], digests[1])
        self.assertNotEqual(digests[0], digests[2])

    def test_config_of_a_run_repeats_it(self):
        first = self.train(2, "a", "--optimizer", "adamw", "--schedule", "cosine", "--label-smoothing", "0.1")
        done = self.mpirun(2, "train", "--config", "runs/a/config.ini", "--run-id", "b")
        second = json.loads((self.folder / "runs/b/summary.json").read_text())
        self.assertEqual(second["weights_sha256"], first["weights_sha256"], done.stdout)
        self.assertEqual((self.folder / "runs/a/config.ini").read_text(), (self.folder / "runs/b/config.ini").read_text())

    def test_without_launcher_it_is_one_rank(self):
        done = self.tandem("train", *QUICK, "--run-id", "a", "--quiet", "--json")
        alone = json.loads(done.stdout.splitlines()[-1])
        self.assertEqual(alone["world_size"], 1)
        self.assertEqual(alone["weights_sha256"], self.train(1, "b")["weights_sha256"])

    @whole
    def test_existing_run_is_left_alone(self):
        self.train(2, "a")
        before = {path: path.read_bytes() for path in (self.folder / "runs/a").rglob("*") if path.is_file()}
        self.assert_one_error(self.mpirun(2, "train", *QUICK, "--run-id", "a", code=73), "runs/a")
        after = {path: path.read_bytes() for path in (self.folder / "runs/a").rglob("*") if path.is_file()}
        self.assertEqual(after, before)

    @whole
    def test_runs_without_an_id_sort_by_time(self):
        for _ in range(2):
            self.tandem("train", *QUICK, "--quiet", "--eval-every", "0")
        runs = sorted((self.folder / "runs").iterdir(), key=lambda run: run.stat().st_mtime)
        self.assertEqual(len(runs), 2)
        self.assertEqual([run.name for run in runs], sorted(run.name for run in runs))

    def test_unusable_places_and_names_are_refused(self):
        (self.folder / "file").write_text("")
        self.assert_one_error(self.mpirun(2, "train", *QUICK, "--runs-dir", "file", code=73), "file")
        for name in ("../a", "a/b", "x" * 65, "a b"):
            with self.subTest(name=name):
                self.assert_one_error(self.tandem("train", *QUICK, "--run-id", name, code=2), "--run-id")
        self.assertFalse((self.folder / "runs").exists())

    def test_weights_that_the_last_step_ruined_are_not_exported(self):
        done = self.mpirun(2, "train", *QUICK, "--run-id", "a", "--max-steps", "1", "--lr", "1e9",
                           "--lr-reference-batch", "1e-30", "--eval-every", "0", "--quiet", code=70)
        self.assert_one_error(done, "not finite")
        self.assertEqual(list((self.folder / "runs/a/model").iterdir()), [])

    def test_no_evaluation_leaves_the_test_fields_null(self):
        summary = self.train(1, "a", "--eval-every", "0")
        self.assertIsNone(summary["test_loss"])
        self.assertIsNone(summary["test_accuracy"])

    def test_plain_lines_where_there_is_no_terminal(self):
        done = self.mpirun(2, "train", *QUICK, "--run-id", "a")
        self.assertNotIn("\r", done.stdout + done.stderr)
        self.assertNotIn("\x1b", done.stdout + done.stderr)
        self.assertRegex(done.stdout, r"^train a: mlp, 2 ranks, 3 steps\n  --data ")
        self.assertIn("\nglobal batch 64", done.stdout)
        self.assertRegex(done.stdout, r"\nepoch 1/1  loss .* \| test 0\.\d{3} \*best \| 192 of 600 images")
        self.assertIn("\n3 steps, 192 of 600 images, each exactly once\n", done.stdout)
        self.assertIn("\ndone: 3 steps in ", done.stdout)
        self.assertNotIn("default", done.stdout, "the table of options")
        commands = dict(re.findall(r"(?m)^  (model|report|evaluate) +(.*)$", done.stdout))
        for name in ("model", "report"):
            self.assertTrue((self.folder / commands[name]).is_file(), commands)
        words = shlex.split(commands["evaluate"])
        number = words.index("-np") + 1
        self.assertEqual([words[0], words[number]], ["mpirun", "2"])
        self.tandem(*words[number + 2:])

    def test_a_batch_that_leaves_no_full_step_is_told(self):
        done = self.tandem("train", "--data", DATA, "--model", "mlp", "--batch-size", "1000", "--epochs", "1")
        self.assertIn("the global batch of 1,000 is larger than the 600 training images, so an epoch has 1 step; fix: --batch-size 60",
                      done.stderr)

    def test_quiet_run_says_nothing(self):
        done = self.mpirun(2, "train", *QUICK, "--quiet")
        self.assertEqual((done.stdout, done.stderr), ("", ""))

    def test_export_and_inspect_read_the_run(self):
        self.train(1, "a")
        run = self.folder / "runs/a"
        self.tandem("export", "--checkpoint", "runs/a", "--output", "copy.safetensors")
        self.assertEqual(digest_of_weights(self.folder / "copy.safetensors"),
                         digest_of_weights(run / "model/model.safetensors"))
        self.tandem("export", "--checkpoint", "runs/a/model/model.safetensors", "--output", "copy.pth")
        self.assertEqual((self.folder / "copy.pth").read_bytes(), (run / "model/synthetic_net.pth").read_bytes())
        for command in ("verify", "inspect"):
            self.assert_one_error(self.tandem(command, "copy.pth", code=65), "copy.pth: is a file of PyTorch's", r"torch\.load\(\)")
        for name, reason in (("copy.pth", r"has no mark of tandem \(versions before "), ("copy.safetensors", "tandem did not write it;")):
            self.tandem("export", "--checkpoint", "runs/a", "--output", name)  # its own
            (self.folder / name).write_text("mine")
            done = self.tandem("export", "--checkpoint", "runs/a", "--output", name, code=73)
            self.assert_one_error(done, f"{name}: exists already, and {reason}.* add --force")
            self.tandem("export", "--checkpoint", "runs/a", "--output", name, "--force")
            self.assertGreater((self.folder / name).stat().st_size, 1000)
        for folder in ("runs/a/", "runs/a/model", "runs/a/checkpoints/"):
            read = self.mpirun(1, "eval", "--data", DATA, "--checkpoint", folder).stderr
            self.assertRegex(read, f"--checkpoint {folder}: reads runs/a/(model/model|checkpoints/step-00000003).safetensors")
        self.assertIn("mlp", self.tandem("inspect", "runs/a/model/model.safetensors").stdout)
        shown = self.tandem("inspect", "runs/a").stdout
        self.assertIn("completed", shown)
        self.assertRegex(shown, r"manifest\.segments\.0\.started +20\d\d-\d\d-\d\d \d\d:\d\d:\d\d UTC\n")
        self.assertNotIn("{", shown)

    def test_learns(self):
        """A linear classifier cannot, this network in this time can: well above chance on unseen images."""
        self.tandem("pack", "--input", "synthetic", "--images", "4000", "--output", "larger.h5")
        summary = self.train(2, "a", "--data", "larger.h5", "--model", "simple", "--max-steps", "0", "--epochs", "4",
                             "--lr", "0.05", "--schedule", "triangle")
        self.assertGreater(summary["test_accuracy"], 0.4)

    def test_gradient_checkpointing_keeps_the_bits(self):
        words = ["--data", DATA, "--model", "vit-tiny", "--batch-size", "4", "--max-steps", "2", "--eval-every", "0", "--quiet", "--json"]
        digests = {json.loads(self.mpirun(2, "train", *words, *more, "--run-id", name).stdout.splitlines()[-1])["weights_sha256"]
                   for name, more in (("kept", []), ("again", ["--gradient-checkpointing"]))}
        self.assertEqual(len(digests), 1)


if __name__ == "__main__":
    unittest.main(verbosity=2)
