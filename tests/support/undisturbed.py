"""Results of runs without faults, and the options of the runs in random lives."""

import subprocess
import threading

from life_folder import LifeFolder, read_checkpoint, step_of
from tandem import DATA, PROGRAM, read_lines

TOTALS = [7, 14, 20, 27]  # steps; an epoch has ten, of 600 images
RUN = ["--data", DATA, "--model", "lenet", "--lr", 0.05, "--momentum", 0.9, "--global-batch-size", 64, "--virtual-ranks", 2,
       "--threads", 1, "--epochs", 100, "--log-every", 1, "--tta", "--quiet"]
SAFE = ["--checkpoint-every", "3steps", "--keep-checkpoints", 3, "--save-best"]


class Undisturbed:
    """Results of runs without faults: computed once for each number of steps, on demand."""

    def __init__(self, folder):
        self.folder = folder
        self.lock = threading.Lock()
        self.ends = {}
        path = self.run("steps", TOTALS[-1], ["--checkpoint-every", "1steps", "--keep-checkpoints", 1000]).path
        self.weights = {step_of(file): read_checkpoint(file).weights for file in path.glob("checkpoints/step-*")}
        lines = read_lines(path / "metrics.jsonl")
        self.losses = {line["step"]: line["loss"] for line in lines if line["event"] == "step"}

    def run(self, run_id, total, options):
        command = [PROGRAM, "train", *RUN, *options, "--max-steps", total, "--run-id", run_id]
        subprocess.run([str(word) for word in command], cwd=self.folder, check=True)
        return LifeFolder(self.folder / "runs" / run_id)

    def weights_of(self, checkpoint):
        """Of its step. Only a run that is stopped before its first step saves the initial weights, so the first of them counts."""
        if checkpoint.step == 0:
            with self.lock:
                return self.weights.setdefault(0, checkpoint.weights)
        return self.weights[checkpoint.step]

    def end(self, total):
        with self.lock:
            if total not in self.ends:
                self.ends[total] = self.run(f"to-{total}", total, SAFE)
            return self.ends[total]

    def accuracy(self, step):
        """Of an evaluation after this step: at the end of an epoch or of a run."""
        total = step if step in TOTALS else TOTALS[-1]
        lines, _ = self.end(total).metrics()
        return next(line["test_accuracy"] for line in lines if line["event"] == "eval" and line["step"] == step)
