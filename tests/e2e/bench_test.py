#!/usr/bin/env python3
"""What `tandem bench` measures, in each of its forms: that it does, on any number of ranks, and what it says. Not how fast."""

import json
import os
import unittest

from tandem import DATA, MPIRUN, PROGRAM, TandemTest, read_lines, whole

UNSHARE = os.environ["TANDEM_TEST_UNSHARE"].split()
# Root may search every folder, unless these capabilities are taken from it.
WITHOUT_ROOTS_RIGHTS = ["setpriv", "--bounding-set", "-dac_override,-dac_read_search", "--inh-caps", "-dac_override,-dac_read_search"]


class Bench(TandemTest):
    keeps_ranks = True

    def bench(self, ranks, *words):
        json_of = words if "--json" in words else [*words, "--json"]
        done = self.mpirun(ranks, "bench", *json_of)
        self.assertEqual(len(done.stdout.splitlines()), 1, done.stdout)
        self.assertEqual(done.stderr, "")
        return json.loads(done.stdout)

    def check_sums(self, ranks, *words):
        result = self.bench(ranks, "allreduce", "--min-bytes", "4", "--max-bytes", "100K", "--seconds", "0.01", *words)
        self.assertEqual((result["form"], result["ranks"]), ("allreduce", ranks))
        self.assertEqual([size["bytes"] for size in result["sizes"]], [4, 16, 64, 256, 1024, 4096, 16384, 65536, 102400])
        for size in result["sizes"]:
            self.assertEqual(size["wrong"], 0, size)
            self.assertGreaterEqual(size["pairs"], 5)
            self.assertLessEqual(0, size["seconds_min"])
            self.assertLessEqual(size["seconds_min"], size["seconds_mean"] * 1.000001)
            self.assertLessEqual(size["seconds_mean"], size["seconds_max"] * 1.000001)
            if ranks == 1:  # sends nothing
                for name in ("algbw_bytes_per_second", "busbw_bytes_per_second", "bare_seconds_mean", "ratio_to_bare"):
                    self.assertIsNone(size[name], name)
            else:
                self.assertGreater(size["ratio_to_bare"], 0)
                self.assertAlmostEqual(size["busbw_bytes_per_second"], size["algbw_bytes_per_second"] * 2 * (ranks - 1) / ranks, 3)
        self.assertGreaterEqual(result["fit"]["latency_seconds"], 0)
        self.assertGreaterEqual(result["fit"]["seconds_per_byte"], 0)
        return result

    def test_sums_on_1_to_4_ranks(self):
        for ranks in (1, 2, 3, 4):
            with self.subTest(ranks=ranks):
                self.assertEqual(self.check_sums(ranks)["algorithm"], "flat")

    @whole
    def test_sums_in_two_levels_by_mpi_and_as_bfloat16(self):
        self.assertEqual(self.check_sums(3, "--all-reduce", "two-level")["algorithm"], "two-level")
        self.assertEqual(self.check_sums(3, "--all-reduce", "mpi")["transport"], "mpi's own all-reduce")
        self.assertEqual(self.check_sums(3, "--grad-dtype", "bf16")["grad_dtype"], "bf16")

    def test_the_table_of_sums(self):
        done = self.mpirun(2, "bench", "allreduce", "--max-bytes", "4K", "--seconds", "0")
        self.assertRegex(done.stdout, r"^sums over 2 ranks by mpi in shared memory; ")
        self.assertRegex(done.stdout, r"\nbytes +min us +mean us +max us +algbw GB/s +busbw GB/s +wrong +MPI_Allreduce us +ratio\n1024 ")
        self.assertRegex(done.stdout, r"\na sum takes [0-9.]+ us and [0-9.]+ us per MB\n$")

    def test_the_sums_of_one_rank_have_no_rate_and_no_comparison(self):
        shown = self.mpirun(1, "bench", "allreduce", "--max-bytes", "1K", "--seconds", "0").stdout
        self.assertRegex(shown, r"\n1024 +[0-9.]+ +[0-9.]+ +[0-9.]+ +- +- +0 +- +-\n")
        self.assertRegex(shown, r"\none rank exchanges nothing, so there is no rate and no comparison\n$")

    def test_a_step(self):
        for ranks, words in ((1, []), (2, ["--bucket-mb", "0.01", "--grad-dtype", "bf16"]), (2, ["--grad-dtype", "powersgd"])):
            result = self.bench(ranks, "step", "--model", "lenet", "--batch-size", "4", "--steps", "3", *words)
            self.assertEqual((result["form"], result["ranks"], result["steps"]), ("step", ranks, 3))
            rates, seconds = result["images_per_second"], result["seconds"]
            self.assertLessEqual(rates["min"], rates["median"])
            self.assertLessEqual(rates["median"], rates["max"])
            whole = sum(seconds[part] for part in ("forward", "backward", "exchange", "update"))
            self.assertAlmostEqual(seconds["step"], whole, 9)
            self.assertGreater(seconds["backward"], 0)
        done = self.mpirun(2, "bench", "step", "--model", "lenet", "--batch-size", "4", "--steps", "3")
        self.assertRegex(done.stdout, r"^lenet, 4 images x 2 ranks, gradients in 1 bucket\npart +ms +%\nforward ")
        self.assertRegex(done.stdout, r"\nin all [0-9.]+ ms; steps: [0-9,]+ images/s, ")

    def test_a_loader(self):
        for words in ([], ["--data", DATA, "--augment", "none"], ["--loader-threads", "3"]):
            result = self.bench(2, "loader", "--batch-size", "8", "--steps", "5", *words)
            self.assertEqual((result["form"], len(result["images_per_second_of_ranks"])), ("loader", 2))
            self.assertAlmostEqual(result["images_per_second"], sum(result["images_per_second_of_ranks"]), 3)
        done = self.mpirun(2, "bench", "loader", "--steps", "2")
        self.assertRegex(done.stdout, r"^rank +host +images/s +us/image\n0 .*\n1 .*\nloader: [0-9,]+ images/s of all ranks at a time\n$")

    def test_time_to_accuracy(self):
        words = ["tta", "--runs", "2", "--target", "0.05"]
        train = ["--", "--data", DATA, "--model", "lenet", "--epochs", "2", "--seed", "5", "--run-id", "a", "--quiet", "--json"]
        result = self.bench(2, *words, "--json", *train)
        self.assertEqual((result["form"], result["target"], result["pass_rate"]), ("tta", 0.05, 1))
        self.assertEqual([(run["run_id"], run["seed"]) for run in result["runs"]], [("a-5", 5), ("a-6", 6)])
        for run in result["runs"]:
            folder = self.folder / "runs" / run["run_id"]
            summary = json.loads((folder / "summary.json").read_text())
            self.assertEqual(run["test_accuracy"], summary["test_accuracy"])
            self.assertIsNone(run["test_accuracy_tta"])
            epochs = [line["train_seconds"] for line in read_lines(folder / "metrics.jsonl") if line["event"] == "epoch"]
            self.assertAlmostEqual(run["seconds_to_target"], epochs[0], 9)
            self.assertAlmostEqual(run["train_seconds"], sum(epochs), 3)
        mean = result["seconds_to_target"]
        self.assertAlmostEqual(mean["mean"], sum(run["seconds_to_target"] for run in result["runs"]) / 2, 9)
        self.assertLess(mean["least"], mean["mean"])
        self.assertGreaterEqual(1, result["p_above_target"])
        self.assertGreaterEqual(result["p_above_target"], 0)
        self.assertEqual(result["seconds_to_target_after_first_run"]["mean"], result["runs"][1]["seconds_to_target"])
        done = self.mpirun(2, "bench", *words, *train, code=73)
        self.assert_one_error(done, "bench tta: runs/a-5 exists already, and nothing was changed; choose another --run-id")
        self.assertNotIn("--resume", done.stderr)
        train[train.index("a")] = "b"
        done = self.mpirun(2, *["bench", *words[:-1], "1", *train])
        self.assertRegex(done.stdout, r"(?m)^seed 6: accuracy 0\.\d{4}, with several views -; target after - s of \d+\.\d\d s$")
        self.assertRegex(done.stdout, r"(?m)^0 of 2 runs reached 1 \(0 %\); ")
        self.assertRegex(done.stdout, r"(?m)^p-value of a mean above the target, one-sided t-test +[01]")
        self.assert_one_error(self.mpirun(2, "bench", *words, *train, "--resume", "auto", code=2), "leave out --resume")
        done = self.mpirun(2, "bench", *words, *train, "--new-schedule", code=2)
        self.assert_one_error(done, "leave out --resume, --new-schedule")
        self.assertNotIn("--resume auto", done.stderr)
        done = self.mpirun(2, "bench", *words, *train, code=2, environment={"TANDEM_NEW_SCHEDULE": "1"})
        self.assert_one_error(done, "leave out --resume, --new-schedule")
        done = self.mpirun(2, "bench", *words, *train, code=2, environment={"TANDEM_NEW_SCHEDULE": "maybe"})
        self.assertEqual(done.stderr.count("'maybe' is not true or false"), 1, done.stderr)
        self.assert_one_error(self.mpirun(2, "bench", *words, *train, "--eval-every", "0", code=2), "--eval-every 0 would leave nothing")
        self.assert_one_error(self.mpirun(2, "bench", *words, *train, "--validation-split", "0.2", code=2), "--validation-split")
        self.assert_one_error(self.mpirun(2, "bench", *words, "--", "--modle", "mlp", code=2), "did you mean --model")
        self.assert_one_error(self.mpirun(2, "bench", *words, code=2), "--data is missing; give options of train after the word --")

    def test_time_to_accuracy_in_a_folder_without_permission(self):
        (self.folder / "locked").mkdir(mode=0)
        words = ["bench", "tta", "--", "--data", DATA, "--run-id", "a", "--seed", "5", "--runs-dir", "locked"]
        done = self.run_command([*UNSHARE, *WITHOUT_ROOTS_RIGHTS, *MPIRUN, "-n", "2", PROGRAM, *words], 73, {})
        self.assert_one_error(done, "locked/a-5: cannot be created: Permission denied; choose a folder that exists and is writable")

    def test_sums_between_gpus_need_gpus(self):
        done = self.mpirun(2, "bench", "allreduce", "--max-bytes", "4K", "--seconds", "0", "--device", "cuda", code=69)
        self.assert_one_error(done, "--device cuda: (this program was built without CUDA|no GPU for ranks 0-1)")

    def test_what_is_no_form_or_belongs_to_another(self):
        for words, *said in (([], "the form is missing: step, allreduce, loader, tta; .*: tandem bench step"),
                             (["--json"], "the form is missing"),
                             (["allredcue"], r"'allredcue' is not a form: .*; did you mean allreduce\?"),
                             (["allreduce", "--model", "mlp"], "--model is for bench step, not for bench allreduce; leave it out"),
                             (["step", "--target=0.9", "--max_bytes", "1M"], "--target is for bench tta, not for bench step", "--max-bytes is for bench allreduce"),
                             (["step", "--target", "0.9", "--steps", "abc"], "--target is for bench tta", "--steps: 'abc'"),
                             (["step", "--target", "--steps=abc"], "--target is for bench tta", "--steps: 'abc'"),
                             (["tta", "--steps", "3", "--", "--batch-size", "8"], "--steps is for bench step and loader, not for bench tta"),
                             (["tta", "--model", "mlp"], "--model is an option of `tandem train`; give it after a --"),
                             (["allreduce", "--min-bytes", "2M", "--max-bytes", "1M"], "--min-bytes 2M is more than --max-bytes 1M"),
                             (["allreduce", "--max-bytes", "3"], "--max-bytes"),
                             (["allreduce", "--max-bytes", "1.5M"], "--max-bytes: '1.5M' is not a number of bytes"),
                             (["step", "--precision", "fp16", "--grad-dtype", "bf16"], "exclude each other"),
                             (["allreduce", "--all-reduce", "mpi", "--grad-dtype", "bf16"], "exclude each other"),
                             (["allreduce", "--grad-dtype", "powersgd"], "measure it by tandem bench step"),
                             (["step", "--model", "resnet"], "--model: 'resnet' is not one of")):
            with self.subTest(words=words):
                self.assert_one_error(self.mpirun(2, "bench", *words, code=2), *said)


if __name__ == "__main__":
    unittest.main(verbosity=2)
