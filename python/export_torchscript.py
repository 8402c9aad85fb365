#!/usr/bin/env python3
"""Writes a trained network of tandem as TorchScript, which runs without Python and without tandem, in evaluation mode:

    export_torchscript.py RUN|FILE.safetensors --output net.pt

It takes images normalised as in training. Of a run whose --model was a file, `tandem export --output net.pt` does this.
Needs torch and safetensors. Exit codes: 2 usage, 65 a file that holds no such network, 66 missing file.
"""

import argparse
import sys

import torch
from safetensors import SafetensorError

import tandem_models


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", help="a run's folder, a model.safetensors or a checkpoint")
    parser.add_argument("--output", required=True)
    given = parser.parse_args()
    try:
        network, info = tandem_models.load(given.model)
    except FileNotFoundError as error:
        print(f"export_torchscript.py: {given.model}: {error}", file=sys.stderr)
        return 66
    except (SafetensorError, KeyError, RuntimeError, ValueError) as error:
        print(f"export_torchscript.py: {given.model}: {error}", file=sys.stderr)
        return 65
    torch.jit.script(network).save(given.output)
    print(f"{given.output}: {info['model']} for images {info['input_shape']}, classes {', '.join(info['classes'])}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
