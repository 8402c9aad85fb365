#!/usr/bin/env python3
"""Writes weights that were trained in Python as a file for `tandem train --init-from`:

    to_safetensors.py WEIGHTS.pth --model resnet18 --output FILE.safetensors [--shape 3x32x32] [--data FILE.h5]

WEIGHTS.pth holds what torch.save(network.state_dict(), …) wrote, or a dict that has it under 'state_dict', 'model_state_dict'
or 'model'. Names and shapes are held against tandem's network of that name, without the prefixes of DistributedDataParallel
and torch.compile; without --model, for a TorchScript network, they are taken as they are. With --model and --data, the packed
data set that the weights are for, the file also says what `tandem eval` and `tandem predict` need: shape, classes, mean, std.
Needs torch and safetensors, and h5py for --data. Exit codes: 2 usage, 65 weights that do not fit or another kind of file,
66 file that cannot be read, 73 output that cannot be written.
"""

import argparse
import hashlib
import json
import math
import pickle
import sys

import torch
from safetensors import SafetensorError
from safetensors.torch import save_file

import tandem_models

NESTED = ("state_dict", "model_state_dict", "model")
PREFIXES = ("module.", "_orig_mod.")
BLOCK, DIGEST = 512, slice(32, 96)  # of a packed data set's user block


class Unfit(Exception):
    pass


class CannotWrite(Exception):
    pass


def refuse_code(path):
    """torch.load() before 2.6 runs a TorchScript archive also with weights_only=True (CVE-2025-32434)."""
    with open(path, "rb") as file:
        content = file.read()
    # All of it, since two readers of one archive may find different lists of files in it.
    if b"PK\3\4" in content and (b"/code/" in content or b"constants.pkl" in content):
        raise Unfit("is a TorchScript archive, which holds code; torch.save(network.state_dict(), FILE) writes weights alone")


def read_weights(path, is_built_in):
    refuse_code(path)
    try:
        content = torch.load(path, map_location="cpu", weights_only=True)
    except (pickle.UnpicklingError, RuntimeError, EOFError) as error:
        raise Unfit(f"torch.load(weights_only=True) refuses it: {str(error).splitlines()[0]}") from error
    for key in NESTED:
        if isinstance(content, dict) and isinstance(content.get(key), dict):
            content = content[key]
    if not isinstance(content, dict) or not content:
        raise Unfit("a dict of tensors was expected; torch.save(network.state_dict(), FILE) writes one")
    strangers = [str(name) for name, value in content.items() if not (torch.is_tensor(value) and isinstance(name, str))]
    if strangers:
        raise Unfit("these are no tensors with names: " + ", ".join(strangers[:5]))
    # A network of one's own may well have a part of such a name; a wrapper is around all of it.
    for prefix in PREFIXES * 2 if is_built_in else ():  # either may be around the other
        if all(name.startswith(prefix) for name in content):
            content = {name.removeprefix(prefix): tensor for name, tensor in content.items()}
    return content


def hidden_widths(weights):
    """Of mlp: all layers but the last."""
    count = next(number for number in range(len(weights) + 1) if f"fc{number + 1}.weight" not in weights)
    return [len(weights[f"fc{number}.weight"]) for number in range(1, count)] or [512, 512]


def stem(weights):
    """The name of the stem: imagenet if the first convolution has 7x7 filters, as in torchvision's ResNets, else cifar."""
    first = weights.get("conv1.weight")
    return "imagenet" if first is not None and first.shape[-1] == 7 else "cifar"


def fit_positions(weights, expected):
    """Resamples the position embedding of a vision transformer, [1, patches + 1, width], in place, for square images of
    another size, as timm's resample_abs_pos_embed does (timm/layers/pos_embed.py)."""
    places, wanted = weights.get("pos_embed"), expected.get("pos_embed")
    if places is None or wanted is None or places.shape[1] == wanted.shape[1] or places.shape[2] != wanted.shape[2]:
        return
    sides = [math.isqrt(tensor.shape[1] - 1) for tensor in (places, wanted)]
    if any(side**2 + 1 != tensor.shape[1] for side, tensor in zip(sides, (places, wanted))):
        return  # not square
    grid = places[:, 1:].float().reshape(1, sides[0], sides[0], -1).permute(0, 3, 1, 2)
    grid = torch.nn.functional.interpolate(grid, size=(sides[1], sides[1]), mode="bicubic", antialias=True)
    weights["pos_embed"] = torch.cat((places[:, :1].float(), grid.permute(0, 2, 3, 1).flatten(1, 2)), 1)


