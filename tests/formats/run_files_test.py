#!/usr/bin/env python3
"""The files of a run, read by software that is not ours: pandas, html5lib, safetensors, torch, Python's json and configparser.
What they find is what docs/formats.md says of each file."""

import configparser
import glob
import io
import json
import pathlib
import re
import tempfile
import unittest
import zipfile

import html5lib
import pandas
import torch
from safetensors import safe_open

from run_folders import HOSTILE, RunFolder
from tandem import DATA, TandemTest

ROOT = pathlib.Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs/formats.md").read_text()
SVG = "{http://www.w3.org/2000/svg}"
COMMON = {"event", "step", "epoch", "time"}
SLOWEST = {"slowest_rank", "slowest_by_seconds", "slowest_in"}
# There with --tta and --validation-split.
OF_OPTIONS = {"test_accuracy_tta", "validation_loss", "validation_accuracy", "validation_accuracy_top5"}


def section(heading):
    """A part of the page, from its heading to the next of the same level."""
    return re.search(rf"^## {re.escape(heading)}\n(.*?)(?=^## |\Z)", PAGE, re.MULTILINE | re.DOTALL).group(1)


def names_in(text):
    return set(re.findall(r"`([a-z_0-9]+)`", text))


def rows_of(text):
    """{names of the first column: what stands behind them} of the tables in a text."""
    lines = [line.strip("| ").split(" | ", 1) for line in text.splitlines() if line.startswith("| `")]
    return {first: rest for first, rest in lines}


def fields_of(text):
    return names_in(" ".join(rows_of(text)))


def keys_of(value):
    """The names of an object and of those in it."""
    if isinstance(value, list):
        return set().union(*map(keys_of, value))
    return set(value).union(*map(keys_of, value.values())) if isinstance(value, dict) else set()


def strict_json(text):
    """As the standard has it: no name twice, neither NaN nor Infinity."""
    def each_once(pairs):
        if len(dict(pairs)) != len(pairs):
            raise ValueError(f"a name stands there twice: {pairs}")
        return dict(pairs)

    def refuse(word):
        raise ValueError(f"{word} is no JSON")
    return json.loads(text, object_pairs_hook=each_once, parse_constant=refuse)


def json_lines(path):
    return [strict_json(line) for line in pathlib.Path(path).read_text().splitlines()]


def parse_html(path):
    """The page by the rules of HTML5, whose first fault is an exception."""
    return html5lib.HTMLParser(strict=True).parse(pathlib.Path(path).read_bytes(), transport_encoding="utf-8")


