"""A small run that tests hurt: by a fault at a system call of its checkpoints (see fault_points.cpp), by kills and stops."""

import collections
import json
import os
import re

from jobs import Job
from rank_variable import FIND_RANK
from safetensors_file import tensor_bytes_sha256
from tandem import DATA, MPIRUN, PROGRAM, read_lines

TRAIN = ["train", "--data", DATA, "--model", "lenet", "--lr", 0.05, "--threads", 1, "--log-every", 1, "--quiet",
         "--resume", "auto"]
STEPS = 60
# A checkpoint every ten steps, and one more of the best at the end of an epoch of 18.75 steps.
WITH_CHECKPOINTS = ["--global-batch-size", 32, "--max-steps", STEPS, "--checkpoint-every", "10steps",
                    "--keep-checkpoints", 3, "--save-best"]

IN_RANK_0 = FIND_RANK + 'if [ "$rank" = 0 ]; then export LD_PRELOAD="$FAULT_POINTS_LIBRARY"; fi; exec "$@"'
LIBRARY = os.environ["TANDEM_TEST_FAULT_POINTS"]

Call = collections.namedtuple("Call", ["name", "file"])


class HurtRun:
    def __init__(self, folder, run_id, options=WITH_CHECKPOINTS):
        self.folder = folder
        self.run_id = run_id
        self.options = options
        self.path = folder / "runs" / run_id
        self.log = folder / f"{run_id}.calls"

    def start(self, ranks=2, plan=None):
        """Begins or goes on. A plan is CALL:N:ACTION, or empty to note the calls only; None leaves the library out."""
        wrapper, environment = [], {}
        if plan is not None:
            self.log.unlink(missing_ok=True)
            wrapper = ["bash", "-c", IN_RANK_0, "bash"]
            environment = {"FAULT_POINTS_LIBRARY": LIBRARY, "FAULT_POINTS_FOLDER": f"runs/{self.run_id}/checkpoints",
                           "FAULT_POINTS_LOG": str(self.log), "FAULT_POINTS": plan}
        return Job([*MPIRUN, "-n", ranks, *wrapper, PROGRAM, *TRAIN, *self.options, "--run-id", self.run_id], self.folder,
                   environment)

    def finish(self, ranks=2):
        """Begins or goes on, to the end."""
        code, words = self.start(ranks).wait(55)
        assert code == 0, f"exit code {code} of {self.run_id}\n{words}"

    def calls(self):
        """What was noted, in order; a temporary file without its host and process."""
        lines = (line.split(" ", 1) for line in self.log.read_text().splitlines())
        return [Call(name, re.sub(r"\.tmp\..*", ".tmp", os.path.basename(path))) for name, path in lines]

    def time_of_last_call(self):
        return self.log.stat().st_mtime

    def steps(self):
        """The last step in metrics.jsonl; 0 before the first."""
        metrics = self.path / "metrics.jsonl"
        found = re.findall(r'"step","step":(\d+),', metrics.read_text()) if metrics.exists() else []
        return int(found[-1]) if found else 0

    def summary(self):
        return json.loads((self.path / "summary.json").read_text())

    def checkpoints(self):
        return sorted((self.path / "checkpoints").glob("step-*.safetensors"))

    def temporaries(self):
        return [path.name for path in self.path.rglob(".*") if ".tmp." in path.name]

    def outcome(self):
        """What is the same to the last bit, whether a run was hurt or not."""
        lines = [line for line in read_lines(self.path / "metrics.jsonl") if line["event"] in ("step", "epoch", "eval")]
        best = self.path / "checkpoints/best.safetensors"
        return {"weights": self.summary()["weights_sha256"],
                "best": tensor_bytes_sha256(best) if best.exists() else None,
                "metrics": [[line["event"], line["step"], line.get("loss"), line.get("test_loss")] for line in lines]}