def check(weights, model, shape):
    matrices = [tensor for tensor in weights.values() if tensor.dim() == 2]
    if not matrices:
        raise Unfit("no layer gives logits")
    expected = tandem_models.make_network(model, shape, len(matrices[-1]), hidden_widths(weights), stem(weights)).state_dict()
    for name, tensor in expected.items():  # PyTorch before 0.4.1, from which published weights come, counted no batches
        if name.endswith(".num_batches_tracked"):
            weights.setdefault(name, torch.zeros_like(tensor))
    fit_positions(weights, expected)
    faults = [f"{name} is missing" for name in expected if name not in weights]
    faults += [f"{name} is not part of {model}" for name in weights if name not in expected]
    faults += [f"{name} is {list(weights[name].shape)}, expected {list(tensor.shape)}" for name, tensor in expected.items()
               if name in weights and weights[name].shape != tensor.shape]
    if faults:
        raise Unfit(f"does not fit {model} for images of {'x'.join(map(str, shape))}: " + "; ".join(faults[:8]))


def describe_data(path):
    """What a model file says of the data set."""
    import h5py
    with open(path, "rb") as file:
        block = file.read(BLOCK)
        is_sealed = block.startswith(b"tandem-dataset")
        digest = block[DIGEST].decode("ascii") if is_sealed else hashlib.sha256(block + file.read()).hexdigest()
    try:
        with h5py.File(path, "r") as file:
            attributes = file.attrs
            is_version_2 = "shape" in attributes
            names = file["classes"] if is_version_2 else attributes["classes"]
            classes = [name.decode() if isinstance(name, bytes) else str(name) for name in names]
            shape = attributes["shape"].tolist() if is_version_2 else list(file["train/images"].shape[1:])
            targets = {"targets": "multi-label"} if "targets" in file["train"] else {}
            return {**targets, "dataset": str(attributes["name"]), "dataset_digest": digest, "classes": json.dumps(classes),
                    "exif_orientation": "applied" if attributes.get("exif_orientation", 0) == 1 else "ignored",
                    "input_shape": json.dumps(shape),
                    "mean": json.dumps(attributes["mean"].tolist()), "std": json.dumps(attributes["std"].tolist())}
    except (KeyError, OSError) as error:
        raise Unfit(f"--data {path} is no packed data set: {error}") from error


def convert(given):
    weights = read_weights(given.weights, given.model is not None)
    metadata = describe_data(given.data) if given.data else {}
    shape = json.loads(metadata["input_shape"]) if given.data else given.shape
    if given.model:
        check(weights, given.model, shape)
        metadata |= {"format": "tandem-model", "model": given.model}
        if given.model == "mlp":
            metadata["hidden"] = json.dumps(hidden_widths(weights), separators=(",", ":"))
        if given.model in tandem_models.STEMS:
            metadata["stem"] = stem(weights)
    weights = {name: (tensor.float() if tensor.is_floating_point() else tensor).contiguous().clone()
               for name, tensor in weights.items()}
    try:
        save_file(weights, given.output, metadata=metadata)
    except (OSError, SafetensorError) as error:
        raise CannotWrite(f"{given.output}: cannot be written: {error}") from error
    print(f"{given.output}: {len(weights)} tensors of {given.model or 'a network without a name'}")


def image_shape(text):
    channels, height, width = (int(size) for size in text.split("x"))
    if min(channels, height, width) < 1:
        raise ValueError
    return [channels, height, width]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("weights")
    parser.add_argument("--model", choices=tandem_models.NETWORKS)
    parser.add_argument("--output", required=True)
    parser.add_argument("--shape", type=image_shape, default="3x32x32", help="of an image, CxHxW; --data knows it")
    parser.add_argument("--data")
    given = parser.parse_args()
    try:
        convert(given)
    except OSError as error:
        reason = "is not there" if isinstance(error, FileNotFoundError) else error.strerror
        print(f"to_safetensors.py: {error.filename}: {reason}", file=sys.stderr)
        return 66
    except Unfit as error:
        print(f"to_safetensors.py: {given.weights}: {error}", file=sys.stderr)
        return 65
    except CannotWrite as error:
        print(f"to_safetensors.py: {error}", file=sys.stderr)
        return 73
    return 0


if __name__ == "__main__":
    sys.exit(main())