class RunFiles(TandemTest):
    keeps_ranks = True

    """Of one run, which all tests read."""

    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory(prefix="tandem-formats-")
        cls.addClassCleanup(folder.cleanup)
        trainer = cls()
        trainer.folder = pathlib.Path(folder.name)
        cls.data = trainer.folder / "100 % a=b;c.h5"
        cls.data.symlink_to(DATA)
        cls.summary = trainer.train(2, "a", "--data", cls.data, "--log-every", "1", "--clip-norm", "1", "--profile", "2",
                                    "--save-best", "--system-interval", "0.01")
        cls.trained = trainer.folder / "runs/a"

    def object_in(self, name):
        return strict_json((self.trained / name).read_text())

    def assert_same_values(self, frame, lines):
        """Each value of a frame is that of its line; where the line has none it is missing."""
        self.assertEqual(len(frame), len(lines))
        self.assertEqual(set(frame), set().union(*lines))
        for (_, row), line in zip(frame.iterrows(), lines):
            for name, value in row.items():
                expected = line.get(name)
                if isinstance(expected, float):
                    # pandas reads a number faster than to its last bit.
                    self.assertLessEqual(abs(value - expected), 1e-11 * abs(expected), name)
                elif expected is None:
                    self.assertTrue(pandas.isna(value), name)
                else:
                    self.assertEqual(value, expected, name)

    def test_metrics_in_pandas(self):
        metrics = pandas.read_json(self.trained / "metrics.jsonl", lines=True)
        lines = json_lines(self.trained / "metrics.jsonl")
        self.assert_same_values(metrics, lines)
        self.assertAlmostEqual(metrics[metrics.event == "eval"].test_accuracy.iloc[-1], self.summary["test_accuracy"])
        self.assertEqual(list(metrics[metrics.event == "step"].step), [1, 2, 3])
        described = {event.strip("`"): rest.split(" | ")[-1] for event, rest in rows_of(section("`metrics.jsonl`")).items()}
        self.assertLessEqual({"step", "epoch", "eval", "checkpoint"}, {line["event"] for line in lines})
        for line in lines:
            fields = names_in(described[line["event"]]) | (SLOWEST if line["event"] in ("step", "epoch") else set())
            fields -= OF_OPTIONS - set(line)
            self.assertEqual(keys_of(line) - COMMON, fields, line)

    def test_metrics_of_ranks_in_pandas(self):
        paths = sorted(glob.glob(f"{self.trained}/ranks/*.jsonl"))
        ranks = pandas.concat({path: pandas.read_json(path, lines=True) for path in paths})
        self.assertEqual(list(ranks.step), [1, 2, 3, 1, 2, 3])
        always, sampled = map(fields_of, section("`ranks/rank-0000.jsonl`").split("The other fields summarize"))
        for path, frame in ranks.groupby(level=0):
            lines = json_lines(path)
            self.assert_same_values(frame.dropna(axis="columns", how="all"), lines)
            for line in lines:
                self.assertLessEqual(COMMON | always, set(line))
                self.assertLessEqual(set(line), COMMON | always | sampled)
        self.assertIn("cpu_percent", ranks)

    def test_objects_of_a_run(self):
        several = {"test_map", "validation_map", "class_images", "class_average_precision"}  # of multi-label sets
        for name, absent in (("manifest.json", set()), ("evaluation.json", several), ("summary.json", {"error", *several})):
            found = self.object_in(name)
            self.assertEqual(set(found), fields_of(section(f"`{name}`")) - absent, name)
            for segment in found.get("segments", []):
                kept = re.findall(r"(?m)^([a-z0-9-]+) *=", pathlib.Path(self.trained, "config.ini").read_text())
                self.assertLessEqual({"epochs", "lr"}, set(segment["options"]))
                self.assertEqual(set(segment.pop("options")), set(kept))
            self.assertLessEqual(keys_of(found), names_in(section(f"`{name}`")), name)
        self.assertEqual(self.object_in("summary.json"), self.summary)

    def test_lock(self):
        """One line per name and value, in the order of the page."""
        said = re.findall(r"^\| `([a-z-]+) ", section("`run.lock`"), re.MULTILINE)
        found = [line.split(" ", 1) for line in (self.trained / "run.lock").read_text().splitlines()]
        self.assertEqual([name for name, _ in found], said)
        self.assertEqual(dict(found)["state"].strip(), "free")

    def test_traces(self):
        for rank in range(2):
            trace = self.object_in(f"traces/rank-{rank:04}.json")
            spans = [event for event in trace["traceEvents"] if event["ph"] == "X"]
            self.assertLessEqual(names_in("`data` `compute` `exchange` `update`"), {span["name"] for span in spans})
            for span in spans:
                self.assertEqual((span["pid"], span["cat"]), (rank, "cpu"))
                self.assertTrue(span["tid"] and span["ts"] > 1.6e15 and span["dur"] >= 0, span)

    def test_config_in_configparser(self):
        parser = configparser.ConfigParser(interpolation=None)
        parser.read_string("[run]\n" + (self.trained / "config.ini").read_text())
        options = parser["run"]
        self.assertEqual((options["model"], options.getint("max-steps"), options.getfloat("lr")), ("mlp", 3, 0.01))
        self.assertEqual(options["data"], str(self.data))
        self.assertEqual((options.getboolean("save-best"), options.getboolean("nesterov")), (True, False))
        for name in ("recipe", "config", "run-id", "resume", "print-config"):
            self.assertNotIn(name, options)

    def test_recipes_in_configparser(self):
        paths = list((ROOT / "jobs/recipes").glob("*.conf"))
        self.assertTrue(paths)
        for path in paths:
            parser = configparser.ConfigParser(interpolation=None)
            parser.read_string("[recipe]\n" + path.read_text())
            self.assertIn("model", parser["recipe"], path)

    def test_weights_and_checkpoints(self):
        model = fields_of(section("`model/model.safetensors`"))
        further = fields_of(section("`checkpoints/step-00001234.safetensors`"))
        with safe_open(self.trained / "model/model.safetensors", "pt") as file:
            self.assertEqual(set(file.metadata()), model - {"eval_crop", "network_sha256", "stem", "targets"})
            weights = {name: file.get_tensor(name) for name in file.keys()}
        pickled = torch.load(self.trained / "model/synthetic_net.pth", weights_only=True)
        self.assertEqual(list(pickled), [f"fc{i}.{kind}" for i in (1, 2, 3) for kind in ("weight", "bias")])
        with zipfile.ZipFile(self.trained / "model/synthetic_net.pth") as archive:
            mark = [name for name in archive.namelist() if name.endswith("/tandem.txt")]
            self.assertEqual([archive.read(name) for name in mark], [b"written by tandem\n"])
        newest = (self.trained / "checkpoints/latest").read_text().strip()
        for name in (newest, "best.safetensors"):
            with safe_open(self.trained / "checkpoints" / name, "pt") as file:
                rare = {"eval_crop", "muon_products", "network_sha256", "order_of_parts", "stem", "targets"}
                self.assertEqual(set(file.metadata()), (model | further) - rare)
                for key in ("state", "options", "hash64", "classes"):
                    strict_json(file.metadata()[key])
                kept = {name: file.get_tensor(name) for name in file.keys()}
            arrays = {f"optimizer.velocity.{name}" for name in weights}
            self.assertEqual(set(kept), set(weights) | arrays)
            for name, tensor in weights.items():
                self.assertTrue(torch.equal(tensor, kept[name]) and torch.equal(tensor, pickled[name]), name)
                velocity = kept[f"optimizer.velocity.{name}"]
                self.assertEqual((velocity.shape, velocity.dtype), (tensor.shape, torch.float32))

    def test_every_section_of_the_page_names_its_test(self):
        table = dict(re.findall(r"^\| (.*?) \| (.*) \|$", PAGE[:PAGE.index("\n## ")], re.MULTILINE)[1:])
        self.assertEqual(list(table), re.findall("^## (.*)$", PAGE, re.MULTILINE))
        known = "".join(path.read_text() for path in (ROOT / "tests").glob("*/CMakeLists.txt"))
        for first, rest in table.items():
            tests = re.findall(r"`(\w+)\.(\w+)`", rest)
            self.assertTrue(tests, first)
            for label, name in tests:
                self.assertRegex(known, rf"NAME {label}\.{name}\b|_test\(({label} )?{name}\b")


