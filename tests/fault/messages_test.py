#!/usr/bin/env python3
"""What is said when something is wrong: one message from one rank, word for word, and its exit code.

The sentences are in tests/golden/fault_messages.json, by the names of these tests."""

import os
import pathlib
import re
import shutil
import subprocess
import tempfile
import time
import unittest

from golden_messages import GoldenTest
from processes import flip_a_bit_in_memory, ranks_of
from rank_variable import FIND_RANK
from safetensors_file import bytes_of_tensors
from tandem import DATA, MPIRUN, PROGRAM

# After a rank's exit code mpirun would wait a second before it sees that the others have ended too.
os.environ["OMPI_MCA_odls_base_sigkill_timeout"] = "0"
UNSHARE = os.environ["TANDEM_TEST_UNSHARE"].split()
# Root may write everywhere, unless this capability is taken from it.
WITHOUT_ROOTS_RIGHTS = ["setpriv", "--bounding-set", "-dac_override", "--inh-caps", "-dac_override"]
NETWORK = ["--model", "lenet", "--global-batch-size", "64", "--lr", "0.01", "--momentum", "0.5", "--run-id", "a"]
TRAIN = ["train", "--data", DATA, *NETWORK, "--max-steps", "4", "--checkpoint-every", "2", "--quiet"]
WITHOUT_DATA = ["train", "--data", "absent.h5", *NETWORK]  # whatever reads the data first will say that it is not there


def on_rank_1(words):
    """A shell script that runs the program, on rank 1 with these words in front of the command or behind it."""
    return FIND_RANK + f'if [ "$rank" = 1 ]; then {words}; fi; exec "$@"'


