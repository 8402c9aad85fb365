#!/usr/bin/env python3
"""Writes JPEG files of each kind, and what Pillow makes of them at a reduced size, for the tests of decoding parts of pictures:
jpeg_files.json beside this file. Run it again only to add cases, with Debian's python3-pil and python3-numpy:

    /usr/bin/python3 tests/golden/make_jpeg_fixtures.py

`reduced` has the values of Image.draft() by the eighths of the size, in the order of rows, pixels and channels.
"""

import io
import json
import pathlib

import numpy
import PIL
from PIL import Image

FOLDER = pathlib.Path(__file__).resolve().parent
HEIGHT, WIDTH = 67, 93  # several blocks on each side, and the last ones are not whole


def colors(channels):
    """Slopes with an edge and some noise, so that neighbors of a region matter."""
    y, x, c = numpy.mgrid[:HEIGHT, :WIDTH, :channels]
    values = x * 2 + y * (c + 1) + 90 * ((x // 9 + y // 7 + c) % 3)
    noise = numpy.random.default_rng(5).integers(0, 20, values.shape)
    return ((values + noise) % 256).astype(numpy.uint8)


def segments(content):
    """The segments of a JPEG file by their markers, and the coded data of its only scan, up to its end."""
    found, at = {}, 2
    while content[at + 1] != 0xDA:
        end = at + 2 + int.from_bytes(content[at + 2:at + 4], "big")
        found.setdefault(content[at + 1], []).append(content[at:end])
        at = end
    return found, content[at + 2 + int.from_bytes(content[at + 2:at + 4], "big"):-2]


def quarter_by_half():
    """4:1:0, which Pillow cannot write: a scan for each color, of a gray file of its size."""
    colors_of = Image.fromarray(colors(3)).convert("YCbCr").split()
    content, scans = b"", b""
    for i, color in enumerate(colors_of, 1):
        if i > 1:
            color = color.resize(((WIDTH + 3) // 4, (HEIGHT + 1) // 2))
        file = io.BytesIO()
        color.save(file, "JPEG", quality=40)
        found, coded = segments(file.getvalue())
        if i == 1:
            frame = bytes([8, *HEIGHT.to_bytes(2, "big"), *WIDTH.to_bytes(2, "big"), 3, 1, 0x42, 0, 2, 0x11, 0, 3, 0x11, 0])
            content = b"".join(found[0xE0] + found[0xDB]) + b"\xff\xc0\0\x11" + frame + b"".join(found[0xC4])
        scans += b"\xff\xda\0\x08\x01" + bytes([i, 0, 0, 63, 0]) + coded
    return b"\xff\xd8" + content + scans + b"\xff\xd9"


def files():
    color = Image.fromarray(colors(3))
    turned = Image.Exif()
    turned[0x112] = 6
    yield "444", color, {"subsampling": 0}
    yield "422", color, {"subsampling": 1}
    yield "420", color, {"subsampling": 2}
    yield "progressive", color, {"subsampling": 2, "progressive": True}
    yield "turned", color, {"subsampling": 2, "exif": turned}
    yield "gray", Image.fromarray(colors(1)[:, :, 0]), {}
    yield "cmyk", Image.fromarray(colors(4), "CMYK"), {}


def reduced(content, eighths):
    image = Image.open(io.BytesIO(content))
    image.draft(image.mode, (image.width * eighths // 8, image.height * eighths // 8))
    return numpy.asarray(image).tobytes().hex()


def main():
    cases = []
    for name, image, options in files():
        file = io.BytesIO()
        image.save(file, "JPEG", quality=40, **options)
        case = {"name": name, "hex": file.getvalue().hex()}
        if name in ("420", "422", "gray"):
            case["reduced"] = {str(eighths): reduced(file.getvalue(), eighths) for eighths in (1, 2, 4)}
        cases.append(case)
    cases.append({"name": "410", "hex": quarter_by_half().hex()})
    content = {"made_with": f"Pillow {PIL.__version__}", "height": HEIGHT, "width": WIDTH, "files": cases}
    (FOLDER / "jpeg_files.json").write_text(json.dumps(content, indent=1) + "\n")


if __name__ == "__main__":
    main()
