#!/usr/bin/env python3
"""--recipe cifar10-fast, on small batches of the built-in data: its parts work together, at any number of ranks and after a
restart."""

import json
import shutil
import subprocess
import tempfile
import unittest

from safetensors_file import bytes_of_tensors
from tandem import PROGRAM, TandemTest, read_lines, whole

# Three steps an epoch; the whitening bias is trained in the first two of four epochs.
FAST = ["--recipe", "cifar10-fast", "--global-batch-size", "80", "--epochs", "4", "--early-epochs", "2", "--threads", "1"]


class FastRecipe(TandemTest):
    keeps_ranks = True

    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory(prefix="tandem-fast-")
        cls.addClassCleanup(folder.cleanup)
        cls.data = f"{folder.name}/few.h5"  # few images, because fastnet is slow
        subprocess.run([PROGRAM, "pack", "--input", "synthetic", "--images", "240", "--output", cls.data], check=True)

    def fast(self, ranks, run_id, *options):
        done = self.mpirun(ranks, "train", "--data", self.data, *FAST, "--run-id", run_id, "--quiet", "--json", *options)
        return json.loads(done.stdout.splitlines()[-1])

    def test_learns_and_asks_about_six_views_in_the_end(self):
        summary = self.fast(2, "a")
        self.assertEqual((summary["steps"], summary["images_seen"]), (12, 960))
        lines = read_lines(self.folder / "runs/a/metrics.jsonl")
        evaluations = [line for line in lines if line["event"] == "eval"]
        self.assertEqual([("test_accuracy_tta" in line) for line in evaluations], [False, False, False, True])
        self.assertEqual(evaluations[-1]["test_accuracy_tta"], summary["test_accuracy_tta"])
        losses = [line["loss"] for line in lines if line["event"] == "epoch"]
        self.assertLess(losses[-1], losses[0])
        again = self.evaluate(1, "runs/a", "--tta", "--precision", "bf16", data=self.data)
        self.assertEqual(again["test_accuracy_tta"], summary["test_accuracy_tta"])
        self.assertEqual(again["test_accuracy"], summary["test_accuracy"])
        self.assertIsNone(self.evaluate(1, "runs/a", data=self.data)["test_accuracy_tta"])

    @whole
    def test_curves_do_not_depend_on_the_number_of_ranks(self):
        """The summed loss of a global batch is the same, whoever has its images; BatchNorm sees a rank's images alone, so shards
        are the same here."""
        shared = ["--precision", "fp32", "--virtual-ranks", "4", "--max-steps", "5", "--eval-every", "0"]
        summaries = [self.fast(ranks, f"r{ranks}", *shared) for ranks in (1, 2, 4)]
        self.assertEqual(len({summary["weights_sha256"] for summary in summaries}), 1)

    @whole
    def test_goes_on_where_it_was_lost(self):
        """Before and after the whitening bias is let be. The schedule needs the run's whole length, so it is not cut short."""
        whole = self.fast(2, "whole", "--checkpoint-every", "4steps")
        for step in (4, 8):
            with self.subTest(step=step):
                parts = self.folder / f"runs/parts-{step}"
                shutil.copytree(self.folder / "runs/whole", parts)
                (parts / "summary.json").unlink()
                for later in range(step + 4, 13, 4):
                    (parts / f"checkpoints/step-{later:08}.safetensors").unlink()
                summary = self.fast(2, parts.name, "--resume", "auto")
                self.assertEqual(summary["weights_sha256"], whole["weights_sha256"])

    def test_a_run_of_an_earlier_recipe_keeps_its_values(self):
        """The recipe has changed since the run began: here the run had other values from the command line."""
        earlier = ["--early-epochs", "2", "--head-lr", "0.6", "--epochs", "2"]
        begin = ["train", "--data", self.data, "--recipe", "cifar10-fast", "--global-batch-size", "80", "--threads", "1", "--json"]
        first = self.mpirun(2, *begin, *earlier, "--run-id", "whole", "--checkpoint-every", "4steps")
        parts = self.folder / "runs/parts"
        shutil.copytree(self.folder / "runs/whole", parts)
        (parts / "summary.json").unlink()
        (parts / "checkpoints/step-00000006.safetensors").unlink()
        done = self.mpirun(2, *begin, "--run-id", "parts", "--resume", "auto")
        self.assertIn("the run keeps its --early-epochs 2, --epochs 2, --head-lr 0.6; --recipe cifar10-fast has other values", done.stdout)
        then, now = (json.loads(each.stdout.splitlines()[-1]) for each in (first, done))
        self.assertEqual((now["steps"], now["weights_sha256"]), (6, then["weights_sha256"]))
        config = (parts / "config.ini").read_text()
        for line in ("early-epochs = 2\n", "epochs = 2\n", "head-lr = 0.6\n"):
            self.assertIn(line, config)

    @whole
    def test_the_whitening_bias_is_let_be(self):
        self.fast(1, "whole", "--checkpoint-every", "3steps", "--keep-checkpoints", "4")
        half, whole = (bytes_of_tensors(self.folder / f"runs/whole/checkpoints/step-{step:08}.safetensors") for step in (6, 12))
        self.assertIn("whiten.bias", whole)
        for name in whole:
            if not name.startswith("optimizer."):
                self.assertEqual(whole[name] == half[name], name.startswith("whiten."), name)
        self.assertNotEqual(half["whiten.bias"].strip(b"\0"), b"")


if __name__ == "__main__":
    unittest.main(verbosity=2)
