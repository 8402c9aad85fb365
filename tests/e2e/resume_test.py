#!/usr/bin/env python3
"""tandem train --resume: nothing is lost, nothing is repeated, and what is damaged is refused."""

import json
import operator
import os
import re
import signal
import subprocess
import time
import unittest

from safetensors_file import bytes_of_tensors, metadata_of, replace_metadata
from tandem import DATA, MPIRUN, PROGRAM, TandemTest, read_lines, whole

# 600 images make 9.375 batches of 64, so that most steps lie in the middle of an epoch.
TRAIN = ["train", "--data", DATA, "--model", "lenet", "--global-batch-size", "64", "--lr", "0.01", "--augment", "standard",
         "--epochs", "1000", "--log-every", "1", "--quiet", "--eval-every", "2"]


class Resume(TandemTest):
    keeps_ranks = True

    def run_to(self, steps, run_id, *options, ranks=2, code=0):
        return self.mpirun(ranks, *TRAIN, "--run-id", run_id, "--max-steps", steps, "--json", *options, code=code)

    def summary(self, run_id):
        return json.loads((self.folder / "runs" / run_id / "summary.json").read_text())

    def digest(self, run_id):
        return self.summary(run_id)["weights_sha256"]

    def checkpoint(self, run_id, step):
        return self.folder / "runs" / run_id / "checkpoints" / f"step-{step:08}.safetensors"

    def metadata(self, run_id, step):
        return metadata_of(self.checkpoint(run_id, step))

    def steps_kept(self, run_id):
        names = (self.folder / "runs" / run_id / "checkpoints").glob("step-*.safetensors")
        return sorted(int(path.stem.removeprefix("step-")) for path in names)

    def numbers(self, run_id):
        """What metrics.jsonl says, without times."""
        lines = read_lines(self.folder / "runs" / run_id / "metrics.jsonl")
        numbers = [(line["event"], line["step"], line.get("loss"), line.get("lr"), line.get("test_loss"))
                   for line in lines if line["event"] in ("step", "eval")]
        self.assertTrue(numbers)
        return numbers

    def flip_a_bit(self, path):
        content = bytearray(path.read_bytes())
        content[len(content) * 2 // 3] ^= 4
        path.write_bytes(content)

    def stop_at(self, step, run_id, *options, number=signal.SIGUSR1, to_a_rank=False):
        """Starts or goes on with a run, signals mpirun or a rank at this step; mpirun's code, and all words."""
        command = [*MPIRUN, "-n", 2, PROGRAM, *TRAIN, "--run-id", run_id, *options]
        process = subprocess.Popen([str(word) for word in command], cwd=self.folder, text=True, stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE)
        metrics = self.folder / "runs" / run_id / "metrics.jsonl"
        while process.poll() is None and not (metrics.exists() and f'"step":{step},' in metrics.read_text()):
            time.sleep(0.005)
        if to_a_rank:
            ranks = subprocess.run(["pgrep", "-P", str(process.pid)], capture_output=True, text=True).stdout.split()
            os.kill(int(ranks[-1]), number)
        else:
            process.send_signal(number)
        output, errors = process.communicate()
        return process.returncode, output + errors

    @whole
    def test_a_measured_bucket_size_is_written_down_and_kept(self):
        config = self.folder / "runs/a/config.ini"
        self.run_to(2, "a", "--bucket-mb", "auto")
        measured = self.metadata("a", 2)["bucket_mb"]
        self.assertIn(measured, ("0", "1", "2", "4"))
        self.assertIn(f"\nbucket-mb = {measured}\n", config.read_text())
        self.run_to(2, "b", "--bucket-mb", measured)
        self.assertEqual(self.digest("a"), self.digest("b"))

        self.run_to(3, "b", "--bucket-mb", "3", "--resume", "auto")
        self.run_to(4, "b", "--bucket-mb", "auto", "--resume", "auto")
        self.assertEqual(self.metadata("b", 4)["bucket_mb"], "3")
        self.assertIn("\nbucket-mb = 3\n", (self.folder / "runs/b/config.ini").read_text())

    def test_parts_equal_the_whole(self):
        for name, *options in (("sgd", "--momentum", "0.9"), ("adamw", "--optimizer", "adamw", "--accumulate", "2", "--class-weights", "balanced"),
                               ("ema", "--ema", "0.9", "--drift-check-every", "1"),
                               ("lamb", "--optimizer", "lamb", "--weight-decay", "0.01")):
            with self.subTest(name):
                self.run_to(24, f"{name}-whole", *options)
                for steps in (5, 16, 24):
                    self.run_to(steps, f"{name}-parts", "--resume", "auto", "--eval-every", "0", *options)
                self.assertEqual(self.digest(f"{name}-parts"), self.digest(f"{name}-whole"))
                for field in ("steps", "epochs", "images_seen", "train_loss"):
                    self.assertAlmostEqual(self.summary(f"{name}-parts")[field], self.summary(f"{name}-whole")[field],
                                           places=12, msg=field)
                steps = [line for line in self.numbers(f"{name}-whole") if line[0] == "step"]
                self.assertEqual(self.numbers(f"{name}-parts"), steps)

    def test_starts_that_save_nothing_new_are_ended(self):
        """Three that were killed before their first checkpoint; then one that saved, and three more."""
        def start(*options, code=0):
            return self.run_to(12, "a", "--resume", "auto", "--checkpoint-every", "4", "--max-stuck-starts", 3, *options, code=code)

        manifest = self.folder / "runs/a/manifest.json"

        def forget_checkpoints_after(step, starts):
            """As if this many starts from this step had been killed before they saved."""
            for path in (self.folder / "runs/a/checkpoints").glob("step-*"):
                if int(path.stem.removeprefix("step-")) > step:
                    path.unlink()
            (self.folder / "runs/a/summary.json").unlink()
            content = json.loads(manifest.read_text())
            content["segments"] = content["segments"][:1] + [{**content["segments"][0], "first_step": step}] * starts
            manifest.write_text(json.dumps(content))

        start()
        whole = self.digest("a")
        forget_checkpoints_after(4, 3)
        done = start(code=70)
        self.assert_one_error(done, "runs/a: the last 3 starts began at step 4 and saved no new checkpoint")
        self.assertEqual(len(json.loads(manifest.read_text())["segments"]), 4, "it is not a start")
        start("--max-stuck-starts", 0)
        self.assertEqual(self.digest("a"), whole)
        start()  # complete, so there is nothing to refuse
        forget_checkpoints_after(4, 2)
        start()
        self.assertEqual(self.digest("a"), whole)

    def test_the_average_is_the_model_and_a_killed_run_keeps_it(self):
        options = ["--ema", "0.8", "--checkpoint-every", "4", "--eval-every", "1"]
        self.run_to(12, "whole", *options)
        self.run_to(6, "parts", *options)
        self.checkpoint("parts", 6).unlink()  # as after a kill behind step 4
        self.run_to(12, "parts", "--resume", "auto", *options)
        self.assertEqual(self.digest("parts"), self.digest("whole"))
        self.run_to(12, "plain", "--checkpoint-every", "4")
        trained = bytes_of_tensors(self.checkpoint("plain", 12))
        averaged = bytes_of_tensors(self.checkpoint("whole", 12))
        model = bytes_of_tensors(self.folder / "runs/whole/model/model.safetensors")
        for name, values in model.items():
            self.assertEqual(averaged[name], values, name)
            self.assertEqual(averaged["optimizer.trained_weights." + name], trained[name], name)
            self.assertNotEqual(values, trained[name], name)
        found = self.evaluate(2, self.checkpoint("whole", 12))
        for field in ("test_loss", "test_accuracy", "test_accuracy_top5"):
            self.assertEqual(found[field], self.summary("whole")[field], field)
        self.assertGreater(found["test_accuracy_top5"], found["test_accuracy"])
        self.assertIn("--ema: the run has '0.8', now '0.9' is asked for",
                      self.run_to(16, "whole", "--resume", "auto", "--ema", "0.9", code=78).stderr)

    @whole
    def test_a_run_keeps_its_convolutions(self):
        options = [word if word != "lenet" else "resnet9" for word in TRAIN]
        options[options.index("64")] = "16"

        def run_to(steps, run_id, *words):
            self.mpirun(2, *options, "--run-id", run_id, "--max-steps", steps, "--resume", "auto", *words)

        run_to(1, "parts", "--convolution", "direct")
        run_to(2, "parts")
        run_to(2, "whole", "--convolution", "direct")
        self.assertEqual(self.digest("parts"), self.digest("whole"))
        self.assertEqual(self.metadata("parts", 2)["convolution"], "direct")
        self.assertIn("\nconvolution = direct\n", (self.folder / "runs/parts/config.ini").read_text())
        run_to(3, "parts", "--convolution", "auto")
        changes = [line["text"] for line in read_lines(self.folder / "runs/parts/metrics.jsonl") if line["event"] == "resume"]
        self.assertIn("direct convolution then, auto now", changes[-1])

    def test_a_run_keeps_the_type_of_muons_products(self):
        """A checkpoint with the other type continues with that type, on any processor."""
        options = ["--optimizer", "muon", "--precision", "bf16", "--resume", "auto"]
        self.run_to(4, "whole", *options)
        for run_id in ("parts", "other"):
            self.run_to(2, run_id, *options)
        products = self.metadata("whole", 4).get("muon_products")
        metadata = self.metadata("other", 2)
        if products:
            metadata.pop("muon_products")
        else:
            metadata["muon_products"] = "bf16"
        replace_metadata(self.checkpoint("other", 2), metadata)
        for run_id in ("parts", "other"):
            self.run_to(4, run_id, *options)
        self.assertEqual(self.digest("parts"), self.digest("whole"))
        self.assertNotEqual(self.digest("other"), self.digest("whole"))
        self.assertEqual(self.metadata("parts", 4).get("muon_products"), products)
        self.assertEqual(self.metadata("other", 4).get("muon_products"), None if products else "bf16")

    def test_a_signal_stops_and_auto_goes_on_to_the_same_end(self):
        options = ["--schedule", "cosine", "--checkpoint-every", "0", "--resume", "auto"]
        for step in (20, 60):
            code, words = self.stop_at(step, "parts", "--max-steps", "140", *options)
            self.assertEqual(code, 75, words)
            self.assertEqual(words.count("stopping after this step"), 1, words)
            self.assertEqual(self.summary("parts")["exit_reason"], "stopped")
            self.assertFalse(list((self.folder / "runs/parts/model").iterdir()))
        # Another duration does not change the schedule. A longer run needs --new-schedule.
        self.run_to(120, "parts", *options)
        refused = self.run_to(300, "parts", *options, code=2)
        self.assert_one_error(refused, "cosine ends at step 140", "--resume auto --new-schedule\n",
                              "--init-from runs/parts/checkpoints/step-00000120.safetensors\n")
        self.run_to(140, "parts", *options)
        self.run_to(140, "whole", *options)
        self.assertEqual(self.digest("parts"), self.digest("whole"))
        self.assertEqual(self.numbers("parts"), self.numbers("whole"))
        segments = json.loads((self.folder / "runs/parts/manifest.json").read_text())["segments"]
        self.assertEqual([segment["options"]["max-steps"] for segment in segments], ["140", "140", "120", "140"])
        self.assertEqual([segment["schedule_steps"] for segment in segments], [140] * 4)
        self.assertIn("Between them changed: --max-steps.", (self.folder / "runs/parts/config.ini").read_text())

    def test_the_loss_of_a_stopped_run_is_that_of_the_epoch_under_way(self):
        code, words = self.stop_at(3, "a", "--max-steps", "100000", number=signal.SIGHUP, to_a_rank=True)
        self.assertEqual(code, 75, words)
        summary = self.summary("a")
        last = summary["steps"]
        first = (last - 1) // 10 * 10  # 600 images make ten steps, the tenth of 24 images
        losses = [line[2] for line in self.numbers("a") if line[0] == "step"][first:]
        images = [64] * 9 + [24]
        mean = sum(map(operator.mul, losses, images)) / sum(images[:len(losses)])
        self.assertAlmostEqual(summary["train_loss"], mean, places=12)

    def test_nohup_keeps_it_running(self):
        """Also where Open MPI is linked to UCX, which then handles SIGHUP before main(). The dynamic linker only warns if there
        is no UCX."""
        job = subprocess.Popen(["nohup", "env", "LD_PRELOAD=libucs.so.0", PROGRAM, *TRAIN, "--run-id", "a", "--max-steps", "60"],
                               cwd=self.folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.wait_for_step(job, "runs/a", 3)
        job.send_signal(signal.SIGHUP)
        self.assertEqual(job.wait(), 0)

    def test_term_to_the_launcher_is_in_time_too(self):
        """mpirun itself then returns 1, whatever the ranks returned."""
        _, words = self.stop_at(10, "a", "--max-steps", "100000", number=signal.SIGTERM)
        self.assertEqual(self.summary("a")["exit_reason"], "stopped", words)
        self.assertEqual(self.steps_kept("a")[-1], self.summary("a")["steps"])

    def test_killed_runs_go_on_from_the_last_checkpoint(self):
        options = ["--max-steps", "80", "--checkpoint-every", "7steps", "--resume", "auto"]
        code, _ = self.stop_at(30, "killed", *options, number=signal.SIGKILL, to_a_rank=True)
        self.assertEqual(code, 128 + signal.SIGKILL)
        self.assertFalse((self.folder / "runs/killed/summary.json").exists())
        self.run_to(80, "killed", *options)
        resumed = [line["text"] for line in read_lines(self.folder / "runs/killed/metrics.jsonl") if line["event"] == "resume"]
        self.assertRegex(resumed[0], r"; the run was killed at step \d+ or later$")
        self.run_to(80, "whole", *options)
        self.assertEqual(self.digest("killed"), self.digest("whole"))
        self.assertEqual(self.numbers("killed"), self.numbers("whole"))
        for rank in (0, 1):
            lines = read_lines(self.folder / f"runs/killed/ranks/rank-{rank:04}.jsonl")
            self.assertEqual([line["step"] for line in lines], list(range(1, 81)))

    def test_another_number_of_ranks_keeps_batch_and_images(self):
        self.run_to(6, "a", "--eval-every", "0")
        done = self.mpirun(3, *[word for word in TRAIN if word != "--quiet"], "--run-id", "a", "--max-steps", "20",
                           "--resume", "auto")
        self.assertIn("; 2 ranks then, 3 now: the same global batch of 64", " ".join(done.stdout.split()))
        self.assertLessEqual(len(re.search("(?m)^resumed from .*$", done.stdout)[0]), 80)
        self.run_to(20, "b")
        self.assertEqual(len(self.numbers("a")), len(self.numbers("b")))
        for one, other in zip(self.numbers("a"), self.numbers("b"), strict=True):
            self.assertEqual(one[:2], other[:2])
            self.assertAlmostEqual(one[2] or one[4], other[2] or other[4], places=4)

    @whole
    def test_virtual_ranks_change_ranks_without_changing_a_bit(self):
        options = ["--virtual-ranks", "8", "--threads", "1", "--momentum", "0.9"]
        self.run_to(20, "whole", *options, ranks=1)
        for ranks, steps in ((8, 6), (1, 11), (4, 15), (2, 20)):
            self.run_to(steps, "parts", "--resume", "auto", "--eval-every", "0", *options, ranks=ranks)
        self.assertEqual(self.digest("parts"), self.digest("whole"))
        self.assertEqual(self.numbers("parts"), [line for line in self.numbers("whole") if line[0] == "step"])
        self.assert_one_error(self.run_to(4, "three", *options, ranks=3, code=2), "--virtual-ranks.*8 shards.*3 ranks")

    @whole
    def test_virtual_ranks_take_one_thread_where_nobody_says_how_many(self):
        environment = {name: value for name, value in os.environ.items() if name != "OMP_NUM_THREADS"}
        digests = set()
        for ranks in (1, 2):
            command = [*MPIRUN, "-n", ranks, PROGRAM, *TRAIN, "--virtual-ranks", "2", "--max-steps", "4", "--run-id", ranks]
            subprocess.run([str(word) for word in command], cwd=self.folder, env=environment, check=True)
            digests.add(self.digest(str(ranks)))
        self.assertEqual(len(digests), 1)

    def test_what_changed_is_said(self):
        words = [word for word in TRAIN if word != "--quiet"]
        options = ["--run-id", "a", "--virtual-ranks", "2", "--resume", "auto", "--threads", "1"]
        self.mpirun(1, *words, *options, "--max-steps", "2")
        done = self.mpirun(2, *words, *options, "--max-steps", "4")
        self.assertIn("; 1 rank then, 2 now: the same global batch of 64 and the same images in each step, and the same bits",
                      " ".join(done.stdout.split()))
        options[-1] = "2"
        done = self.mpirun(2, *words, *options, "--max-steps", "6")
        self.assertIn("; 1 thread per rank then, 2 now: the same global batch of 64 and the same images in each step, "
                      "sums round differently", " ".join(done.stdout.split()))

    def test_the_checkpoints_global_batch_holds(self):
        words = [*TRAIN[:5], "--run-id", "a", "--epochs", "1000", "--resume", "auto"]
        self.mpirun(2, *words, "--batch-size", "16", "--max-steps", "3")
        done = self.mpirun(1, *words, "--batch-size", "16", "--max-steps", "6")
        kept = "the run keeps its global batch of 32; 16 images per rank would make 16"
        self.assertIn(kept, done.stdout)
        self.assertIn(kept, self.mpirun(1, *words, "--batch-size", "16", "--max-steps", "7").stdout)
        self.mpirun(1, *words, "--max-steps", "8")  # 64 images by default
        done = self.mpirun(1, *words, "--batch-size", "8", "--max-steps", "9", code=78)
        self.assertIn("global batch: the run has '32', now '8' is asked for", done.stderr)
        self.mpirun(1, *words, "--batch-size", "32", "--max-steps", "9")
        self.mpirun(1, *words, "--global-batch-size", "32", "--max-steps", "10")
        done = self.mpirun(1, *words, "--batch-size", "8", "--max-steps", "11", code=78)
        self.assertIn("global batch: the run has '32', now '8' is asked for", done.stderr)

    def test_newest_valid_checkpoint_is_taken(self):
        self.run_to(20, "a", "--checkpoint-every", "5steps")
        self.assertEqual(self.steps_kept("a"), [10, 15, 20])
        self.flip_a_bit(self.checkpoint("a", 20))
        with self.checkpoint("a", 15).open("r+b") as file:
            file.truncate(1000)
        done = self.run_to(30, "a", "--resume", "auto", "--checkpoint-every", "10steps")
        self.assertRegex(done.stderr, r"(?s)refused:.*step-00000020.*tensor '.*' is damaged.*step-00000015")
        self.run_to(30, "b")
        self.assertEqual(self.digest("a"), self.digest("b"))
        self.assertEqual(self.numbers("a"), [line for line in self.numbers("b")])

    @whole
    def test_an_older_best_is_gone_on_with(self):
        """Its own name has been rotated away; what came after it moves aside."""
        unjudged = ["--keep-checkpoints", "1", "--checkpoint-every", "0", "--eval-every", "0"]
        options = [*unjudged[:-2], "--save-best"]
        self.run_to(20, "a", *options)
        self.run_to(30, "a", "--resume", "auto", *unjudged)
        self.assertEqual(self.steps_kept("a"), [30])
        best = self.folder / "runs/a/checkpoints/best.safetensors"
        self.mpirun(2, *TRAIN, "--resume", best, "--max-steps", 25, *unjudged)
        self.assertEqual(self.steps_kept("a"), [25])
        self.assertTrue((self.folder / "runs/a/checkpoints/superseded-2/step-00000030.safetensors").exists())
        self.run_to(40, "a", "--resume", "auto", *options)
        self.run_to(40, "b", *options)
        self.assertEqual(self.digest("a"), self.digest("b"))
        self.assertEqual(self.numbers("a"), self.numbers("b"))

    @whole
    def test_a_run_from_its_best_survives_a_kill_before_the_next_checkpoint(self):
        """A run whose only checkpoint is the best one is not started anew, either."""
        unjudged = ["--keep-checkpoints", "1", "--checkpoint-every", "0", "--eval-every", "0"]
        options = [*unjudged[:-2], "--save-best"]
        self.run_to(20, "a", *options)
        self.run_to(30, "a", "--resume", "auto", *unjudged)
        best = self.folder / "runs/a/checkpoints/best.safetensors"
        code, words = self.stop_at(33, "a", "--resume", best, "--max-steps", "100000", *unjudged,
                                   number=signal.SIGKILL, to_a_rank=True)
        self.assertEqual(code, 128 + signal.SIGKILL, words)
        self.assertEqual(self.steps_kept("a"), [20])
        self.assertTrue(best.exists())
        superseded = self.folder / "runs/a/checkpoints/superseded-2"  # the first one has the model of step 20
        self.assertEqual([line["step"] for line in read_lines(superseded / "metrics.jsonl") if line["event"] == "step"],
                         list(range(21, 31)))
        self.checkpoint("a", 20).unlink()
        done = self.mpirun(2, *[word for word in TRAIN if word != "--quiet"], "--run-id", "a", "--max-steps", 40,
                           "--resume", "auto", *options)
        self.assertIn("best.safetensors: step 20", done.stdout)
        self.run_to(40, "b", *options)
        self.assertEqual(self.digest("a"), self.digest("b"))
        self.assertEqual(self.numbers("a"), self.numbers("b"))

    def test_a_signal_before_the_first_step_saves_nothing_twice(self):
        self.run_to(6, "a")
        path = self.checkpoint("a", 6)
        before = path.stat()
        done = self.mpirun(2, *TRAIN, "--run-id", "a", "--resume", "auto", "--max-time", "1", "--stop-margin", "0.99", code=75)
        self.assertIn("warning: --max-time 1: the start took", done.stderr)
        self.assertEqual(self.steps_kept("a"), [6])
        self.assertEqual((path.stat().st_ino, path.stat().st_mtime_ns), (before.st_ino, before.st_mtime_ns))

    def test_no_valid_checkpoint_is_no_silent_restart(self):
        self.run_to(4, "a", "--checkpoint-every", "2steps")
        for step in self.steps_kept("a"):
            self.flip_a_bit(self.checkpoint("a", step))
        before = self.summary("a")
        done = self.run_to(8, "a", "--resume", "auto", code=65)
        self.assert_one_error(done, "no checkpoint of the run is valid")
        self.assertEqual(self.summary("a"), before)

    @whole
    def test_an_older_checkpoint_supersedes_later_ones(self):
        self.run_to(12, "a", "--checkpoint-every", "4steps")
        self.mpirun(2, *TRAIN, "--max-steps", "12", "--resume", self.checkpoint("a", 4), "--checkpoint-every", "0")
        self.assertEqual(self.steps_kept("a"), [4, 12])
        superseded = self.folder / "runs/a/checkpoints/superseded-1"
        self.assertEqual(sorted(path.name for path in superseded.glob("*.safetensors")),
                         ["step-00000008.safetensors", "step-00000012.safetensors"])
        self.assertEqual(json.loads((superseded / "summary.json").read_text())["steps"], 12)
        for name in ("evaluation.json", "report.html", "ranks/rank-0001.jsonl"):
            self.assertTrue((superseded / name).exists(), name)
        self.assertEqual([line["step"] for line in read_lines(superseded / "metrics.jsonl") if line["event"] == "step"],
                         list(range(5, 13)))

    @whole
    def test_a_complete_run_is_left_alone(self):
        self.run_to(4, "a")
        files = {path: path.stat().st_mtime_ns for path in (self.folder / "runs/a").rglob("*")}
        done = self.run_to(4, "a", "--resume", "auto")
        self.assertEqual(json.loads(done.stdout.splitlines()[-1]), self.summary("a"))
        again = [*TRAIN, "--run-id", "a", "--max-steps", 4, "--resume", "auto"]
        self.assertEqual(self.tandem(*again).stdout, "")
        text = self.tandem(*again, "--no-quiet").stdout
        self.assertRegex(text, r"\nThe run runs/a is complete: 4 steps.*\.\nTo go on with it, repeat the command with more --max-steps \(now 4\)\.\n$")
        after = {path: path.stat().st_mtime_ns for path in files}
        after.pop(self.folder / "runs/a/run.lock")
        self.assertEqual(after, {path: time for path, time in files.items() if path.name != "run.lock"})

    def test_a_run_that_nothing_improves_ends_early(self):
        # Nothing is learned, so the first evaluation of three stays the best one. 9 steps are an epoch.
        options = ["--lr", "0", "--eval-every", "1", "--early-stop", "2", "--validation-split", "0.1", "--resume", "auto"]
        train = [word for word in TRAIN if word not in ("--lr", "0.01", "--eval-every", "2")]

        def run(run_id, *more, code=0):
            return self.mpirun(2, *train, "--run-id", run_id, "--json", *options, *more, code=code)

        def without_times(run_id):
            return [(line["event"], line["step"]) for line in read_lines(self.folder / "runs" / run_id / "metrics.jsonl")
                    if line["event"] in ("step", "eval", "early_stop")]

        run("whole")
        summary = self.summary("whole")
        self.assertTrue(summary["ended_early"])
        self.assertEqual(summary["exit_reason"], "completed")
        self.assertEqual(summary["epochs"], 3)
        self.assertIsNotNone(summary["test_accuracy"])
        self.assertEqual(without_times("whole")[-1], ("early_stop", summary["steps"]))
        run("parts", "--max-steps", summary["steps"] - 1)
        self.assertFalse(self.summary("parts")["ended_early"])
        (self.folder / "runs/parts/summary.json").unlink()
        self.checkpoint("parts", summary["steps"] - 1).unlink()  # as after a kill in the third epoch
        run("parts")
        self.assertEqual(without_times("parts"), without_times("whole"))
        self.assertEqual(self.digest("parts"), self.digest("whole"))
        before = (self.folder / "runs/whole/metrics.jsonl").read_bytes()
        self.assertEqual(json.loads(run("whole").stdout.splitlines()[-1]), summary)
        self.assertEqual((self.folder / "runs/whole/metrics.jsonl").read_bytes(), before)
        options[options.index("--early-stop") + 1] = "3"
        run("whole")
        self.assertEqual(self.summary("whole")["epochs"], 4)

    def test_a_stopped_run_has_no_test_accuracy_of_an_earlier_end(self):
        options = ["--validation-split", "0.2", "--resume", "auto", "--max-steps"]
        self.mpirun(1, *TRAIN, "--run-id", "a", *options, 2)
        self.assertIsNotNone(self.summary("a")["test_accuracy"])
        self.assertEqual(self.stop_at(4, "a", *options, 10_000)[0], 75)
        self.assertIsNone(self.summary("a")["test_accuracy"])

    def evaluations(self, run_id):
        lines = read_lines(self.folder / "runs" / run_id / "metrics.jsonl")
        return [line for line in lines if line["event"] == "eval"]

    @whole
    def test_what_the_last_evaluation_found_outlives_a_kill_before_the_summary(self):
        for left in (["evaluation.json"], []):
            with self.subTest(left=left):
                run_id = f"left-{len(left)}"
                run = self.folder / "runs" / run_id
                self.run_to(4, run_id, "--tta")
                found, summary = json.loads((run / "evaluation.json").read_text()), self.summary(run_id)
                self.assertIsNotNone(summary["test_accuracy_tta"])
                for name in ("summary.json", "report.html", "evaluation.json", "model/model.safetensors"):
                    if name not in left:
                        (run / name).unlink()
                self.run_to(4, run_id, "--tta", "--resume", "auto")
                again = self.summary(run_id)
                self.assertEqual(again["exit_reason"], "completed")
                for field in ("test_loss", "test_accuracy", "test_accuracy_tta", "weights_sha256"):
                    self.assertEqual(again[field], summary[field], field)
                self.assertEqual(json.loads((run / "evaluation.json").read_text()), found)
                self.assertTrue((run / "report.html").exists())
                self.assertTrue((run / "model/model.safetensors").exists())

    @whole
    def test_the_model_of_an_earlier_end_moves_aside_when_the_run_goes_on(self):
        run = self.folder / "runs/a"
        self.run_to(4, "a")
        model = {path.name: path.read_bytes() for path in (run / "model").iterdir()}
        self.assertEqual(len(model), 2)
        code, words = self.stop_at(6, "a", "--max-steps", "100000", "--resume", "auto")
        self.assertEqual(code, 75, words)
        self.assertEqual(list((run / "model").iterdir()), [])
        aside = run / "checkpoints/superseded-1/model"
        self.assertEqual({path.name: path.read_bytes() for path in aside.iterdir()}, model)
        newest = f"runs/a/checkpoints/step-{self.summary('a')['steps']:08}.safetensors"
        for ranks, *command in ((2, "eval", "--data", DATA, "--json"), (1, "export", "--output", "net.pth")):
            done = self.mpirun(ranks, *command, "--checkpoint", "runs/a")
            self.assertIn(f"tandem: --checkpoint runs/a: reads {newest}\n", done.stderr)
            done = self.mpirun(ranks, *command, "--checkpoint", newest)
            self.assertEqual(done.stderr, "")

    def test_a_run_that_is_shortened_ends_with_its_evaluation(self):
        self.run_to(13, "a", "--eval-every", "0")
        (self.folder / "runs/a/summary.json").unlink()  # as if it had been killed
        self.run_to(11, "a", "--resume", "auto", "--eval-every", "1")
        self.assertEqual((self.summary("a")["exit_reason"], self.summary("a")["steps"]), ("completed", 13))
        self.assertEqual([line["step"] for line in self.evaluations("a")], [13])
        self.assertEqual(self.summary("a")["test_loss"], self.evaluations("a")[-1]["test_loss"])

    def test_what_must_agree_is_named(self):
        self.run_to(3, "a")
        done = self.run_to(6, "a", "--resume", "auto", "--seed", "2", "--lr", "0.02", "--momentum", "0.90", code=78)
        self.assert_one_error(done, "--seed: the run has '1', now '2'", "--lr: the run has '0.01', now '0.02'")
        self.assertNotIn("--momentum", done.stderr)
        done = self.run_to(6, "a", "--resume", "auto", "--loss", "sum", "--early-epochs", "1", code=78)
        self.assert_one_error(done, "--loss: the run has 'mean', now 'sum'", "--early-epochs")
        done = self.run_to(6, "a", "--resume", "auto", "--global-batch-size", "32", code=78)
        self.assert_one_error(done, "global batch: the run has '64', now '32'")

    def test_none_is_the_default_and_points_to_auto(self):
        self.run_to(3, "a")
        self.assert_one_error(self.run_to(6, "a", code=73), "--resume auto")
        self.assert_one_error(self.mpirun(2, *TRAIN, "--resume", "auto", code=2), "--run-id")
        words = [word for word in TRAIN if word != "--quiet"]
        done = self.mpirun(2, *words, "--run-id", "aa", "--max-steps", "3", "--resume", "latest")
        self.assertIn("\nnothing to resume in runs/aa: starting at step 0; did you mean --run-id a?\n", done.stdout)

    @whole
    def test_a_second_run_in_the_folder_is_kept_out(self):
        self.run_to(3, "a")
        first = subprocess.Popen([*MPIRUN, "-n", "1", PROGRAM, *TRAIN, "--run-id", "a", "--resume", "auto"],
                                 cwd=self.folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.addCleanup(first.communicate)
        self.addCleanup(first.terminate)
        self.wait_for_step(first, "runs/a", 9)
        self.assert_one_error(self.run_to(6, "a", "--resume", "auto", code=73), r"another run works .*process \d+ on ")

    def test_max_time_stops_in_time(self):
        start = time.monotonic()
        self.mpirun(2, *TRAIN, "--run-id", "a", "--max-time", "00:00:05", "--stop-margin", "2", code=75)
        self.assertLess(time.monotonic() - start, 5 + 2)  # mpirun starts before the program's clock does
        self.assertEqual(self.summary("a")["exit_reason"], "stopped")

    def test_best_and_every_nth_are_kept(self):
        self.run_to(30, "a", "--checkpoint-every", "2steps", "--keep-checkpoints", "2", "--keep-every", "10", "--save-best",
                    "--eval-every", "1", "--lr", "0.05")
        self.assertEqual(self.steps_kept("a"), [10, 20, 28, 30])
        evaluation = json.loads(self.mpirun(2, "eval", "--data", DATA, "--checkpoint", "runs/a", "--json").stdout)
        best = max(line["test_accuracy"] for line in read_lines(self.folder / "runs/a/metrics.jsonl")
                   if line["event"] == "eval")
        self.assertEqual(evaluation["test_accuracy"], best)


if __name__ == "__main__":
    unittest.main(verbosity=2)
