#!/usr/bin/env python3
"""Ranks of a host with one copy of weights and optimizer state: the same run as without, to the last bit of each checkpoint."""

import json
import unittest

from safetensors_file import tensor_bytes_sha256
from tandem import DATA, QUICK, TandemTest

SHARED = ["--share-weights"]
LONGER = ["--data", DATA, "--model", "lenet", "--global-batch-size", "64", "--lr", "0.01", "--keep-checkpoints", 9,
          "--checkpoint-every", "4steps"]


class SharedWeights(TandemTest):
    keeps_ranks = True

    def end(self, ranks, run_id, *options):
        """What a run leaves: digests of the model and of the tensors of each checkpoint."""
        done = self.mpirun(ranks, "train", *LONGER, "--run-id", run_id, "--quiet", "--json", *options)
        checkpoints = sorted((self.folder / "runs" / run_id / "checkpoints").glob("step-*.safetensors"))
        return (json.loads(done.stdout.splitlines()[-1])["weights_sha256"],
                {path.name: tensor_bytes_sha256(path) for path in checkpoints})

    def test_every_checkpoint_is_the_same(self):
        for ranks, words in ((2, []), (3, ["--optimizer", "adamw", "--save-best"]), (2, ["--optimizer", "muon"]),
                             (2, ["--virtual-ranks", 4]), (1, [])):
            with self.subTest(ranks=ranks, words=words):
                name = "-".join(map(str, [ranks, *words])).replace("--", "")
                apart = self.end(ranks, name, "--max-steps", 8, *words)
                self.assertEqual(self.end(ranks, f"{name}-shared", "--max-steps", 8, *words, *SHARED), apart)
                self.assertGreater(len(apart[1]), 1)

    def test_a_run_goes_on_with_and_without(self):
        whole = self.end(2, "whole", "--max-steps", 12)
        self.end(2, "parts", "--max-steps", 4, *SHARED)
        self.end(2, "parts", "--max-steps", 8, "--resume", "auto")
        self.assertEqual(self.end(2, "parts", "--max-steps", 12, "--resume", "auto", "--drift-check-every", 1, *SHARED), whole)

    def test_it_is_said_and_kept(self):
        done = self.mpirun(2, "train", *QUICK, *SHARED, "--run-id", "a")
        self.assertIn(", one copy of weights and optimizer state per host", " ".join(done.stdout.split()))
        self.assertIn("\nshare-weights = true\n", (self.folder / "runs/a/config.ini").read_text())
        done = self.mpirun(2, "bench", "step", "--model", "mlp", "--steps", 2, "--batch-size", 8, *SHARED)
        self.assertIn("update", done.stdout)


if __name__ == "__main__":
    unittest.main(verbosity=2)
