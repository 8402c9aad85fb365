#!/usr/bin/env python3
"""Evaluates weights written by tandem over the test set of a packed data set, in PyTorch and fp32, in batches of 500
consecutive images as `tandem eval` does. Prints the number of correct answers and the mean loss.

    count_correct.py DATA.h5 FILE.pth|FILE.safetensors MODEL

Of FILE.safetensors everything comes from the file, as python/tandem_models.py reads it; of FILE.pth the data set tells mean and
standard deviation.
"""

import argparse

import h5py
import numpy
import torch

import check_model_file
import tandem_models

BATCH = 500


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data")
    parser.add_argument("file")
    parser.add_argument("model")
    parser.add_argument("--split", choices=["train", "test"], default="test")
    options = parser.parse_args()

    with h5py.File(options.data, "r") as file:
        images, labels = file[options.split]["images"][:], file[options.split]["labels"][:]
        info = {name: file.attrs[name].tolist() for name in ("mean", "std")}
        classes = len(file.attrs["classes"])
    if options.file.endswith(".safetensors"):
        network, info = tandem_models.load(options.file)
        if info["model"] != options.model:
            parser.error(f"{options.file} holds {info['model']}, not {options.model}")
    else:
        network = check_model_file.load_network(options.file, options.model, images.shape[1:], classes)

    correct, loss = 0, 0.0
    with torch.no_grad():
        for begin in range(0, len(labels), BATCH):
            batch = tandem_models.normalise(images[begin:begin + BATCH], info)
            answers = torch.from_numpy(labels[begin:begin + BATCH].astype(numpy.int64))
            logits = network(batch)
            correct += int((logits.argmax(1) == answers).sum())
            loss += torch.nn.functional.cross_entropy(logits, answers, reduction="sum").item()
    print(correct, loss / len(labels))


if __name__ == "__main__":
    main()
