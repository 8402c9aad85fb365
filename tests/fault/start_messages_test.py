#!/usr/bin/env python3
"""What is said to somebody who has just begun: a wrong option, a file of another kind, a machine that is too small.

The sentences are in tests/golden/start_messages.json, by the names of these tests; docs/troubleshooting.md explains them."""

import os
import pathlib
import signal
import subprocess
import unittest

from PIL import Image

from golden_messages import GoldenTest
from processes import ranks_of
from tandem import DATA, MPIRUN, PROGRAM, whole

os.environ["OMPI_MCA_odls_base_sigkill_timeout"] = "0"
UNSHARE = os.environ["TANDEM_TEST_UNSHARE"].split()
TRAIN = ["train", "--model", "mlp", "--max-steps", "1", "--eval-every", "0", "--quiet", "--run-id", "a"]


class StartMessages(GoldenTest):
    golden = "start_messages.json"

    def assert_refused(self, code, *arguments):
        self.assert_says(self.tandem(*arguments, code=code))
        self.assertFalse((self.folder / "runs/a").exists())

    def copy_of_data(self, name, size=None, flip=None):
        content = bytearray(pathlib.Path(DATA).read_bytes()[:size])
        if flip:
            content[flip] ^= 1
        (self.folder / name).write_bytes(content)

    # Options.

    def test_misspelt_option(self):
        self.assert_refused(2, "train", "--data", DATA, "--modle", "simple")

    def test_option_of_torchrun(self):
        self.assert_refused(2, "train", "--data", DATA, "--nnodes", "2")

    def test_no_data_set_is_named(self):
        self.assert_refused(2, "train")

    def test_both_batch_sizes(self):
        self.assert_refused(2, "train", "--data", DATA, "--batch-size", "8", "--global-batch-size", "8")

    def test_ranks_that_do_not_divide_the_shards(self):
        self.assert_says(self.mpirun(3, *TRAIN, "--data", DATA, "--virtual-ranks", "4", code=2))

    def test_recipe_that_is_not_there(self):
        self.assert_refused(2, "train", "--data", DATA, "--recipe", "cifar10-simpel")

    def test_lines_of_mpirun_are_announced(self):
        """Without one, and with one that is silent, there is nothing to announce."""
        words = [PROGRAM, "train", "--data", "absent.h5", "--modle", "simple"]
        announcement = "\n  (mpirun's lines below only repeat the exit code)\n"
        done = self.run_command([*MPIRUN, "-n", "2", *words], 2, {})
        self.assertEqual(done.stderr.count(announcement), 1, done.stderr)
        self.assert_says(done)
        ours, _, of_mpirun = done.stderr.partition(announcement)
        self.assertNotIn("-----", ours)
        self.assertRegex(of_mpirun, r"Exit code: +2\n")
        for command in ([*MPIRUN, "--quiet", "-n", "2", *words], words):
            done = self.run_command(command, 2, {})
            self.assertNotIn("mpirun", done.stderr)
            self.assertIn("--modle", done.stderr)
        for words, end in ((["--data", "absent.h5"], announcement), (["--json", "--data", "absent.h5"], "}\n")):
            done = self.run_command([*MPIRUN, "-n", "2", PROGRAM, "doctor", *words], 78, {})
            self.assertTrue(done.stdout.endswith(end), done.stdout)

    # Files.

    def test_damaged_data_set(self):
        self.copy_of_data("data.h5", flip=300_000)
        self.assert_says(self.mpirun(2, *TRAIN, "--data", "data.h5", code=65))

    def test_data_set_that_was_cut(self):
        self.copy_of_data("data.h5", size=200_000)
        self.assert_refused(65, *TRAIN, "--data", "data.h5")

    def test_text_for_a_data_set(self):
        (self.folder / "data.h5").write_text("hello\n")
        self.assert_refused(65, *TRAIN, "--data", "data.h5")

    def test_folder_for_a_data_set(self):
        (self.folder / "data").mkdir()
        self.assert_refused(65, *TRAIN, "--data", "data")

    def test_pictures_for_a_data_set(self):
        for name, size in (("cat/1", 8), ("dog/1", 9)):
            path = self.folder / f"my pets/{name}.png"
            path.parent.mkdir(parents=True)
            Image.new("RGB", (size, 8)).save(path)
        self.assert_refused(65, *TRAIN, "--data", "my pets")

    def test_picture_for_a_data_set(self):
        Image.new("RGB", (8, 8)).save(self.folder / "cat.png")
        self.assert_refused(65, *TRAIN, "--data", "cat.png")

    def test_broken_pictures(self):
        for name in ("cat/1.png", "dog/1.png", "dog/2.png"):
            path = self.folder / "pets" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            Image.new("RGB", (8, 8)).save(path)
        (self.folder / "pets/cat/2.png").touch()
        (self.folder / "pets/dog/3.gif").write_bytes(b"GIF89a")
        self.assert_refused(65, "pack", "--input", "pets", "--test-split", "0.5", "--output", "data.h5")

    def test_name_of_a_data_set(self):
        self.assert_refused(66, *TRAIN, "--data", "CIFAR-10")

    def test_two_data_sets_and_two_files_of_options(self):
        for name in ("a", "b"):
            (self.folder / f"{name}.conf").write_text("epochs = 1\n")
        self.assert_refused(66, *TRAIN, "--data", "b.h5", "--config", "a.conf", "--data", "absent.h5", "--config=b.conf")

    def test_options_without_effect(self):
        self.assert_refused(66, *TRAIN, "--data", "absent.h5", "--beta1", "0.9", "--stop-margin", "5")

    def test_options_of_picture_files(self):
        self.copy_of_data("data.h5")
        self.assert_says(self.tandem(*TRAIN, "--data", "data.h5", "--read-lanes", "4"), errors=0)

    def test_pickles_of_cifar10(self):
        folder = self.folder / "cifar-10-batches-py"
        folder.mkdir()
        (folder / "data_batch_1").write_bytes(b"\x80\x02}q")
        (folder / "batches.meta").touch()
        self.assert_refused(65, "pack", "--input", "cifar-10-batches-py", "--output", "data.h5")

    def test_checkpoint_that_is_not_there(self):
        self.assert_refused(66, *TRAIN, "--data", DATA, "--resume", "step-00000001.safetensors")

    def test_folder_without_a_model(self):
        (self.folder / "a").mkdir()
        self.assert_refused(66, "eval", "--data", DATA, "--checkpoint", "a")

    # Machines.

    def test_more_ranks_than_processors(self):
        command = ["taskset", "--cpu-list", "0", *MPIRUN, "-n", "2", PROGRAM, *TRAIN, "--data", DATA]
        self.assert_says(self.run_command(command, 0, {}), errors=0, is_of_machine=True)

    def test_small_shared_memory(self):
        """Ranks in separate PID namespaces, as in containers."""
        self.tandem("pack", "--input", "synthetic", "--images", "20000", "--output", "large.h5")  # 74 MB
        command = [*UNSHARE, "bash", "-c", 'mount -t tmpfs -o size=64m tmpfs /dev/shm && exec "$@"', "bash", *MPIRUN,
                   "--mca", "btl", "self,tcp", "--mca", "btl_tcp_if_include", "lo", "-n", "2",
                   *UNSHARE, "--pid", "--fork", "--kill-child", "--mount-proc", PROGRAM, *TRAIN, "--data", "large.h5"]
        self.assert_says(self.run_command(command, 0, {}), errors=0)

    @whole
    def test_rank_that_stops_advancing(self):
        words = ["train", "--data", DATA, "--model", "lenet", "--epochs", "100000", "--eval-every", "0", "--quiet", "--run-id",
                 "a", "--log-every", "1", "--stall-warn", "5", "--stall-abort", "10"]
        job = subprocess.Popen([*MPIRUN, "-n", "2", PROGRAM, *words], cwd=self.folder, text=True, stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE)
        self.addCleanup(job.communicate)
        self.addCleanup(job.kill)
        self.wait_for_step(job, "runs/a", 3)
        os.kill(ranks_of(job.pid)[1], signal.SIGSTOP)
        output, errors = job.communicate()
        self.assert_says(subprocess.CompletedProcess(job.args, job.returncode, output, errors),
                         placeholders={PROGRAM: "<program>", "mpirun --bind-to none ": "mpirun "})

    def test_every_golden_message_has_its_test(self):
        self.assert_every_golden_message_has_its_test()


if __name__ == "__main__":
    unittest.main(verbosity=2)
