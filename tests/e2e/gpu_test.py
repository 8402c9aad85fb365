#!/usr/bin/env python3
"""tandem train and eval on real GPUs: what they compute is what CPUs compute, with and without NCCL."""

import json
import os
import unittest

from tandem import DATA, TandemTest, read_lines

os.environ.pop("CUDA_VISIBLE_DEVICES", None)  # which hides the GPUs from the other tests
# "cpu" tries the test itself where there is no GPU; then nothing can be asked of NCCL or fp16.
DEVICE = os.environ.get("TANDEM_TEST_DEVICE", "cuda")
TRAIN = ["train", "--data", DATA, "--model", "lenet", "--global-batch-size", "64", "--lr", "0.01", "--max-steps", "20",
         "--augment", "standard", "--log-every", "1", "--quiet", "--json"]


def models(*large):
    """Without the large ones where a CPU would take minutes."""
    return ("lenet",) if DEVICE == "cpu" else ("lenet", *large)


class Gpu(TandemTest):
    def train(self, ranks, run_id, *options, device=DEVICE):
        return json.loads(self.mpirun(ranks, *TRAIN, "--device", device, "--run-id", run_id, *options).stdout.splitlines()[-1])

    def losses(self, run_id):
        return [line["loss"] for line in read_lines(self.folder / "runs" / run_id / "metrics.jsonl") if line["event"] == "step"]

    def assert_same_curve(self, one, other, tolerance):
        self.assertEqual(len(self.losses(one)), 20)
        for found, expected in zip(self.losses(one), self.losses(other), strict=True):
            self.assertLess(abs(found - expected), tolerance * expected)

    @unittest.skipIf(DEVICE == "cpu", "a trial of the test without GPUs")
    def test_nccl_of_one_rank_gives_the_bits_of_mpi(self):
        digests = {self.train(1, backend, "--deterministic", "--backend", backend)["weights_sha256"] for backend in ("nccl", "mpi")}
        self.assertEqual(len(digests), 1)

    def test_the_curve_is_that_of_the_cpu(self):
        self.train(1, "gpu")
        self.train(1, "cpu", device="cpu")
        self.assert_same_curve("gpu", "cpu", 1e-3)

    def test_what_is_read_back_changes_nothing(self):
        """Where the host runs ahead, a missing wait between streams would show."""
        digests = {self.train(1, f"every-{steps}", "--deterministic", "--log-every", steps)["weights_sha256"] for steps in (1, 0)}
        self.assertEqual(len(digests), 1)

    def test_two_ranks_share_a_gpu_as_one_with_the_double_batch(self):
        share = [] if DEVICE == "cpu" else ["--share-gpu"]
        self.train(2, "two", *share)
        self.train(1, "one")
        self.assert_same_curve("two", "one", 1e-4)

    def test_each_precision_learns(self):
        for precision in ("bf16",) if DEVICE == "cpu" else ("tf32", "bf16", "fp16"):
            with self.subTest(precision=precision):
                self.train(1, precision, "--precision", precision, "--max-steps", "100", "--optimizer", "adamw",
                           "--lr", "0.002", "--augment", "none")
                losses = self.losses(precision)
                self.assertLess(sum(losses[-10:]), 0.8 * sum(losses[:10]))

    def test_runs_repeat_bit_for_bit_with_deterministic(self):
        for model in models("resnet9", "fastnet"):
            with self.subTest(model=model):
                digests = {self.train(1, f"{model}-{run}", "--model", model, "--max-steps", "8", "--precision", "bf16",
                                      "--deterministic")["weights_sha256"] for run in (1, 2)}
                self.assertEqual(len(digests), 1)

    def test_recorded_steps_give_the_bits_of_others(self):
        """With a short batch and, for fastnet, early parameters."""
        options = ["--deterministic", "--precision", "bf16", "--global-batch-size", "70", "--max-steps", "24"]
        for model in models("resnet9", "resnet18", "fastnet"):
            with self.subTest(model=model):
                digests = set()
                for recording in ("auto", "off"):
                    done = self.mpirun(1, *TRAIN, *options, "--model", model, "--device", DEVICE, "--cuda-graph", recording,
                                       "--run-id", f"{model}-{recording}")
                    self.assertNotIn("not recorded", done.stderr)
                    digests.add(json.loads(done.stdout.splitlines()[-1])["weights_sha256"])
                self.assertEqual(len(digests), 1)

    def test_a_summed_loss_in_fp16_skips_no_step(self):
        """Its scale starts lower."""
        precision = "bf16" if DEVICE == "cpu" else "fp16"
        done = self.train(1, "a", "--precision", precision, "--loss", "sum", "--lr", "0.0002")
        self.assertEqual(done["skipped_steps"], 0)

    def test_a_stop_is_noticed_between_agreements(self):
        done = self.mpirun(1, *TRAIN, "--device", DEVICE, "--run-id", "a", "--max-steps", "10000000",
                           "--epochs", "1000000", "--log-every", "0", "--max-time", "6", "--stop-margin", "1", code=75)
        self.assertEqual(json.loads(done.stdout.splitlines()[-1])["exit_reason"], "stopped")

    def test_a_run_goes_on_on_the_cpu_and_back(self):
        self.train(1, "a", "--max-steps", "10")
        for steps, device in ((15, "cpu"), (20, DEVICE)):
            self.train(1, "a", "--max-steps", steps, "--resume", "auto", device=device)
        self.train(1, "whole")
        self.assert_same_curve("a", "whole", 1e-3)

    def test_a_resumed_run_has_the_bits_of_one_that_was_not_stopped(self):
        for optimizer in ("sgd", "adamw"):
            with self.subTest(optimizer=optimizer):
                options = ["--deterministic", "--optimizer", optimizer]
                self.train(1, f"{optimizer}-a", *options, "--max-steps", "7")
                resumed = self.train(1, f"{optimizer}-a", *options, "--resume", "auto")
                whole = self.train(1, f"{optimizer}-whole", *options)
                self.assertEqual(resumed["weights_sha256"], whole["weights_sha256"])

    def test_evaluation_agrees_with_the_cpu(self):
        self.train(1, "a")
        found, expected = (json.loads(self.tandem("eval", "--data", DATA, "--checkpoint", "runs/a", "--device", device,
                                                  "--json").stdout) for device in (DEVICE, "cpu"))
        self.assertLess(abs(found["test_loss"] - expected["test_loss"]), 1e-3 * expected["test_loss"])

    def test_a_profile_has_the_gpus_kernels(self):
        self.train(1, "a", "--profile", "5-6")
        events = json.loads((self.folder / "runs/a/traces/rank-0000.json").read_text())["traceEvents"]
        self.assertIn("cpu" if DEVICE == "cpu" else "gpu", {event.get("cat") for event in events})


if __name__ == "__main__":
    unittest.main(verbosity=2)
