#!/usr/bin/env python3
"""Sets of picture files that are larger than the cache (--cache-mb): the same training as with all of them in memory."""

import json
import os
import re
import signal
import subprocess
import time
import unittest

import h5py
import numpy
from PIL import Image

from safetensors_file import metadata_of, replace_metadata
from tandem import MPIRUN, PROGRAM, TandemTest

PICTURES = 240
MiB = 1 << 20
# 17 MB in 9 blocks, on 4 lanes.
LANES = ["--read-lanes", "4", "--shuffle-mb", "8"]
TRAIN = ["--model", "simple", "--lr", "0.01", "--threads", "1", "--quiet", "--json"]
SMALL = ["--cache-mb", "6"]


def write_noise(folder):
    random = numpy.random.default_rng(2)
    for split, count in (("train", PICTURES), ("test", 40)):
        for label in ("a", "b"):
            (folder / split / label).mkdir(parents=True)
        for i in range(count):
            pixels = random.integers(0, 256, (140 + i % 30, 160, 3), dtype=numpy.uint8)
            Image.fromarray(pixels).save(folder / split / "ab"[i % 2] / f"{i:04}.png", compress_level=0)


class Reading(TandemTest):
    keeps_ranks = True
    data = "noise.h5"
    pack = []  # options
    damaged = "noise.h5"  # the file that a test damages
    batches = ("8", "32")

    def setUp(self):
        super().setUp()
        write_noise(self.folder / "noise")
        self.tandem("pack", "--input", "noise", "--size", "32", "--store", "encoded", "--check", "structure", *self.pack,
                    "--output", "noise.h5")
        self.read = ["--data", self.data, *LANES]
        self.train = [*self.read, *TRAIN]

    def run_training(self, ranks, run_id, *options, code=0):
        return self.mpirun(ranks, "train", *self.train, "--run-id", run_id, *options, code=code)

    def summary(self, ranks, run_id, *options):
        return json.loads(self.run_training(ranks, run_id, *options).stdout.splitlines()[-1])

    def test_same_weights_at_any_cache_and_number_of_ranks(self):
        options = ["--global-batch-size", "24", "--virtual-ranks", "4", "--epochs", "2", "--validation-split", "0.2",
                   "--augment", "resized-crop,flip,mixup"]
        whole = self.summary(2, "whole", *options)
        self.assertEqual(whole["images_seen"], 2 * 192)
        for ranks, cache in ((1, 6), (2, 6), (4, 6), (2, 1), (4, 100)):
            found = self.summary(ranks, f"{cache}-on-{ranks}", *options, "--cache-mb", str(cache))
            for name in ("weights_sha256", "train_loss", "validation_accuracy", "test_loss", "test_accuracy"):
                self.assertEqual(found[name], whole[name], f"{name}, {ranks} ranks, {cache} MiB")

    def test_evaluations_are_the_same_at_any_cache(self):
        summary = self.summary(2, "a", "--epochs", "1", "--batch-size", "12", *SMALL)
        for ranks in (1, 3):
            found = self.evaluate(ranks, "runs/a", *SMALL, data=self.data)
            self.assertEqual(found["test_accuracy"], summary["test_accuracy"])
        loader = self.mpirun(2, "bench", "loader", *self.read, *SMALL, "--batch-size", "8", "--steps", "20", "--augment", "none", "--json")
        self.assertEqual(json.loads(loader.stdout)["ranks"], 2)

    def bytes_requested(self, ranks, run_id, epochs, *options):
        """By all processes. The shell of a rank counts those of its children."""
        script = '"$@" > "out-$$" && grep rchar "/proc/$$/io"'
        done = self.mpirun_in_shell(ranks, script, "train", *self.train, "--run-id", run_id, "--epochs", str(epochs), "--eval-every", "0",
                                    "--system-interval", "0", "--checkpoint-every", "0", *options)
        counts = re.findall(r"rchar: (\d+)", done.stdout)
        self.assertEqual(len(counts), ranks, done.stdout)
        return sum(map(int, counts))

    def bytes_an_epoch(self, ranks, name, *options):
        one = self.bytes_requested(ranks, name + "1", 1, *options)
        return (self.bytes_requested(ranks, name + "3", 3, *options) - one) / 2

    def test_reads_the_file_once_an_epoch(self):
        """Two ranks read one or two of 4 lanes twice, at the border of their slices. Of 64 lanes that would be a small share."""
        train = sum(path.stat().st_size for path in (self.folder / "noise/train").rglob("*.png"))
        for batch in self.batches:
            alone = self.bytes_an_epoch(1, f"alone{batch}", "--global-batch-size", batch, "--cache-mb", "15")
            self.assertLess(alone, 1.05 * train)
            self.assertGreater(alone, 0.95 * train)
            both = self.bytes_an_epoch(2, f"both{batch}", "--global-batch-size", batch, "--cache-mb", "15")
            self.assertLess(both, 1.4 * train)

    def test_small_caches_are_reported(self):
        done = self.run_training(2, "a", "--epochs", "1", "--batch-size", "2", "--cache-mb", "2")
        self.assertRegex(done.stderr, r"the picture cache of a rank holds \d+.*, its 2 lanes use .* at a time, so the rank reads each "
                                      r"block of the file about \d+\.\d times an epoch; fix: --cache-mb \d+")
        self.assertEqual(done.stderr.count("the picture cache of a rank"), 1)
        cache = re.search(r"fix: --cache-mb (\d+)", done.stderr)[1]
        done = self.run_training(2, "b", "--epochs", "1", "--batch-size", "2", "--cache-mb", cache)
        self.assertNotIn("cache", done.stderr)
        # A block in each lane is more than the cache holds, so a smaller window alone does not help.
        for window, fix in (("1", "a smaller --read-lanes for a new run"), ("8", "a smaller --read-lanes and --shuffle-mb for a new run")):
            done = self.run_training(1, f"c{window}", "--max-steps", "1", "--batch-size", "2", "--cache-mb", "3", "--shuffle-mb", window)
            self.assertIn(fix, done.stderr)
        done = self.run_training(1, "d", "--max-steps", "1", "--batch-size", "2", *SMALL, "--read-lanes", "2")
        self.assertIn("or a smaller --shuffle-mb for a new run", done.stderr)

    def test_the_plan_shows_the_cache(self):
        command = ["train", *self.train[:-2], "--batch-size", "8", "--epochs", "1", "--plan"]
        memory = json.loads(self.mpirun(2, *command, "--json", *SMALL).stdout.splitlines()[-1])["memory"]
        self.assertEqual(memory["cache_bytes"], 3 * MiB)
        self.assertLess(memory["images_bytes"], 1e6, "only their places and labels")
        of_rank = sum(memory[f"{part}_bytes"] for part in ("cache", "train_batches", "eval_batches", "weights", "activations", "program"))
        self.assertEqual((memory["rank_bytes"], memory["host_bytes"]), (of_rank, memory["images_bytes"] + 2 * of_rank))
        self.assertRegex(self.mpirun(2, *command, *SMALL).stdout, r"\ncache of picture files +3.1 MB +6.3 MB\n")
        self.assertNotIn("cache of", self.mpirun(2, *command).stdout)

    def test_a_damaged_block_ends_training(self):
        with h5py.File(self.folder / self.damaged) as file:
            place = file["train/bytes"].id.get_offset() + int(file["train/offsets"][60])
        with open(self.folder / self.damaged, "r+b") as file:
            file.seek(place + 1000)
            byte = file.read(1)[0]
            file.seek(-1, os.SEEK_CUR)
            file.write(bytes([byte ^ 4]))
        for ranks in (1, 2):
            done = self.run_training(ranks, f"on{ranks}", "--epochs", "1", "--batch-size", "12", *SMALL, code=65)
            self.assertRegex(done.stderr, r"tandem: error: (rank \d.*)?step \d+: " + self.damaged +
                             r": block \d+ \(\d+ bytes at offset \d+\) is damaged")
        self.assertRegex(self.tandem("verify", self.data, code=65).stderr, r"block \d+ .* is damaged")
        by_rank = set()
        for seed in range(1, 9):
            done = self.run_training(2, f"seed{seed}", "--epochs", "1", "--batch-size", "12", *SMALL, "--seed", str(seed), code=65)
            by_rank.update(re.findall(r"tandem: error: rank (\d)", done.stderr))
            if by_rank == {"0", "1"}:
                break
        self.assertEqual(by_rank, {"0", "1"}, "both have met the block")
        for run in (self.folder / "runs").iterdir():
            summary = json.loads((run / "summary.json").read_text())
            self.assertEqual(summary["exit_reason"], "failed")
            self.assertRegex(summary["error"], self.damaged + r": block \d+ .* is damaged")

    def test_killed_in_an_epoch_and_resumed(self):
        options = ["--global-batch-size", "8", "--epochs", "4", *SMALL]
        whole = self.summary(2, "whole", *options)
        command = [*MPIRUN, "-n", "2", PROGRAM, "train", *self.train, *options, "--run-id", "killed", "--checkpoint-every", "1"]
        running = subprocess.Popen(command, cwd=self.folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True)
        folder = self.folder / "runs/killed/checkpoints"
        while not list(folder.glob("step-0000004*.safetensors")):
            self.assertIsNone(running.poll(), "it ended before it could be killed")
            time.sleep(0.005)
        # Each process, because mpirun would pass on a milder signal.
        for pid in subprocess.run(["pgrep", "-s", str(running.pid)], capture_output=True, text=True).stdout.split():
            if int(pid) != running.pid:
                os.kill(int(pid), signal.SIGKILL)
        running.communicate()
        self.assertNotEqual(running.returncode, 0)
        for options in (["--read-lanes", "5"], ["--shuffle-mb", "9"]):
            done = self.run_training(2, "killed", "--resume", "auto", "--global-batch-size", "8", "--epochs", "4", *options, code=78)
            self.assertIn(f"{options[0]}: the run has ", done.stderr)
        resumed = self.summary(2, "killed", "--resume", "auto", "--global-batch-size", "8", "--epochs", "4", "--cache-mb", "50")
        self.assertEqual((resumed["steps"], resumed["weights_sha256"]), (whole["steps"], whole["weights_sha256"]))

    def test_a_copy_on_the_own_disk_is_read_and_leaves_nothing(self):
        options = ["--global-batch-size", "24", "--epochs", "2"]
        whole = self.summary(2, "whole", *options)
        (self.folder / "disk").mkdir()
        stage = ["--stage", "disk"]
        staged = self.summary(2, "staged", *options, *SMALL, *stage)
        self.assertEqual(staged["weights_sha256"], whole["weights_sha256"])
        self.assertEqual(self.summary(1, "memory", *options, *stage)["steps"], whole["steps"], "all in memory: there is no copy")
        self.assertEqual(list((self.folder / "disk").iterdir()), [])
        done = self.run_training(2, "a", *options, *SMALL, "--stage", "nowhere", code=73)
        self.assert_one_error(done, "--stage nowhere: a file cannot be created there: No such file", "name a folder")

    def test_reads_the_copy_and_not_the_set(self):
        (self.folder / "disk").mkdir()
        command = [*MPIRUN, "-n", "2", PROGRAM, "train", *self.train, "--run-id", "a", "--batch-size", "4", "--epochs", "100", *SMALL,
                   "--stage", "disk", "--checkpoint-every", "1", "--keep-checkpoints", "1", "--eval-every", "0"]
        running = subprocess.Popen(command, cwd=self.folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True)
        try:
            while not list((self.folder / "runs/a/checkpoints").glob("step-*.safetensors")):
                self.assertIsNone(running.poll(), "it ended before its first checkpoint")
                time.sleep(0.01)
            self.assertEqual(list((self.folder / "disk").iterdir()), [], "it has no name")
            for path in self.folder.glob("noise*.h5"):
                os.truncate(path, 1000)
            first = self.latest_step("a")
            while self.latest_step("a") < first + 60:  # more than an epoch
                self.assertIsNone(running.poll(), "it reads the set")
                time.sleep(0.01)
        finally:
            running.send_signal(signal.SIGTERM)
            errors = running.communicate()[1].decode()
        summary = json.loads((self.folder / "runs/a/summary.json").read_text())
        self.assertEqual(summary["exit_reason"], "stopped", errors)
        self.assertEqual(list((self.folder / "disk").iterdir()), [])

    def latest_step(self, run):
        steps = [int(path.stem[5:]) for path in (self.folder / f"runs/{run}/checkpoints").glob("step-*.safetensors")]
        return max(steps, default=0)

    def test_a_whole_shuffle_needs_all_in_memory(self):
        done = self.run_training(2, "a", "--read-lanes", "0", *SMALL, code=69)
        self.assert_one_error(done, f"{re.escape(self.data)}: --read-lanes 0 shuffles all pictures, which take .* of memory; --cache-mb allows ",
                              "fix: --read-lanes 64")


