"""Small runs with a record of every change to their folder: the first start, each way to resume, the end."""

import collections
import copy
import os
import pathlib
import shutil
import subprocess

import crash_states
from file_changes import scan
from fork_server import run_forked
from rank_variable import FIND_RANK
from run_outcome import Facts, Outcome, checkpoint_step, exit_reason
from tandem import MPIRUN, PROGRAM

LIBRARY = os.environ["TANDEM_TEST_FAULT_POINTS"]
STEPS = 9
# 60 training images: three steps an epoch. Checkpoints after every second step, and of the best after an epoch.
TRAIN = ["train", "--data", "data.h5", "--model", "lenet", "--global-batch-size", "20", "--lr", "0.05", "--threads", "1",
         "--log-every", "1", "--system-interval", "0", "--checkpoint-every", "2steps", "--save-best", "--tta",
         "--run-id", "a"]
AUTO = ["--resume", "auto"]
# An isolated singleton of Open MPI starts in half the time.
ALONE = {"OMPI_MCA_ess_singleton_isolated": "1", "OMPI_MCA_btl": "self", "OMPI_MCA_pml": "ob1"}
IN_RANK_0 = FIND_RANK + 'if [ "$rank" = 0 ]; then export LD_PRELOAD="$FAULT_POINTS_LIBRARY"; fi; exec "$@"'
SECONDS = 60


class Run:
    """The run `a` in a folder of its own, in which data.h5 is."""

    def __init__(self, folder, data, options=()):
        self.folder = pathlib.Path(folder)
        self.folder.mkdir(exist_ok=True)
        if not (self.folder / "data.h5").exists():
            os.link(data, self.folder / "data.h5")
        self.options = options
        self.path = self.folder / "runs/a"

    def start(self, *more, epochs=3, ranks=None, expected=(0,), watched="runs", quiet=("--quiet",), **fault):
        """Starts or resumes the run; exit code and output. `plan`, `record` and `log` are those of fault_points.cpp."""
        command = [PROGRAM, *TRAIN, *self.options, "--epochs", str(epochs), *quiet, *map(str, more)]
        names = {"plan": "FAULT_POINTS", "record": "FAULT_POINTS_RECORD", "log": "FAULT_POINTS_LOG"}
        # Two that begin and end at the same time would take each other's session folder away.
        environment = {} if ranks else {**ALONE, "OMPI_MCA_orte_tmpdir_base": str(self.folder)}
        if fault:
            environment.update({names[name]: str(value) for name, value in fault.items()},
                               FAULT_POINTS_LIBRARY=LIBRARY, FAULT_POINTS_FOLDER=watched)
        environment = {**os.environ, **environment}
        if ranks:
            wrapper = ["bash", "-c", IN_RANK_0, "bash"] if fault else []
            done = subprocess.run([*MPIRUN, "-n", str(ranks), *wrapper, *command], cwd=self.folder, text=True,
                                  stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=SECONDS, env=environment)
            code, words = 128 - done.returncode if done.returncode < 0 else done.returncode, done.stdout
        else:
            code, words = run_forked(command, self.folder, environment, SECONDS, bool(fault))
        assert expected is None or code in expected, f"exit code {code} of {' '.join(command)}\n{words}"
        return code, words

    def outcome(self):
        return Outcome(self.path)

    def newest(self):
        """The step of the newest valid checkpoint; 0 without one."""
        paths = self.path.glob("checkpoints/*.safetensors")
        return max((checkpoint_step(path.read_bytes()) or 0 for path in paths), default=0)

    def is_complete(self):
        summary = self.path / "summary.json"
        return summary.exists() and exit_reason(summary.read_bytes()) == "completed"


# more: options of the recorded start; floor: the step that it resumes from; prepare(run): what happened before.
Scenario = collections.namedtuple("Scenario", ["name", "prepare", "more", "floor", "options", "ranks", "code", "plan"],
                                  defaults=[lambda run: None, AUTO, 0, ["--keep-checkpoints", "2"], None, 0, None])


def killed_in_a_checkpoint(run):
    run.start(plan="rename@step-00000006:1:kill", expected=(137,))


def killed_behind_the_best(run):
    run.start(plan="create@.step-00000008:1:kill", expected=(137,))


def killed_before_the_model(run):
    run.start(plan="create@.model.safetensors:1:kill", expected=(137,))


SCENARIOS = [
    Scenario("first start"),
    Scenario("auto", killed_in_a_checkpoint, floor=4),
    Scenario("best", killed_behind_the_best, ["--resume", "runs/a/checkpoints/best.safetensors"], floor=3),
    Scenario("best alone", killed_behind_the_best, ["--resume", "runs/a/checkpoints/best.safetensors"], floor=3,
             options=["--keep-checkpoints", "1"]),
    Scenario("older path", killed_behind_the_best, ["--resume", "runs/a/checkpoints/step-00000002.safetensors"], floor=2,
             options=["--keep-checkpoints", "5"]),
    Scenario("stopped", code=75, plan="write@metrics.jsonl:8:stop"),
    Scenario("end", killed_before_the_model, floor=9),
    Scenario("on after the end", lambda run: run.start(epochs=2), floor=6),
    Scenario("validation", options=["--keep-checkpoints", "2", "--validation-split", "0.2"]),
    Scenario("two ranks", options=["--keep-checkpoints", "2", "--virtual-ranks", "2"], ranks=2),
]


