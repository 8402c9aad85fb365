"""Jobs in which one rank stops at one MPI call (see hang_points.cpp): another rank must name it soon."""

import os
import re
import subprocess
import threading
import time

from jobs import Job
from tandem import DATA, MPIRUN, PROGRAM

LIBRARY = os.environ["TANDEM_TEST_HANG_POINTS"]
REPORT_SECONDS = 5  # after the limit
START_SECONDS = 40
TRAIN = ["train", "--data", DATA, "--model", "lenet", "--threads", 1, "--global-batch-size", 64, "--max-steps", 2,
         "--log-every", 1, "--quiet"]
FORMS = {
    "train": [*TRAIN, "--checkpoint-every", "1steps", "--run-id"],
    "eval": ["eval", "--data", DATA, "--threads", 1, "--checkpoint", "runs/trained"],
    "bench step": ["bench", "step", "--threads", 1, "--steps", 2, "--batch-size", 8],
    "bench allreduce": ["bench", "allreduce", "--max-bytes", "4K", "--seconds", 0],
    "doctor": ["doctor", "--data", DATA],
}


class HangRuns:
    def __init__(self, folder, limit):
        """`limit`: seconds of --stall-abort. A start must need less, also where other work keeps all cores busy."""
        self.folder = folder
        self.limit = limit
        self.places_of = {}
        self.lock = threading.Lock()
        self.count = 0
        subprocess.run([str(word) for word in [PROGRAM, *TRAIN, "--run-id", "trained"]], cwd=folder, check=True)

    def start(self, form, ranks, rank, number):
        with self.lock:
            self.count += 1
            name = f"hang-{self.count}"
        log = self.folder / f"{name}.places"
        words = [*FORMS[form], *([name] if form == "train" else []), "--stall-abort", self.limit]
        environment = {"HANG_POINTS_RANK": rank, "HANG_POINTS_LOG": log, "HANG_POINTS": number}
        job = Job([*MPIRUN, "-n", ranks, "-x", f"LD_PRELOAD={LIBRARY}", PROGRAM, *words], self.folder,
                  {name: str(value) for name, value in environment.items()})
        return job, log

    def places(self, form, ranks, rank):
        """The names of the places that the rank reaches, in order."""
        key = (form, ranks, rank)
        if key not in self.places_of:
            job, log = self.start(form, ranks, rank, 0)
            code, words = job.wait(START_SECONDS)
            assert code == 0 or form == "doctor", f"{key}: exit code {code}\n{words}"
            places = log.read_text().splitlines()
            # When the lowest rank is at its very end, no other is left to name it.
            self.places_of[key] = places[:-1] if rank == 0 else places
        return self.places_of[key]

    def check(self, form, ranks, rank, number):
        """The name of the place, and the seconds from the stop to the end of all processes."""
        job, log = self.start(form, ranks, rank, number)
        code, words = job.wait(START_SECONDS + self.limit + REPORT_SECONDS)
        seconds = time.time() - log.stat().st_mtime
        *reached, stopped = log.read_text().splitlines()
        if code == 0 and len(reached) < number:  # the number of calls of a measurement varies
            return self.check(form, ranks, rank, len(reached))
        what = f"{form}, {ranks} ranks: rank {rank} stopped at place {number}, {reached[-1]}, {seconds:.1f} s ago"
        assert stopped.startswith("stopped "), f"{what}: did not stop\n{words}"
        process = stopped.split()[1]
        named = rf"(?m)^tandem: error: rank {rank} \(\S+, process {process}\) has not advanced for \d+ s: .*; its process does not run"
        assert code == 124 and re.search(named, words), f"{what}: exit code {code}, rank {rank}, process {process}\n{words}"
        assert seconds < self.limit + REPORT_SECONDS, f"{what}: it took too long\n{words}"
        return reached[-1], seconds
