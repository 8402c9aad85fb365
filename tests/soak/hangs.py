"""A rank that stops at a call of MPI, from before the first to after the last, in every collective command."""

import collections
import threading

from hang_run import FORMS, REPORT_SECONDS, HangRuns

LIMIT = 3  # seconds of --stall-abort
COMBINATIONS = [(form, ranks) for ranks in (2, 4) for form in FORMS]


class Hangs:
    count = 120
    of_a_case = 1
    what = "a rank of train, eval, bench or doctor is stopped at a call of MPI, of 2 or 4 ranks"
    asked = f"{{items:,}} of {{items:,}} end with 124 and name it, in {LIMIT} s (--stall-abort) and {REPORT_SECONDS} s more"

    def __init__(self, folder):
        self.runs = HangRuns(folder, LIMIT)
        self.lock = threading.Lock()

    def check(self, index, random):
        """Each command with each number of ranks in turn; its places from the first to the last."""
        form, ranks = COMBINATIONS[index % len(COMBINATIONS)]
        turns = self.count // len(COMBINATIONS)
        turn = index // len(COMBINATIONS) % turns
        rank = random.randrange(ranks)
        with self.lock:  # so that no other job slows it down
            places = self.runs.places(form, ranks, rank)
        first = turn * len(places) // turns
        last = max((turn + 1) * len(places) // turns, first + 1)
        return self.runs.check(form, ranks, rank, 1 + random.randrange(first, last))

    def measured(self, results):
        kinds = collections.Counter(place for place, _ in results)
        return (f"{len(results)} of {{items:,}}, at {len(kinds)} kinds of calls; over after "
                f"{max(seconds for _, seconds in results):.1f} s at most")
