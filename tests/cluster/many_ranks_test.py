#!/usr/bin/env python3
"""16, 64 and 70 ranks on one host, many more than it has processors: they train as few do, and each of 64 needs as much memory as
one of two."""

import json
import pathlib
import re
import signal
import statistics
import subprocess
import unittest

from processes import ranks_of
from tandem import DATA, MPIRUN, PROGRAM, TandemTest, read_lines

TRAIN = ["train", "--model", "mlp", "--lr", "0.01", "--threads", "1", "--log-every", "1", "--quiet"]
STEPS = 12


def own_bytes(process):
    """Resident memory without that of files, which all processes share: what is its own, and its share of what ranks have in
    common, such as their gradients, of which each reaches all."""
    rollup = pathlib.Path(f"/proc/{process}/smaps_rollup").read_text()
    return 1024 * sum(int(value) for value in re.findall(r"^Pss_(?:Anon|Shmem):\s+(\d+) kB", rollup, re.MULTILINE))


class ManyRanks(TandemTest):
    def start(self, ranks, run_id, *options, data=DATA):
        job = subprocess.Popen([*MPIRUN, "-n", str(ranks), PROGRAM, *TRAIN, "--data", data, "--run-id", run_id, *options],
                               cwd=self.folder, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.addCleanup(job.communicate)
        self.addCleanup(job.kill)
        return job

    def memory_of_ranks(self, job, ranks, run_id):
        """Once the run has made STEPS steps."""
        self.wait_for_step(job, f"runs/{run_id}", STEPS)
        processes = ranks_of(job.pid).values()
        self.assertEqual(len(processes), ranks)
        return [own_bytes(process) for process in processes]

    def end(self, job, code):
        _, errors = job.communicate()
        self.assertEqual(job.returncode, code, errors)

    def losses(self, run_id):
        lines = read_lines(self.folder / "runs" / run_id / "metrics.jsonl")
        return [line["loss"] for line in lines if line["event"] == "step"][:STEPS]

    def pack_few(self):
        """Few images, because their memory counts for the rank that reads them. An epoch is longer than 64 ranks train."""
        data = self.folder / "data.h5"
        subprocess.run([PROGRAM, "pack", "--input", "synthetic", "--images", str(64 * (STEPS + 6)), "--output", data],
                       check=True, stdout=subprocess.DEVNULL)
        return data

    def train(self, ranks, data, *options):
        job = self.start(ranks, f"of-{ranks}", "--global-batch-size", "64", "--max-steps", str(STEPS), *options, data=data)
        self.end(job, 0)
        self.assertEqual(len(self.losses(f"of-{ranks}")), STEPS)

    def assert_trained_alike(self, one, other):
        for here, there in zip(self.losses(one), self.losses(other), strict=True):
            self.assertLess(abs(there - here) / here, 1e-4)

    def test_70_ranks_train_as_2_do(self):
        """70 = 2 x 5 x 7 ranks exchange in rounds of every kind, also those whose chunks continue at the other end. Six of the 70
        have no images."""
        data = self.pack_few()
        self.train(2, data)
        self.train(70, data, "--bucket-mb", "1")
        self.assert_trained_alike("of-2", "of-70")

    def test_64_ranks_train_as_2_do_in_as_much_memory_each(self):
        """Without checkpoints, because rank 0 keeps a copy of each."""
        data = self.pack_few()
        options = ["--batch-size", "1", "--checkpoint-every", "0", "--eval-every", "0", "--epochs", "100000"]
        medians = {}
        for ranks in (2, 64):
            job = self.start(ranks, f"np{ranks}", *options, data=data)
            memory = self.memory_of_ranks(job, ranks, f"np{ranks}")
            job.send_signal(signal.SIGUSR1)
            self.end(job, 75)
            medians[ranks] = statistics.median(memory)
            print(f"{ranks} ranks: {medians[ranks] / 1e6:.1f} MB, {min(memory) / 1e6:.1f} to {max(memory) / 1e6:.1f}")
            # Rank 0 keeps the run's records.
            self.assertLess(sorted(memory)[-2], 1.05 * min(memory))
        self.assertLess(abs(medians[64] / medians[2] - 1), 0.05)

        self.train(2, data)
        self.assert_trained_alike("of-2", "np64")

    def test_16_virtual_ranks_on_16_ranks_and_on_2(self):
        weights = set()
        for ranks in (2, 16):
            job = self.start(ranks, f"np{ranks}", "--global-batch-size", "64", "--virtual-ranks", "16", "--max-steps", str(STEPS))
            self.end(job, 0)
            weights.add(json.loads((self.folder / f"runs/np{ranks}/summary.json").read_text())["weights_sha256"])
        self.assertEqual(len(weights), 1)


if __name__ == "__main__":
    unittest.main(verbosity=2)
