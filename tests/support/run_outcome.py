"""The content of a run folder after a power failure, and at the end of a run with or without faults."""

import hashlib
import json
import pathlib

from file_changes import content_of, digest_of, is_whole
from safetensors_file import is_sealed, split_content

CHECKPOINTS = "runs/a/checkpoints/"
CHANGING = ("time", "seconds", "images_per_second", "slowest_rank", "slowest_in", "world_size")  # between two runs
COUNTED = ("step", "epoch", "eval")  # events of metrics.jsonl that do not depend on starts and disks
APPENDED = ("metrics.jsonl", "ranks/", "events.out.tfevents.", "run.lock")  # not written atomically by rename


def steady(fields):
    """Without times and rates, and without the number of ranks."""
    return {name: value for name, value in fields.items()
            if not any(name == word or name.endswith("_" + word) for word in CHANGING)}


def checkpoint_step(content):
    """The step of a checkpoint whose SHA-256 is correct (docs/formats.md), else None."""
    try:
        metadata = split_content(content)[0]["__metadata__"]
        return json.loads(metadata["state"])["step"] if is_sealed(content, metadata) else None
    except (ValueError, KeyError):
        return None


def lines_of(content):
    """The complete lines of a .jsonl file."""
    found = []
    for line in content.split(b"\n")[:-1]:
        try:
            found.append(json.loads(line))
        except ValueError:
            pass
    return found


def steps_in(content):
    return [line["step"] for line in lines_of(content) if line.get("event") == "step"]


class Outcome:
    """What must be bit-identical at the end of a run with or without faults."""

    def __init__(self, path):
        self.path = pathlib.Path(path)
        metrics = [line for line in lines_of(self.bytes("metrics.jsonl")) if line["event"] in COUNTED]
        for line in metrics[:-1]:
            line.pop("test_accuracy_tta", None)  # an earlier end of the run may have added it
        summary, manifest = self.json("summary.json"), self.json("manifest.json")
        self.parts = {
            "summary.json": summary and steady(summary),
            "evaluation.json": self.json("evaluation.json"),
            "metrics.jsonl": [steady(line) for line in metrics],
            "ranks/rank-0000.jsonl": steps_in(self.bytes("ranks/rank-0000.jsonl")),
            "torn lines": [name for name in ("metrics.jsonl", "ranks/rank-0000.jsonl")
                           if len(lines_of(self.bytes(name))) != len(self.bytes(name).splitlines())],
            "best.safetensors": tensors_of(self.bytes("checkpoints/best.safetensors")),
            "newest checkpoint": max((checkpoint_step(path.read_bytes()) or 0
                                      for path in self.path.glob("checkpoints/step-*.safetensors")), default=None),
            "model/model.safetensors": tensors_of(self.bytes("model/model.safetensors")),
            "model/synthetic_net.pth": hashlib.sha256(self.bytes("model/synthetic_net.pth")).hexdigest(),
            "report.html": self.bytes("report.html").rstrip()[-7:],
            # Its comments count the starts of the run.
            "config.ini": [line for line in self.bytes("config.ini").splitlines() if not line.startswith((b"quiet ", b"#"))],
            "data in manifest.json": manifest and manifest["data"],
            "temporaries": sorted(path.name for path in self.path.rglob(".*") if ".tmp." in path.name),
        }
        self.first_step = manifest["segments"][-1]["first_step"] if manifest else None

    def bytes(self, name):
        path = self.path / name
        return path.read_bytes() if path.exists() else b""

    def json(self, name):
        content = self.bytes(name)
        return json.loads(content) if content else None

    def differences(self, expected, excused=()):
        return [f"{name}: {where_they_differ(found, expected.parts[name])}"
                for name, found in self.parts.items() if found != expected.parts[name] and name not in excused]


def where_they_differ(found, expected):
    """Describes the first difference."""
    if isinstance(found, dict) and isinstance(expected, dict):
        names = [name for name in {**expected, **found} if found.get(name) != expected.get(name)]
        return f"{names[0]}: {where_they_differ(found.get(names[0]), expected.get(names[0]))}"
    if isinstance(found, list) and isinstance(expected, list):
        for number, (one, other) in enumerate(zip(found, expected)):
            if one != other:
                return f"[{number}] {where_they_differ(one, other)}"
        return f"{len(found)} entries, not {len(expected)}"
    return f"{str(found)[:200]!r}, not {str(expected)[:200]!r}"


def tensors_of(content):
    """The bytes of a safetensors file without its header, which holds times."""
    return hashlib.sha256(content[8 + int.from_bytes(content[:8], "little"):]).hexdigest() if content else None


class Facts:
    """The content of a state of a recording (crash_states.py); each distinct file is parsed once."""

    def __init__(self):
        self.steps = {}  # of checkpoints and lines, by digest

    def of_file(self, entry, look):
        digest = digest_of(*entry)
        if (digest, look) not in self.steps:
            self.steps[digest, look] = look(content_of(*entry))
        return self.steps[digest, look]

    def newest(self, state, but=()):
        """The step of the newest valid checkpoint in checkpoints/, without these files; 0 if there is none."""
        return max((self.of_file(entry, checkpoint_step) or 0 for name, entry in state.files.items()
                    if name.startswith(CHECKPOINTS) and name.endswith(".safetensors") and name.count("/") == 3
                    and entry[0] not in but), default=0)

    def is_complete(self, state):
        summary = state.files.get("runs/a/summary.json")
        return summary is not None and self.of_file(summary, exit_reason) == "completed"

    def losses(self, state, floor):
        """Describes what is lost or torn, given that a checkpoint of the step `floor` had been durable."""
        newest = self.newest(state)
        if newest < floor:
            yield f"the newest whole checkpoint is of step {newest}, one of step {floor} had been durable"
        for name in ("metrics.jsonl", "ranks/rank-0000.jsonl"):
            entry = state.files.get(f"runs/a/{name}")
            missing = set(range(1, newest + 1)) - set(self.of_file(entry, steps_in) if entry else [])
            if missing:
                yield f"{name} lacks the steps {sorted(missing)} beside a whole checkpoint of step {newest}"
        for name, entry in state.files.items():
            inner = name[len("runs/a/"):]
            is_whole_by_name = entry is not None and not inner.startswith(APPENDED) and ".tmp." not in name
            if is_whole_by_name and not is_whole(*entry):
                yield f"{inner} is torn under its own name"
        if self.is_complete(state):
            for name in ("evaluation.json", "report.html", "model/model.safetensors", "model/synthetic_net.pth"):
                if f"runs/a/{name}" not in state.files:
                    yield f"summary.json says that the run is complete, and there is no {name}"


def exit_reason(content):
    try:
        return json.loads(content).get("exit_reason")
    except ValueError:
        return None
