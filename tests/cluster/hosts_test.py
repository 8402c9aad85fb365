#!/usr/bin/env python3
"""Several hosts over links of 1 Gbit/s: they train as one, keep the data once each, and speak with one voice."""

import json
import signal

import h5py

from network import NetworkTest, run_tests
from processes import by_rank, copies_in_memory
from tandem import DATA, read_lines, whole

TRAIN = ["train", "--data", "/tmp/data.h5", "--model", "mlp", "--global-batch-size", 64, "--lr", 0.01, "--threads", 1,
         "--log-every", 1, "--quiet"]


class Hosts(NetworkTest):
    @whole
    def test_unequal_hosts_train_as_one(self):
        self.make_network(3, "1gbit")
        words = [*TRAIN, "--max-steps", 12, "--virtual-ranks", 4]
        self.on_hosts({"n1": 2, "n2": 1, "n3": 1}, *words, "--run-id", "hosts")
        self.on_hosts({"n1": 1}, *words, "--run-id", "alone")
        ranks = json.loads((self.folder / "runs/hosts/manifest.json").read_text())["ranks"]
        self.assertEqual([(rank["host"], rank["local_rank"]) for rank in ranks],
                         [("n1", 0), ("n1", 1), ("n2", 0), ("n3", 0)])
        self.assertEqual(self.summary("hosts")["weights_sha256"], self.summary("alone")["weights_sha256"])

    @whole
    def test_ranks_of_unequal_hosts_sum_alike(self):
        """Three ranks, in the ordinary mode, in which MPI chooses the order of sums."""
        self.make_network(2, "1gbit")
        words = [*TRAIN, "--max-steps", 12]
        self.on_hosts({"n1": 2, "n2": 1}, *words, "--run-id", "hosts")
        self.on_hosts({"n1": 3}, *words, "--run-id", "alone")
        losses = [[line["loss"] for line in read_lines(self.folder / "runs" / run / "metrics.jsonl") if line["event"] == "step"]
                  for run in ("hosts", "alone")]
        self.assertEqual(len(losses[0]), 12)
        for one, other in zip(*losses, strict=True):
            self.assertLess(abs(one - other) / one, 1e-4)

    def test_every_host_holds_the_data_once(self):
        """What is looked for begins in one image and ends in the next, so that no batch contains it. A signal ends the run
        on all hosts."""
        with h5py.File(DATA) as file:
            needle = file["train/images"][100:102].tobytes()[2000:4000]
        self.make_network(2, "1gbit")
        job = self.start_on_hosts({"n1": 3, "n2": 2}, *TRAIN, "--epochs", 100000, "--run-id", "a")
        self.wait_for_step(job, "runs/a", 5)
        for name, count in (("n1", 3), ("n2", 2)):
            copies = [copies_in_memory(rank, needle) for rank in by_rank(self.hosts[name].processes()).values()]
            self.assertEqual(len(copies), count)
            self.assertTrue(all(copies), "a rank does not see the data")
            self.assertEqual(len(set.union(*copies)), 1, name)
        job.send_signal(signal.SIGUSR1)
        _, errors = job.communicate()
        self.assertEqual(job.returncode, 75, errors)
        self.network.wait_until_idle(5)

    def test_data_missing_on_one_host(self):
        self.make_network(2, "1gbit")
        self.hosts["n2"].run("rm", "/tmp/data.h5")
        done = self.on_hosts({"n1": 2, "n2": 1}, *TRAIN, "--max-steps", 3, code=66)
        self.assert_one_error(done, r"rank 2 \(n2\): /tmp/data\.h5: cannot be read: No such file")

    def test_other_data_on_one_host(self):
        self.make_network(2, "1gbit")
        self.tandem("pack", "--input", "synthetic", "--images", 600, "--seed", 1, "--output", "other.h5")
        self.hosts["n2"].run("cp", self.folder / "other.h5", "/tmp/data.h5")
        done = self.on_hosts({"n1": 2, "n2": 1}, *TRAIN, "--max-steps", 3, code=78)
        self.assert_one_error(done, r"the ranks do not agree", r"/tmp/data\.h5", r"rank 2\b")


if __name__ == "__main__":
    run_tests()
