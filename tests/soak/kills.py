"""Ranks that die by SIGKILL, within a checkpoint and at any moment."""

import os
import shutil
import signal
import subprocess
import time

from hurt_run import HurtRun

GONE_SECONDS = 5


class Kills:
    count = 100
    of_a_case = 1
    what = "a rank is killed with `kill -9`; then the same command again"
    asked = (f"{{items:,}} of {{items:,}} go on to the same bits, 30 % of them killed within a checkpoint; all processes gone "
             f"in {GONE_SECONDS} s")

    def __init__(self, folder):
        self.folder = folder
        run = HurtRun(folder, "whole")
        began = time.monotonic()
        code, words = run.start(plan="").wait(60)
        self.seconds = time.monotonic() - began
        assert code == 0, words
        self.whole = run.outcome()
        self.numbers = {}  # of the calls of each kind
        for number, call in enumerate(run.calls(), 1):
            self.numbers.setdefault(f"{call.name} {call.file.split('-')[0]}", []).append(number)

    def check(self, index, random):
        """Three of five die at a call of a checkpoint, each kind of call in turn."""
        run = HurtRun(self.folder, f"kill-{index}")
        aimed = index % 5 < 3
        if aimed:
            kinds = sorted(self.numbers)
            kind = kinds[(index // 5 * 3 + index % 5) % len(kinds)]
            what, code, gone = self.kill_at_call(run, kind, random)
        else:
            kind = None
            what, code, gone = self.kill_at_any_moment(run, random)
        assert code == 128 + signal.SIGKILL, f"{what}: exit code {code}"
        assert gone < GONE_SECONDS, f"{what}: all processes were gone after {gone:.1f} s"
        run.finish()
        found = run.outcome()
        for part, expected in self.whole.items():
            assert found[part] == expected, f"{what}: other {part} in the end: {found[part]}, not {expected}"
        assert not run.temporaries(), f"{what}: left {run.temporaries()}"
        shutil.rmtree(run.path)
        return kind, gone

    def kill_at_call(self, run, kind, random):
        plan = f"any:{random.choice(self.numbers[kind])}:{random.choice(['kill', 'kill-after'])}"
        code, _ = run.start(plan=plan).wait(30)
        return f"{plan} ({kind})", code, time.time() - run.time_of_last_call()

    def kill_at_any_moment(self, run, random):
        rank = random.randrange(2)
        while True:
            moment = random.uniform(0, self.seconds)
            job = run.start()
            while rank not in job.ranks():
                assert job.process.poll() is None, "the run ended at once"
            try:
                job.process.wait(moment)
            except subprocess.TimeoutExpired:
                process = job.ranks().get(rank)
                if process is not None:
                    os.kill(process, signal.SIGKILL)
                    died = time.monotonic()
                    code, _ = job.wait(30)
                    if code != 0:  # it was not at its end anyway
                        return f"rank {rank} after {moment:.3f} s", code, time.monotonic() - died
            job.wait(30)
            shutil.rmtree(run.path)

    def measured(self, results):
        kinds = [kind for kind, _ in results if kind]
        return (f"{len(results)} of {{items:,}}; {len(kinds)} within a checkpoint, at {len(set(kinds))} of its "
                f"{len(self.numbers)} kinds of system calls; gone after {max(gone for _, gone in results):.1f} s at most")
