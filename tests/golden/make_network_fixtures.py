#!/usr/bin/env python3
"""Writes what torchvision's and timm's networks compute, for the tests of tandem's own: networks.json beside this file. Run it
again only to add cases:

    PYTHON_WITH_TORCHVISION_AND_TIMM tests/golden/make_network_fixtures.py

Weights and images are a hash of their place, which `hashed` here, in C++ and in tests/formats computes alike. `names` is the
SHA-256 of a line "NAME SIZE,SIZE" for each tensor of the state dict, in its order.
"""

import hashlib
import json
import math
import pathlib

import timm
import torch
import torchvision

CLASSES, IMAGES = 10, 2
PRIME, MODULUS = 1_234_567_891, 2**31


def hashed(number, count):
    """`count` values in [-1, 1), for tensor `number`."""
    h = (torch.arange(count, dtype=torch.int64) + 7919 * number + 1) * PRIME % MODULUS
    for shift in (15, 13):
        h = (h ^ (h >> shift)) * PRIME % MODULUS
    return (h.double() / 2**30 - 1).float()


def fill(network):
    """Sets all weights. Returns the lines of `names`."""
    lines = []
    for number, (name, tensor) in enumerate(network.state_dict().items()):
        lines.append(f"{name} {','.join(map(str, tensor.shape))}\n")
        if not tensor.is_floating_point():
            continue
        values = hashed(number, tensor.numel()).view(tensor.shape)
        if name.endswith(("_embed", "_token")):
            values = 0.5 * values
        elif tensor.dim() > 1:  # of variance 1 / fan in
            values = values * math.sqrt(3 / tensor[0].numel())
        elif name.endswith("running_var"):
            values = 1 + 0.5 * values
        elif name.endswith("weight"):
            values = 1 + 0.2 * values
        else:
            values = 0.2 * values
        tensor.copy_(values)
    return lines


def case(name, shape, network, stem=None):
    with torch.no_grad():
        lines = fill(network)
        images = 2 * hashed(9999, IMAGES * math.prod(shape)).view(IMAGES, *shape)
        logits = network.eval()(images)
    assert 0.1 < logits.std().item() < 10, f"{name}: logits spread by {logits.std().item()}"
    assert (logits[0] - logits[1]).abs().max().item() > 0.02, f"{name}: {logits}"
    made = {"network": name, "shape": shape, "names": hashlib.sha256("".join(lines).encode()).hexdigest(),
            "logits": logits.flatten().tolist()}
    return made | ({"stem": stem} if stem else {})


def cases():
    for name in ("resnet18", "resnet34", "resnet50"):
        yield case(name, [3, 64, 64], getattr(torchvision.models, name)(num_classes=CLASSES), "imagenet")
    for name, size, patch in (("tiny", 32, 4), ("tiny", 96, 16), ("small", 96, 16)):
        network = timm.create_model(f"vit_{name}_patch16_224", img_size=size, patch_size=patch, num_classes=CLASSES)
        yield case(f"vit-{name}", [3, size, size], network)


def main():
    path = pathlib.Path(__file__).resolve().parent / "networks.json"
    lines = ",\n  ".join(json.dumps(each) for each in cases())
    path.write_text(f'{{"made_with": "torchvision {torchvision.__version__}, timm {timm.__version__}", "classes": {CLASSES}, "images": {IMAGES},\n'
                    f' "cases": [\n  {lines}]}}\n', encoding="utf-8")


if __name__ == "__main__":
    main()
