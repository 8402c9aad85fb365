#!/usr/bin/env python3
"""Models go to Python and come back: tandem_models.py, to_safetensors.py, export_torchscript.py, and networks that Python's
TorchScript exports."""

import contextlib
import hashlib
import io
import json
import math
import pathlib
import runpy
import shutil
import sys
import unittest
from unittest import mock

import h5py
import safetensors.torch
import torch

from safetensors_file import metadata_of
from tandem import DATA, IS_WHOLE, TandemTest, read_lines, whole

PYTHON = pathlib.Path(__file__).resolve().parents[2] / "python"
sys.path.insert(0, str(PYTHON))
import tandem_models  # noqa: E402

# `make -f Makefile.hpc whole` and formats.models_load_in_python test the others.
NETWORKS = tandem_models.NETWORKS if IS_WHOLE else ["simple", "resnet9"]
GOLDEN = PYTHON.parent / "tests/golden"
ONE_BATCH = ["--global-batch-size", "600", "--max-steps", "3", "--log-every", "1", "--checkpoint-every", "1", "--epochs", "10"]


def images_of(split):
    with h5py.File(DATA, "r") as file:
        return torch.from_numpy(file[split]["images"][:]), torch.from_numpy(file[split]["labels"][:]).long()


def weights_sha256(network):
    """The digest of the user contract."""
    digest, weights = hashlib.sha256(), network.state_dict()
    for name in sorted(weights, key=str.encode):
        digest.update(weights[name].contiguous().numpy().tobytes())
    return digest.hexdigest()


class Exported(torch.nn.Module):
    """With what differs between training and evaluation, and what must stay as it is."""

    def __init__(self, classes=10):
        super().__init__()
        self.features = torch.nn.Sequential(torch.nn.Conv2d(3, 8, 3, padding=1), torch.nn.BatchNorm2d(8), torch.nn.ReLU(),
                                            torch.nn.MaxPool2d(4), torch.nn.Flatten(), torch.nn.Dropout(0.2))
        self.classify = torch.nn.Linear(8 * 8 * 8, classes)
        self.register_buffer("scale", torch.tensor([0.5]))

    def forward(self, x):
        return self.classify(self.features(x)) * self.scale


