#!/usr/bin/env python3
"""Two hosts, n1 with ranks 0 and 1 and n2 with rank 2: what differs between hosts ends all ranks with one message."""

import json
import os
import pathlib
import shutil
import unittest

from hosts import IN_OWN_FOLDER, TWO_HOSTS
from tandem import DATA, PROGRAM, TandemTest, read_lines, whole

TRAIN = ["train", "--data", "data.h5", "--model", "mlp", "--global-batch-size", "64", "--max-steps", "3", "--lr", "0.01",
         "--threads", "1", "--log-every", "1"]


class Hosts(TandemTest):
    def setUp(self):
        super().setUp()
        for host in ("n1", "n2"):
            (self.folder / host).mkdir()
            shutil.copy(DATA, self.folder / host / "data.h5")

    def on_two_hosts(self, *arguments, code=0):
        return self.run_command([*TWO_HOSTS, *IN_OWN_FOLDER, PROGRAM, *arguments], code, {})

    def losses(self, run):
        losses = [line["loss"] for line in read_lines(run / "metrics.jsonl") if line["event"] == "step"]
        self.assertTrue(losses)
        return losses

    def test_two_hosts_train_as_one(self):
        self.on_two_hosts(*TRAIN, "--run-id", "a", "--quiet")
        self.mpirun(3, *TRAIN, "--data", DATA, "--run-id", "a", "--quiet")
        self.assertFalse((self.folder / "n2/runs").exists(), "rank 0 alone writes")
        ranks = json.loads((self.folder / "n1/runs/a/manifest.json").read_text())["ranks"]
        self.assertEqual([(rank["host"], rank["local_rank"]) for rank in ranks], [("n1", 0), ("n1", 1), ("n2", 0)])
        for one, other in zip(self.losses(self.folder / "n1/runs/a"), self.losses(self.folder / "runs/a"), strict=True):
            self.assertLess(abs(one - other) / one, 1e-5)

    @whole
    def test_data_missing_on_one_host(self):
        (self.folder / "n2/data.h5").unlink()
        self.assert_one_error(self.on_two_hosts(*TRAIN, code=66), "rank 2", "n2", r"data\.h5")

    def test_other_data_on_one_host(self):
        self.tandem("pack", "--input", "synthetic", "--images", "600", "--seed", "1", "--output", "n2/other.h5")
        os.replace(self.folder / "n2/other.h5", self.folder / "n2/data.h5")
        self.assert_one_error(self.on_two_hosts(*TRAIN, code=78), r"data\.h5", r"\b2\b")

    @whole
    def test_damaged_data_on_one_host(self):
        content = bytearray(pathlib.Path(DATA).read_bytes())
        content[len(content) // 2] ^= 1
        (self.folder / "n2/data.h5").write_bytes(content)
        self.assert_one_error(self.on_two_hosts(*TRAIN, code=65), "rank 2", "n2", r"data\.h5")


if __name__ == "__main__":
    unittest.main(verbosity=2)
