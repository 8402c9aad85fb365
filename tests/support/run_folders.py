"""Run folders written by hand, as docs/formats.md describes them, for tests of what reads them."""

import base64
import json
import math

START = 1795265000.0

# What nobody should put into a name. Shown, it steers neither a page nor a terminal nor a spreadsheet.
HOSTILE = "<script>alert(1)</script>\x1b[31m\"'&\u202e"


class RunFolder:
    """One run of `ranks` ranks; each part is written by a call of its own."""

    def __init__(self, path, ranks=1, hosts=("n1",), run_id=None):
        self.path, self.ranks = path, ranks
        (path / "ranks").mkdir(parents=True)
        self.manifest = {
            "run_id": run_id or path.name,
            "versions": {"tandem": "0.1.0", "source": "abc", "libtorch": "1.13.1", "mpi": "Open MPI"},
            "command_line": "tandem train --data shapes.h5",
            "data": {"name": "synthetic", "digest": "ab" * 32, "source_sha256": "cd" * 32},
            "ranks": [{"rank": rank, "host": hosts[rank % len(hosts)], "local_rank": rank // len(hosts), "device": "cpu",
                       "threads": 1} for rank in range(ranks)],
            "segments": [{"started": START, "first_step": 0, "world_size": ranks}]}
        self.write_manifest()
        self.write_config(model="mlp", lr="0.05")

    def write_manifest(self):
        (self.path / "manifest.json").write_text(json.dumps(self.manifest))

    def write_start(self, seconds):
        """After the others."""
        self.manifest["segments"][0]["started"] = START + seconds
        self.write_manifest()
        return self

    def write_config(self, **options):
        lines = "".join(f"{name.replace('_', '-')} = {value}\n" for name, value in options.items())
        (self.path / "config.ini").write_text("# tandem train --config of this file repeats the run.\n" + lines)

    def write_steps(self, count, every=1, loss=lambda step: 2.3 * math.exp(-step / 200) + 0.1):
        """count lines, and an evaluation after every tenth of them."""
        with open(self.path / "metrics.jsonl", "w") as file:
            for number in range(1, count + 1):
                step = number * every
                common = f'"step":{step},"epoch":{step / 100},"time":{START + step / 10}'
                file.write(f'{{"event":"step",{common},"loss":{json.dumps(loss(step))},"accuracy":{min(0.99, step / 1000)},'
                           f'"lr":0.05,"images_per_second":{1000 + step % 7}}}\n')
                if number % max(1, count // 10) == 0:
                    file.write(f'{{"event":"eval",{common},"test_loss":{loss(step) + 0.1},'
                               f'"test_accuracy":{min(0.95, step / 1200)},"images":120,"seconds":0.1}}\n')
        return self

    def write_rank_steps(self, count, every=1, ranks=None, system=None):
        """Rank r computes 0.01 * (r + 1) seconds and waits for the last; the exchange itself takes 0.002. `system`: further values."""
        more = "".join(f',"{name}":{value}' for name, value in (system or {}).items())
        for rank in range(self.ranks if ranks is None else ranks):
            with open(self.path / "ranks" / f"rank-{rank:04}.jsonl", "w") as file:
                wait = 0.01 * (self.ranks - 1 - rank)
                for number in range(1, count + 1):
                    step = number * every
                    common = f'"step":{step},"epoch":{step / 100},"time":{START + step / 10}'
                    sample = f',"cpu_percent":{50 + rank},"rss_bytes":{100_000_000 + step},"threads":4{more}'
                    file.write(f'{{"event":"step",{common},"images":{8 * every},"loss":1.5,"step_seconds":{0.003 + 0.01 * self.ranks},'
                               f'"data_seconds":0.001,"compute_seconds":{0.01 * (rank + 1)},"comm_seconds":{0.002 + wait},'
                               f'"images_per_second":{8 / (0.003 + 0.01 * self.ranks)}{sample}}}\n')
        return self

    def write_summary(self, **fields):
        summary = {"run_id": self.manifest["run_id"], "exit_reason": "completed", "world_size": self.ranks, "steps": 1000,
                   "epochs": 10.0, "images_seen": 64000, "train_seconds": 100.0, "evaluation_seconds": 1.0,
                   "startup_seconds": 0.5, "images_per_second": 640.0, "train_loss": 0.25, "skipped_steps": 0,
                   "test_loss": 0.5, "test_accuracy": 0.875, "test_accuracy_tta": None, "weights_sha256": "ef" * 32}
        (self.path / "summary.json").write_text(json.dumps({**summary, **fields}))
        return self

    def write_note(self, event, text, step=5):
        with open(self.path / "metrics.jsonl", "a") as file:
            file.write(json.dumps({"event": event, "step": step, "epoch": 0.1, "time": START, "text": text}) + "\n")
        return self

    def write_evaluation(self, classes, shape=(3, 8, 8), worst=3):
        """Class c has 10 + c images, of which one is taken for the class after it."""
        count = len(classes)
        confusion = [[0] * count for _ in classes]
        for label in range(count):
            confusion[label][label] += 9 + label
            confusion[label][(label + 1) % count] += 1
        pixels = bytes(index % 256 for index in range(shape[0] * shape[1] * shape[2]))
        images = [{"index": 7 * number, "label": 0, "predicted": count - 1, "loss": 9.5 - number,
                   "pixels": base64.b64encode(pixels).decode()} for number in range(worst)]
        (self.path / "evaluation.json").write_text(json.dumps(
            {"step": 1000, "epoch": 10.0, "split": "test", "images": sum(map(sum, confusion)), "test_loss": 0.5,
             "test_accuracy": 0.875, "classes": list(classes), "confusion": confusion, "shape": list(shape), "worst": images}))
        return self
