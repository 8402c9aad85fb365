#!/usr/bin/env python3
"""Multi-label data sets: the loss, mean average precision, and the same bits on any number of ranks."""

import json
import unittest

import h5py
import numpy

from packed_files import seal_version2
from tandem import DATA, TandemTest, read_lines

TRAIN = ["--model", "lenet", "--epochs", "2", "--lr", "0.05", "--global-batch-size", "40", "--quiet", "--json", "--threads", "1"]


def average_precision(scores, targets):
    """As scikit-learn defines it, by the definition."""
    total = before = 0.0
    for threshold in sorted(set(scores), reverse=True):
        chosen = targets[scores >= threshold]
        recall = chosen.sum() / targets.sum()
        total += (recall - before) * chosen.mean()
        before = recall
    return total


class MultiLabel(TandemTest):
    keeps_ranks = True

    def setUp(self):
        super().setUp()
        self.tandem("pack", "--input", "synthetic", "--store", "encoded", "--multi-label", "--images", "600", "--size", "28",
                    "--output", "drawn.h5")

    def summary(self, ranks, run_id, *options, data="drawn.h5"):
        done = self.mpirun(ranks, "train", "--data", data, *TRAIN, "--run-id", run_id, *options)
        return json.loads(done.stdout.splitlines()[-1])

    def test_h5py_reads_the_targets(self):
        inspected = json.loads(self.tandem("inspect", "--json", "drawn.h5").stdout)
        self.assertEqual(inspected["targets"], "multi-label")
        with h5py.File(self.folder / "drawn.h5") as file:
            targets = file["train/targets"]
            self.assertEqual((targets.dtype, targets.shape), (numpy.uint8, (600, 10)))
            self.assertNotIn("labels", file["train"])
            self.assertEqual(set(targets[:].sum(1)), {0, 1, 2, 3})
        self.assertIn("whole", self.tandem("verify", "drawn.h5").stdout)

    def test_same_bits_on_any_number_of_ranks(self):
        mixed = ["--virtual-ranks", "4", "--validation-split", "0.2", "--augment", "flip,mixup=0.4,cutmix=1",
                 "--label-smoothing", "0.1"]
        found = [self.summary(ranks, f"on{ranks}", *mixed) for ranks in (1, 2, 4)]
        for name in ("weights_sha256", "test_map", "validation_map", "test_loss", "train_loss"):
            self.assertEqual({each[name] for each in found}, {found[0][name]}, name)
        plain = self.summary(2, "plain", "--virtual-ranks", "4")["weights_sha256"]
        weighted = [self.summary(ranks, f"weighted{ranks}", "--virtual-ranks", "4", "--class-weights", "balanced")["weights_sha256"]
                    for ranks in (1, 4)]
        self.assertEqual(weighted[0], weighted[1])
        self.assertEqual(len({plain, weighted[0], found[0]["weights_sha256"]}), 3)

    def test_learns_and_reports_mean_average_precision(self):
        summary = self.summary(2, "a", "--epochs", "16", "--optimizer", "adamw", "--lr", "0.003", "--save-best")
        self.assertIsNone(summary["test_accuracy"])
        self.assertIsNone(summary["test_accuracy_top5"])
        self.assertGreater(summary["test_map"], 0.35, "the images of a class are 15 % of all")
        self.assertEqual(summary["images_seen"], 16 * 600)
        lines = read_lines(self.folder / "runs/a/metrics.jsonl")
        evaluations = [line for line in lines if line["event"] == "eval"]
        self.assertEqual(evaluations[-1]["test_map"], summary["test_map"])
        self.assertFalse([line for line in lines if "accuracy" in line or "test_accuracy" in line])
        evaluation = json.loads((self.folder / "runs/a/evaluation.json").read_text())
        self.assertAlmostEqual(numpy.mean(evaluation["class_average_precision"]), summary["test_map"], 12)
        page = (self.folder / "runs/a/report.html").read_text()
        self.assertIn("Average precision of each class", page)
        self.assertIn("test mAP", page)
        best = max(line["test_map"] for line in evaluations)
        self.assertEqual(self.evaluate(1, "runs/a/checkpoints/best.safetensors", data="drawn.h5")["test_map"], best)
        self.assertRegex(self.tandem("runs").stdout, "test_map")

    def test_evaluation_is_exact_and_agrees_with_predictions(self):
        summary = self.summary(2, "a")
        found = [self.evaluate(ranks, "runs/a", "--eval-batch-size", "7", data="drawn.h5") for ranks in (1, 3)]
        for each in found:
            each.pop("seconds")
        self.assertEqual(found[0], found[1])
        self.assertEqual(found[0]["test_map"], summary["test_map"])
        with h5py.File(self.folder / "drawn.h5") as file:
            targets, classes = file["test/targets"][:], list(file["classes"].asstr())
            for i in range(len(targets)):
                picture = file["test/bytes"][slice(*file["test/offsets"][i:i + 2])].tobytes()
                (self.folder / f"{i:03}.jpg").write_bytes(picture)
        done = self.tandem("predict", "--checkpoint", "runs/a", "--json", *sorted(path.name for path in self.folder.glob("*.jpg")))
        answers = [json.loads(line) for line in done.stdout.splitlines()]
        for i, name in enumerate(classes):
            scores = numpy.array([answer["probabilities"][name] for answer in answers])
            self.assertAlmostEqual(average_precision(scores, targets[:, i]), found[0]["class_average_precision"][name], 6)
            self.assertEqual(found[0]["class_images"][name], targets[:, i].sum())
        for answer in answers:
            likely = {name for name, value in answer["probabilities"].items() if value > 0.5}
            self.assertEqual(set(answer["labels"]), likely)
        shown = self.tandem("predict", "--checkpoint", "runs/a", "000.jpg").stdout
        self.assertRegex(shown, r"^(-|[a-z ]+ 0\.\d{4}.*)  000\.jpg\n$")

    def test_resumed_run_has_the_same_weights(self):
        whole = self.summary(2, "whole")
        self.summary(2, "parts", "--max-steps", "17", "--checkpoint-every", "5")
        resumed = self.summary(2, "parts", "--resume", "auto", "--max-steps", str(whole["steps"]))
        for name in ("steps", "weights_sha256", "test_map", "images_seen"):
            self.assertEqual(resumed[name], whole[name], name)

    def test_early_stopping_follows_the_mean_average_precision(self):
        summary = self.summary(1, "a", "--epochs", "9", "--lr", "1e-12", "--early-stop", "2")
        self.assertTrue(summary["ended_early"])
        notes = [line["text"] for line in read_lines(self.folder / "runs/a/metrics.jsonl") if line["event"] == "early_stop"]
        self.assertRegex(notes[0], "no better test mAP in 2 evaluations")

    def test_console_shows_mean_average_precision(self):
        done = self.mpirun(1, "train", "--data", "drawn.h5", "--model", "lenet", "--epochs", "1", "--run-id", "a")
        self.assertRegex(done.stdout, r"epoch 1/1  loss [0-9.]+ \| test mAP [0-9.]+ \*best \| ")
        self.assertRegex(done.stdout, r"test mAP +0\.\d{4}, the best of the run")

    def test_models_and_sets_of_the_other_kind_are_refused(self):
        self.summary(1, "several")
        self.train(1, "one")
        done = self.mpirun(2, "eval", "--data", DATA, "--checkpoint", "runs/several", code=65)
        self.assert_one_error(done, "any number of labels, trained on synthetic; images of synthetic have one label")
        done = self.mpirun(2, "eval", "--data", "drawn.h5", "--checkpoint", "runs/one", code=65)
        self.assert_one_error(done, "one label, trained on synthetic; images of synthetic have any number of labels")
        done = self.mpirun(2, "train", "--data", "drawn.h5", *TRAIN, "--tta", code=2)
        self.assert_one_error(done, "--tta is for sets with one label for each image")
        done = self.tandem("eval", "--data", "drawn.h5", "--checkpoint", "runs/several", "--tta", code=2)
        self.assert_one_error(done, "--tta is for sets with one label for each image")

    def write_own(self, train_targets, classes=("cat", "dog", "emu"), labels=False):
        """A set of pixels, written by h5py as docs/formats.md says."""
        random = numpy.random.default_rng(2)
        path = self.folder / "own.h5"
        targets = {"train": train_targets, "test": numpy.eye(3, dtype=numpy.uint8)}
        with h5py.File(path, "w", userblock_size=512, libver=("earliest", "v110")) as file:
            arrays = []
            for split, rows in targets.items():
                images = random.integers(0, 256, (len(rows), 3, 28, 28), dtype=numpy.uint8)
                arrays.append(file.create_dataset(f"{split}/images", data=images))
                file.create_dataset(f"{split}/targets", data=rows)
                if labels:
                    file.create_dataset(f"{split}/labels", data=numpy.zeros(len(rows), dtype="<u2"))
                if split == "train":
                    mean, std = images.mean((0, 2, 3)) / 255, images.std((0, 2, 3)) / 255
            file.create_dataset("classes", data=numpy.array([name.encode() for name in classes], dtype="S3"))
            for name, value in (("format", "tandem-dataset"), ("version", 2), ("name", "own"), ("shape", [3, 28, 28]),
                                ("mean", mean), ("std", std), ("source_sha256", "0" * 64), ("complete", 1)):
                file.attrs[name] = value
            file.flush()
            pictures = [(each.id.get_offset(), each.id.get_storage_size()) for each in arrays]
        seal_version2(path, pictures)

    def test_a_set_of_pixels_that_h5py_wrote(self):
        targets = numpy.array([[1, 0, 1], [0, 0, 0], [0, 1, 0], [1, 1, 1]], dtype=numpy.uint8).repeat(10, axis=0)
        self.write_own(targets)
        self.assertIn("whole", self.tandem("verify", "own.h5").stdout)
        found = [self.summary(ranks, f"own{ranks}", "--virtual-ranks", "2", data="own.h5") for ranks in (1, 2)]
        self.assertEqual(found[0]["weights_sha256"], found[1]["weights_sha256"])
        self.assertEqual(found[0]["images_seen"], 80)
        for change, words in (({"classes": ("cat", "dog")}, "has 3 columns, 2 are expected, one for each class"),
                              ({"labels": True}, "holds labels and targets, only one of them is expected")):
            self.write_own(targets, **change)
            self.assert_one_error(self.tandem("verify", "own.h5", code=65), words)
        self.write_own(targets.astype("<u2"))
        self.assert_one_error(self.tandem("verify", "own.h5", code=65), "/train/targets has another type, uint8 is expected")


if __name__ == "__main__":
    unittest.main(verbosity=2)
