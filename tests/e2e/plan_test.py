#!/usr/bin/env python3
"""train --plan: says what a run would be, and leaves nothing behind. How near it comes is measured by tests/bench/scaling.py."""

import io
import json
import os
import pathlib
import unittest

import h5py
import numpy
from PIL import Image

from packed_files import seal_version2
from tandem import DATA, QUICK, TandemTest

RUN = ["train", "--data", DATA, "--model", "lenet", "--batch-size", "8", "--epochs", "2", "--lr", "0.01"]


class Plan(TandemTest):
    keeps_ranks = True

    def plan(self, ranks, *words):
        done = self.mpirun(ranks, *RUN, "--plan", "--json", *words)
        self.assertFalse((self.folder / "runs").exists())
        return json.loads(done.stdout.splitlines()[-1])

    def test_numbers_of_the_run(self):
        for ranks in (1, 2, 4):
            plan = self.plan(ranks)
            self.assertEqual((plan["ranks"], plan["hosts"], plan["global_batch"]), (ranks, 1, 8 * ranks))
            steps = -(-600 // (8 * ranks))
            self.assertEqual((plan["steps_per_epoch"], plan["total_steps"]), (steps, 2 * steps))
            self.assertEqual(plan["learning_rate"], 0.01)
            self.assertEqual(plan["sent_bytes_per_rank"], plan["gradient_bytes"] * 2 * (ranks - 1) / ranks)
            self.assertGreater(plan["memory_bytes_per_rank"], 10e6)
            memory = plan["memory"]
            self.assertEqual(memory["ranks_per_host"], ranks)
            self.assertEqual(memory["images_bytes"], 720 * (3 * 32 * 32 + 2))
            self.assertEqual(memory["train_batches_bytes"], 5 * 8 * (4 * 3 * 32 * 32 + 8))
            self.assertEqual(memory["eval_batches_bytes"], 120 * (4 * 3 * 32 * 32 + 8))
            self.assertEqual(memory["weights_bytes"], 3 * plan["gradient_bytes"], "with the momentum")
            self.assertGreater(memory["activations_bytes"], 100e3)
            self.assertGreater(memory["program_bytes"], 1e6)
            of_rank = sum(memory[f"{part}_bytes"] for part in ("train_batches", "eval_batches", "weights", "activations", "program"))
            self.assertEqual((memory["rank_bytes"], memory["host_bytes"]), (of_rank, memory["images_bytes"] + ranks * of_rank))
            self.assertLess(of_rank, 1.5 * plan["memory_bytes_per_rank"])
            self.assertGreater(memory["limit_bytes"], memory["host_bytes"])
            seconds = plan["seconds"]
            self.assertAlmostEqual(seconds["step"], sum(seconds.values()) - seconds["step"], 9)
            rate, rates = plan["predicted_images_per_second"], plan["windows_images_per_second"]
            low, high = plan["predicted_images_per_second_low"], plan["predicted_images_per_second_high"]
            self.assertTrue(low <= min(rates) <= rate <= max(rates) <= high, plan)
            self.assertTrue(low < 0.96 * rate and high > 1.04 * rate, plan)
            self.assertAlmostEqual(plan["predicted_seconds"], 1200 / rate + 2 * steps * seconds["agreement"], 6)
            self.assertEqual(plan["model_seconds"]["exchange"] > 0, ranks > 1)
            self.assertGreaterEqual(plan["other_programs_cores"], 0)
            self.assertEqual([each["ranks"] for each in plan["carried"]], [8, 64, 512, 4096] if ranks > 1 else [])

    def test_gradients_as_bfloat16_in_buckets(self):
        plain, rounded = self.plan(2), self.plan(2, "--grad-dtype", "bf16", "--bucket-mb", "0.01")
        self.assertEqual(rounded["gradient_bytes"], plain["gradient_bytes"] / 2)
        self.assertEqual(plain["buckets"], 1)
        self.assertGreater(rounded["buckets"], 1)
        self.assertTrue(0 <= rounded["overlap"] <= 1)

    def test_gradients_of_low_rank(self):
        plan = self.plan(2, "--grad-dtype", "powersgd", "--powersgd-rank", "1")
        self.assertLess(plan["gradient_bytes"], self.plan(2)["gradient_bytes"] / 20)
        self.assertEqual(plan["sent_bytes_per_rank"], plan["gradient_bytes"])
        self.assertEqual((plan["buckets"], plan["carried"]), (0, []))

    def test_of_virtual_ranks_and_of_fewer_steps_than_are_measured(self):
        plan = self.plan(2, "--virtual-ranks", "4", "--max-steps", "1")
        self.assertEqual((plan["total_steps"], plan["buckets"], plan["carried"]), (1, 0, []))
        self.assertEqual(len(plan["windows_images_per_second"]), 8)

    def test_of_hosts_that_are_not_started(self):
        hosts = ["--hosts", "4", "--ranks-per-host", "8", "--link", "1gbit,50us,2:1"]
        for ranks in (1, 2):
            plan = self.plan(ranks, *hosts)
            self.assertEqual(plan["ranks"], ranks)
            target = plan["target"]
            self.assertEqual((target["hosts"], target["ranks_per_host"], target["ranks"]), (4, 8, 32))
            self.assertEqual(target["link"], {"bits_per_second": 1e9, "latency_seconds": 50e-6, "oversubscription": 2})
            self.assertEqual((target["global_batch"], target["steps_per_epoch"], target["total_steps"]), (8 * 32, 3, 6))
            self.assertEqual((target["route"], target["rounds"]), ("ring", 62))
            self.assertAlmostEqual(target["sent_bytes_per_host"], plan["gradient_bytes"] * 62 / 32, 3)
            seconds = target["seconds"]
            self.assertAlmostEqual(seconds["step"], sum(seconds.values()) - seconds["step"], 9)
            self.assertGreaterEqual(seconds["exchange"], 62 * 50e-6 + 2 * 8 * target["sent_bytes_per_host"] / 1e9)
            self.assertGreaterEqual(seconds["agreement"], 2 * 50e-6)
            self.assertGreater(seconds["slowest"], 0)
            rate = target["predicted_images_per_second"]
            self.assertAlmostEqual(rate, 256 / (seconds["step"] - seconds["agreement"]), 6)
            self.assertAlmostEqual(target["predicted_seconds"], 1200 / rate + 6 * seconds["agreement"], 6)
            self.assertEqual(target["has_measured_sums"], ranks > 1)
        halved = self.plan(2, *hosts, "--grad-dtype", "bf16", "--all-reduce", "two-level")["target"]
        self.assertEqual((halved["route"], halved["rounds"]), ("direct", 2))
        self.assertAlmostEqual(halved["sent_bytes_per_host"], plan["gradient_bytes"] / 2 * 2 * 3 / 4, 3)
        self.assertNotIn("target", self.plan(1))

    def test_of_hosts_for_people(self):
        hosts = ["--hosts", "2", "--ranks-per-host", "1", "--link", "100Mbit"]
        done = self.mpirun(1, *RUN, "--plan", *hosts)
        self.assertRegex(done.stdout, r"\n\nplan for 2 hosts of 1 rank, not started; link 100 Mbit/s, 20 us\nglobal batch 16 = 8 x 2 ranks ")
        self.assertRegex(done.stdout, r"\n[0-9.]+ [kM]B of gradients a step, summed by direct messages, 2 in a row; a host sends [0-9.]+ [kM]B\n")
        self.assertRegex(done.stdout, r"\nslowest of 2 ranks +[0-9.]+\nexchange +[0-9.]+\nagreement +[0-9.]+\n")
        self.assertRegex(done.stdout, r"\npredicted: [0-9,.]+ to [0-9,.]+ images/s, [0-9]+ % of the speed of 2 ranks without exchange\n")
        self.assertIn("start 2 ranks to measure", done.stdout)
        self.assertFalse((self.folder / "runs").exists())

    def test_segments_longer_than_those_of_ethernet(self):
        hosts = ["--hosts", "2", "--ranks-per-host", "1", "--link", "100gbit"]
        by_tcp = {"OMPI_MCA_btl": "self,tcp", "OMPI_MCA_btl_tcp_if_include": "lo"}
        are_longer = int(pathlib.Path("/sys/class/net/lo/mtu").read_text()) > 9000
        for environment, has_advice in (({}, False), (by_tcp, are_longer)):
            done = self.mpirun(2, *RUN, "--plan", *hosts, environment=environment)
            self.assertEqual("fix: ip link set lo mtu 1500" in done.stdout, has_advice, done.stdout)

    def test_faults_of_hosts(self):
        self.assert_one_error(self.mpirun(1, *RUN, "--plan", "--link", "25gbit", code=2), "add --hosts")
        self.assert_one_error(self.mpirun(1, *RUN, "--plan", "--hosts", "0", "--ranks-per-host", "1", code=2), "'0' is not")
        hosts = ["--plan", "--hosts", "2", "--ranks-per-host", "1"]
        self.assert_one_error(self.mpirun(1, *RUN, *hosts, "--link", "25gb", code=2), "'25gb' is not a rate")
        words = [*hosts, "--link", "25gbit", "--batch-size", "400", "--drop-last"]
        self.assert_one_error(self.mpirun(1, *RUN, *words, code=2), "is larger than the 600 training images")

    def test_for_people(self):
        done = self.mpirun(2, *RUN, "--plan", "--lr-reference-batch", "8", "--threads", str(os.cpu_count()))
        self.assertIn(f"\n2 ranks of {os.cpu_count()} threads share {os.cpu_count()} cores", done.stdout)
        self.assertRegex(done.stdout, r"^plan: 2 ranks on 1 host\nglobal batch 16 = 8 x 2 ranks x accumulate 1; lr 0\.02 ")
        self.assertRegex(done.stdout, r"\n[0-9.]+ [kM]B of gradients a step, of which each rank sends [0-9.]+ [kM]B; gradients in 1 bucket\n")
        self.assertRegex(done.stdout, r"\nmemory per rank: [0-9.]+ [MG]B at most so far")
        self.assertRegex(done.stdout, r"\nmemory +a rank +a host\nimages +- +2\.2 MB\nbatches of training +[0-9.]+ kB +[0-9.]+ kB\n")
        self.assertRegex(done.stdout, r"\nactivations +[0-9.]+ [kM]B +[0-9.]+ [kM]B\nprogram +[0-9.]+ MB +[0-9.]+ MB\nall ")
        self.assertRegex(done.stdout, r"\nexchange and waiting +[0-9.]+\n")
        self.assertRegex(done.stdout, r"\npredicted: [0-9,.]+ to [0-9,.]+ images/s, [0-9,.]+ to [0-9,.]+ ms a step\n"
                                      r"[0-9:]+ to [0-9:]+ for all steps, without evaluation and checkpoints\n")
        self.assertNotIn("4,096", done.stdout)
        self.assertFalse((self.folder / "runs").exists())

    def test_a_run_of_that_name_is_left_alone(self):
        self.mpirun(2, "train", *QUICK, "--run-id", "a", "--quiet")
        files = {path: path.stat().st_mtime_ns for path in (self.folder / "runs").rglob("*")}
        self.mpirun(2, *RUN, "--plan", "--run-id", "a")
        self.assertEqual({path: path.stat().st_mtime_ns for path in (self.folder / "runs").rglob("*")}, files)

    def write_large(self):
        """50,000 times the same small picture, which a reader enlarges to 577x577: as floats 4 MB. One of them is damaged."""
        file = io.BytesIO()
        Image.new("RGB", (8, 8), (200, 9, 40)).save(file, "PNG")
        picture = numpy.frombuffer(file.getvalue(), dtype=numpy.uint8)
        path = self.folder / "large.h5"
        with h5py.File(path, "w", userblock_size=512, libver=("earliest", "v110")) as file:
            arrays = [file.create_dataset(f"{split}/bytes", data=numpy.tile(picture, 50000)) for split in ("train", "test")]
            for split in ("train", "test"):
                file.create_dataset(f"{split}/offsets", data=numpy.arange(50001, dtype="<u8") * len(picture))
                file.create_dataset(f"{split}/labels", data=numpy.arange(50000, dtype="<u2") % 2)
            file.create_dataset("classes", data=numpy.array([b"cat", b"dog"]))
            for name, value in (("format", "tandem-dataset"), ("version", 2), ("name", "large"), ("shape", [3, 577, 577]),
                                ("mean", [0.5] * 3), ("std", [0.2] * 3), ("source_sha256", "0" * 64), ("complete", 1)):
                file.attrs[name] = value
            file.flush()
            pictures = [(each.id.get_offset(), each.id.get_storage_size()) for each in arrays]
        seal_version2(path, pictures)
        content = bytearray(path.read_bytes())
        content[pictures[0][0] + 1000] ^= 1
        path.write_bytes(content)

    def test_a_job_that_cannot_fit_is_refused_before_it_reads(self):
        """By 10 TB, so on any host. The damaged picture would be a 65."""
        self.write_large()
        large = ["train", "--data", "large.h5", "--model", "lenet", "--eval-batch-size", "7"]
        done = self.mpirun(2, *large, "--batch-size", "250000", code=69)
        self.assert_one_error(done, "no memory for this job on this host: it needs at least 2[.]0 TB, ",
                              r" are available \((limit of the control group|memory of the host)\): ",
                              "2 x 998[.]8 GB of training batches .--batch-size, --accumulate.",
                              "2 x 139[.]8 MB of evaluation batches .--eval-batch-size.", "sbatch --mem")
        self.assertFalse((self.folder / "runs").exists())
        done = self.mpirun(2, *large, "--batch-size", "2", code=65)
        self.assert_one_error(done, "large.h5: block [0-9]+ .* is damaged")

    def test_faults_are_those_of_the_run(self):
        self.assert_one_error(self.mpirun(2, "train", "--data", "none.h5", "--plan", code=66), "none.h5")


if __name__ == "__main__":
    unittest.main(verbosity=2)
