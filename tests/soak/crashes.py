"""Power failures, kills and failing calls at each system call on the folder of a run."""

import random
from concurrent.futures import ThreadPoolExecutor

from crash_scenarios import SCENARIOS, Recorded
from hurt_starts import WATCHED, LastStart, pack


class Crashes:
    count = 2_400
    of_a_case = 1
    of_a_scenario = 400
    what = "a power loss within a run: unsynced data and names kept, dropped, torn or reordered; then the same command"
    asked = "{items:,} of {items:,} different states go on from the newest durable checkpoint to the same bits and files"

    def __init__(self, folder):
        self.folder = folder
        data = pack(folder)
        self.states = []
        self.losses = []
        self.seen = 0
        with ThreadPoolExecutor(2) as pool:
            recorded = list(pool.map(lambda each: Recorded(each, folder / each.name, data), SCENARIOS))
        for each in recorded:
            states = self.look_at_all(each)
            self.states.append([(each, state) for state in states])

    def look_at_all(self, recorded):
        """Checks the content of all states, and picks some to resume from, equally many after each kind of call."""
        kinds = {}
        for state in recorded.recording.states(0):
            self.seen += 1
            self.losses += [f"{recorded.describe(state)}: {loss}" for loss in recorded.losses(state)]
            call = recorded.recording.names[state.after - 1] if state.after else ""
            kinds.setdefault(call, []).append(state)
        dice = random.Random(recorded.scenario.name)
        for states in kinds.values():
            dice.shuffle(states)
        turns = max(len(states) for states in kinds.values())
        ordered = [states[turn] for turn in range(turns) for states in kinds.values() if turn < len(states)]
        return ordered[:self.of_a_scenario]

    def check(self, index, random):
        if index == 0:
            assert not self.losses, f"{len(self.losses)} of {self.seen} states lack something, such as {self.losses[0]}"
        recorded, state = self.states[index % len(self.states)][index // len(self.states)]
        recorded.check(state, self.folder / f"state-{index}")
        return recorded.scenario.name

    def measured(self, results):
        return (f"{len(results):,} of {{items:,}}, of {len(set(results))} scenarios; {self.seen:,} different states looked "
                f"at, {len(self.losses)} losses")


class DoubleFaults:
    of_a_case = 1
    what = "a run that was killed or is done goes on and is killed at each system call that changes its folder"
    asked = "{items:,} of {items:,} go on again to the same bits and files"
    scenarios = ("auto", "best", "best alone", "older path", "end", "on after the end")

    def __init__(self, folder):
        data = pack(folder)
        starts = [LastStart(each, folder / each.name, data) for each in SCENARIOS if each.name in self.scenarios]
        self.kills = [(start, call) for start in starts for call in start.kills()]
        random.Random(0).shuffle(self.kills)
        self.count = len(self.kills)

    def check(self, index, random):
        start, call = self.kills[index]
        start.check_kill(*call)
        return start.scenario.name

    def measured(self, results):
        return f"{len(results):,} of {{items:,}}, of {len(set(results))} ways to go on"


class FailingCalls:
    of_a_case = 1
    what = ("each call on run folder, data set, standard output and shared memory fails once, with ENOSPC, EDQUOT, EIO, EMFILE "
            "or EACCES; then the same command")
    asked = ("{items:,} of {items:,} end with a code of the reference that fits and a message that names what failed, keep the "
             "checkpoint before, and go on to the same bits and files")
    scenarios = ("first start", "auto")

    def __init__(self, folder):
        data = pack(folder)
        starts = [LastStart(each, folder / each.name, data, WATCHED, ()) for each in SCENARIOS
                  if each.name in self.scenarios]
        self.faults = [(start, fault) for start in starts for fault in start.faults()]
        random.Random(0).shuffle(self.faults)
        self.count = len(self.faults)

    def check(self, index, random):
        start, fault = self.faults[index]
        return fault[1], start.check_fault(*fault)

    def measured(self, results):
        codes = [code for _, code in results]
        told = ", ".join(f"{codes.count(code):,} with {code}" for code in sorted(set(codes)))
        return f"{len(results):,} of {{items:,}} at {len(set(name for name, _ in results))} kinds of calls: {told}"