class ReadingSeveralFiles(Reading):
    """The same tests on a set in three files."""

    data = "noise-*.h5"
    pack = ["--files", "3"]
    damaged = "noise-002.h5"
    batches = ("32",)
    # The same code for any number of files.
    test_small_caches_are_reported = test_the_plan_shows_the_cache = test_a_whole_shuffle_needs_all_in_memory = None

    def make_earlier(self, path):
        """Gives a checkpoint of --read-lanes 0 the form of a version that had this order at any --read-lanes."""
        metadata = metadata_of(path)
        del metadata["order_of_parts"]
        options = json.loads(metadata["options"])
        self.assertEqual(options["read-lanes"], "0")
        replace_metadata(path, {**metadata, "options": json.dumps({**options, "read-lanes": "4"})})

    def test_an_earlier_run_keeps_its_order(self):
        options = ["--batch-size", "8", "--epochs", "2", "--checkpoint-every", "1"]
        whole = self.summary(2, "whole", *options, "--read-lanes", "0")
        self.assertNotEqual(self.summary(2, "lanes", *options)["weights_sha256"], whole["weights_sha256"])
        self.summary(2, "a", *options, "--read-lanes", "0", "--max-steps", "4")
        checkpoints = self.folder / "runs/a/checkpoints"
        self.make_earlier(checkpoints / (checkpoints / "latest").read_text().strip())
        done = self.run_training(2, "a", *options, "--resume", "auto", *SMALL, code=69)
        self.assert_one_error(done, "noise-[*].h5: the run began with a version that shuffled all pictures", "fix: a host with more memory")
        self.summary(2, "a", *options, "--resume", "auto", "--max-steps", "8")
        resumed = self.summary(2, "a", *options, "--resume", "auto")
        self.assertEqual((resumed["steps"], resumed["weights_sha256"]), (whole["steps"], whole["weights_sha256"]))


if __name__ == "__main__":
    unittest.main(verbosity=2)
