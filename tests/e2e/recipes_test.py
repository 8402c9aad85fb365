#!/usr/bin/env python3
"""Recipes that are too long for a test start and train, on few and small images."""

import json
import subprocess
import tempfile
import unittest

from tandem import PROGRAM, TandemTest, read_lines


class Recipes(TandemTest):
    keeps_ranks = True

    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory(prefix="tandem-recipes-")
        cls.addClassCleanup(folder.cleanup)
        cls.small, cls.pictures = f"{folder.name}/small.h5", f"{folder.name}/pictures.h5"
        for words in (["--images", "240", "--output", cls.small],
                      ["--images", "48", "--size", "64", "--store", "encoded", "--output", cls.pictures]):
            subprocess.run([PROGRAM, "pack", "--input", "synthetic", *words], check=True)

    def train(self, recipe, data, run_id, *options, ranks=2):
        done = self.mpirun(ranks, "train", "--data", data, "--recipe", recipe, "--threads", "1", "--run-id", run_id, "--quiet", "--json",
                           *options)
        return json.loads(done.stdout.splitlines()[-1])

    def test_large_batches(self):
        summary = self.train("cifar10-large-batch", self.small, "large", "--global-batch-size", "80", "--epochs", "2",
                             "--early-epochs", "1")
        self.assertEqual((summary["steps"], summary["images_seen"]), (6, 480))
        losses = [line["loss"] for line in read_lines(self.folder / "runs/large/metrics.jsonl") if line["event"] == "epoch"]
        self.assertLess(losses[-1], losses[0])
        self.assertIsNotNone(summary["test_accuracy_tta"])

    def test_fine_tuning_of_pictures(self):
        length = ["--global-batch-size", "8", "--max-steps", "3"]
        first = self.train("pictures-finetune", self.pictures, "first", *length)
        tuned = self.train("pictures-finetune", self.pictures, "tuned", *length, "--init-from", str(self.folder / "runs/first"))
        self.assertEqual((first["steps"], tuned["steps"]), (3, 3))
        self.assertNotEqual(first["weights_sha256"], tuned["weights_sha256"])

    def test_resnet50(self):
        """One rank and no checkpoint before the end, because its state has 200 MB."""
        summary = self.train("imagenet-resnet50", self.pictures, "large-net", "--batch-size", "4", "--max-steps", "2",
                             "--checkpoint-every", "0", ranks=1)
        self.assertEqual((summary["steps"], summary["images_seen"]), (2, 8))


if __name__ == "__main__":
    unittest.main(verbosity=2)
