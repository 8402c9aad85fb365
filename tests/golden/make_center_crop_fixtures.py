#!/usr/bin/env python3
"""Writes center_crops.json beside this file: what torchvision's Resize and CenterCrop (v2) make of Pillow's images, as its
evaluation of ImageNet has them: the shorter side becomes SIDE * 256 // 224. Run it again only to add cases:

    PYTHON_WITH_TORCH_AND_TORCHVISION tests/golden/make_center_crop_fixtures.py

torchvision 0.26.0 wrote the file. Values are row by row, a pixel's red, green and blue side by side.
"""

import json
import pathlib

import numpy
import torchvision
from PIL import Image
from torchvision.transforms import v2

SIZES = [(9, 13, 7), (13, 9, 7), (8, 8, 7), (5, 5, 14), (40, 33, 8), (33, 40, 10), (3, 60, 5), (60, 3, 5), (21, 20, 16),
         (18, 24, 16), (1, 1, 3)]


def pattern(*shape):
    """The bytes that pattern() of the tests makes: value i is (37 i + 11 floor(i / 7)) mod 256."""
    i = numpy.arange(int(numpy.prod(shape)))
    return ((37 * i + i // 7 * 11) % 256).astype(numpy.uint8).reshape(shape)


def case(height, width, side):
    crop = v2.Compose([v2.Resize(side * 256 // 224, antialias=True), v2.CenterCrop(side)])
    values = numpy.asarray(crop(Image.fromarray(pattern(height, width, 3))))
    return {"from": [height, width], "side": side, "values": values.ravel().tolist()}


def main():
    content = {"made_with": f"torchvision {torchvision.__version__.split('+')[0]}", "crops": [case(*size) for size in SIZES]}
    lines = json.dumps(content).replace('{"', '\n{"')
    (pathlib.Path(__file__).resolve().parent / "center_crops.json").write_text(lines.lstrip() + "\n")


if __name__ == "__main__":
    main()