def reference(scenario, folder, data):
    """The result of the scenario's run without faults."""
    run = Run(folder, data, scenario.options)
    run.start(ranks=scenario.ranks)
    outcome = run.outcome()
    shutil.rmtree(folder)
    return outcome


class Recorded:
    """A scenario that was run and recorded to its end, with the states that a power failure may leave."""

    def __init__(self, scenario, folder, data):
        self.scenario = scenario
        self.data = data
        folder = pathlib.Path(folder)
        folder.mkdir()
        self.expected = reference(scenario, folder / "whole", data)
        run = Run(folder / "run", data, scenario.options)
        scenario.prepare(run)
        self.root = run.folder
        self.before = scan(run.folder)
        run.start(*scenario.more, ranks=scenario.ranks, record=folder / "record", expected=(scenario.code,),
                  watched=str(run.folder), **({"plan": scenario.plan} if scenario.plan else {}))
        self.calls = list(crash_states.read_calls(folder / "record"))
        self.recording = self.record_without(lambda call: False)
        self.require_all_changes()
        if scenario.code == 0:
            differences = run.outcome().differences(self.expected)
            assert not differences, f"{scenario.name}, to which nothing happened, ends differently: {differences}"
        self.facts = Facts()
        self.floors = self.find_floors()
        shutil.rmtree(folder)

    def record_without(self, is_left_out):
        """The record of a program that does not make these calls."""
        return crash_states.Recording(self.root, copy.deepcopy(self.before),
                                      [call for call in self.calls if not is_left_out(call)])

    def require_all_changes(self):
        """Checks that the record is complete: replayed, it gives the folder as it is."""
        found = crash_states.contents(self.recording.state(self.recording.count, "", lambda change: True))
        there = crash_states.contents_of_folder(self.root)
        escaped = sorted(name for name in {*found, *there} if found.get(name, 0) != there.get(name, 0))
        assert not escaped, f"{self.scenario.name}: changes of {escaped} are not in the record"

    def find_floors(self):
        """After each call, the newest step with a durable checkpoint."""
        floors = [self.scenario.floor]
        before = self.recording.state(0, "", lambda change: True)
        superseded = {entry[0] for entry in before.files.values() if entry and
                      (self.facts.of_file(entry, checkpoint_step) or 0) > self.scenario.floor}
        for after in range(self.recording.count + 1):
            durable = self.recording.state(after, "", lambda change: False)
            floors.append(max(floors[-1], self.facts.newest(durable, but=superseded)))
        return floors[1:]

    def draw(self, points, dice):
        """States after this many calls, of different kinds first."""
        kinds = {}
        for after, call in enumerate(["", *self.recording.names]):
            if not call or not crash_states.is_beside(call.split(" ")[1]):
                kinds.setdefault(call, []).append(after)
        afters = [dice.choice(kind) for kind in dice.sample(list(kinds.values()), min(points, len(kinds)))]
        return [list(self.recording.states(0, after)) for after in afters]

    def losses(self, state):
        return list(self.facts.losses(state, self.floors[state.after]))

    def describe(self, state):
        call = self.recording.names[state.after - 1] if state.after else "the start"
        return f"{self.scenario.name}, after call {state.after} ({call}), {state.why}"

    def check(self, state, folder):
        """Checks that nothing is lost and that the same command resumes and gives the same result."""
        losses = self.losses(state)
        assert not losses, f"{self.describe(state)}: {'; '.join(losses)}"
        run = Run(folder, self.data, self.scenario.options)
        crash_states.build(state, run.folder, but="data.h5")
        try:
            goes_on_to_the_end(run, self.expected)
        except (AssertionError, subprocess.TimeoutExpired) as error:
            raise AssertionError(f"{self.describe(state)}: {error}") from error
        finally:
            shutil.rmtree(run.folder)


def goes_on_to_the_end(run, expected, excused=()):
    """Resumes by --resume auto from the newest valid checkpoint; checks all results but the excused ones."""
    newest, was_complete = run.newest(), run.is_complete()
    code, words = run.start(*AUTO, expected=None)
    assert code == 0, f"exit code {code}: {words}"
    outcome = run.outcome()
    differences = outcome.differences(expected, excused)
    assert not differences, "; ".join(differences) + "\n" + words
    if not (was_complete and newest == STEPS):
        assert outcome.first_step == newest, f"it went on from step {outcome.first_step}, not {newest}\n{words}"