class Messages(GoldenTest):
    golden = "fault_messages.json"

    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory(prefix="tandem-fault-")
        cls.addClassCleanup(folder.cleanup)
        subprocess.run([PROGRAM, *TRAIN, "--runs-dir", folder.name], check=True, stdout=subprocess.DEVNULL)
        cls.finished_run = pathlib.Path(folder.name) / "a"

    def take_finished_run(self):
        shutil.copytree(self.finished_run, self.folder / "runs/a")
        return self.folder / "runs/a/checkpoints"

    def files(self):
        """All that a run that is refused must leave as it is."""
        return {path: path.is_file() and path.read_bytes() for path in self.folder.rglob("*") if path.name != "run.lock"}

    def assert_leaves_no_run(self):
        self.assertFalse((self.folder / "runs/a").exists())

    def in_mounts_of_its_own(self, mount, *arguments, code):
        command = [*UNSHARE, "bash", "-c", f'{mount} && exec "$@"', "bash"]
        return self.run_command([*command, *MPIRUN, "-n", "2", PROGRAM, *arguments], code, {})

    # Places that cannot be written.

    def test_full_disk(self):
        mount = "mkdir -p runs/a/checkpoints && mount -t tmpfs -o size=64k tmpfs runs/a/checkpoints"
        words = [word for word in TRAIN if word != "--quiet"]
        done = self.in_mounts_of_its_own(mount, *words, "--no-progress", "--resume", "auto", code=74)
        self.assert_says(done, is_output_empty=False)

    def test_read_only_disk(self):
        done = self.in_mounts_of_its_own("mkdir -p runs && mount -t tmpfs -o ro tmpfs runs", *WITHOUT_DATA, code=73)
        self.assert_says(done)

    def test_run_on_a_read_only_disk_goes_on(self):
        self.take_finished_run()
        before = self.files()
        mount = "mount --bind runs runs && mount -o remount,bind,ro runs"
        done = self.in_mounts_of_its_own(mount, *WITHOUT_DATA, "--resume", "auto", code=73)
        self.assert_says(done)
        self.assertEqual(self.files(), before)

    def test_folder_without_permission(self):
        (self.folder / "runs").mkdir(mode=0o555)
        command = [*UNSHARE, *WITHOUT_ROOTS_RIGHTS, *MPIRUN, "-n", "2", PROGRAM, *WITHOUT_DATA]
        self.assert_says(self.run_command(command, 73, {}))

    def test_folder_in_use(self):
        self.take_finished_run()
        first = subprocess.Popen([PROGRAM, *TRAIN, "--resume", "auto", "--max-steps", "100000", "--epochs", "100000",
                                  "--keep-checkpoints", "1000000"],
                                 cwd=self.folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.addCleanup(first.communicate)
        self.addCleanup(first.kill)
        while "step-00000006.safetensors" not in os.listdir(self.folder / "runs/a/checkpoints"):
            self.assertIsNone(first.poll())
            time.sleep(0.01)
        self.assert_says(self.mpirun(2, *WITHOUT_DATA, "--resume", "auto", code=73))
        first.terminate()
        self.assertEqual(first.wait(), 75, "the first run was disturbed")

    def test_folder_of_another_run(self):
        self.take_finished_run()
        before = self.files()
        self.assert_says(self.mpirun(2, *WITHOUT_DATA, code=73))
        self.assertEqual(self.files(), before)

    # Ranks that do not agree.

    def test_other_data_on_rank_1(self):
        self.tandem("pack", "--input", "synthetic", "--images", "60", "--seed", "2", "--output", "other.h5")
        for rank, data in (("0", DATA), ("1", "other.h5")):
            (self.folder / rank).mkdir()
            shutil.copy(self.folder / data, self.folder / rank / "data.h5")
        self.assert_says(self.mpirun_in_own_folders(2, "train", "--data", "data.h5", *NETWORK, code=78))
        self.assertFalse((self.folder / "0/runs/a").exists())

    def test_no_data_on_rank_1(self):
        for rank in ("0", "1"):
            (self.folder / rank).mkdir()
        shutil.copy(DATA, self.folder / "0/data.h5")
        self.assert_says(self.mpirun_in_own_folders(2, "train", "--data", "data.h5", *NETWORK, code=66))
        self.assertFalse((self.folder / "0/runs/a").exists())

    def test_no_data(self):
        self.assert_says(self.mpirun(2, *WITHOUT_DATA, code=66))
        self.assert_leaves_no_run()

    def test_other_option_on_rank_1(self):
        self.assert_says(self.mpirun_in_shell(2, on_rank_1('set -- "$@" --seed 7'), *TRAIN, code=78))
        self.assert_leaves_no_run()

    def test_other_options_on_two_ranks(self):
        script = (FIND_RANK + 'case "$rank" in 1) set -- "$@" --seed 7 --lr 0.02;; 2) set -- "$@" --seed 7 --nesterov;; '
                  'esac; exec "$@"')
        self.assert_says(self.mpirun_in_shell(3, script, *TRAIN, code=78))
        self.assert_leaves_no_run()

    def test_unknown_option_on_rank_1(self):
        self.assert_says(self.mpirun_in_shell(2, on_rank_1('set -- "$@" --sede 7'), *TRAIN, code=78))
        self.assert_leaves_no_run()

    def test_other_command_on_rank_1(self):
        script = on_rank_1(f'set -- "$1" eval --data "{DATA}" --checkpoint a')
        self.assert_says(self.mpirun_in_shell(2, script, *TRAIN, code=78))
        self.assert_leaves_no_run()

    def test_other_environment_on_rank_1(self):
        """No fault: what rank 0 finds holds for all."""
        (self.folder / "0").mkdir()
        (self.folder / "1").mkdir()
        (self.folder / "0/options.ini").write_text("nesterov = true\n")
        (self.folder / "1/options.ini").write_text("nesterov = false\nno such option = 1\n")
        script = FIND_RANK + 'export TANDEM_SEED=$((rank + 7)); cd "$rank" && exec "$@"'
        self.assert_says(self.mpirun_in_shell(2, script, *TRAIN, "--config", "options.ini"), errors=0)
        config = (self.folder / "0/runs/a/config.ini").read_text()
        self.assertRegex(config, r"(?m)^seed = 7$")
        self.assertRegex(config, r"(?m)^nesterov = true$")
        self.assertFalse((self.folder / "1/runs").exists())

    def test_other_version_on_rank_1(self):
        release, source = re.match(r"tandem (\S+) \((\S+),", self.version_of(PROGRAM)).groups()
        done = self.run_other_program(source)
        self.assert_says(done, placeholders={f"{release} {source}": "<version>", f"{release} X{source[1:]}": "<other version>"})

    def test_other_libtorch_on_rank_1(self):
        libtorch = re.search(r"libtorch ([0-9.]+)", self.version_of(PROGRAM))[1]
        done = self.run_other_program(libtorch)
        self.assert_says(done, placeholders={"X" + libtorch[1:]: "<other libtorch>", libtorch: "<libtorch>"})

    def version_of(self, program):
        return subprocess.run([program, "--version"], cwd=self.folder, text=True, capture_output=True).stdout

    def run_other_program(self, text):
        """Rank 1 runs a copy of the program in which this part of its version begins with an X. Compilers keep short texts in
        pieces of four or eight letters, and what looks like the piece looked for may be something else."""
        content = pathlib.Path(PROGRAM).read_bytes()
        expected = self.version_of(PROGRAM).replace(text, "X" + text[1:])
        other = self.folder / "other-program"
        for place in re.finditer(re.escape(text[:4].encode()), content):
            other.write_bytes(content[:place.start()] + b"X" + content[place.start() + 1:])
            other.chmod(0o755)
            if self.version_of(other) == expected:
                done = self.mpirun_in_shell(2, on_rank_1('shift; set -- ./other-program "$@"'), *TRAIN, code=78)
                self.assert_leaves_no_run()
                return done
        self.fail(f"{text} was not found in {PROGRAM}")

    def test_flipped_bit_in_rank_1s_weights(self):
        """With a learning rate of 0 the weights stay those of the first checkpoint, by which they are found in memory."""
        command = [*MPIRUN, "-n", "3", PROGRAM, *TRAIN, "--lr", "0", "--max-steps", "100000", "--epochs", "100000",
                   "--eval-every", "0", "--drift-check-every", "1", "--keep-checkpoints", "1000000"]
        process = subprocess.Popen(command, cwd=self.folder, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.addCleanup(process.communicate)
        self.addCleanup(process.kill)
        checkpoint = self.folder / "runs/a/checkpoints/step-00000002.safetensors"
        while not checkpoint.exists():
            self.assertIsNone(process.poll())
            time.sleep(0.01)
        self.assertGreater(flip_a_bit_in_memory(ranks_of(process.pid)[1], bytes_of_tensors(checkpoint)["fc1.weight"]), 0)
        output, errors = process.communicate()
        self.assertEqual(process.returncode, 78, errors)
        self.assert_says(subprocess.CompletedProcess(command, process.returncode, output, errors))

    # Runs that cannot go on.

    def damage(self, checkpoint):
        content = bytearray(checkpoint.read_bytes())
        content[len(content) * 2 // 3] ^= 4
        checkpoint.write_bytes(content)

    def test_damaged_checkpoint(self):
        checkpoints = self.take_finished_run()
        self.damage(checkpoints / "step-00000004.safetensors")
        before = self.files()
        words = [*TRAIN, "--max-steps", "6", "--resume", "runs/a/checkpoints/step-00000004.safetensors"]
        self.assert_says(self.mpirun(2, *words, code=65))
        self.assertEqual(self.files(), before)

    def test_no_valid_checkpoint(self):
        checkpoints = self.take_finished_run()
        self.damage(checkpoints / "step-00000004.safetensors")
        os.truncate(checkpoints / "step-00000002.safetensors", 100_000)
        before = self.files()
        self.assert_says(self.mpirun(2, *TRAIN, "--max-steps", "6", "--resume", "auto", code=65))
        self.assertEqual(self.files(), before)

    def test_newest_checkpoint_is_damaged(self):
        """No fault, but it is said what was refused."""
        checkpoints = self.take_finished_run()
        self.damage(checkpoints / "step-00000004.safetensors")
        self.assert_says(self.mpirun(2, *TRAIN, "--resume", "auto"), errors=0)

    def test_other_options_than_the_runs(self):
        self.take_finished_run()
        before = self.files()
        words = [*TRAIN, "--max-steps", "6", "--resume", "auto", "--lr", "0.02", "--momentum", "5e-1", "--model", "mlp",
                 "--global-batch-size", "32", "--augment", "standard"]
        self.assert_says(self.mpirun(2, *words, code=78))
        self.assertEqual(self.files(), before)

    def test_training_is_not_finite(self):
        """Weights of 1e7 make a loss beyond the numbers in the second step of these five layers, on any machine."""
        self.assert_says(self.mpirun(2, *TRAIN, "--lr", "1e9", code=70))
        self.assertEqual(os.listdir(self.folder / "runs/a/model"), [])
        self.assertFalse((self.folder / "runs/a/checkpoints").exists(), "a state that is not finite was saved")

    def test_every_golden_message_has_its_test(self):
        self.assert_every_golden_message_has_its_test()


if __name__ == "__main__":
    unittest.main(verbosity=2)
