#!/usr/bin/env python3
"""32 and 64 ranks on one host, many more than it has processors: they train as few do, and each needs as much memory as one
of two."""

import json
import pathlib
import re
import signal
import statistics
import subprocess
import time
import unittest

from processes import ranks_of
from tandem import DATA, MPIRUN, PROGRAM, TandemTest, read_lines

TRAIN = ["train", "--data", DATA, "--model", "mlp", "--global-batch-size", "64", "--lr", "0.01", "--threads", "1",
         "--log-every", "1", "--quiet"]
STEPS = 8
ENDLESS = ["--epochs", "100000"]


def own_bytes(process):
    """Resident memory without that of files, which all processes share: what is its own, and what it uses of windows."""
    status = pathlib.Path(f"/proc/{process}/status").read_text()
    return 1024 * sum(int(value) for value in re.findall(r"^Rss(?:Anon|Shmem):\s+(\d+) kB", status, re.MULTILINE))


class ManyRanks(TandemTest):
    def start(self, ranks, run_id, *options):
        job = subprocess.Popen([*MPIRUN, "-n", str(ranks), PROGRAM, *TRAIN, "--run-id", run_id, *options], cwd=self.folder,
                               text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.addCleanup(job.communicate)
        self.addCleanup(job.kill)
        return job

    def memory_of_ranks(self, job, ranks, run_id):
        """Once the run has made STEPS steps."""
        metrics = self.folder / "runs" / run_id / "metrics.jsonl"
        while not (metrics.exists() and f'"step":{STEPS},' in metrics.read_text()):
            self.assertIsNone(job.poll(), "ended before it was looked at")
            time.sleep(0.01)
        processes = ranks_of(job.pid).values()
        self.assertEqual(len(processes), ranks)
        return [own_bytes(process) for process in processes]

    def end(self, job, code):
        _, errors = job.communicate()
        self.assertEqual(job.returncode, code, errors)

    def losses(self, run_id):
        lines = read_lines(self.folder / "runs" / run_id / "metrics.jsonl")
        return [line["loss"] for line in lines if line["event"] == "step"][:STEPS]

    def test_64_ranks_train_as_2_do_and_need_no_more_memory_each(self):
        """The heap of a rank differs from that of the next by up to three freed gradients of 6 MB, so that 16 ranks, in jobs
        of two, are the measure. That of the windows is counted in each rank that uses it."""
        pairs = {f"pair-{number}": self.start(2, f"pair-{number}", *ENDLESS) for number in range(8)}
        memory = {2: [bytes for run_id, job in pairs.items() for bytes in self.memory_of_ranks(job, 2, run_id)]}
        for job in pairs.values():
            job.send_signal(signal.SIGUSR1)
            self.end(job, 75)
        for ranks in (8, 32):
            job = self.start(ranks, f"np{ranks}", *ENDLESS)
            memory[ranks] = self.memory_of_ranks(job, ranks, f"np{ranks}")
            job.send_signal(signal.SIGUSR1)
            self.end(job, 75)
        job = self.start(64, "np64", "--max-steps", str(STEPS + 4))
        memory[64] = self.memory_of_ranks(job, 64, "np64")
        self.end(job, 0)
        for ranks, each in memory.items():
            print(f"{ranks} ranks: {statistics.mean(each) / 1e6:.1f} MB each, {min(each) / 1e6:.1f} to {max(each) / 1e6:.1f}")
            self.assertLess(abs(statistics.mean(each) / statistics.mean(memory[2]) - 1), 0.05)
        self.assertEqual(len(self.losses("pair-0")), STEPS)
        for run_id in ("np8", "np32", "np64"):
            for few, many in zip(self.losses("pair-0"), self.losses(run_id), strict=True):
                self.assertLess(abs(many - few) / few, 1e-4, run_id)

    def test_32_virtual_ranks_on_32_ranks_and_on_2(self):
        weights = set()
        for ranks in (2, 32):
            job = self.start(ranks, f"np{ranks}", "--virtual-ranks", "32", "--max-steps", str(STEPS))
            self.end(job, 0)
            weights.add(json.loads((self.folder / f"runs/np{ranks}/summary.json").read_text())["weights_sha256"])
        self.assertEqual(len(weights), 1)


if __name__ == "__main__":
    unittest.main(verbosity=2)
