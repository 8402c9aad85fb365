#!/usr/bin/env python3
"""A run whose checkpoints no longer fit: it trains on, says so, keeps what it has, and ends with 74."""

import json
import os
import re
import unittest

from tandem import DATA, MPIRUN, PROGRAM, TandemTest, read_lines, whole

UNSHARE = os.environ["TANDEM_TEST_UNSHARE"].split()
TRAIN = ["train", "--data", DATA, "--model", "lenet", "--global-batch-size", "64", "--lr", "0.01", "--run-id", "a",
         "--log-every", "1", "--checkpoint-every", "2"]


class FullDisk(TandemTest):
    def run_on_small_disk(self, kilobytes, script, *arguments, code):
        """The checkpoints' folder is a disk of its own, in a mount namespace; `script` uses it before it goes."""
        folder = self.folder / "runs/a/checkpoints"
        folder.mkdir(parents=True, exist_ok=True)
        words = f'mount -t tmpfs -o size={kilobytes}k tmpfs {folder} && {script}'
        return self.run_command([*UNSHARE, "bash", "-c", words, "bash", *MPIRUN, "-n", "2", PROGRAM, *arguments], code, {})

    def test_training_goes_on_and_the_loss_is_told(self):
        done = self.run_on_small_disk(64, '"$@"; code=$?; ls -A runs/a/checkpoints > left; exit $code', *TRAIN,
                                      "--max-steps", "6", "--resume", "auto", code=74)
        self.assertRegex(done.stderr, r"warning: .*step-00000002\.safetensors.*No space left on device.*checkpoint needs ")
        self.assertRegex(done.stderr, r"error: the last checkpoint could not be written: .*step-00000006")
        self.assertEqual((self.folder / "left").read_text(), "", "a temporary file stayed")
        lines = read_lines(self.folder / "runs/a/metrics.jsonl")
        self.assertEqual([line["step"] for line in lines if line["event"] == "step"], [1, 2, 3, 4, 5, 6])
        self.assertEqual([line["step"] for line in lines if line["event"] == "warning"], [2, 4, 6, 6],
                         "the last one before and after its evaluation")
        summary = json.loads((self.folder / "runs/a/summary.json").read_text())
        self.assertEqual((summary["exit_reason"], summary["steps"]), ("completed", 6))

    @whole
    def test_only_the_last_evaluation_is_missing(self):
        """Room for the checkpoint before the last evaluation, but not for the same with its results beside it."""
        done = self.run_on_small_disk(800, '"$@"; code=$?; cp -r runs/a/checkpoints kept; exit $code', *TRAIN, "--max-steps", "2",
                                      "--resume", "auto", code=74)
        self.assertRegex(done.stderr, "error: the last checkpoint is there, but the evaluation after it could not be added: "
                                      ".*step-00000002.*No space left on device")
        self.tandem("verify", "kept/step-00000002.safetensors")

    def test_a_start_on_a_full_disk_leaves_no_folder(self):
        (self.folder / "small").mkdir()
        words = ('mount -t tmpfs -o size=64k tmpfs small; dd if=/dev/zero of=small/ballast; "$@"; code=$?; ls -A small > left; '
                 'exit $code')
        done = self.run_command([*UNSHARE, "bash", "-c", words, "bash", PROGRAM, *TRAIN, "--runs-dir", "small", "--quiet"], 73, {})
        self.assertIn("small/a/run.lock: cannot be written: No space left on device; free space there", done.stderr)
        self.assertEqual((self.folder / "left").read_text(), "ballast\n")

    @whole
    def test_lines_of_metrics_that_do_not_fit_are_left_out(self):
        """The whole run folder is on the full disk; only what comes after training fails."""
        (self.folder / "small").mkdir()
        words = ('mount -t tmpfs -o size=128k tmpfs small && "$@"; code=$?; cp small/a/metrics.jsonl small/a/ranks/*.jsonl .; '
                 'exit $code')
        done = self.run_command([*UNSHARE, "bash", "-c", words, "bash", *MPIRUN, "-n", "2", PROGRAM, *TRAIN, "--runs-dir", "small",
                                 "--checkpoint-every", "0", "--max-steps", "300", "--epochs", "100", "--eval-every", "0",
                                 "--quiet"], 74, {})
        self.assertEqual(len(re.findall("warning: .*lines are missing there", done.stderr)), 1, done.stderr)
        self.assertEqual(len(re.findall("warning: .*TensorBoard will lack values", done.stderr)), 1, done.stderr)
        self.assertEqual(len(re.findall("tandem: error: ", done.stderr)), 1, done.stderr)
        self.assertRegex(done.stderr, "(?s)error: .*model.*the last checkpoint could not be written either: .*"
                                      "so the final weights are in no file: .* from the beginning")
        self.assertRegex(done.stderr, "\n  so the final weights are in no file: ")
        self.assertNotRegex(done.stderr, "the run itself is done|the run is whole|warning: .*/(summary|report)")
        for name in ("metrics", "rank-0000", "rank-0001"):
            steps = [line["step"] for line in read_lines(self.folder / f"{name}.jsonl") if line["event"] == "step"]
            self.assertEqual(steps, sorted(set(steps)))
            self.assertEqual(steps[:10], list(range(1, 11)))
            self.assertTrue(10 < len(steps) < 300, len(steps))

    @whole
    def test_a_model_that_fits_is_named(self):
        """Room for a checkpoint and the model in one of its two forms."""
        (self.folder / "small").mkdir()
        words = ('mount -t tmpfs -o size=1m tmpfs small && "$@"; code=$?; '
                 'cp small/a/model/model.safetensors small/a/*.json small/a/checkpoints/* .; exit $code')
        done = self.run_command([*UNSHARE, "bash", "-c", words, "bash", PROGRAM, *TRAIN, "--runs-dir", "small", "--max-steps", "4",
                                 "--checkpoint-every", "2steps", "--eval-every", "0", "--quiet"], 74, {})
        self.assertRegex(done.stderr, "(?s)error: small/a/model/[a-z]+_net.pth: .*the last checkpoint could not be written either: .*"
                                      "the final weights are in small/a/model/model.safetensors alone: .* from the checkpoint before")
        summary = json.loads((self.folder / "summary.json").read_text())
        self.assertEqual((summary["exit_reason"], summary["steps"]), ("failed", 4))
        self.assertIn("_net.pth: ", summary["error"])
        self.tandem("verify", "model.safetensors")
        self.tandem("verify", "step-00000002.safetensors")

    def test_what_was_written_before_stays_whole(self):
        """Room for one checkpoint and a half."""
        self.run_on_small_disk(800, '"$@"; code=$?; cp -r runs/a/checkpoints kept; exit $code', *TRAIN, "--max-steps", "4",
                               "--resume", "auto", "--keep-checkpoints", "1", code=74)
        self.assertEqual(sorted(path.name for path in (self.folder / "kept").iterdir()),
                         ["latest", "step-00000002.safetensors"])
        self.tandem("verify", "kept/step-00000002.safetensors")


if __name__ == "__main__":
    unittest.main(verbosity=2)
