#!/usr/bin/env python3
"""tandem train --augment: torchvision's augmentations give the same bits at any number of ranks and after a resume."""

import json
import unittest

from tandem import DATA, TandemTest

ALL = "resized-crop=0.4,flip,color-jitter=0.3,0.3,0.3,0.1,rand-augment=1,9,random-erasing=0.3,mixup=0.4,cutmix"
# 600 images make 9.375 batches of 64, so most steps are in the middle of an epoch.
TRAIN = ["train", "--data", DATA, "--model", "lenet", "--global-batch-size", "64", "--lr", "0.01", "--label-smoothing", "0.1",
         "--virtual-ranks", "4", "--threads", "1", "--epochs", "1000", "--log-every", "1", "--quiet", "--eval-every", "0", "--json"]


class Augment(TandemTest):
    keeps_ranks = True

    def run_to(self, ranks, steps, run_id, *options, code=0):
        done = self.mpirun(ranks, *TRAIN, "--run-id", run_id, "--max-steps", steps, *options, code=code)
        return done if code else json.loads(done.stdout.splitlines()[-1])

    def test_the_ranks_do_not_matter(self):
        for name, words in (("trivial", "trivial-augment,mixup=0.2"), ("all", ALL)):
            with self.subTest(words):
                digests = {self.run_to(ranks, 12, f"{name}-{ranks}", "--augment", words)["weights_sha256"] for ranks in (1, 2, 4)}
                self.assertEqual(len(digests), 1)
        other = self.run_to(2, 12, "seed", "--augment", ALL, "--seed", "2")["weights_sha256"]
        plain = self.run_to(2, 12, "plain", "--augment", "flip")["weights_sha256"]
        self.assertEqual(len({*digests, other, plain}), 3)

    def test_a_resumed_run_goes_on_alike(self):
        whole = self.run_to(2, 14, "whole", "--augment", ALL)
        self.run_to(2, 5, "parts", "--augment", ALL)
        parts = self.run_to(1, 14, "parts", "--augment", ALL, "--resume", "auto")
        for field in ("weights_sha256", "steps", "images_seen", "train_loss"):
            self.assertEqual(parts[field], whole[field], field)
        done = self.run_to(2, 15, "parts", "--augment", "flip", "--resume", "auto", code=78)
        self.assert_one_error(done, f"--augment: the run has '{ALL}', now 'flip' is asked for")

    def test_training_still_learns(self):
        """Mixed labels that went to the wrong images would keep the loss at ln 10 = 2.3."""
        done = self.train(2, "mixed", "--max-steps", "300", "--epochs", "1000", "--model", "simple", "--augment",
                          "flip,mixup=0.2,cutmix=0.2", "--lr", "0.02", "--eval-every", "0")
        self.assertGreater(self.evaluate(1, "runs/mixed")["test_accuracy"], 0.4)
        self.assertLess(done["train_loss"], 2)

    def test_words_that_do_not_fit(self):
        for words, said in ((["--augment", "resized-crop,crop=4"], "resized-crop and crop exclude each other"),
                            (["--augment", "color-jitter=0.4,0.4,0.4,0.6"], "--augment color-jitter.*0.6"),
                            (["--augment", "mixup=0"], "--augment mixup"),
                            (["--augment", "random-crop"], "'random-crop' is not known; use none, standard, "),
                            (["--augment", "cutmix", "--class-weights", "balanced"],
                             "--class-weights and --augment with mixup or cutmix exclude each other")):
            with self.subTest(words=words):
                self.assert_one_error(self.run_to(2, 1, "refused", *words, code=2), said)


if __name__ == "__main__":
    unittest.main(verbosity=2)
