#!/usr/bin/env python3
"""Checks weights written by tandem (FILE.pth or FILE.safetensors) against the same network in PyTorch: names in the order
of state_dict(), shapes, types and, with --example, logits.

    check_model_file.py FILE --model simple --shape 3x32x32 --classes 10 [--example EXAMPLE.safetensors]

EXAMPLE holds "images" and the "logits" that tandem computed from them in evaluation mode.
"""

import argparse
import json
import pathlib
import struct
import sys

import safetensors.torch
import torch

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "python"))
from tandem_models import make_network

TOLERANCE = 1e-4


def safetensors_header(path):
    with open(path, "rb") as file:
        (length,) = struct.unpack("<Q", file.read(8))
        return json.loads(file.read(length))


def load_weights(path):
    """A dict in the order of the file."""
    if path.endswith(".pth"):
        weights = torch.load(path, weights_only=True)
        assert type(weights) is dict, f"{path}: a plain dict was expected, found {type(weights)}"
        return weights
    weights = safetensors.torch.load_file(path)
    return {name: weights[name] for name in safetensors_header(path) if name != "__metadata__"}


def load_network(path, model, shape, classes):
    """The network with the file's weights, in evaluation mode."""
    network = make_network(model, shape, classes)
    network.load_state_dict(load_weights(path), strict=True)
    return network.eval()


def check_weights(path, model, shape, classes):
    weights = load_weights(path)
    expected = make_network(model, shape, classes).state_dict()
    assert list(weights) == list(expected), f"{path}: names {list(weights)}, expected {list(expected)}"
    for name, tensor in weights.items():
        found, wanted = (tuple(tensor.shape), tensor.dtype), (tuple(expected[name].shape), expected[name].dtype)
        assert found == wanted, f"{path}: {name} is {found}, expected {wanted}"
        assert tensor.is_contiguous() and not tensor.requires_grad, f"{path}: {name}"
        # More would mean that a tensor drags other memory along.
        assert tensor.untyped_storage().nbytes() == tensor.nbytes or path.endswith(".safetensors"), f"{path}: {name}"


def check_logits(path, model, shape, classes, example):
    """The largest difference."""
    data = safetensors.torch.load_file(example)
    with torch.no_grad():
        logits = load_network(path, model, shape, classes)(data["images"])
    assert logits.shape == data["logits"].shape, f"{path}: {logits.shape}, expected {data['logits'].shape}"
    difference = (logits - data["logits"]).abs().max().item()
    spread = logits.std().item()
    assert spread > 1e-3, f"{path}: logits do not depend on the image or the class, this would prove nothing"
    assert difference <= TOLERANCE, f"{path}: logits differ by {difference:g}, expected at most {TOLERANCE:g}"
    return difference


def parse_shape(text):
    return tuple(int(part) for part in text.split("x"))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file")
    parser.add_argument("--model", required=True)
    parser.add_argument("--shape", type=parse_shape, default=(3, 32, 32))
    parser.add_argument("--classes", type=int, default=10)
    parser.add_argument("--example")
    options = parser.parse_args()
    network = options.model, options.shape, options.classes
    check_weights(options.file, *network)
    message = f"{options.file}: {options.model} in PyTorch {torch.__version__}: names, shapes and types agree"
    if options.example:
        message += f", logits within {check_logits(options.file, *network, options.example):.1e}"
    print(message)


if __name__ == "__main__":
    main()
