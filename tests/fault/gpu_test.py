#!/usr/bin/env python3
"""Which GPU each rank takes, and what is said where that cannot be: GPUs in name only, the rest is the real program.

The sentences are in tests/golden/gpu_messages.json, by the names of these tests."""

import json
import os
import socket
import unittest

from golden_messages import GoldenTest
from gpus import PROGRAM_FOR_GPUS, device, gpus
from hosts import TWO_HOSTS
from rank_variable import FIND_RANK
from tandem import DATA, MPIRUN, PROGRAM, QUICK, whole

os.environ["OMPI_MCA_odls_base_sigkill_timeout"] = "0"
# Whatever comes after the choice of GPUs would say that the data set is not there, or make a folder.
TRAIN = ["train", "--data", "absent.h5", "--run-id", "a"]
OF_THIS_HOST = {f" {socket.gethostname()};": " <host>;", f" on {socket.gethostname()}\n": " on <host>\n"}


class Gpus(GoldenTest):
    golden = "gpu_messages.json"

    def on_gpus(self, ranks, environment, *arguments, code, script='exec "$@"'):
        """Every rank runs the script before the program."""
        command = [*MPIRUN, "-n", ranks, "bash", "-c", script, "bash", PROGRAM_FOR_GPUS, *arguments]
        return self.run_command(command, code, environment)

    def assert_refused(self, ranks, environment, *options, code=69, script='exec "$@"'):
        done = self.on_gpus(ranks, environment, *TRAIN, *options, code=code, script=script)
        self.assert_says(done, placeholders=OF_THIS_HOST)
        self.assertEqual(list(self.folder.glob("runs")), [])

    def devices(self, done):
        return [rank["device"] for rank in json.loads(done.stdout)["ranks"]]

    def on_no_driver(self):
        """A file that is no library hides the driver of a machine that has one."""
        (self.folder / "libcuda.so.1").touch()
        return {"LD_LIBRARY_PATH": str(self.folder)}

    # Refused, before anything is read.

    def test_no_driver(self):
        self.assert_refused(2, self.on_no_driver(), "--device", "cuda")

    def test_no_gpu(self):
        self.assert_refused(2, gpus(0), "--device", "cuda")

    def test_all_gpus_are_hidden_from_rank_1(self):
        script = FIND_RANK + 'if [ "$rank" = 1 ]; then export CUDA_VISIBLE_DEVICES=; fi; exec "$@"'
        self.assert_refused(2, gpus(2), "--device", "cuda", script=script)

    def test_driver_is_too_old(self):
        self.assert_refused(1, gpus(1, FAKE_CUDA_VERSION="12020"), "--device", "cuda")

    def test_driver_does_not_start(self):
        self.assert_refused(1, gpus(1, FAKE_CUDA_INIT="803"), "--device", "cuda")

    def test_driver_does_not_tell_its_version(self):
        self.assert_refused(1, gpus(1, FAKE_CUDA_INIT="34", FAKE_CUDA_VERSION="0"), "--device", "cuda")

    def test_built_without_cuda(self):
        self.assert_refused(1, gpus(1, FAKE_CUDA_BUILD="0"), "--device", "cuda")

    def test_more_ranks_than_gpus(self):
        self.assert_refused(3, gpus(2), "--device", "cuda")

    def test_two_ranks_on_one_gpu(self):
        self.assert_refused(2, gpus(4, CUDA_VISIBLE_DEVICES="2"), "--device", "cuda")

    def test_too_few_ids(self):
        self.assert_refused(3, gpus(8), "--gpu-ids", "1,6")

    def test_id_of_no_gpu(self):
        self.assert_refused(2, gpus(4, CUDA_VISIBLE_DEVICES="0,1"), "--gpu-ids", "1,6")

    def test_slices_over_nccl(self):
        script = FIND_RANK + 'export CUDA_VISIBLE_DEVICES=$rank; exec "$@"'
        slices = {**gpus(0), "FAKE_CUDA_GPUS": "0000:1B:00.0 NVIDIA H100 MIG 1g.10gb;0000:1B:00.0 NVIDIA H100 MIG 1g.10gb"}
        self.assert_refused(2, slices, "--backend", "nccl", script=script)

    def test_options_that_exclude_each_other(self):
        self.assert_refused(2, gpus(2), "--device", "cpu", "--gpu-ids", "1,1", "--share-gpu", "--backend", "nccl", code=2)

    def test_evaluation_without_driver(self):
        words = ["eval", "--data", "absent.h5", "--checkpoint", "absent", "--device", "cuda"]
        self.assert_says(self.on_gpus(2, self.on_no_driver(), *words, code=69), placeholders=OF_THIS_HOST)

    def test_the_program_itself_refuses(self):
        """In every build, with the driver that its machine has."""
        done = self.run_command([PROGRAM, *TRAIN, "--device", "cuda"], 69, self.on_no_driver())
        self.assert_one_error(done, "--device cuda: (this program was built without CUDA|no GPU for rank 0)")

    # Where ranks can have GPUs.

    def test_hosts_with_unequal_gpus(self):
        """n1 with two ranks and GPUs, n2 with one; a remote rank gets no environment of ours."""
        both, one = gpus(2), gpus(1)
        script = (f'export LD_LIBRARY_PATH="{both["LD_LIBRARY_PATH"]}" FAKE_CUDA_GPUS="{both["FAKE_CUDA_GPUS"]}"; '
                  f'[ "$(hostname)" = n1 ] || FAKE_CUDA_GPUS="{one["FAKE_CUDA_GPUS"]}"; exec "$@"')
        command = [*TWO_HOSTS, "bash", "-c", script, "bash", PROGRAM_FOR_GPUS, "info"]
        shown = self.run_command(command, 0, {}).stdout
        for rank, host, local in ((0, "n1", 0), (1, "n1", 1), (2, "n2", 0)):
            self.assertRegex(shown, rf"(?m)^{rank} +{host} +{local} +{device(local, local)} ")
        self.assertRegex(shown, r"(?m)^n2 +0000:1B:00.0 +NVIDIA H100 +[0-9.]+ GB +2 as 0$")

    def test_gpus_of_tasks(self):
        """As Slurm's --gpus-per-task and --gpu-bind=single:1 do: each rank sees one, as its number 0."""
        script = FIND_RANK + 'export CUDA_VISIBLE_DEVICES=$rank; exec "$@"'
        done = self.on_gpus(2, gpus(2), "info", "--json", code=0, script=script)
        self.assertEqual(self.devices(done), [device(0, 0), device(0, 1)])
        self.assert_says(done, errors=0, is_output_empty=False)

    def test_gpus_by_uuid(self):
        listed = json.loads(self.on_gpus(1, gpus(3), "info", "--json", code=0).stdout)["ranks"][0]["gpus"]
        uuid = listed[2]["uuid"]
        done = self.on_gpus(1, gpus(3, CUDA_VISIBLE_DEVICES=f"GPU-{uuid[:8]}-{uuid[8:12]},0"), "info", "--json", code=0)
        self.assertEqual(self.devices(done), [device(0, 2)])
        self.assertEqual([gpu["uuid"] for gpu in json.loads(done.stdout)["ranks"][0]["gpus"]], [uuid, listed[0]["uuid"]])

    def test_info_says_what_would_be_refused(self):
        script = FIND_RANK + '[ "$rank" = 0 ] || export CUDA_VISIBLE_DEVICES=0; exec "$@"'
        done = self.on_gpus(2, gpus(2), "info", "--json", code=0, script=script)
        self.assertEqual(self.devices(done), ["cpu", "cpu"])
        self.assert_says(done, errors=0, is_output_empty=False)

    def test_a_gpu_that_libtorch_cannot_use(self):
        """It is one in name only, and the distribution's libtorch has no CUDA part at all."""
        why = ("(libtorch's CUDA part cannot be loaded: .*; build with make .*, or give --device cpu|"
               "libtorch_cuda.so is loaded and finds no GPU that it can use; .*, or give --device cpu)")
        done = self.run_command([PROGRAM_FOR_GPUS, *TRAIN, "--device", "cuda"], 69, gpus(1))
        self.assert_one_error(done, why)
        self.assertEqual(list(self.folder.glob("runs")), [])

        words = ["train", *QUICK, "--run-id", "a", "--quiet"]
        done = self.on_gpus(2, gpus(2), *words, code=0)
        self.assertRegex(done.stderr, "--device auto takes the CPU on all ranks: " + why)
        ranks = json.loads((self.folder / "runs/a/manifest.json").read_text())["ranks"]
        self.assertEqual([rank["device"] for rank in ranks], ["cpu", "cpu"])

    # The CPU, and why.

    def test_too_few_gpus_and_auto(self):
        words = ["train", *QUICK, "--run-id", "a", "--quiet"]
        self.assert_says(self.on_gpus(2, gpus(1), *words, code=0), errors=0)
        ranks = json.loads((self.folder / "runs/a/manifest.json").read_text())["ranks"]
        self.assertEqual([rank["device"] for rank in ranks], ["cpu", "cpu"])
        self.assertEqual(self.devices(self.on_gpus(2, gpus(1), "info", "--json", code=0)), ["cpu", "cpu"])

    @whole
    def test_no_gpu_is_a_note_and_no_warning(self):
        for environment, note in ((gpus(0), r"no rank sees a GPU \(the CUDA driver shows no GPU\)"),
                                  (self.on_no_driver(), r"no rank sees a GPU \(no CUDA driver: .*\)"),
                                  (gpus(2, CUDA_VISIBLE_DEVICES=""), "no rank sees a GPU"),
                                  (gpus(1, FAKE_CUDA_BUILD="0"), "this program was built without CUDA, though there are GPUs")):
            with self.subTest(note=note):
                done = self.on_gpus(1, environment, "train", *QUICK, code=0)
                self.assertRegex(done.stdout.replace("\n  ", " "), rf"(?m)^--device auto takes the CPU: {note}")
                self.assertNotIn("--device auto", done.stderr)
        done = self.on_gpus(1, gpus(0, FAKE_CUDA_BUILD="0"), "train", *QUICK, code=0)
        self.assertNotIn("--device auto", done.stdout)

    def test_the_cpu_asks_no_driver(self):
        done = self.on_gpus(1, gpus(1, FAKE_CUDA_INIT="803"), "train", *QUICK, "--device", "cpu", "--quiet", code=0)
        self.assertNotIn("CUDA", done.stderr + done.stdout)

    @whole
    def test_evaluation_takes_the_cpu_too(self):
        self.tandem("train", *QUICK, "--device", "cpu", "--run-id", "a", "--quiet")
        words = ["eval", "--data", DATA, "--checkpoint", "runs/a"]
        self.assertRegex(self.on_gpus(2, gpus(0), *words, code=0).stdout, r"\A--device auto takes the CPU: no rank sees a GPU")
        json.loads(self.on_gpus(2, gpus(0), *words, "--json", code=0).stdout)

    @whole
    def test_a_run_goes_on_elsewhere(self):
        words = ["train", *QUICK, "--run-id", "a", "--quiet"]
        self.on_gpus(2, gpus(2), *words, "--device", "cpu", code=0)
        self.on_gpus(1, gpus(0), *words, "--resume", "auto", "--max-steps", "4", "--backend", "mpi", code=0)
        self.assertIn("device = auto\n", (self.folder / "runs/a/config.ini").read_text())

    def test_every_golden_message_has_its_test(self):
        if "TANDEM_UPDATE_GOLDEN" not in os.environ:
            names = {name.removeprefix("test_").replace("_", " ") for name in dir(self) if name.startswith("test_")}
            self.assertLessEqual(set(self.read_golden()), names)


if __name__ == "__main__":
    unittest.main(verbosity=2)