class Pages(TandemTest):
    keeps_ranks = True

    """report.html by the rules of HTML5. That it is well-formed XML too, e2e.report sees."""

    def parse_report(self, *runs):
        self.tandem("report", *[f"runs/{run}" for run in runs], "--output", "page.html")
        return parse_html(self.folder / "page.html")

    def assert_drawn(self, tree):
        """Inside a drawing nothing is HTML: no word from outside has ended it."""
        drawings = list(tree.iter(SVG + "svg"))
        self.assertTrue(drawings)
        for drawing in drawings:
            for each in drawing.iter():
                self.assertTrue(each.tag.startswith(SVG), each.tag)

    def test_pages_that_training_leaves(self):
        self.train(2, "a", "--log-every", "1")
        self.assert_drawn(parse_html(self.folder / "runs/a/report.html"))

    def test_pages_of_several_runs_and_hostile_words(self):
        hostile = RunFolder(self.folder / "runs/a", 8, hosts=(HOSTILE,), run_id=HOSTILE).write_steps(40).write_rank_steps(40)
        hostile.write_config(model=HOSTILE, **{HOSTILE: HOSTILE})
        hostile.write_summary(error=HOSTILE, exit_reason=HOSTILE).write_note("warning", HOSTILE)
        hostile.write_evaluation([HOSTILE, "dog"])
        RunFolder(self.folder / "runs/b", 1).write_steps(20).write_rank_steps(20, system=False).write_summary()
        self.assert_drawn(self.parse_report("a"))
        self.assert_drawn(self.parse_report("a", "b"))


class Tables(TandemTest):
    keeps_ranks = True

    def test_runs_in_pandas(self):
        RunFolder(self.folder / "runs/a", 2).write_steps(10).write_summary(test_accuracy=0.75)
        RunFolder(self.folder / "runs/b").write_steps(10).write_summary(train_loss=None).write_config(model='a,"b"\n')
        RunFolder(self.folder / "runs/c").write_steps(40)
        table = pandas.read_csv(io.StringIO(self.tandem("runs", "--csv").stdout))
        lines = pandas.read_json(io.StringIO(self.tandem("runs", "--json").stdout), lines=True)
        self.assertEqual((list(table), len(table)), (list(lines), 3))
        for name in table:
            for one, other in zip(table[name], lines[name]):
                if isinstance(one, float) and not pandas.isna(one):
                    self.assertAlmostEqual(one, other, places=9, msg=name)
                else:
                    self.assertTrue(one == other or pandas.isna(one) and pandas.isna(other), f"{name}: {one!r}, {other!r}")


if __name__ == "__main__":
    unittest.main()