class Python(TandemTest):
    keeps_ranks = True

    def script(self, name, *arguments, code=0):
        """What a program of python/ says of a fault. It runs in this process, because another takes seconds to load torch; as
        users start them, docs/python.md does."""
        said = io.StringIO()
        with mock.patch.object(sys, "argv", [name, *map(str, arguments)]), contextlib.chdir(self.folder), \
                contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(said), \
                self.assertRaises(SystemExit) as ended:
            runpy.run_path(str(PYTHON / name), run_name="__main__")
        self.assertEqual(ended.exception.code, code, said.getvalue())
        return said.getvalue()

    def accuracy(self, network, info):
        images, labels = images_of("test")
        with torch.no_grad():
            return (network(tandem_models.normalise(images, info)).argmax(1) == labels).sum().item() / len(labels)

    def test_networks_are_those_of_torchvision_and_timm(self):
        with mock.patch.dict(sys.modules, {"timm": mock.MagicMock(), "torchvision": mock.MagicMock()}):
            fixtures = runpy.run_path(str(GOLDEN / "make_network_fixtures.py"))
        golden = json.loads((GOLDEN / "networks.json").read_text())
        for case in golden["cases"]:
            network = tandem_models.make_network(case["network"], case["shape"], golden["classes"], stem=case.get("stem", "cifar"))
            images = 2 * fixtures["hashed"](9999, golden["images"] * math.prod(case["shape"])).view(-1, *case["shape"])
            with torch.no_grad():
                names = "".join(fixtures["fill"](network))
                logits = network.eval()(images)
            self.assertEqual(hashlib.sha256(names.encode()).hexdigest(), case["names"], case["network"])
            self.assertLess((logits.flatten() - torch.tensor(case["logits"])).abs().max().item(), 1e-4, case["network"])

    def test_runs_give_the_same_answers_in_python_and_as_torchscript(self):
        for model, *options in [*((name,) for name in NETWORKS), ("mlp", "--hidden", "20,7")]:
            run_id = "narrow" if options else model
            run = self.folder / "runs" / run_id
            summary = self.train(2, run_id, "--model", model, "--global-batch-size", "8", *options)
            for path in (run, run / "checkpoints/step-00000003.safetensors"):
                network, info = tandem_models.load(path)
                self.assertEqual(weights_sha256(network), summary["weights_sha256"])
                self.assertEqual(self.accuracy(network, info), summary["test_accuracy"], path)
            network.load_state_dict(torch.load(run / "model/synthetic_net.pth", weights_only=True))
            self.assertEqual(weights_sha256(network), summary["weights_sha256"])
            self.script("export_torchscript.py", run, "--output", f"{model}.pt")
            script = torch.jit.load(self.folder / f"{model}.pt")
            self.assertFalse(script.training)
            self.assertEqual(self.accuracy(script, info), summary["test_accuracy"])
        self.script("to_safetensors.py", run / "model/synthetic_net.pth", "--model", "mlp", "--data", DATA, "--output", "w.safetensors")
        network, info = tandem_models.load(self.folder / "w.safetensors")
        self.assertEqual((weights_sha256(network), info["hidden"]), (summary["weights_sha256"], [20, 7]))
        again = self.train(2, "again", "--model", "resnet9.pt", "--lr", "0", "--max-steps", "1", "--global-batch-size", "4",
                           "--eval-every", "0")
        self.assertEqual(again["steps"], 1)
        self.script("export_torchscript.py", "runs/absent", "--output", "net.pt", code=66)

    def continue_in_python(self, run_id, *options):
        """A step from a checkpoint here and there: the batch is the whole training set, so that its order says nothing."""
        self.train(2, run_id, *ONE_BATCH, *options)
        folder = self.folder / "runs" / run_id
        network, info = tandem_models.load(folder / "checkpoints/step-00000002.safetensors")
        optimizer = tandem_models.make_optimizer(folder / "checkpoints/step-00000002.safetensors", network)
        images, labels = images_of("train")
        loss = torch.nn.functional.cross_entropy(network.train()(tandem_models.normalise(images, info)), labels)
        steps = {line["step"]: line["loss"] for line in read_lines(folder / "metrics.jsonl") if line["event"] == "step"}
        self.assertAlmostEqual(loss.item(), steps[3], places=5)
        before = {name: tensor.clone() for name, tensor in network.state_dict().items()}
        loss.backward()
        optimizer.step()
        after = tandem_models.load(folder / "checkpoints/step-00000003.safetensors")[0].state_dict()
        for name, parameter in network.named_parameters():
            moved = (after[name] - before[name]).norm().item()
            self.assertEqual(moved > 0, parameter.requires_grad, name)
            self.assertLessEqual((parameter - after[name]).norm().item(), 0.01 * moved, name)

    def test_a_checkpoint_goes_on_in_python(self):
        self.continue_in_python("sgd", "--momentum", "0.9", "--weight-decay", "0.01", "--nesterov", "--lr", "0.02")
        self.continue_in_python("plain", "--momentum", "0", "--lr", "0.02", "--lr-reference-batch", "1200")
        self.continue_in_python("adamw", "--optimizer", "adamw", "--lr", "0.001", "--weight-decay", "0.01")
        self.continue_in_python("tuned", "--momentum", "0.9", "--lr", "0.02", "--lr-scale", "*=0.1,fc3.*=2", "--freeze", "fc1.*")

    @whole
    def test_weights_of_python_go_on_here(self):
        torch.manual_seed(5)
        network = tandem_models.make_network("resnet18", (3, 32, 32), 10)
        torch.save({"epoch": 3, "state_dict": {f"module.{name}": tensor for name, tensor in network.state_dict().items()}},
                   self.folder / "net.pth")
        self.script("to_safetensors.py", "net.pth", "--model", "resnet18", "--data", DATA, "--output", "net.safetensors")
        found = self.evaluate(2, "net.safetensors")
        _, info = tandem_models.read(self.folder / "net.safetensors")
        self.assertEqual(found["test_accuracy"], self.accuracy(network.eval(), info))
        self.tandem("verify", "net.safetensors")
        torch.save(network.state_dict(), self.folder / "bare.pth")
        self.script("to_safetensors.py", "bare.pth", "--model", "resnet18", "--output", "bare.safetensors")
        self.train(2, "a", "--model", "resnet18", "--init-from", "bare.safetensors", "--lr", "0", "--max-steps", "1",
                   "--global-batch-size", "4", "--eval-every", "0")
        moved, _ = tandem_models.read(self.folder / "runs/a")
        for name, tensor in network.state_dict().items():  # BatchNorm's statistics move without a learning rate
            if "running" not in name and "tracked" not in name:
                self.assertTrue(torch.equal(tensor, moved[name]), name)

    def test_training_of_python_goes_on_here(self):
        """Two steps over the whole training set there, and one there and one here, make the same weights and answers."""
        torch.manual_seed(5)
        network = tandem_models.make_network("simple", (3, 32, 32), 10)
        optimizer = torch.optim.SGD(network.parameters(), lr=0.1)
        images, labels = images_of("train")
        with h5py.File(DATA, "r") as file:
            info = {name: file.attrs[name].tolist() for name in ("mean", "std")}
        for step in range(2):
            torch.save(network.state_dict(), self.folder / "net.pth")
            optimizer.zero_grad()
            loss = torch.nn.functional.cross_entropy(network(tandem_models.normalise(images, info)), labels)
            loss.backward()
            optimizer.step()
        self.script("to_safetensors.py", "net.pth", "--model", "simple", "--output", "net.safetensors")
        self.train(2, "a", *ONE_BATCH, "--model", "simple", "--init-from", "net.safetensors", "--max-steps", "1", "--lr", "0.1",
                   "--momentum", "0", "--weight-decay", "0")
        self.assertAlmostEqual(loss.item(), read_lines(self.folder / "runs/a/metrics.jsonl")[0]["loss"], places=5)
        before = torch.load(self.folder / "net.pth", weights_only=True)
        after, _ = tandem_models.read(self.folder / "runs/a")
        for name, tensor in network.state_dict().items():
            moved = (tensor - before[name]).norm().item()
            self.assertGreater(moved, 0, name)
            self.assertLess((tensor - after[name]).norm().item(), 0.01 * moved, name)

    def test_a_run_folder_stands_for_the_same_file(self):
        """Its best checkpoint, which is not its last; and before a model is written, its newest checkpoint."""
        self.train(1, "a", *ONE_BATCH, "--model", "lenet", "--save-best", "--lr", "0.02")
        best = self.folder / "runs/a/checkpoints/best.safetensors"
        best.unlink()
        shutil.copy(sorted(best.parent.glob("step-*.safetensors"))[0], best)
        network, info = tandem_models.load(self.folder / "runs/a")
        self.assertEqual(info["format"], "tandem-checkpoint")
        self.assertEqual(self.accuracy(network, info), self.evaluate(1, "runs/a")["test_accuracy"])
        best.unlink()
        (self.folder / "runs/a/model/model.safetensors").unlink()
        network, info = tandem_models.load(self.folder / "runs/a")
        self.assertEqual(self.accuracy(network, info), self.evaluate(1, "runs/a")["test_accuracy"])

    def test_prefixes_of_wrappers_are_taken_off_and_of_parts_kept(self):
        torch.manual_seed(5)
        simple = tandem_models.make_network("simple", (3, 32, 32), 10).state_dict()
        torch.save({f"_orig_mod.module.{name}": tensor for name, tensor in simple.items()}, self.folder / "wrapped.pth")
        torch.save({f"module.{name}": tensor for name, tensor in simple.items()}, self.folder / "own.pth")
        self.script("to_safetensors.py", "wrapped.pth", "--model", "simple", "--output", "wrapped.safetensors")
        self.script("to_safetensors.py", "own.pth", "--output", "own.safetensors")
        self.assertEqual(set(tandem_models.read(self.folder / "wrapped.safetensors")[0]), set(simple))
        self.assertEqual(set(tandem_models.read(self.folder / "own.safetensors")[0]), {f"module.{name}" for name in simple})

    def test_published_weights_are_converted(self):
        """torchvision's oldest files count no batches; a vision transformer may be for another size of images."""
        torch.manual_seed(5)
        network = tandem_models.make_network("resnet18", (3, 64, 64), 20, stem="imagenet").state_dict()
        torch.save({name: tensor for name, tensor in network.items() if "tracked" not in name}, self.folder / "old.pth")
        self.script("to_safetensors.py", "old.pth", "--model", "resnet18", "--shape", "3x64x64", "--output", "new.safetensors")
        tensors, info = tandem_models.read(self.folder / "new.safetensors")
        self.assertEqual((set(tensors), info["stem"]), (set(network), "imagenet"))
        done = self.mpirun(1, "train", *ONE_BATCH, "--data", DATA, "--model", "resnet18", "--init-from", "new.safetensors", code=65)
        self.assert_one_error(done, "with the stem imagenet, here it is cifar; give --stem imagenet")
        cifar = tandem_models.make_network("resnet18", (3, 32, 32), 10).state_dict()
        safetensors.torch.save_file({name: tensor for name, tensor in cifar.items() if "tracked" not in name}, self.folder / "cifar.safetensors")
        done = self.mpirun(1, "train", "--global-batch-size", "2", "--max-steps", "1", "--eval-every", "0", "--data", DATA, "--model", "resnet18",
                           "--init-from", "cifar.safetensors")
        self.assertIn("weights of cifar.safetensors: all 102 tensors taken", done.stdout)
        vit = tandem_models.make_network("vit-tiny", (3, 32, 32), 10).state_dict()
        torch.save(vit, self.folder / "vit.pth")
        self.script("to_safetensors.py", "vit.pth", "--model", "vit-tiny", "--shape", "3x64x64", "--output", "vit.safetensors")
        places = tandem_models.read(self.folder / "vit.safetensors")[0]["pos_embed"]
        self.assertEqual(list(places.shape), [1, 257, 192])
        self.assertTrue(torch.equal(places[:, 0], vit["pos_embed"][:, 0]))
        self.assertLess((places[:, 1:].mean(1) - vit["pos_embed"][:, 1:].mean(1)).abs().max().item(), 1e-3)

    def test_what_does_not_fit_is_refused(self):
        torch.manual_seed(5)
        torch.save(tandem_models.make_network("simple", (3, 32, 32), 10).state_dict(), self.folder / "net.pth")
        (self.folder / "text.pth").write_text("weights")
        torch.save({"epoch": 3}, self.folder / "number.pth")
        torch.save({1: torch.zeros(2, 2)}, self.folder / "keys.pth")
        for file, model, code, part in (("net.pth", "mlp", 65, "fc1.weight is [120, 400], expected [120, 3072]"),
                                        ("text.pth", "mlp", 65, "torch.load(weights_only=True) refuses it"),
                                        ("number.pth", "mlp", 65, "these are no tensors with names: epoch"),
                                        ("keys.pth", "mlp", 65, "these are no tensors with names: 1"),
                                        ("absent.pth", "mlp", 66, "absent.pth: is not there")):
            said = self.script("to_safetensors.py", file, "--model", model, "--output", "out.safetensors", code=code)
            self.assertIn(part, said)
            self.assertFalse((self.folder / "out.safetensors").exists())
        convert = ["to_safetensors.py", "net.pth", "--model", "simple", "--output"]
        for words, code, part in ((["o", "--shape", "abc"], 2, "--shape: invalid image_shape value: 'abc'"),
                                  (["o", "--shape", "3x32"], 2, "--shape: invalid image_shape value: '3x32'"),
                                  (["o", "--data", "text.pth"], 65, "--data text.pth is no packed data set"),
                                  (["no/o"], 73, "no/o: cannot be written")):
            self.assertIn(part, self.script(*convert, *words, code=code))

    def test_weights_are_for_a_set_of_files_too(self):
        torch.save(tandem_models.make_network("simple", (3, 24, 24), 10).state_dict(), self.folder / "net.pth")
        for more, targets in (([], None), (["--multi-label"], "multi-label")):
            self.tandem("pack", "--input", "synthetic", "--images", "20", "--size", "24", "--store", "encoded", *more, "--output", "set.h5")
            self.script("to_safetensors.py", "net.pth", "--model", "simple", "--data", "set.h5", "--output", "net.safetensors")
            self.assertEqual(metadata_of(self.folder / "net.safetensors").get("targets"), targets)
            self.assertEqual(self.evaluate(1, "net.safetensors", data="set.h5")["images"], 64)

    def export(self, name, network, make=torch.jit.script):
        path = self.folder / name
        make(network).save(path)
        return path

    def test_a_network_of_python_trains_here(self):
        torch.manual_seed(5)
        network = Exported()
        self.export("net.pt", network)
        options = ["--model", "net.pt", "--lr", "0.02", "--max-steps", "20", "--epochs", "10", "--save-best"]
        summary = self.train(2, "a", *options)
        trained = self.folder / "runs/a/model/model.safetensors"
        tensors, info = tandem_models.read(trained)
        self.assertEqual(sorted(tensors), sorted(network.state_dict()))
        self.assertEqual(tensors["features.1.num_batches_tracked"].item(), 20)
        self.assertEqual(tensors["scale"].item(), 0.5)
        kept = self.folder / "runs/a/model/network.pt"
        self.assertEqual(hashlib.sha256(kept.read_bytes()).hexdigest(), info["network_sha256"])
        self.assertEqual(weights_sha256(torch.jit.load(kept)), weights_sha256(network))
        network.load_state_dict(tensors)
        self.assertEqual(self.accuracy(network.eval(), info), summary["test_accuracy"])
        self.assertEqual(self.evaluate(3, trained)["test_accuracy"], summary["test_accuracy"])

        self.tandem("export", "--checkpoint", trained, "--output", "out.pt")
        script = torch.jit.load(self.folder / "out.pt")
        self.assertEqual(self.accuracy(script, info), summary["test_accuracy"])
        self.tandem("export", "--checkpoint", trained, "--output", "out.pth")
        network.load_state_dict(torch.load(self.folder / "out.pth", weights_only=True))

    def test_a_step_is_that_of_python(self):
        torch.manual_seed(5)
        network = Exported()
        network.features[5].p = 0.0
        self.export("net.pt", network)
        self.train(1, "a", *ONE_BATCH, "--model", "net.pt", "--max-steps", "1", "--lr", "0.1", "--momentum", "0")
        images, labels = images_of("train")
        tensors, info = tandem_models.read(self.folder / "runs/a")
        loss = torch.nn.functional.cross_entropy(network.train()(tandem_models.normalise(images, info)), labels)
        line = read_lines(self.folder / "runs/a/metrics.jsonl")[0]
        self.assertAlmostEqual(loss.item(), line["loss"], places=5)
        loss.backward()
        torch.optim.SGD(network.parameters(), lr=0.1).step()
        for name, tensor in network.state_dict().items():
            self.assertLess((tensor - tensors[name]).abs().max().item(), 1e-5, name)

    def test_what_cannot_be_trained_is_refused(self):
        tied = Exported()
        tied.again = tied.classify
        half = Exported().half()
        frozen = Exported()
        for parameter in frozen.parameters():
            parameter.requires_grad_(False)
        for name, network, make, part in (
                ("tied.pt", tied, torch.jit.script, "are one tensor"),
                ("half.pt", half, torch.jit.script, "is Half, Float was expected"),
                ("frozen.pt", frozen, torch.jit.script, "none of its parameters requires a gradient"),
                ("folded.pt", Exported().eval(), lambda network: torch.jit.freeze(torch.jit.script(network)),
                 "cannot be trained: it has no"),
                ("classes.pt", Exported(7), torch.jit.script, "[2, 10] was expected")):
            self.export(name, network, make)
            done = self.tandem("train", "--data", DATA, "--model", name, "--run-id", "a", "--quiet", code=65)
            self.assertIn(part, done.stderr, name)
        torch.save(Exported().state_dict(), self.folder / "weights.pt")
        done = self.mpirun(2, "train", "--data", DATA, "--model", "weights.pt", "--run-id", "a", "--quiet", code=65)
        self.assertIn("weights.pt: is not a TorchScript file", done.stderr)


if __name__ == "__main__":
    unittest.main()
