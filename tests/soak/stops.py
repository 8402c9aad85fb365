"""Runs that are stopped by signals and go on with another number of ranks."""

import collections
import os
import shutil
import signal
import time

from hurt_run import HurtRun

MOST_STEPS = 25  # from a start to the stop
OPTIONS = ["--global-batch-size", 32, "--virtual-ranks", 4, "--max-steps", 175, "--checkpoint-every", 0,
           "--eval-every", 2]


class Stops:
    count = 10
    of_a_case = 5
    what = "a run of 4 virtual ranks is stopped by a signal, to go on with 1, 2 or 4 ranks; {count} runs"
    asked = "{items:,} of {items:,} stops end with 75, all runs with the same bits"

    def __init__(self, folder):
        self.folder = folder
        run = HurtRun(folder, "whole", OPTIONS)
        run.finish(ranks=1)
        self.whole = run.outcome()

    def check(self, index, random):
        run = HurtRun(self.folder, f"stop-{index}", OPTIONS)
        stops = []
        for _ in range(self.of_a_case):
            stop = (random.choice([1, 2, 4]), run.steps() + random.randrange(1, MOST_STEPS),
                    random.choice([signal.SIGUSR1, signal.SIGTERM]))
            stops.append(stop)
            code, words = self.stop(run, *stop, random)
            assert code == 75 and run.summary()["exit_reason"] == "stopped", f"{stops}: exit code {code}\n{words}"
        run.finish(ranks=random.choice([1, 2, 4]))
        found = run.outcome()
        for part, expected in self.whole.items():
            assert found[part] == expected, f"{stops}: other {part} in the end: {found[part]}, not {expected}"
        shutil.rmtree(run.path)
        return stops

    def stop(self, run, ranks, step, number, random):
        """SIGUSR1 goes to mpirun, SIGTERM, with which mpirun would give a code of its own, to one of the ranks."""
        job = run.start(ranks)
        while run.steps() < step:
            assert job.process.poll() is None, f"over before step {step}"
            time.sleep(0.005)
        os.kill(job.process.pid if number == signal.SIGUSR1 else random.choice(list(job.ranks().values())), number)
        return job.wait(30)

    def measured(self, results):
        ranks = collections.Counter(ranks for stops in results for ranks, _, _ in stops)
        started = ", ".join(f"{times} on {number}" for number, times in sorted(ranks.items()))
        return f"{sum(ranks.values())} of {{items:,}}: {started} ranks"
