#!/usr/bin/env python3
"""tandem train --init-from: a run that starts from weights of another, or from none that fit."""

import json
import os
import unittest

from safetensors_file import metadata_of, read_tensors, replace_metadata, write_tensors
from tandem import DATA, QUICK, TandemTest

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

    def test_the_widths_of_mlp_go_wherever_its_weights_go(self):
        whole = self.train(2, "narrow", "--hidden", "20", "--max-steps", "4")
        self.train(2, "parts", "--hidden", "20", "--max-steps", "2")
        parts = self.train(2, "parts", "--hidden", "20", "--max-steps", "4", "--resume", "auto")
        self.assertEqual(parts["weights_sha256"], whole["weights_sha256"])
        done = self.mpirun(2, "train", *QUICK, "--max-steps", "5", "--run-id", "parts", "--resume", "auto", code=78)
        self.assert_one_error(done, "hidden: the run has '20', now '' is asked for")
        self.tandem("export", "--checkpoint", "runs/narrow", "--output", "narrow.safetensors")
        self.assertEqual(self.evaluate(2, "narrow.safetensors")["test_accuracy"], whole["test_accuracy"])
        self.assertEqual(json.loads(self.tandem("inspect", "narrow.safetensors", "--json").stdout)["hidden"], [20])
        self.refuse("runs/narrow", 65, "--init-from .*hidden layers of 20, here they are 512,512; give --hidden 20")
        again = self.train(2, "again", "--hidden", "20", "--init-from", "narrow.safetensors", *STAY)
        self.assertEqual(again["weights_sha256"], whole["weights_sha256"])

    def test_a_model_of_an_earlier_version_has_the_widths_of_its_time(self):
        """Without `hidden`; and one whose `hidden` is not that of its tensors is damaged."""
        model = self.folder / "runs/first/model/model.safetensors"
        for name, hidden, code in (("old.safetensors", None, 0), ("odd.safetensors", "[9,512]", 65), ("huge.safetensors", "[65536,65536]", 65),
                                   ("many.safetensors", "[65537]", 65)):
            metadata = metadata_of(model)
            for key in ("hidden", "sha256", "hash64"):
                metadata.pop(key)
            replace_metadata(model, {**metadata, **({"hidden": hidden} if hidden else {})}, self.folder / name)
            done = self.mpirun(2, "eval", "--data", DATA, "--checkpoint", name, "--json", code=code)
            if code:
                self.assert_one_error(done, f"{name}: its __metadata__ (has a layer of|contradicts)")
        self.assertEqual(self.train(2, "old", "--init-from", "old.safetensors", *STAY)["weights_sha256"], self.first)

    def weights_of(self, run_id):
        return read_tensors(self.folder / "runs" / run_id / "model/model.safetensors")

    def test_a_head_of_other_classes_starts_anew(self):
        """With the rest frozen, as well where the run goes on, at any number of ranks."""
        tensors = self.weights_of("first")
        tensors["fc3.weight"] = [4, 512], tensors["fc3.weight"][1][:4 * 512 * 4]
        tensors["fc3.bias"] = [4], tensors["fc3.bias"][1][:16]
        write_tensors(self.folder / "others.safetensors", tensors)
        frozen = ["--init-from", "others.safetensors", "--freeze", "fc1.*,fc2.*", "--lr-scale", "*.bias=2"]
        said = self.mpirun(2, "train", *QUICK, "--run-id", "tuned", *frozen, "--max-steps", "4", "--virtual-ranks", "2").stdout
        self.assertIn("weights of others.safetensors: 4 of 6 tensors taken; fc3.weight,", said)
        self.assertIn("1,841,162 parameters, 5,130 of them trained", said)
        tuned = self.weights_of("tuned")
        for name in ("fc1.weight", "fc1.bias", "fc2.weight", "fc2.bias"):
            self.assertEqual(tuned[name], tensors[name], name)
        self.assertNotEqual(tuned["fc3.weight"][1][:64], tensors["fc3.weight"][1][:64])
        self.train(1, "parts", *frozen, "--max-steps", "2", "--virtual-ranks", "2")
        self.train(1, "parts", *frozen, "--max-steps", "4", "--virtual-ranks", "2", "--resume", "auto")
        self.assertEqual(self.weights_of("parts"), tuned)
        done = self.mpirun(1, "train", *QUICK, "--run-id", "parts", "--resume", "auto", "--max-steps", "5", "--virtual-ranks", "2",
                           "--freeze", "fc1.*", code=78)
        self.assert_one_error(done, "freeze: the run has 'fc1.*,fc2.*', now 'fc1.*' is asked for")
        self.refuse("runs/first", 2, "--freeze: no parameter fits 'layer1.*'", "--freeze", "layer1.*")
        self.refuse("runs/first", 2, "--freeze and --optimizer muon: the last layer is frozen", "--freeze", "fc3.*", "--optimizer", "muon")

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
        tensors = self.weights_of("first")
        shape, content = tensors["fc2.bias"]
        tensors["fc2.bias"] = shape, b"\0\0\x80\x7f" + content[4:]
        write_tensors(self.folder / "infinite.safetensors", tensors)
        self.refuse("infinite.safetensors", 65, "--init-from infinite.safetensors: 'fc2.bias' has NaN or infinite values")
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
