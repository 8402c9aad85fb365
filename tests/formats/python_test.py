#!/usr/bin/env python3
"""Models go to Python and come back: tandem_models.py, to_safetensors.py, export_torchscript.py, and networks that Python's
TorchScript exports."""

import hashlib
import json
import pathlib
import subprocess
import sys
import unittest

import h5py
import safetensors.torch
import torch

from tandem import DATA, TandemTest, read_lines

PYTHON = pathlib.Path(__file__).resolve().parents[2] / "python"
sys.path.insert(0, str(PYTHON))
import tandem_models  # noqa: E402

WHOLE = ["--global-batch-size", "600", "--max-steps", "3", "--log-every", "1", "--checkpoint-every", "1", "--epochs", "10"]
STAY = ["--lr", "0", "--max-steps", "1"]


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
    def script(self, name, *arguments, code=0):
        return self.run_command([sys.executable, "-B", PYTHON / name, *arguments], code, {})

    def accuracy(self, network, info):
        images, labels = images_of("test")
        with torch.no_grad():
            return (network(tandem_models.normalise(images, info)).argmax(1) == labels).sum().item() / len(labels)

    def test_a_run_is_loaded_with_the_same_answers(self):
        for model in tandem_models.NETWORKS:
            summary = self.train(2, model, "--model", model, "--global-batch-size", "8")
            for path in (f"runs/{model}", f"runs/{model}/checkpoints/step-00000003.safetensors"):
                network, info = tandem_models.load(self.folder / path)
                self.assertEqual(weights_sha256(network), summary["weights_sha256"])
                self.assertEqual(self.accuracy(network, info), summary["test_accuracy"], path)

    def continue_in_python(self, run_id, *options):
        """A step from a checkpoint here and there: the batch is the whole training set, so that its order says nothing."""
        self.train(2, run_id, *WHOLE, *options)
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
        for name, tensor in network.state_dict().items():
            moved = (after[name] - before[name]).norm().item()
            self.assertGreater(moved, 0, name)
            self.assertLess((tensor - after[name]).norm().item(), 0.01 * moved, name)

    def test_a_checkpoint_goes_on_in_python(self):
        self.continue_in_python("sgd", "--momentum", "0.9", "--weight-decay", "0.01", "--nesterov", "--lr", "0.02")
        self.continue_in_python("plain", "--momentum", "0", "--lr", "0.02", "--lr-reference-batch", "1200")
        self.continue_in_python("adamw", "--optimizer", "adamw", "--lr", "0.001", "--weight-decay", "0.01")

    def test_weights_of_python_go_on_here(self):
        torch.manual_seed(5)
        for model in ("mlp", "resnet18"):
            network = tandem_models.make_network(model, (3, 32, 32), 10)
            torch.save({"epoch": 3, "state_dict": {f"module.{name}": tensor for name, tensor in network.state_dict().items()}},
                       self.folder / "net.pth")
            self.script("to_safetensors.py", "net.pth", "--model", model, "--data", DATA, "--output", "net.safetensors")
            found = self.evaluate(2, "net.safetensors")
            with h5py.File(DATA, "r") as file:
                info = {name: file.attrs[name].tolist() for name in ("mean", "std")}
            self.assertEqual(found["test_accuracy"], self.accuracy(network.eval(), info))
            self.tandem("verify", "net.safetensors")
        torch.save(network.state_dict(), self.folder / "bare.pth")
        self.script("to_safetensors.py", "bare.pth", "--model", "resnet18", "--output", "bare.safetensors")
        summary = self.train(2, "a", "--model", "resnet18", "--init-from", "bare.safetensors", "--lr", "0", "--max-steps", "1",
                             "--global-batch-size", "4")
        mine = network.state_dict()
        moved, _ = tandem_models.read(self.folder / "runs/a")
        for name, tensor in mine.items():  # BatchNorm's statistics move without a learning rate
            if "running" not in name and "tracked" not in name:
                self.assertTrue(torch.equal(tensor, moved[name]), name)
        self.assertEqual(summary["steps"], 1)

    def test_what_does_not_fit_is_refused(self):
        torch.manual_seed(5)
        torch.save(tandem_models.make_network("simple", (3, 32, 32), 10).state_dict(), self.folder / "net.pth")
        (self.folder / "text.pth").write_text("weights")
        torch.save({"epoch": 3}, self.folder / "number.pth")
        for file, model, code, part in (("net.pth", "mlp", 65, "fc1.weight is [120, 400], expected [512, 3072]"),
                                        ("text.pth", "mlp", 65, "torch.load(weights_only=True) refuses it"),
                                        ("number.pth", "mlp", 65, "these are no tensors: epoch"),
                                        ("absent.pth", "mlp", 66, "absent.pth: is not there")):
            done = self.script("to_safetensors.py", file, "--model", model, "--output", "out.safetensors", code=code)
            self.assertIn(part, done.stderr)
            self.assertFalse((self.folder / "out.safetensors").exists())

    def test_torchscript_of_a_run_gives_the_same(self):
        for model in tandem_models.NETWORKS:
            summary = self.train(1, model, "--model", model, *STAY, "--global-batch-size", "4")
            self.script("export_torchscript.py", f"runs/{model}", "--output", f"{model}.pt")
            _, info = tandem_models.read(self.folder / "runs" / model)
            script = torch.jit.load(self.folder / f"{model}.pt")
            self.assertFalse(script.training)
            self.assertEqual(self.accuracy(script, info), summary["test_accuracy"])
        again = self.train(2, "again", "--model", f"{model}.pt", *STAY, "--global-batch-size", "4")
        self.assertEqual(again["steps"], 1)
        self.script("export_torchscript.py", "runs/absent", "--output", "net.pt", code=66)

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
        self.train(1, "a", *WHOLE, "--model", "net.pt", "--max-steps", "1", "--lr", "0.1", "--momentum", "0")
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
            done = self.mpirun(2, "train", "--data", DATA, "--model", name, "--run-id", "a", "--quiet", code=65)
            self.assertIn(part, done.stderr, name)
        torch.save(Exported().state_dict(), self.folder / "weights.pt")
        done = self.mpirun(2, "train", "--data", DATA, "--model", "weights.pt", "--run-id", "a", "--quiet", code=65)
        self.assertIn("weights.pt: is no TorchScript", done.stderr)


if __name__ == "__main__":
    unittest.main()
