#!/usr/bin/env python3
"""tandem report and tandem runs: on run folders written by hand, and on those that training leaves.

Pages are parsed by Python's expat and html.parser, and by xmllint where it is installed."""

import base64
import csv
import fcntl
import io
import json
import os
import re
import struct
import unittest

import h5py
from PIL import Image

from pages import XHTML, Page
from run_folders import HOSTILE, RunFolder
from tandem import DATA, TandemTest, whole

SHOWN = "<script>alert(1)</script>\\x1b[31m\"'&\\u202e"  # as a page shows HOSTILE
MOST_BYTES = 2_000_000
ORDER = ["Loss", "Accuracy", "Images per second", "Whole step", "Waiting for data", "Forward and backward",
         "Exchange, waiting for others included", "CPU", "Memory", "Threads"]


def lock(file):
    """As a run that works in the folder does."""
    fcntl.fcntl(file, fcntl.F_OFD_SETLK, struct.pack("hhqqi4x", fcntl.F_WRLCK, os.SEEK_SET, 0, 0, 0))


class Report(TandemTest):
    keeps_ranks = True

    def run_folder(self, name, ranks=1, **options):
        return RunFolder(self.folder / "runs" / name, ranks, **options)

    def page(self, *runs):
        self.tandem("report", *[f"runs/{run}" for run in runs], "--output", "page.html")
        page = Page(self.folder / "page.html")
        self.assertEqual(page.outside(), [])
        self.assertLess(len(page.bytes), MOST_BYTES)
        return page

    def test_one_two_and_eight_ranks(self):
        for ranks in (1, 2, 8):
            with self.subTest(ranks=ranks):
                name = f"np{ranks}"
                self.run_folder(name, ranks).write_steps(300).write_rank_steps(300).write_summary()
                page = self.page(name)
                summary = dict(row[:2] for row in page.rows("Summary"))
                self.assertEqual(summary["state"], "completed")
                self.assertEqual(summary["test accuracy"], "0.8750")
                self.assertEqual(summary["steps"], "1,000")
                self.assertEqual(summary["time of training"], "1:40")
                self.assertEqual(page.column("Ranks", "rank"), [str(rank) for rank in range(ranks)])
                self.assertEqual(page.column("Ranks", "compute"), [f"{10 * (rank + 1)} ms" for rank in range(ranks)])
                self.assertEqual(page.column("Ranks", "exchange"), ["2 ms"] * ranks)
                waits = [10 * (ranks - 1 - rank) for rank in range(ranks)]
                self.assertEqual(page.column("Ranks", "wait"), [f"{wait} ms" if wait else "0 s" for wait in waits])
                slowest = f"rank {ranks - 1} on n1: +{10 if ranks == 2 else 40} ms a step"
                self.assertIn(slowest if ranks > 1 else "absent", summary.get("slowest rank", "absent"))
                self.assertEqual(page.rows("System")[:2], [["mean, and highest"] + [f"rank {rank}" for rank in range(ranks)],
                                                           ["CPU"] + [f"{50 + rank} %" for rank in range(ranks)]])
                charts = page.charts()
                for title in ("Loss", "Accuracy", "Images per second", "Learning rate", "Whole step", "Waiting for data",
                              "Forward and backward", "Exchange, waiting for others included", "CPU", "Memory", "Threads"):
                    self.assertIn(title, charts)
                self.assertIn("over steps 1 to 300", charts["Loss"])
                self.assertEqual([title for title in charts if title in ORDER], ORDER)
                self.assertEqual(list(page.sections()), ["Summary", "Curves", "Ranks", "System", "Options"])

    def test_more_ranks_than_curves(self):
        self.run_folder("many", 20).write_steps(50).write_rank_steps(50)
        page = self.page("many")
        self.assertEqual(len(page.column("Ranks", "rank")), 20)
        self.assertEqual(page.rows("System")[1], ["CPU", "50 % rank 0", "59.5 %", "69 % rank 19", "69 %"])
        self.assertIn("highest of all ranks", page.words())
        self.assertIn("from 10 ms to 200 ms", page.charts()["Forward and backward"])

    def test_runs_side_by_side(self):
        self.run_folder("slow").write_steps(100).write_summary(test_accuracy=0.5).write_config(model="mlp", lr="0.01", seed=1)
        self.run_folder("fast", 2).write_steps(100).write_summary(test_accuracy=0.9).write_config(model="mlp", lr="0.1", seed=1)
        page = self.page("slow", "fast")
        self.assertEqual(page.rows("Summary")[0], ["run", "slow", "fast", "difference"])
        self.assertIn(["test accuracy", "0.5000", "0.9000 ★ best", "+0.4000"], page.rows("Summary"))
        self.assertEqual(page.rows("Differences"), [["what differs", "slow", "fast"], ["--lr", "0.01", "0.1"],
                                                    ["ranks", "1 rank on n1", "2 ranks on n1"]])
        self.assertIn("over epochs 0.1 to 1", page.charts()["Accuracy: test"])
        self.assertEqual(page.words().count("2 ranks on n1"), 2, "in the summary and among the differences")

    @whole
    def test_a_long_run_is_small_and_keeps_its_peaks(self):
        """100,000 lines, of which one has a peak and one a loss that is not finite."""
        def loss(step):
            return {12_345: 77.5, 50_001: None}.get(step, 2.0 - step / 100_000)
        self.run_folder("long", 2).write_steps(100_000, loss=loss).write_rank_steps(100_000).write_summary()
        page = self.page("long")
        self.assertIn("from 1 to 77.5 over steps 1 to 100,000", page.charts()["Loss"])
        lines = [path.get("d") for path in page.all("path")]
        highest = max(len(line.split()) for line in lines)
        self.assertTrue(200 < highest < 1500, highest)

    @whole
    def test_a_spike_of_one_step_of_one_of_eight_ranks(self):
        """Among 100,000 steps, with 14 system metrics."""
        run = self.run_folder("eight", 8).write_steps(100_000).write_summary()
        run.write_rank_steps(100_000, system={f"metric_{number}": number for number in range(11)})
        path = run.path / "ranks/rank-0006.jsonl"
        before, step, after = path.read_text().partition('"step":54321,')
        path.write_text(before + step + after.replace('"data_seconds":0.001', '"data_seconds":7.5', 1))
        page = self.page("eight")
        self.assertEqual(len(page.charts()), 4 + 4 + 14)
        self.assertIn("from 1 ms to 7.5 s over steps 1 to 100,000", page.charts()["Waiting for data"])
        [figure] = [each for each in page.all("figure") if "".join(each.itertext()).startswith("Waiting for data")]
        lines = {group[0].text: group[1].get("d") for group in figure.iter(XHTML + "g")}
        peaks = [point for point in lines["rank 6"].split() if int(point.split(",")[1]) < 400]
        self.assertEqual(len(peaks), 1, "it is one point of the line")
        self.assertAlmostEqual(int(peaks[0].split(",")[0]) / 2000, 0.54321, delta=0.001)

    def test_every_text_from_outside_is_shown_and_does_nothing(self):
        folder = "<script>\x1b[31m&\"'"
        run = self.run_folder(folder, 2, hosts=(HOSTILE,), run_id=HOSTILE).write_steps(20).write_rank_steps(20)
        run.manifest["data"] = {"name": HOSTILE, "digest": HOSTILE}
        run.manifest["versions"] = {"tandem": HOSTILE, "libtorch": HOSTILE}
        run.manifest["command_line"] = HOSTILE
        run.manifest["ranks"][0]["device"] = HOSTILE
        run.write_manifest()
        run.write_config(model=HOSTILE, **{HOSTILE: HOSTILE})
        run.write_summary(error=HOSTILE, exit_reason=HOSTILE, weights_sha256=HOSTILE)
        run.write_note("warning", HOSTILE).write_note(HOSTILE, "checkpoint")
        run.write_evaluation([HOSTILE, "dog"])
        with open(run.path / "ranks/rank-0000.jsonl", "a") as file:
            file.write(json.dumps({"event": "system", "step": 5, HOSTILE: 1}) + "\n")
        page = self.page(folder)
        self.assertNotIn(b"<script", page.bytes)
        self.assertIn("runs/<script>\\x1b[31m&\"'", page.words())
        self.assertNotIn(b"\x1b", page.bytes)
        self.assertNotIn("\u202e", page.text)
        self.assertGreater(page.words().count(SHOWN), 12)
        self.assertEqual(page.all("title")[0].text, f"{SHOWN} – tandem")

    def test_texts_that_are_no_utf8(self):
        """In JSON they are no JSON, so that the file or line is left out and named; in config.ini they are shown."""
        run = self.run_folder("run").write_steps(20).write_note("warning", "synthetic").write_summary()
        run.write_config(model="synthetic")
        for name in ("manifest.json", "metrics.jsonl", "config.ini"):
            path = run.path / name
            before = path.read_bytes()
            path.write_bytes(before.replace(b"synthetic", b"\xff\xfe"))
            self.assertNotEqual(path.read_bytes(), before)
        page = self.page("run")
        events = "".join(page.sections()["Events"].itertext())
        self.assertIn("manifest.json: is not one JSON object", events)
        self.assertNotIn("warning", events)
        self.assertIn("Left out: 1 line of metrics.jsonl", events)
        self.assertIn("\ufffd\ufffd", page.words())

    def test_times_are_those_of_utc_wherever_it_is_read(self):
        self.run_folder("run").write_steps(20).write_summary()
        tokyo = {"TZ": "Asia/Tokyo"}
        self.tandem("report", "runs/run", "--output", "page.html", environment=tokyo)
        self.assertIn("2026-11-21 12:43:20 UTC", Page(self.folder / "page.html").words())
        row = json.loads(self.tandem("runs", "--json", environment=tokyo).stdout)
        self.assertEqual(row["started"], "2026-11-21T12:43:20Z")

    def test_a_run_that_goes_on(self):
        run = self.run_folder("going", 2).write_steps(50).write_rank_steps(30, ranks=1)
        with open(run.path / "metrics.jsonl", "a") as file:
            file.write('{"event":"step","step":51,"epoch":0.51,"ti')
        with open(run.path / "run.lock", "w") as held:
            lock(held)
            page = self.page("going")
            self.assertIn("while training went on", page.words())
            summary = dict(row[:2] for row in page.rows("Summary"))
            self.assertEqual((summary["state"], summary["steps"]), ("running", "50"))
            self.assertEqual(page.column("Ranks", "rank"), ["0"])
        self.assertRegex(dict(row[:2] for row in self.page("going").rows("Summary"))["state"], "^unfinished")

    def test_files_torn_anywhere_are_no_failure(self):
        run = self.run_folder("torn").write_steps(3).write_summary().write_evaluation(["a", "b"], worst=1)
        for name in ("manifest.json", "summary.json", "evaluation.json", "metrics.jsonl", "config.ini"):
            whole = (run.path / name).read_bytes()
            for end in (0, 1, len(whole) // 2, len(whole) - 2):
                with self.subTest(name=name, end=end):
                    (run.path / name).write_bytes(whole[:end])
                    page = self.page("torn")
                    if name.endswith(".json"):
                        self.assertIn(name, "".join(page.sections()["Events"].itertext()))
            (run.path / name).write_bytes(whole)

    def test_answers(self):
        classes = ["cat", "dog", "owl"]
        self.run_folder("a").write_summary().write_evaluation(classes, shape=(3, 2, 4), worst=2)
        page = self.page("a")
        mistakes, by_class, whole = page.tables("Answers")
        self.assertEqual(mistakes[:2], [["is → called", "images", "of its class"], ["cat → dog", "1", "10.0 %"]])
        self.assertEqual(by_class, [["class", "right", "images"], ["cat", "90.0 %", "10"], ["dog", "90.9 %", "11"],
                                    ["owl", "91.7 %", "12"]])
        self.assertEqual(whole[0][1:], [*classes, "right"])
        self.assertEqual(whole[2], ["dog", "0", "10", "1", "90.9 %"])
        images = page.all("img")
        self.assertEqual([image.get("alt") for image in images], ["cat, called owl"] * 2)
        image = Image.open(io.BytesIO(base64.b64decode(images[0].get("src").split(",")[1])))
        self.assertEqual(image.size, (4, 2))
        self.assertEqual(image.tobytes()[:6], bytes([0, 8, 16, 1, 9, 17]), "planes become pixels")

    def test_answers_of_many_classes(self):
        self.run_folder("a").write_summary().write_evaluation([f"class {i}" for i in range(100)])
        page = self.page("a")
        self.assertIn(["class 3 → class 4", "1", "7.7 %"], page.rows("Answers"))
        self.assertIn("not shown: 60 rarer mistakes", page.words())

    def test_mistakes_are_named(self):
        self.run_folder("a").write_summary()
        for arguments, code, pattern in (
                ([], 2, "RUN_DIR is missing"), (["--output", "x.html"], 2, "RUN_DIR is missing"),
                (["runs/a", "--output", "runs/a/config.ini"], 2, "does not end in .html"),
                (["runs/absent", "--output", "x.html"], 66, "runs/absent: is not there"),
                (["runs", "--output", "x.html"], 65, "runs: has neither config.ini nor manifest.json"),
                (["runs/a", "--output", "absent/x.html"], 73, "absent/"),
                (["runs/a"] * 33 + ["--output", "x.html"], 2, "33 runs are too many")):
            with self.subTest(arguments=arguments):
                self.assert_one_error(self.tandem("report", *arguments, code=code), pattern)
                self.assertFalse((self.folder / "x.html").exists())


    def test_a_page_goes_where_it_is_looked_for_and_replaces_tandems_own_only(self):
        self.run_folder("a").write_summary()
        self.run_folder("b").write_summary()
        for folders, output in ((["runs/a"], "runs/a/report.html"), (["runs/a/"], "runs/a/report.html"), (["runs/a", "runs/b"], "report.html")):
            self.assertEqual(self.tandem("report", *folders).stdout, f"{(self.folder / output).resolve()}\n")
        self.assertEqual(Page(self.folder / "runs/a/report.html").outside(), [])
        (self.folder / "thesis.html").write_text("<p>mine</p>")
        done = self.tandem("report", "runs/a", "--output", "thesis.html", code=73)
        self.assert_one_error(done, "thesis.html: exists already, and tandem did not write it; .* add --force")
        self.assertEqual((self.folder / "thesis.html").read_text(), "<p>mine</p>")
        self.tandem("report", "runs/a", "--output", "thesis.html", "--force")
        self.tandem("report", "runs/b", "--output", "thesis.html")


class TrainLeaves(TandemTest):
    keeps_ranks = True

    def is_summary_first(self, run_id):
        summary, page = (self.folder / "runs" / run_id / name for name in ("summary.json", "report.html"))
        return summary.stat().st_mtime_ns < page.stat().st_mtime_ns

    def answers_of(self, run_id):
        return json.loads((self.folder / "runs" / run_id / "evaluation.json").read_text())

    def test_a_page_and_the_answers(self):
        summary = self.train(2, "a", "--log-every", "1")
        page = Page(self.folder / "runs/a/report.html")
        self.assertEqual(page.outside(), [])
        rows = dict(row[:2] for row in page.rows("Summary"))
        self.assertEqual((rows["state"], rows["steps"]), ("completed", "3"))
        self.assertAlmostEqual(float(rows["test accuracy"]), summary["test_accuracy"], places=3)
        self.assertEqual(page.column("Ranks", "rank"), ["0", "1"])

        answers = self.answers_of("a")
        evaluated = self.evaluate(2, "runs/a")
        self.assertEqual((answers["step"], answers["images"]), (3, 120))
        self.assertEqual(sum(map(sum, answers["confusion"])), 120)
        self.assertEqual(sum(answers["confusion"][c][c] for c in range(10)), evaluated["correct"])
        self.assertEqual([answers["confusion"][c][c] / sum(answers["confusion"][c]) for c in range(10)],
                         list(evaluated["class_accuracy"].values()))
        losses = [image["loss"] for image in answers["worst"]]
        self.assertEqual((len(losses), losses), (24, sorted(losses, reverse=True)))
        self.assertGreater(losses[-1], answers["test_loss"])
        with h5py.File(DATA, "r") as file:
            for image in answers["worst"]:
                self.assertEqual(base64.b64decode(image["pixels"]), file["test/images"][image["index"]].tobytes())
                self.assertEqual(image["label"], file["test/labels"][image["index"]])
        self.assertEqual(len(page.all("img")), 24)
        self.assertFalse(self.is_summary_first("a"), "it is the sign that a run is complete")

    def test_the_same_answers_at_any_number_of_ranks(self):
        """Of the same weights, on a test set of several batches."""
        self.tandem("pack", "--input", "synthetic", "--images", "8000", "--output", "larger.h5")
        for ranks in (1, 2, 4):
            self.train(ranks, f"np{ranks}", "--data", "larger.h5", "--virtual-ranks", "4", "--global-batch-size", "64")
        one = self.answers_of("np1")
        self.assertEqual(one["images"], 1600)
        self.assertEqual(self.answers_of("np2"), one)
        self.assertEqual(self.answers_of("np4"), one)

    def test_a_run_that_goes_on_leaves_them_anew(self):
        self.train(2, "a")
        self.train(2, "a", "--resume", "auto", "--max-steps", "5")
        self.assertEqual(self.answers_of("a")["step"], 5)
        self.assertIn(["steps", "5"], Page(self.folder / "runs/a/report.html").rows("Summary"))

    def test_a_run_that_fails_leaves_a_page(self):
        self.mpirun(2, "train", "--data", DATA, "--model", "mlp", "--global-batch-size", "64", "--lr", "1e9", "--max-steps", "50",
                    "--lr-reference-batch", "1e-30", "--run-id", "a", "--quiet", code=70)
        rows = dict(row[:2] for row in Page(self.folder / "runs/a/report.html").rows("Summary"))
        self.assertEqual(rows["state"], "failed")
        self.assertIn("not finite", rows["error"])
        self.assertTrue(self.is_summary_first("a"), "launchers do not wait for long")

    def test_no_evaluation_leaves_no_answers(self):
        self.train(1, "a", "--eval-every", "0")
        self.assertFalse((self.folder / "runs/a/evaluation.json").exists())
        self.assertNotIn("Answers", Page(self.folder / "runs/a/report.html").sections())


class Runs(TandemTest):
    keeps_ranks = True

    def setUp(self):
        super().setUp()
        runs = self.folder / "runs"
        RunFolder(runs / "b", 2).write_steps(10).write_summary(test_accuracy=0.75)
        RunFolder(runs / "a").write_steps(10).write_summary(test_accuracy=0.5, exit_reason="stopped", train_loss=None)
        RunFolder(runs / "c").write_steps(40)
        (runs / "no-run").mkdir()
        (runs / "file").write_text("")

    def rows(self, *arguments):
        return [json.loads(line) for line in self.tandem("runs", *arguments, "--json").stdout.splitlines()]

    def test_table(self):
        lines = self.tandem("runs").stdout.splitlines()
        self.assertEqual([line.split()[0] for line in lines], ["run", "a", "b", "c"])
        self.assertEqual([line.split()[1] for line in lines], ["state", "stopped", "completed", "unfinished"])
        self.assertLessEqual(max(map(len, lines)), 100)
        self.assertIn("1:42", lines[1])
        self.assertRegex(self.tandem("runs").stderr, "^tandem: 1 run unfinished: .*--resume auto\n$")
        RunFolder(self.folder / "runs/0-newest").write_steps(10).write_start(3600)
        self.assertEqual([line.split()[0] for line in self.tandem("runs").stdout.splitlines()], ["run", "a", "b", "c", "0-newest"])
        self.assertIn("0.7500", lines[2])
        self.assertEqual(self.tandem("runs", "runs").stdout, self.tandem("runs").stdout)
        self.assertEqual(self.tandem("runs", "runs/no-run").stderr, "tandem: runs/no-run: holds no run\n")

    def test_json_and_order(self):
        rows = self.rows()
        self.assertEqual([row["run"] for row in rows], ["a", "b", "c"])
        self.assertEqual([row["ranks"] for row in rows], [1, 2, 1])
        self.assertEqual([row["steps"] for row in rows], [1000, 1000, 40])
        self.assertEqual(rows[0]["train_loss"], None)
        self.assertRegex(rows[0]["started"], r"^2026-11-21T\d\d:\d\d:\d\dZ$")
        for arguments, expected in (
                (["--sort", "test_accuracy"], "cab"), (["--sort", "test_accuracy", "--descending"], "bac"),
                (["--sort", "train_loss"], "bca"), (["--sort", "train_loss", "--descending"], "cba"),
                (["--sort", "run", "--descending"], "cba")):
            with self.subTest(arguments=arguments):
                self.assertEqual("".join(row["run"] for row in self.rows(*arguments)), expected)

    def test_json_is_json_whatever_a_name_holds(self):
        name = "DEL \x7f CSI \x9b31m ESC \x1b é \u202e"
        RunFolder(self.folder / "runs" / "d").write_summary().write_config(model=name)
        self.assertEqual(self.rows()[-1]["model"], name)
        self.assertTrue(self.tandem("runs", "--json").stdout.isascii())

    def test_spreadsheet(self):
        for name, model in (("d", "=1+1"), ("e", 'a,"b"'), ("f", HOSTILE), ("g", "+1"), ("h", "@x")):
            RunFolder(self.folder / "runs" / name).write_summary().write_config(model=model)
        done = self.run_command(["bash", "-c", '"$0" runs --csv > runs.csv', os.environ["TANDEM_TEST_PROGRAM"]], 0, {})
        self.assertEqual(done.stderr, "")
        content = (self.folder / "runs.csv").read_bytes()
        self.assertNotIn(b"\x1b", content)
        self.assertEqual(content.count(b"\r\n"), content.count(b"\n"))
        head, *rows = csv.reader(io.StringIO(content.decode(), newline=""), strict=True)
        self.assertEqual(head, list(self.rows()[0]))
        models = [row[head.index("model")] for row in rows]
        self.assertEqual(models[3:], ["'=1+1", 'a,"b"', '<script>alert(1)</script>\\x1b[31m"\'&\\u202e', "'+1", "'@x"])
        self.assertEqual(rows[1][head.index("test_accuracy")], "0.75")
        self.assertNotIn("\x1b", self.tandem("runs").stdout + self.tandem("runs", "--json").stdout)

    def test_mistakes_are_named(self):
        for arguments, code, pattern in (
                (["absent"], 66, "absent: is not there"), (["runs/file"], 65, "runs/file: is a file"),
                (["runs/a"], 65, "runs/a: is a run"),
                (["--sort", "accuracy"], 2, "'accuracy' is not one of.*test_accuracy"),
                (["--json", "--csv"], 2, "--json and --csv"), (["runs", "more"], 2, "one DIR is expected")):
            with self.subTest(arguments=arguments):
                self.assert_one_error(self.tandem("runs", *arguments, code=code), pattern)

    def test_what_cannot_be_read_is_a_warning(self):
        (self.folder / "runs/b/summary.json").write_text("{")
        done = self.tandem("runs")
        self.assertEqual(len(re.findall("^tandem: warning: runs/b/summary.json", done.stderr, re.MULTILINE)), 1, done.stderr)
        self.assertEqual([line.split()[1] for line in done.stdout.splitlines()], ["state", "stopped", "damaged", "unfinished"])

    def test_an_empty_folder_has_a_head_alone(self):
        self.assertEqual(len(self.tandem("runs", "runs/no-run").stdout.splitlines()), 1)


if __name__ == "__main__":
    unittest.main(verbosity=2)
