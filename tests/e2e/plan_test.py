#!/usr/bin/env python3
"""train --plan: says what a run would be, and leaves nothing behind. How near it comes is measured by tests/bench/scaling.py."""

import json
import os
import unittest

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

    def test_faults_are_those_of_the_run(self):
        self.assert_one_error(self.mpirun(2, "train", "--data", "none.h5", "--plan", code=66), "none.h5")


if __name__ == "__main__":
    unittest.main(verbosity=2)
