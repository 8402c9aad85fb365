#!/usr/bin/env python3
"""Ranks that train as one: the same curves at any number of ranks, and one voice where something is wrong on one of them."""

import json
import pathlib
import unittest

from rank_variable import FIND_RANK
from tandem import DATA, MPIRUN, PROGRAM, QUICK, TandemTest, read_lines, whole


class Ranks(TandemTest):
    keeps_ranks = True

    def losses(self, run_id):
        losses = [line["loss"] for line in read_lines(self.folder / "runs" / run_id / "metrics.jsonl")
                  if line["event"] == "step"]
        self.assertTrue(losses)
        return losses

    @whole
    def test_loss_curves_of_1_to_4_ranks_agree(self):
        """50 steps over five epochs with a short last batch of 24 images each (600 = 9 * 64 + 24).

        The learning rate is one at which training itself does not amplify the last bit of a sum: at 0.02 and momentum
        0.9 a difference of 1e-7 in the first step has been seen to grow to 1e-4 by step 30. Two results that pooling
        compares may differ by less than that, and one flip is felt the more the higher the rate."""
        curves = []
        for ranks in (1, 2, 3, 4):
            self.train(ranks, f"np{ranks}", "--model", "simple", "--max-steps", "50", "--log-every", "1", "--augment",
                       "standard", "--lr", "0.005", "--eval-every", "0")
            curves.append(self.losses(f"np{ranks}"))
        self.assertEqual(len(curves[0]), 50)
        self.assertNotEqual(curves[0][0], curves[0][49])
        for curve in curves[1:]:
            for step, (one, other) in enumerate(zip(curves[0], curve, strict=True), start=1):
                self.assertLess(abs(other - one) / one, 1e-4, f"step {step}")

    def test_accumulation_changes_nothing_but_memory(self):
        whole = self.train(2, "whole", "--log-every", "1")
        parts = self.train(2, "parts", "--log-every", "1", "--accumulate", "4")
        self.assertEqual(whole["steps"], parts["steps"])
        for one, other in zip(self.losses("whole"), self.losses("parts"), strict=True):
            self.assertLess(abs(other - one) / one, 1e-4)

    def test_more_ranks_than_images_in_a_batch(self):
        few = self.train(4, "few", "--global-batch-size", "3", "--log-every", "1")
        self.train(1, "one", "--global-batch-size", "3", "--log-every", "1")
        self.assertEqual(few["images_seen"], 9)
        for one, other in zip(self.losses("one"), self.losses("few"), strict=True):
            self.assertLess(abs(other - one) / one, 1e-4)

    def test_damaged_data_is_one_message(self):
        content = bytearray(pathlib.Path(DATA).read_bytes())
        content[len(content) // 2] ^= 1
        (self.folder / "damaged.h5").write_bytes(content)
        self.assert_one_error(self.mpirun(3, "train", *QUICK, "--data", "damaged.h5", code=65), "damaged.h5")

    def test_different_options_end_all_ranks(self):
        done = self.mpirun_in_shell(3, FIND_RANK + 'if [ "$rank" = 2 ]; then set -- "$@" --seed 7; fi; exec "$@"',
                                    "train", *QUICK, code=78)
        self.assert_one_error(done, "--seed: rank 2 has '7', rank 0 has none")
        self.assertFalse((self.folder / "runs").exists())

    def test_training_that_diverges_ends_all_ranks(self):
        done = self.run_command([*MPIRUN, "-n", 2, PROGRAM, "train", *QUICK, "--lr", "1e9", "--max-steps", "9", "--run-id",
                                 "a"], 70, {})
        self.assertEqual(done.stderr.count("tandem: error: "), 1, done.stderr)
        words = r"step \d: the (gradient|loss of rank \d) is not finite at learning rate 1e\+09"
        self.assertRegex(done.stderr, "tandem: error: " + words)
        summary = json.loads((self.folder / "runs/a/summary.json").read_text())
        self.assertEqual((summary["exit_reason"], summary["weights_sha256"]), ("failed", None))
        self.assertRegex(summary["error"], words)

    def test_a_fault_before_the_first_step_leaves_no_run(self):
        done = self.mpirun(2, "train", "--data", "absent.h5", "--run-id", "a", code=66)
        self.assert_one_error(done, "absent.h5: cannot be read")
        self.assertFalse((self.folder / "runs" / "a").exists())
        self.train(2, "a")


if __name__ == "__main__":
    unittest.main(verbosity=2)
