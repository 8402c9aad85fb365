#!/usr/bin/env python3
"""tandem train --validation-split: what is held out, and what is told of it."""

import json
import unittest

from safetensors_file import metadata_of
from tandem import DATA, TandemTest, read_lines

# Of 600 training images a quarter of each class: 450 are left, of which 8 steps make an epoch.
HELD_OUT = 150
EPOCHS = ["--data", DATA, "--model", "mlp", "--global-batch-size", "64", "--virtual-ranks", "2", "--validation-split", "0.25"]


def state_of(checkpoint):
    return json.loads(metadata_of(checkpoint)["state"])


class Validation(TandemTest):
    keeps_ranks = True

    def run_of(self, ranks, run_id, *options, epochs=2):
        self.mpirun(ranks, "train", *EPOCHS, "--epochs", epochs, "--run-id", run_id, "--quiet", *options)
        return self.folder / "runs" / run_id

    def summary(self, run):
        return json.loads((run / "summary.json").read_text())

    def evaluations(self, run):
        return [{name: line[name] for name in line if name not in ("time", "seconds")}
                for line in read_lines(run / "metrics.jsonl") if line["event"] == "eval"]

    def test_it_takes_the_place_of_the_test_images_until_the_end(self):
        run = self.run_of(2, "a")
        found = self.evaluations(run)
        self.assertEqual([(line["step"], "validation_loss" in line, line["images"]) for line in found],
                         [(8, True, HELD_OUT), (16, True, HELD_OUT), (16, False, 120)])
        summary = self.summary(run)
        self.assertEqual((summary["validation_loss"], summary["validation_accuracy"]),
                         (found[1]["validation_loss"], found[1]["validation_accuracy"]))
        self.assertEqual((summary["test_loss"], summary["test_accuracy"]), (found[2]["test_loss"], found[2]["test_accuracy"]))
        self.assertEqual(summary["images_seen"], 2 * (600 - HELD_OUT))

    def test_it_is_the_same_at_any_number_of_ranks(self):
        one, two = self.run_of(1, "one"), self.run_of(2, "two")
        self.assertEqual(self.evaluations(one), self.evaluations(two))
        self.assertEqual(self.summary(one)["weights_sha256"], self.summary(two)["weights_sha256"])

    def test_the_best_is_that_of_the_validation(self):
        run = self.run_of(2, "a", "--save-best", "--lr", "0.2", epochs=4)  # at which answers get worse again
        best = max(line.get("validation_accuracy", 0) for line in self.evaluations(run))
        self.assertEqual(state_of(run / "checkpoints" / "best.safetensors")["last_validation"]["accuracy"], best)

    def test_a_run_goes_on_with_the_same_part_only(self):
        run = self.run_of(2, "a")
        done = self.mpirun(2, "train", *EPOCHS, "--run-id", "a", "--resume", "auto", "--epochs", "3",
                           "--validation-split", "0.1", code=78)
        self.assert_one_error(done, "--validation-split", "0.25", "0.1")
        self.mpirun(2, "train", *EPOCHS, "--run-id", "a", "--resume", "auto", "--epochs", "3", "--quiet")
        self.assertEqual([line["step"] for line in self.evaluations(run) if "validation_loss" in line], [8, 16, 24])


if __name__ == "__main__":
    unittest.main(verbosity=2)
