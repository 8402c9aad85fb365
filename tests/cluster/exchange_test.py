#!/usr/bin/env python3
"""What crosses the link between two hosts when gradients are summed: less in two levels, and half of it as bfloat16."""

import json

from network import NetworkTest, run_tests
from tandem import read_lines, whole

# Gradients of 1,841,162 parameters.
TRAIN = ["train", "--data", "/tmp/data.h5", "--model", "mlp", "--global-batch-size", 64, "--lr", 0.01, "--threads", 1,
         "--log-every", 1, "--quiet"]
STEPS = 8
SUM_BYTES = 4 << 20


class Exchange(NetworkTest):
    def sent_by_n2(self, ranks, *words):
        """Bytes, and what the command printed."""
        before = self.hosts["n2"].bytes_sent()
        done = self.on_hosts(ranks, *words)
        return self.hosts["n2"].bytes_sent() - before, done.stdout

    def sums(self, *words):
        """Bytes for each pair of sums, ours and MPI's, of SUM_BYTES over three ranks on each of two hosts. (Of four ranks in all
        Open MPI adds neighbours first, which sends as little as two levels.)"""
        sent, text = self.sent_by_n2({"n1": 3, "n2": 3}, "bench", "allreduce", "--min-bytes", SUM_BYTES, "--max-bytes", SUM_BYTES,
                                     "--seconds", "0", "--json", *words)
        result = json.loads(text)
        self.assertEqual([size["wrong"] for size in result["sizes"]], [0])
        return sent / (result["sizes"][0]["pairs"] + 2), result

    def test_two_levels_send_less_over_the_link(self):
        """In each pair MPI's own sum is the same, so the difference is ours: in two levels a host says each byte once."""
        self.make_network(2, "1gbit")
        flat, _ = self.sums("--all-reduce", "flat")
        levels, _ = self.sums("--all-reduce", "two-level")
        self.assertLess(levels, flat - 0.3 * SUM_BYTES)

    @whole
    def test_ranks_that_do_not_follow_each_other_make_no_ring(self):
        """Each hop of it would be over the link, and a host send three times its gradients; by messages to all it is twice."""
        self.make_network(2, "1gbit")
        words = [*TRAIN, "--max-steps", STEPS, "--eval-every", 0, "--checkpoint-every", 0]
        gradients = 4 * 1841162 * STEPS
        sent, _ = self.sent_by_n2({"n1": 2, "n2": 2}, *words, "--run-id", "ring")
        self.assertLess(sent, 1.8 * gradients)
        self.network.placement = ["--map-by", "node"]
        sent, _ = self.sent_by_n2({"n1": 2, "n2": 2}, *words, "--run-id", "no-ring")
        self.assertLess(sent, 2.5 * gradients)
        ring, no_ring = self.summary("ring"), self.summary("no-ring")
        self.assertEqual(ring["weights_sha256"], no_ring["weights_sha256"])

    def losses(self, run_id):
        return [line["loss"] for line in read_lines(self.folder / "runs" / run_id / "metrics.jsonl") if line["event"] == "step"]

    def check_half(self, ranks, *options):
        words = [*TRAIN, *options, "--max-steps", STEPS, "--eval-every", 0, "--checkpoint-every", 0]
        whole, _ = self.sent_by_n2(ranks, *words, "--run-id", "fp32")
        half, _ = self.sent_by_n2(ranks, *words, "--grad-dtype", "bf16", "--run-id", "bf16")
        # What is no gradient, such as the first weights, is the same of both.
        gradients = 4 * 1841162 * STEPS
        self.assertGreater(whole - half, 0.4 * gradients)
        self.assertLess(half, 0.75 * gradients)
        for one, other in zip(self.losses("fp32"), self.losses("bf16"), strict=True):
            self.assertLess(abs(one - other) / one, 1e-2)

    @whole
    def test_bfloat16_takes_half_of_the_link(self):
        self.make_network(2, "100mbit")
        self.check_half({"n1": 1, "n2": 1})

    @whole
    def test_bfloat16_in_two_levels_takes_half_of_the_link(self):
        self.make_network(2, "1gbit")
        self.check_half({"n1": 2, "n2": 2}, "--all-reduce", "two-level")

    @whole
    def test_a_run_whose_sums_are_made_otherwise_says_so(self):
        self.make_network(2, "1gbit")
        words = [word for word in TRAIN if word != "--quiet"]
        done = self.on_hosts({"n1": 2, "n2": 2}, *words, "--max-steps", 2, "--run-id", "a", "--all-reduce", "two-level")
        self.assertIn("summed within each host and then between hosts", " ".join(done.stdout.split()))
        done = self.on_hosts({"n1": 4}, *words, "--max-steps", 4, "--run-id", "a", "--resume", "auto")
        self.assertIn("two-level sums then, flat sums now", " ".join(done.stdout.split()))

    @whole
    def test_a_plan_over_a_link(self):
        """It counts the link: the gradients of a step take longer than it could carry them."""
        self.make_network(2, "100mbit")
        done = self.on_hosts({"n1": 1, "n2": 1}, *TRAIN, "--plan", "--json")
        plan = json.loads(done.stdout.splitlines()[-1])
        self.assertEqual((plan["ranks"], plan["hosts"]), (2, 2))
        self.assertGreater(plan["seconds"]["exchange"], 0.9 * 4 * 1841162 / 12.5e6)
        self.assertFalse((self.folder / "runs").exists())


if __name__ == "__main__":
    run_tests()
