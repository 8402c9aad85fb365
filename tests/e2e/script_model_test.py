#!/usr/bin/env python3
"""tandem train --model FILE.pt: a TorchScript network trains on several ranks, goes on, and is found again by what reads runs."""

import hashlib
import json
import os
import pathlib
import shutil
import unittest

import h5py
from PIL import Image

from safetensors_file import metadata_of
from tandem import DATA, TandemTest, read_lines, whole

SCRIPTS = pathlib.Path(os.environ["TANDEM_TEST_SCRIPTS"])
STEPS = ["--lr", "0.02", "--momentum", "0.9", "--max-steps", "12", "--epochs", "100", "--log-every", "1"]


class ScriptModel(TandemTest):
    keeps_ranks = True

    def setUp(self):
        super().setUp()
        for path in SCRIPTS.iterdir():
            shutil.copy(path, self.folder)

    def run_of(self, run_id):
        return self.folder / "runs" / run_id

    def summary(self, run_id):
        return json.loads((self.run_of(run_id) / "summary.json").read_text())

    def losses(self, run_id):
        return [line["loss"] for line in read_lines(self.run_of(run_id) / "metrics.jsonl") if line["event"] == "step"]

    def resume(self, run_id, *options, code=0, ranks=2):
        return self.mpirun(ranks, "train", "--data", DATA, "--global-batch-size", "64", *STEPS, "--run-id", run_id, "--resume",
                           "auto", "--quiet", *options, code=code)

    def test_ranks_train_as_one(self):
        for ranks in (1, 2, 3):
            self.train(ranks, str(ranks), *STEPS, "--model", "plain.pt")
            self.assertEqual(len(self.losses(str(ranks))), 12)
            for found, expected in zip(self.losses(str(ranks)), self.losses("1"), strict=True):
                self.assertAlmostEqual(found, expected, places=4)
        self.assertLess(self.losses("1")[-1], self.losses("1")[0])

    @whole
    def test_virtual_ranks_give_the_same_bits_also_where_it_drops(self):
        digests = {self.train(ranks, str(ranks), *STEPS, "--model", "drops.pt", "--virtual-ranks", "4")["weights_sha256"]
                   for ranks in (1, 2, 4)}
        self.assertEqual(len(digests), 1)

    def test_an_epoch_is_not_lost_where_its_evaluation_fails(self):
        words = ["--data", DATA, "--global-batch-size", 64, "--lr", 0.02, "--max-steps", 20, "--log-every", 1, "--quiet"]
        for resume, code in ((["--model", "large.pt"], 65), (["--model", "large.pt", "--resume", "auto"], 65),
                             (["--model", "large.pt", "--resume", "auto", "--eval-batch-size", 100], 0)):
            done = self.mpirun(1, "train", *words, "--run-id", "a", *resume, code=code)
            self.assertEqual("no memory for so many images" in done.stderr, code == 65, done.stderr)
            if code == 65:
                checkpoints = [path.name for path in (self.run_of("a") / "checkpoints").glob("step-*")]
                self.assertEqual(checkpoints, ["step-00000010.safetensors"])
        self.mpirun(1, "train", *words, "--run-id", "b", "--model", "large.pt", "--eval-batch-size", 100)
        self.assertEqual(self.summary("a")["weights_sha256"], self.summary("b")["weights_sha256"])
        lines = [[(line["event"], line["step"]) for line in read_lines(self.run_of(run) / "metrics.jsonl")
                  if line["event"] in ("step", "epoch", "eval")] for run in ("a", "b")]
        self.assertEqual(lines[0], lines[1])

    def test_a_buffer_that_is_not_finite_is_named(self):
        done = self.mpirun(1, "train", "--data", DATA, "--model", "grows.pt", "--max-steps", 6, "--checkpoint-every", 1,
                           "--eval-every", 0, "--run-id", "a", "--quiet", code=70)
        self.assert_one_error(done, "buffer 'big' of rank 0 is not finite")

    def test_the_run_keeps_the_file(self):
        self.train(2, "a", *STEPS, "--model", "drops.pt", "--checkpoint-every", "5")
        content = (self.folder / "drops.pt").read_bytes()
        self.assertEqual((self.run_of("a") / "model/network.pt").read_bytes(), content)
        files = [self.run_of("a") / "model/model.safetensors", *(self.run_of("a") / "checkpoints").glob("*.safetensors")]
        self.assertEqual(len(files), 4)
        for path in files:
            self.assertEqual(metadata_of(path)["network_sha256"], hashlib.sha256(content).hexdigest())
        self.assertIn("\nmodel = drops.pt\n", (self.run_of("a") / "config.ini").read_text())

    @whole
    def test_only_rank_0_needs_the_file(self):
        for rank in ("0", "1"):
            (self.folder / rank).mkdir()
        shutil.copy(self.folder / "drops.pt", self.folder / "0/only-here.pt")
        self.mpirun_in_own_folders(2, "train", "--data", DATA, "--model", "only-here.pt", *STEPS, "--run-id", "a", "--quiet")
        self.mpirun_in_own_folders(2, "eval", "--data", DATA, "--checkpoint", "runs/a")
        self.assertTrue((self.folder / "0/runs/a/model/network.pt").exists())
        self.assertFalse((self.folder / "1/runs").exists())

    def test_what_reads_runs_finds_it(self):
        summary = self.train(2, "a", *STEPS, "--model", "drops.pt", "--save-best")
        os.remove(self.folder / "drops.pt")
        run = self.run_of("a")
        newest = sorted((run / "checkpoints").glob("step-*.safetensors"))[-1]
        for ranks, path in ((1, run / "model/model.safetensors"), (2, newest), (3, newest)):
            self.assertEqual(self.evaluate(ranks, path)["test_accuracy"], summary["test_accuracy"], path)
        self.evaluate(2, run)
        self.tandem("verify", run)
        self.assertEqual(json.loads(self.tandem("inspect", newest, "--json").stdout)["model"], "network.pt")
        with h5py.File(DATA, "r") as file:
            for i, image in enumerate(file["test/images"][:].transpose(0, 2, 3, 1)):
                Image.fromarray(image).save(self.folder / f"{i:03}.png")
            labels, classes = file["test/labels"][:], list(file.attrs["classes"])
        lines = self.tandem("predict", "--checkpoint", newest, "--json", self.folder).stdout.splitlines()
        correct = sum(json.loads(line)["class"] == classes[label] for line, label in zip(lines, labels, strict=True))
        self.assertEqual(correct, self.evaluate(1, newest)["correct"])

    def test_verify_proves_a_network_and_runs_it_only_if_asked(self):
        self.train(2, "a", *STEPS, "--model", "drops.pt")
        run = self.run_of("a")
        digest = hashlib.sha256((run / "model/network.pt").read_bytes()).hexdigest()
        self.assertIn("network.pt was not run", self.tandem("verify", run).stdout)
        self.assertIn(f"network.pt was run, its SHA-256 is {digest}", self.tandem("verify", run, "--run-network").stdout)
        self.assertIn(f"SHA-256 is {digest}", self.mpirun(2, "eval", "--data", DATA, "--checkpoint", run).stderr)
        # An untrusted run: another network file, and all digests adjusted to it.
        (run / "model/network.pt").write_bytes(b"no TorchScript")
        for path in [run / "model/model.safetensors", *(run / "checkpoints").glob("*.safetensors")]:
            content = path.read_bytes().replace(digest.encode(), hashlib.sha256(b"no TorchScript").hexdigest().encode())
            seal = metadata_of(path)["sha256"].encode()
            blank = content.replace(seal, b"0" * 64)
            path.write_bytes(content.replace(seal, hashlib.sha256(blank).hexdigest().encode()))
        self.tandem("verify", run)
        self.assert_one_error(self.tandem("verify", run / "model/model.safetensors", "--run-network", code=65),
                              "network.pt: is not a TorchScript file")

    def test_it_is_exported_with_its_weights(self):
        summary = self.train(2, "a", *STEPS, "--model", "plain.pt")
        for name in ("out.pth", "out.safetensors", "out.pt"):
            self.tandem("export", "--checkpoint", "runs/a", "--output", name)
        again = self.train(1, "b", "--model", "out.pt", "--lr", "0", "--max-steps", "1")
        self.assertEqual(again["weights_sha256"], summary["weights_sha256"])
        self.assertEqual(again["test_accuracy"], summary["test_accuracy"])
        again = self.train(1, "c", "--model", "plain.pt", "--init-from", "out.safetensors", "--lr", "0", "--max-steps", "1")
        self.assertEqual(again["weights_sha256"], summary["weights_sha256"])
        self.train(1, "d")
        done = self.tandem("export", "--checkpoint", "runs/d", "--output", "mlp.pt", code=2)
        self.assert_one_error(done, "mlp is not a TorchScript file.*export_torchscript.py")

    def test_parts_equal_the_whole_also_where_it_drops(self):
        whole = self.train(2, "whole", *STEPS, "--model", "drops.pt")
        self.train(2, "parts", *STEPS, "--model", "drops.pt", "--max-steps", "5")
        os.rename(self.folder / "drops.pt", self.folder / "renamed.pt")
        self.resume("parts", "--model", "renamed.pt", "--max-steps", "8")
        os.remove(self.folder / "renamed.pt")
        self.resume("parts", "--model", "renamed.pt")
        self.assertEqual(self.losses("parts"), self.losses("whole"))
        parts = json.loads((self.run_of("parts") / "summary.json").read_text())
        self.assertEqual(parts["weights_sha256"], whole["weights_sha256"])
        self.assert_one_error(self.resume("parts", "--model", "gone.pt", "--max-steps", "14", code=66),
                              "--model gone.pt: is not there; the run was started with renamed.pt")

    def test_another_network_is_refused(self):
        self.train(2, "a", *STEPS, "--model", "drops.pt")
        more = ["--max-steps", "14"]
        digests = [hashlib.sha256((self.folder / name).read_bytes()).hexdigest() for name in ("drops.pt", "other.pt")]
        self.assert_one_error(self.resume("a", "--model", "other.pt", *more, code=78),
                              f"SHA-256 of the network: the run has '{digests[0]}', now '{digests[1]}'")
        self.assert_one_error(self.resume("a", "--model", "mlp", *more, code=78),
                              "--model: the run has 'drops.pt', now 'mlp'")
        self.train(2, "b", *STEPS)
        self.assert_one_error(self.resume("b", "--model", "drops.pt", *more, code=78),
                              "--model: the run has 'mlp', now 'drops.pt'")

    def test_a_copy_that_changed_or_is_gone_is_named(self):
        self.train(2, "a", *STEPS, "--model", "drops.pt")
        copy = self.run_of("a") / "model/network.pt"
        shutil.copy(self.folder / "other.pt", copy)
        evaluate = ["eval", "--data", DATA, "--checkpoint", "runs/a"]
        changed = r"runs/a/model/network.pt: has the SHA-256 [0-9a-f]{64}, the run was trained with [0-9a-f]{64}"
        more = ["--model", "drops.pt", "--max-steps", "14"]
        self.assert_one_error(self.mpirun(2, *evaluate, code=65), changed)
        self.assert_one_error(self.tandem("verify", "runs/a", code=65), changed)
        self.assert_one_error(self.resume("a", *more, code=65), changed)
        os.remove(copy)
        self.assert_one_error(self.mpirun(2, *evaluate, code=66), "its network is not there; put the run's model/network.pt")
        self.assert_one_error(self.resume("a", *more, code=66), "runs/a/model/network.pt")

    def test_what_cannot_be_trained_is_refused(self):
        (self.folder / "text.pt").write_text("weights")
        (self.folder / "empty.pt").touch()
        for name, code, *patterns in (("absent.pt", 66, "absent.pt"),
                                      ("text.pt", 65, "text.pt: is not a TorchScript file"),
                                      ("empty.pt", 65, "empty.pt: is empty"),
                                      ("seven.pt", 65, r"seven.pt: cannot be trained: .*\[2, 7\], Float \[2, 10\]")):
            done = self.mpirun(2, "train", "--data", DATA, "--model", name, *STEPS, "--run-id", "a", "--quiet", code=code)
            self.assert_one_error(done, *patterns)
            self.assertFalse(self.run_of("a").exists())


if __name__ == "__main__":
    unittest.main()
