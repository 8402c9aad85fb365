#!/usr/bin/env python3
"""Evaluates weights written by tandem over the test set of a packed data set, in PyTorch and fp32, in batches of 500
consecutive images as `tandem eval` does. Prints the number of correct answers and the mean loss.

    count_correct.py DATA.h5 FILE.pth|FILE.safetensors MODEL
"""

import argparse

import h5py
import numpy
import torch

from check_model_file import load_network

BATCH = 500


def normalise(images, mean, std):
    """uint8 [N, C, H, W] to float32 with tandem's arithmetic: one factor and one offset a channel, computed in double
    and rounded once."""
    factor = (1.0 / (255.0 * std)).astype(numpy.float32).reshape(1, -1, 1, 1)
    offset = (mean / std).astype(numpy.float32).reshape(1, -1, 1, 1)
    return images.astype(numpy.float32) * factor - offset


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data")
    parser.add_argument("file")
    parser.add_argument("model")
    parser.add_argument("--split", choices=["train", "test"], default="test")
    options = parser.parse_args()

    with h5py.File(options.data, "r") as file:
        images, labels = file[options.split]["images"][:], file[options.split]["labels"][:]
        mean, std = (numpy.asarray(file.attrs[name], numpy.float64) for name in ("mean", "std"))
        classes = len(file.attrs["classes"])
    network = load_network(options.file, options.model, images.shape[1:], classes)

    correct, loss = 0, 0.0
    with torch.no_grad():
        for begin in range(0, len(labels), BATCH):
            batch = torch.from_numpy(normalise(images[begin:begin + BATCH], mean, std))
            answers = torch.from_numpy(labels[begin:begin + BATCH].astype(numpy.int64))
            logits = network(batch)
            correct += int((logits.argmax(1) == answers).sum())
            loss += torch.nn.functional.cross_entropy(logits, answers, reduction="sum").item()
    print(correct, loss / len(labels))


if __name__ == "__main__":
    main()
