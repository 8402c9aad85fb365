#!/usr/bin/env python3
"""Gradients that travel as bfloat16 or at a low rank: what is said of them, what they may not be combined with, and how a run goes
on."""

import json
import unittest

from tandem import DATA, QUICK, TandemTest, read_lines

BF16 = ["--grad-dtype", "bf16"]
LONGER = ["--data", DATA, "--model", "mlp", "--global-batch-size", "64", "--lr", "0.01", "--log-every", "1"]


class GradDtype(TandemTest):
    keeps_ranks = True

    def losses(self, run_id):
        return [line["loss"] for line in read_lines(self.folder / "runs" / run_id / "metrics.jsonl") if line["event"] == "step"]

    def test_the_banner_says_what_a_restart_keeps(self):
        done = self.mpirun(2, "train", *QUICK, *BF16, "--run-id", "a")
        self.assertIn("sent as bfloat16: a resumed run has the same curve, not the same bits", " ".join(done.stdout.split()))
        self.assertIn("\ngrad-dtype = bf16\n", (self.folder / "runs/a/config.ini").read_text())
        self.assertNotIn("bfloat16", self.mpirun(2, "train", *QUICK, "--run-id", "b").stdout)

    def test_a_run_that_goes_on_has_the_same_curve(self):
        words = ["train", *LONGER, *BF16, "--quiet"]
        self.mpirun(2, *words, "--max-steps", 8, "--run-id", "whole")
        self.mpirun(2, *words, "--max-steps", 4, "--run-id", "parts")
        self.mpirun(2, *words, "--max-steps", 8, "--run-id", "parts", "--resume", "auto")
        whole, parts = self.losses("whole"), self.losses("parts")
        self.assertEqual(whole[:4], parts[:4])
        self.assertEqual(len(parts), 8)
        for one, other in zip(whole, parts, strict=True):
            self.assertLess(abs(one - other) / one, 1e-2)

    def test_a_run_may_go_on_in_fp32_and_with_the_sums_of_the_mpi_library_and_says_so(self):
        self.mpirun(2, "train", *QUICK, *BF16, "--run-id", "a")
        words = ["--all-reduce", "mpi", "--bucket-mb", 1]
        done = self.mpirun(2, "train", *LONGER, *words, "--max-steps", 4, "--run-id", "a", "--resume", "auto")
        text = " ".join(done.stdout.split())
        self.assertIn("flat sums then, mpi sums now; bf16 gradients then, fp32 gradients now", text)
        self.assertIn("summed by the MPI library in its own order: a resumed run has the same curve, not the same bits", text)

    def test_one_rank_rounds_nothing(self):
        self.assertEqual(self.train(1, "a", *BF16)["weights_sha256"], self.train(1, "b")["weights_sha256"])

    def test_what_promises_bits_refuses_it(self):
        done = self.mpirun(2, "train", *QUICK, *BF16, "--virtual-ranks", 2, code=2)
        self.assert_one_error(done, "--grad-dtype bf16 and --virtual-ranks exclude each other")
        done = self.mpirun(2, "train", *QUICK, *BF16, "--deterministic", "--bucket-mb", "auto", code=2)
        self.assert_one_error(done, "--deterministic and --grad-dtype bf16 exclude", "--deterministic and --bucket-mb auto exclude")
        self.assertFalse((self.folder / "runs").exists())
        self.assertEqual(self.train(2, "a", "--deterministic")["weights_sha256"], self.train(2, "b")["weights_sha256"])
        done = self.tandem("train", "--data", DATA, *BF16, "--precision", "fp16", code=2)
        self.assert_one_error(done, "--grad-dtype bf16 and --precision fp16 exclude each other")
        done = self.tandem("train", "--data", DATA, "--grad-dtype", "bfloat16", code=2)
        self.assert_one_error(done, r"--grad-dtype: 'bfloat16' is not one of fp32, bf16, powersgd; did you mean bf16\?")


POWERSGD = ["--grad-dtype", "powersgd", "--powersgd-rank", "2"]


class PowerSgd(TandemTest):
    keeps_ranks = True

    def digest(self, ranks, run_id, *options):
        done = self.mpirun(ranks, "train", *LONGER, *POWERSGD, "--run-id", run_id, "--quiet", "--json", *options)
        return json.loads(done.stdout.splitlines()[-1])["weights_sha256"]

    def test_a_run_that_goes_on_gives_the_same_bits(self):
        whole = self.digest(2, "whole", "--max-steps", 8, "--deterministic")
        self.digest(2, "parts", "--max-steps", 4)
        self.assertEqual(self.digest(2, "parts", "--max-steps", 8, "--resume", "auto"), whole)
        checkpoint = self.folder / "runs/parts/checkpoints/step-00000004.safetensors"
        self.assertIn(b"optimizer.powersgd_error.", checkpoint.read_bytes()[:10000])
        self.evaluate(1, checkpoint)

    def test_a_run_may_go_on_with_other_ranks_rank_and_gradients(self):
        self.digest(2, "a", "--max-steps", 2)
        for ranks, words in ((3, []), (1, []), (2, ["--powersgd-rank", 3]), (2, ["--grad-dtype", "fp32", "--bucket-mb", 1]), (2, [])):
            steps = 2 + len(list((self.folder / "runs/a/checkpoints").glob("step-*")))
            self.digest(ranks, "a", "--max-steps", steps, "--resume", "auto", "--keep-checkpoints", 9, *words)

    def test_it_is_said_and_kept(self):
        done = self.mpirun(2, "train", *QUICK, *POWERSGD, "--run-id", "a")
        self.assertRegex(" ".join(done.stdout.split()), r"gradients in 1 bucket, compressed by PowerSGD: [0-9.]+ kB in each step")
        config = self.folder / "runs/a/config.ini"
        self.assertIn("\ngrad-dtype = powersgd\npowersgd-rank = 2\n", config.read_text())
        self.mpirun(2, "train", "--config", config, "--run-id", "b", "--quiet")
        first, second = (json.loads((self.folder / "runs" / run / "summary.json").read_text()) for run in "ab")
        self.assertEqual(first["weights_sha256"], second["weights_sha256"])

    def test_one_rank_compresses_nothing(self):
        self.assertEqual(self.train(1, "a", *POWERSGD)["weights_sha256"], self.train(1, "b")["weights_sha256"])

    def test_what_it_cannot_do_is_refused(self):
        for words, said in ((["--virtual-ranks", 2], "--grad-dtype powersgd and --virtual-ranks exclude each other"),
                            (["--bucket-mb", 1], "--grad-dtype powersgd and --bucket-mb 1 exclude each other: .*give --bucket-mb 0"),
                            (["--bucket-mb", "auto"], "--grad-dtype powersgd and --bucket-mb auto exclude each other"),
                            (["--precision", "fp16"], "--grad-dtype powersgd and --precision fp16 exclude each other"),
                            (["--powersgd-rank", 0], "--powersgd-rank: ")):
            with self.subTest(words=words):
                self.assert_one_error(self.mpirun(2, "train", *QUICK, *POWERSGD, *words, code=2), said)


if __name__ == "__main__":
    unittest.main(verbosity=2)
