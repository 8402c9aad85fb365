#!/usr/bin/env python3
"""tandem eval: exact on any number of ranks, and what it refuses."""

import unittest

import h5py

from tandem import DATA, TandemTest


class Eval(TandemTest):
    keeps_ranks = True

    def test_numbers_do_not_depend_on_the_number_of_ranks(self):
        summary = self.train(2, "a", "--model", "lenet")
        results = [self.evaluate(ranks, "runs/a") for ranks in (1, 2, 3, 4)]
        for result in results:
            result.pop("seconds")
            self.assertEqual(result, results[0])
        self.assertEqual(results[0]["test_accuracy"], summary["test_accuracy"])
        self.assertEqual(results[0]["test_loss"], summary["test_loss"])
        self.assertEqual(results[0]["images"], 120)
        self.assertEqual(results[0]["correct"] / 120, results[0]["test_accuracy"])
        per_class = results[0]["class_accuracy"]
        self.assertEqual(len(per_class), 10)
        # The built-in set has the classes in turn, so each has 12 of the 120 images.
        self.assertAlmostEqual(sum(per_class.values()) * 12, results[0]["correct"], places=6)

    def test_more_ranks_than_batches(self):
        """120 images are one batch of at most 500; 501 are two, the second with a single image."""
        self.tandem("pack", "--input", "synthetic", "--images", "2505", "--output", "odd.h5")
        with h5py.File(self.folder / "odd.h5", "r") as file:
            images = len(file["test/labels"])
        self.assertEqual(images, 501)
        self.train(1, "a")
        results = [self.evaluate(ranks, "runs/a", "--data", "odd.h5") for ranks in (1, 3)]
        self.assertEqual(results[0]["images"], 501)
        self.assertEqual(results[0]["correct"], results[1]["correct"])
        self.assertEqual(results[0]["test_loss"], results[1]["test_loss"])

    def test_text_and_json_agree(self):
        self.train(1, "a")
        result = self.evaluate(1, "runs/a")
        text = self.tandem("eval", "--data", DATA, "--checkpoint", "runs/a").stdout
        self.assertIn(f"\ntest loss {result['test_loss']}  test accuracy ", text)
        self.assertIn(f"\n{result['correct']} of 120 correct, every image exactly once, ", text)
        self.assertLessEqual(max(map(len, text.splitlines())), 80)

    def test_missing_and_damaged_models_are_refused(self):
        self.train(1, "a")
        self.assert_one_error(self.mpirun(2, "eval", "--data", DATA, "--checkpoint", "absent", code=66), "absent")
        model = self.folder / "runs/a/model/model.safetensors"
        whole = model.read_bytes()
        for name, content in (("short", whole[:-1]), ("long", whole + b"x"), ("empty", b""), ("text", b"hello" * 99)):
            with self.subTest(name):
                model.write_bytes(content)
                done = self.mpirun(2, "eval", "--data", DATA, "--checkpoint", model, code=65)
                self.assert_one_error(done, "model.safetensors")

    def test_missing_options_are_named_together(self):
        self.assert_one_error(self.mpirun(2, "eval", code=2), "--data", "--checkpoint")


if __name__ == "__main__":
    unittest.main(verbosity=2)
