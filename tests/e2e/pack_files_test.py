#!/usr/bin/env python3
"""tandem pack --files: one set in several files, packed by several ranks, and continued after a kill."""

import json
import os
import re
import shutil
import signal
import subprocess
import time
import unittest

import h5py
import numpy
from PIL import Image

from processes import ranks_of
from screen import OnTerminal
from tandem import MPIRUN, PROGRAM, TandemTest

SYNTHETIC = ["pack", "--input", "synthetic", "--images", "60", "--size", "32", "--store", "encoded"]
LARGE = ["pack", "--input", "synthetic", "--images", "1500", "--size", "224", "--store", "encoded"]
TRAIN = ["--model", "simple", "--epochs", "1", "--lr", "0.02", "--global-batch-size", "16", "--quiet", "--json", "--threads", "1"]


class PackFiles(TandemTest):
    keeps_ranks = True

    def summary(self, ranks, run_id, data, *options):
        done = self.mpirun(ranks, "train", "--data", data, *TRAIN, "--run-id", run_id, *options)
        return json.loads(done.stdout.splitlines()[-1])

    def parts(self, name="set"):
        return sorted(path.name for path in self.folder.glob(f"{name}-*.h5"))

    def contents(self, *names):
        """Bytes and labels of all pictures, one file after the other."""
        found = []
        for name in names:
            with h5py.File(self.folder / name) as file:
                for split in ("train", "test"):
                    group = file[split]
                    found += [(split, group["bytes"][slice(*group["offsets"][i:i + 2])].tobytes(), int(label))
                              for i, label in enumerate(group["labels"])]
        return [each for split in ("train", "test") for each in found if each[0] == split]

    def test_files_are_the_set_of_one_file(self):
        self.tandem(*SYNTHETIC, "--output", "one.h5")
        shown = self.tandem(*SYNTHETIC, "--files", "3", "--output", "set.h5").stdout
        self.assertIn("set-*.h5: synthetic, 60 train and 64 test images of 3x32x32", shown)
        self.assertEqual(self.parts(), ["set-001.h5", "set-002.h5", "set-003.h5"])
        self.assertEqual(self.contents(*self.parts()), self.contents("one.h5"))
        with h5py.File(self.folder / "set-002.h5") as file:
            self.assertEqual((file.attrs["part"], file.attrs["parts"], len(file.attrs["set"])), (2, 3, 64))

    def test_trains_evaluates_and_verifies_on_any_number_of_ranks(self):
        self.tandem(*SYNTHETIC, "--files", "3", "--output", "set.h5")
        digests = set()
        for ranks in (1, 2, 4):
            summary = self.summary(ranks, f"on{ranks}", "set-*.h5", "--virtual-ranks", "4", "--validation-split", "0.2")
            digests.add(summary["weights_sha256"])
        self.assertEqual(len(digests), 1)
        listed = self.summary(2, "list", ",".join(self.parts()), "--virtual-ranks", "4", "--validation-split", "0.2")
        braces = self.summary(2, "braces", "set-{001..003}.h5", "--virtual-ranks", "4", "--validation-split", "0.2")
        self.assertEqual({listed["weights_sha256"], braces["weights_sha256"]}, digests)
        for ranks in (1, 3):
            found = self.evaluate(ranks, "runs/on2", data="set-*.h5")
            self.assertEqual(found["test_accuracy"], summary["test_accuracy"])
        self.assertIn("set-*.h5: whole; synthetic, 60 train and 64 test images", self.tandem("verify", "set-*.h5").stdout)
        self.assertIn("set-002.h5: whole; synthetic, 20 train", self.tandem("verify", "set-002.h5").stdout)
        inspected = json.loads(self.tandem("inspect", "--json", "set-*.h5").stdout)
        self.assertEqual((inspected["train_images"], inspected["parts"], "part" in inspected), (60, 3, False))
        self.assertEqual(json.loads(self.tandem("inspect", "--json", "set-003.h5").stdout)["part"], 3)
        self.assertRegex(self.mpirun(2, "doctor", "--data", "set-*.h5").stdout, "(no fault found|0 errors)(.|\n)*; [0-9.]+ [kM]?B of pictures were not read \\(tandem verify checks them\\)")

    def test_resumed_run_has_the_same_weights(self):
        self.tandem(*SYNTHETIC, "--files", "2", "--output", "set.h5")
        whole = self.summary(2, "whole", "set-*.h5")
        self.summary(2, "parts", "set-*.h5", "--max-steps", "2", "--checkpoint-every", "1")
        resumed = self.summary(2, "parts", "set-*.h5", "--resume", "auto", "--max-steps", str(whole["steps"]))
        self.assertEqual(resumed["weights_sha256"], whole["weights_sha256"])

    def test_files_that_are_no_set_are_refused(self):
        self.tandem(*SYNTHETIC, "--files", "3", "--output", "set.h5")
        train = ["train", "--data", "set-*.h5", *TRAIN]
        (self.folder / "set-002.h5").rename(self.folder / "away")
        self.assert_one_error(self.mpirun(2, *train, code=65), "set-002.h5: part 2 of 3 of the set is missing")
        shutil.copy(self.folder / "set-003.h5", self.folder / "set-002.h5")
        self.assert_one_error(self.mpirun(2, *train, code=65), "set-003.h5: is part 3 of 3, as set-002.h5 is")
        self.tandem(*SYNTHETIC, "--files", "3", "--seed", "1", "--output", "other.h5")
        shutil.copy(self.folder / "other-002.h5", self.folder / "set-002.h5")
        self.assert_one_error(self.mpirun(2, *train, code=65), "set-002.h5: is a part of another set than set-001.h5")
        done = self.mpirun(1, "train", "--data", "set-001.h5", *TRAIN, code=65)
        self.assert_one_error(done, "set-001.h5: is part 1 of 3 of a set; give all of them: 'set-[*].h5'")
        self.assert_one_error(self.mpirun(1, "train", "--data", "no-*.h5", *TRAIN, code=66), "no-[*].h5: no file has such a name")

    def test_ranks_share_the_files(self):
        self.tandem(*SYNTHETIC, "--files", "5", "--output", "alone.h5")
        expected = [(self.folder / name).read_bytes() for name in self.parts("alone")]
        for ranks in (2, 3):
            done = self.mpirun(ranks, *SYNTHETIC, "--files", "5", "--output", f"on{ranks}.h5")
            self.assertEqual(done.stdout.count("60 train and 64 test images"), 1, done.stdout)
            self.assertEqual([(self.folder / name).read_bytes() for name in self.parts(f"on{ranks}")], expected)
        (self.folder / "on3-004.h5").unlink()
        done = self.mpirun(3, *SYNTHETIC, "--files", "5", "--output", "on3.h5")
        self.assertIn("4 of 5 files of on3-*.h5 are complete and kept", done.stderr)
        self.assertEqual([(self.folder / name).read_bytes() for name in self.parts("on3")], expected)

    def test_an_error_of_one_rank_ends_all(self):
        self.write_pictures()
        pack = ["pack", "--input", "pets", "--store", "encoded", "--size", "16", "--test-split", "0.2", "--files", "4",
                "--output", "out/set.h5"]
        (self.folder / "out").mkdir()
        (self.folder / "out/set-003.h5").mkdir()  # in the way of one rank
        done = self.mpirun(2, *pack, code=73)
        self.assertEqual(done.stderr.count("tandem: error:"), 1, done.stderr)
        self.assertRegex(done.stderr, "rank 0 .*set-003.h5")  # the other rank packs the parts 2 and 4
        (self.folder / "out/set-003.h5").rmdir()
        for i in (3, 5, 7):
            (self.folder / f"pets/cat/{i}.jpg").write_bytes(b"no picture")
        done = self.mpirun(2, *pack, code=65)
        self.assert_one_error(done, "pets: 3 files cannot be packed; out/set.h5.broken.txt lists them", "pets/cat/5.jpg: is text")
        self.assertEqual(len((self.folder / "out/set.h5.broken.txt").read_text().splitlines()), 4)
        self.mpirun(2, *pack, "--skip-broken")
        listed = (self.folder / "out/set.h5.broken.txt").read_text().splitlines()
        self.assertEqual([line.split("\t")[0] for line in listed[1:]], [f"pets/cat/{i}.jpg" for i in (3, 5, 7)])
        with h5py.File(self.folder / "out/set-001.h5") as file:
            self.assertEqual(file.attrs["parts"], 4)
        self.tandem("verify", "out/set-*.h5")

    def write_pictures(self, count=30):
        random = numpy.random.default_rng(1)
        for name in ("cat", "dog"):
            folder = self.folder / "pets" / name
            folder.mkdir(parents=True)
            for i in range(count):
                Image.fromarray(random.integers(0, 255, (24, 24, 3), dtype=numpy.uint8)).save(folder / f"{i}.jpg")

    def test_goes_on_after_a_kill(self):
        command = [PROGRAM, "pack", "--input", "synthetic", "--images", "900", "--size", "224", "--store", "encoded",
                   "--files", "12", "--threads", "2", "--output", "set.h5"]
        started = subprocess.Popen(command, cwd=self.folder)
        while not self.parts():
            self.assertIsNone(started.poll(), "it ended before it could be killed")
            time.sleep(0.005)
        started.kill()
        started.wait()
        complete = self.parts()
        self.assertLess(len(complete), 12)
        times = {name: (self.folder / name).stat().st_mtime_ns for name in complete}
        for name in complete:
            self.assertIn("whole", self.tandem("verify", name).stdout)
        done = self.expect(subprocess.run(command, cwd=self.folder, text=True, capture_output=True), 0)
        self.assertIn(f"{len(complete)} of 12 files of set-*.h5 are complete and kept", done.stderr)
        self.assertEqual({name: (self.folder / name).stat().st_mtime_ns for name in complete}, times)
        self.assertEqual([path.name for path in self.folder.iterdir() if ".tmp." in path.name], [])
        self.assertIn("900 train", self.tandem("verify", "set-*.h5").stdout)

    def start_packing(self, launcher=(), **environment):
        """Returns once a file is complete and another is being written."""
        command = [*launcher, PROGRAM, *LARGE, "--files", "12", "--threads", "1", "--output", "set.h5"]
        started = subprocess.Popen(command, cwd=self.folder, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                   env={**os.environ, **environment})
        self.addCleanup(started.communicate)
        self.addCleanup(started.kill)
        while not (self.parts() and self.temporaries()):
            self.assertIsNone(started.poll(), "it ended too soon")
            time.sleep(0.005)
        return started

    def temporaries(self):
        return [path.name for path in self.folder.iterdir() if ".tmp." in path.name]

    def test_an_interruption_says_what_is_kept(self):
        started = self.start_packing()
        started.send_signal(signal.SIGTERM)
        _, errors = started.communicate()
        self.assertEqual(started.returncode, 128 + signal.SIGTERM)
        self.assertIn("interrupted by signal 15; the files that are complete are kept, and the same command packs the others",
                      errors)
        self.assertEqual(self.temporaries(), [])

    def test_an_interrupted_job_leaves_no_temporary_file(self):
        started = self.start_packing([*MPIRUN, "-n", "2"])
        started.send_signal(signal.SIGINT)  # as Ctrl-C
        _, errors = started.communicate()
        self.assertNotEqual(started.returncode, 0)
        self.assertEqual(self.temporaries(), [], errors)
        self.assertLess(len(self.parts()), 12)

    def test_an_error_of_one_rank_ends_the_others_soon(self):
        (self.folder / "set-002.h5").mkdir()  # in the way of rank 1
        done = self.run_command([*MPIRUN, "-n", "2", PROGRAM, *LARGE, "--files", "12", "--threads", "1", "--output", "set.h5"], 73, {})
        self.assertEqual(re.findall("tandem: error: (rank .).*set-002.h5", done.stderr), ["rank 1"], done.stderr)
        self.assertEqual(self.temporaries(), [])
        self.assertLess(len(self.parts()), 1 + 6, "rank 0 has not packed all of its parts")

    def test_a_stopped_rank_is_named(self):
        started = self.start_packing([*MPIRUN, "-n", "2"], TANDEM_STALL_WARN="1", TANDEM_STALL_ABORT="8")
        os.kill(ranks_of(started.pid)[1], signal.SIGSTOP)
        _, errors = started.communicate()
        self.assertEqual(started.returncode, 124, errors)
        self.assertRegex(errors, "error: rank 1 .* has not advanced for [0-9]+ s: .*its process does not run; the job ends")

    def test_terminal_shows_how_far_it_is(self):
        """One row that is redrawn, and removed at the end."""
        running = OnTerminal([PROGRAM, "pack", "--input", "synthetic", "--images", "900", "--size", "224", "--store", "encoded",
                              "--files", "3", "--output", "set.h5"], 200, self.folder)
        self.addCleanup(running.close)
        self.assertEqual(running.finish(), 0)
        drawn = [row for row in running.screen.overwritten if "pictures packed" in row]
        self.assertGreater(len(drawn), 0)
        self.assertRegex(drawn[0], r"^[0-9,]+ of 1,080 pictures packed, [0-9,]+ pictures/s, [0-9:]+ left$")
        self.assertTrue(running.has_its_modes())
        self.assertEqual([line.split(":")[0] for line in running.screen.lines() if line], ["set-*.h5"])

    def test_options_that_do_not_fit_are_refused(self):
        done = self.tandem("pack", "--input", "synthetic", "--files", "2", "--output", "set.h5", code=2)
        self.assert_one_error(done, "--files is for --store encoded only")
        done = self.tandem(*SYNTHETIC, "--files", "61", "--output", "set.h5", code=2)
        self.assert_one_error(done, "--files: 61 files of 60 training pictures and 64 test pictures", "at most 60")


if __name__ == "__main__":
    unittest.main(verbosity=2)
