#!/usr/bin/env python3
"""The peer of decode.py: a DataLoader that decodes JPEG files, and applies RandomResizedCrop, flip and normalization with
torchvision's transforms v2. Prints a JSON object.

Usage: decode_peer.py rate FOLDER [--decoder torchvision|pillow] [--workers 0] [--late] [--images 1024]
       decode_peer.py compare FOLDER REGIONS VALUES
`rate`: images per second. With --late, flip and normalization work on the whole batch. `compare`: the mean and the largest
difference, in levels of 255, to the crops in VALUES. Each line of REGIONS is the region of a crop.
"""
import argparse
import json
import pathlib
import time

import numpy
import torch
import torchvision
from PIL import Image
from torch.utils.data import DataLoader, Dataset
from torchvision.transforms import v2

SIZE = 224
MEAN, STD = [0.485, 0.456, 0.406], [0.229, 0.224, 0.225]


def files_of(folder):
    return sorted(str(path) for path in pathlib.Path(folder).rglob("*.jpg"))


class Pictures(Dataset):
    def __init__(self, files, decoder, late):
        self.files, self.decoder = files, decoder
        last = [v2.ToDtype(torch.float32, scale=True), v2.Normalize(MEAN, STD)]
        convert = [v2.PILToTensor()] if decoder == "pillow" else []
        first = [v2.RandomResizedCrop((SIZE, SIZE), antialias=True)]
        self.transform = v2.Compose(first + convert if late else [*first, v2.RandomHorizontalFlip(), *convert, *last])

    def __len__(self):
        return len(self.files)

    def __getitem__(self, index):
        if self.decoder == "pillow":
            with Image.open(self.files[index]) as picture:
                return self.transform(picture.convert("RGB")), 0
        return self.transform(torchvision.io.decode_jpeg(torchvision.io.read_file(self.files[index]), mode=torchvision.io.ImageReadMode.RGB)), 0


def finish(images):
    """Flip and normalization of a batch of bytes."""
    flips = torch.rand(len(images)) < 0.5
    images[flips] = images[flips].flip(-1)
    return v2.functional.normalize(v2.functional.to_dtype(images, torch.float32, scale=True), MEAN, STD, inplace=True)


def rate(options):
    torch.set_num_threads(1)
    files = files_of(options.folder)
    loader = DataLoader(Pictures(files, options.decoder, options.late), batch_size=64, shuffle=True, drop_last=True,
                        num_workers=options.workers, persistent_workers=options.workers > 0)
    images, begin = -1, 0.0
    while images < options.images:
        for batch, _ in loader:
            if options.late:
                batch = finish(batch)
            if images < 0:  # the first batch warms up
                images, begin = 0, time.perf_counter()
                continue
            images += len(batch)
            if images >= options.images:
                break
    return {"images_per_second": images / (time.perf_counter() - begin)}


def compare(options):
    values = numpy.fromfile(options.values, numpy.uint8).reshape(-1, 3, SIZE, SIZE)
    regions = [[int(number) for number in line.split()] for line in options.regions.read_text().splitlines()]
    sums, largest = [], 0
    for file, region, found in zip(files_of(options.folder), regions, values, strict=False):
        picture = torchvision.io.decode_jpeg(torchvision.io.read_file(file))
        expected = v2.functional.resized_crop(picture, *region, [SIZE, SIZE], antialias=True).numpy()
        by = numpy.abs(expected.astype(int) - found)
        sums.append(by.mean())
        largest = max(largest, int(by.max()))
    return {"pictures": len(sums), "mean": float(numpy.mean(sums)), "largest": largest}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(required=True)
    timed = commands.add_parser("rate")
    timed.set_defaults(run=rate)
    timed.add_argument("folder")
    timed.add_argument("--decoder", choices=["torchvision", "pillow"], default="torchvision")
    timed.add_argument("--workers", type=int, default=0)
    timed.add_argument("--late", action="store_true")
    timed.add_argument("--images", type=int, default=1024)
    compared = commands.add_parser("compare")
    compared.set_defaults(run=compare)
    compared.add_argument("folder")
    compared.add_argument("regions", type=pathlib.Path)
    compared.add_argument("values", type=pathlib.Path)
    options = parser.parse_args()
    print(json.dumps(options.run(options)))


if __name__ == "__main__":
    main()
