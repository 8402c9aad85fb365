"""The content of a run folder, read without tandem: valid checkpoints, weights, metrics, documents. For tests of random lives."""

import collections
import hashlib
import json
import re

from safetensors_file import is_sealed, split_content

Checkpoint = collections.namedtuple("Checkpoint", ["step", "weights"])


def read_checkpoint(path):
    """Step and SHA-256 of the weights of a safetensors file, as docs/formats.md describes it; None if it is damaged."""
    content = path.read_bytes()
    try:
        header, data = split_content(content)
        metadata = header.pop("__metadata__")
        if not is_sealed(content, metadata):
            return None
    except (ValueError, KeyError):
        return None
    weights = hashlib.sha256()
    for name in sorted(header):
        if not name.startswith("optimizer."):
            weights.update(data[slice(*header[name]["data_offsets"])])
    step = json.loads(metadata["state"])["step"] if "state" in metadata else None
    return Checkpoint(step, weights.hexdigest())


def read_json(path):
    """None if the file is missing or is not JSON."""
    try:
        return json.loads(path.read_text())
    except (FileNotFoundError, ValueError):
        return None


class LifeFolder:
    def __init__(self, path):
        self.path = path

    def checkpoint_paths(self):
        """The checkpoints in checkpoints/ itself, the newest step first, then the best."""
        folder = self.path / "checkpoints"
        best = folder / "best.safetensors"
        return sorted(folder.glob("step-*.safetensors"), reverse=True) + ([best] if best.exists() else [])

    def steps(self):
        """The steps in the names of checkpoints, the newest first."""
        return [step_of(path) for path in self.checkpoint_paths() if path.name.startswith("step-")]

    def best(self):
        path = self.path / "checkpoints/best.safetensors"
        return read_checkpoint(path) if path.exists() else None

    def whole(self):
        """{path: Checkpoint} of the valid ones."""
        found = {path: read_checkpoint(path) for path in self.checkpoint_paths()}
        return {path: checkpoint for path, checkpoint in found.items() if checkpoint}

    def newest_whole(self):
        """The step that `--resume auto` resumes from; 0 if there is none."""
        return max((each.step for each in self.whole().values()), default=0)

    def model(self):
        path = self.path / "model/model.safetensors"
        return read_checkpoint(path) if path.exists() else None

    def document(self, name):
        return read_json(self.path / name)

    def segments(self):
        manifest = self.document("manifest.json")
        return manifest["segments"] if manifest else []

    def metrics(self):
        """The lines, and the text after the last newline."""
        path = self.path / "metrics.jsonl"
        *lines, rest = path.read_text().split("\n") if path.exists() else [""]
        return [json.loads(line) for line in lines], rest

    def temporaries(self):
        return [str(path) for path in self.path.rglob(".*") if ".tmp." in path.name]

    def contents(self):
        """{name: digest} of all files but the lock, and temporary files, which any start removes."""
        return {str(path.relative_to(self.path)): hashlib.sha256(path.read_bytes()).hexdigest()
                for path in self.path.rglob("*")
                if path.is_file() and path.name != "run.lock" and ".tmp." not in path.name}


def step_of(path):
    return int(re.search(r"step-(\d+)", path.name)[1])
