#!/usr/bin/env python3
"""tandem train --init-from: a run that starts from weights of another, or from none that fit."""

import json
import os
import unittest

from tandem import DATA, TandemTest

STAY = ["--lr", "0", "--max-steps", "1"]


class InitFrom(TandemTest):
    keeps_ranks = True

    def setUp(self):
        super().setUp()
        self.first = self.train(2, "first")["weights_sha256"]

    def refuse(self, file, code, pattern, *options):
        done = self.mpirun(2, "train", "--data", DATA, "--model", "mlp", "--init-from", file, "--run-id", "refused", *options,
                           code=code)
        self.assert_one_error(done, pattern)
        self.assertFalse((self.folder / "runs/refused").exists())

    def test_weights_of_a_run_a_model_and_a_checkpoint(self):
        self.tandem("export", "--checkpoint", "runs/first", "--output", "out.safetensors")
        for i, file in enumerate(("runs/first", "runs/first/model/model.safetensors", "out.safetensors",
                                  "runs/first/checkpoints/step-00000003.safetensors")):
            self.assertEqual(self.train(2, str(i), "--init-from", file, *STAY)["weights_sha256"], self.first, file)
        self.assertNotEqual(self.train(2, "other", *STAY)["weights_sha256"], self.first)

    def test_no_export_replaces_a_checkpoint(self):
        checkpoint = "runs/first/checkpoints/step-00000003.safetensors"
        before = (self.folder / checkpoint).read_bytes()
        done = self.tandem("export", "--checkpoint", "runs/first", "--output", checkpoint, code=73)
        self.assert_one_error(done, f"{checkpoint}: is a checkpoint, from which a run resumes; choose another --output")
        self.assertEqual((self.folder / checkpoint).read_bytes(), before)

    def test_only_rank_0_needs_the_file(self):
        for rank in ("0", "1"):
            (self.folder / rank).mkdir()
        os.rename(self.folder / "runs/first/model/model.safetensors", self.folder / "0/here.safetensors")
        done = self.mpirun_in_own_folders(2, "train", "--data", DATA, "--model", "mlp", "--init-from", "here.safetensors",
                                          *STAY, "--quiet", "--json")
        self.assertEqual(json.loads(done.stdout.splitlines()[-1])["weights_sha256"], self.first)

    def test_a_run_that_goes_on_has_its_own(self):
        os.rename(self.folder / "runs/first/model/model.safetensors", self.folder / "start.safetensors")
        whole = self.train(2, "whole", "--init-from", "start.safetensors", "--max-steps", "4")
        self.train(2, "parts", "--init-from", "start.safetensors", "--max-steps", "2")
        os.remove(self.folder / "start.safetensors")
        parts = self.train(2, "parts", "--init-from", "start.safetensors", "--max-steps", "4", "--resume", "auto")
        self.assertEqual(parts["weights_sha256"], whole["weights_sha256"])

    def test_what_does_not_fit_is_refused(self):
        self.refuse("absent.safetensors", 66, "absent.safetensors")
        self.refuse("runs/first", 65, "--init-from .*holds weights of mlp, --model is lenet", "--model", "lenet")
        (self.folder / "net.pth").touch()
        self.refuse("net.pth", 2, "python/to_safetensors.py net.pth --model mlp --output FILE.safetensors")
        content = bytearray((self.folder / "runs/first/model/model.safetensors").read_bytes())
        content[-1] ^= 1
        (self.folder / "damaged.safetensors").write_bytes(content)
        self.refuse("damaged.safetensors", 65, "damaged.safetensors")
        header = b'{"fc1.bias":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}}'
        (self.folder / "small.safetensors").write_bytes(len(header).to_bytes(8, "little") + header + bytes(4))
        self.refuse("small.safetensors", 65, r"'fc1.weight' is missing; 'fc1.bias' is Float \[1\], expected Float \[512\]")


if __name__ == "__main__":
    unittest.main()
