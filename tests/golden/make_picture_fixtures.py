#!/usr/bin/env python3
"""Writes small PNG and JPEG files and what Pillow makes of them, for the tests of tandem's own decoding and resizing:
pictures.json beside this file. Run it again only to add cases, with Debian's python3-pil and python3-numpy:

    /usr/bin/python3 tests/golden/make_picture_fixtures.py

A file's `values` are those of Image.open(file).convert("RGB" or "L").resize((width, height), Image.BILINEAR) in CHW order,
transparent pictures laid on white before.
"""

import io
import json
import pathlib
import struct
import zlib

import numpy
import PIL
from PIL import Image

FOLDER = pathlib.Path(__file__).resolve().parent


def pattern(*shape):
    """The bytes that pattern() of the tests makes: value i is (37 i + 11 floor(i / 7)) mod 256."""
    i = numpy.arange(int(numpy.prod(shape)))
    return ((37 * i + i // 7 * 11) % 256).astype(numpy.uint8).reshape(shape)


def smooth(height, width, channels):
    """Something that a JPEG file can hold without much loss."""
    y, x, c = numpy.mgrid[:height, :width, :channels]
    return ((x * 9 + y * 5 + c * 60) % 256).astype(numpy.uint8)


def saved(image, form, **options):
    file = io.BytesIO()
    image.save(file, form, **options)
    return file.getvalue()


def png(width, height, depth, colour, interlaced, rows):
    """A PNG file of given filtered rows, for forms that Pillow does not write."""
    def chunk(name, data):
        return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))
    header = struct.pack(">IIBBBBB", width, height, depth, colour, 0, 0, int(interlaced))
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")


def interlaced_png(pixels):
    """Adam7: seven passes, each a grid of the picture."""
    passes = ((0, 0, 8, 8), (4, 0, 8, 8), (0, 4, 4, 8), (2, 0, 4, 4), (0, 2, 2, 4), (1, 0, 2, 2), (0, 1, 1, 2))
    rows = b"".join(b"\0" + row.tobytes() for x, y, dx, dy in passes for row in pixels[y::dy, x::dx] if row.size)
    return png(pixels.shape[1], pixels.shape[0], 8, 2, True, rows)


def files():
    grey, colour = pattern(5, 7), pattern(9, 10, 3)
    palette = Image.fromarray(smooth(6, 6, 3)).quantize(5)
    yield "grey.png", saved(Image.fromarray(grey), "PNG")
    yield "colour.png", saved(Image.fromarray(colour), "PNG")
    yield "one_bit.png", saved(Image.fromarray(grey > 99), "PNG")
    yield "palette.png", saved(palette, "PNG")
    yield "transparent_palette.png", saved(palette, "PNG", transparency=2)
    yield "grey_alpha.png", saved(Image.fromarray(pattern(4, 4, 2), "LA"), "PNG")
    yield "colour_alpha.png", saved(Image.fromarray(pattern(4, 5, 4)), "PNG")
    yield "interlaced.png", interlaced_png(colour)
    yield "sixteen_bit_colour.png", png(2, 1, 16, 2, False, b"\0" + bytes(range(0, 240, 20)))
    yield "grey.jpg", saved(Image.fromarray(smooth(9, 11, 1)[:, :, 0]), "JPEG")
    yield "colour.jpg", saved(Image.fromarray(smooth(17, 19, 3)), "JPEG", subsampling=2)
    yield "progressive.jpg", saved(Image.fromarray(smooth(17, 19, 3)), "JPEG", progressive=True)
    yield "cmyk.jpg", saved(Image.fromarray(smooth(8, 8, 4), "CMYK"), "JPEG")


def on_white(image):
    if image.mode == "P" and "transparency" in image.info:
        image = image.convert("RGBA")
    if image.mode not in ("LA", "RGBA"):
        return image
    values = numpy.asarray(image).astype(int)
    alpha = values[:, :, -1:]
    laid = ((values[:, :, :-1] * alpha + 255 * (255 - alpha) + 127) // 255).astype(numpy.uint8)
    return Image.fromarray(laid[:, :, 0] if image.mode == "LA" else laid)


def file_case(name, content, shape):
    image = on_white(Image.open(io.BytesIO(content))).convert("L" if shape[0] == 1 else "RGB")
    values = numpy.asarray(image.resize((shape[2], shape[1]), Image.BILINEAR)).reshape(shape[1], shape[2], -1)
    return {"name": name, "hex": content.hex(), "shape": shape, "values": values.transpose(2, 0, 1).ravel().tolist()}


def resize_case(height, width, to_height, to_width):
    image = Image.fromarray(pattern(height, width, 3)).resize((to_width, to_height), Image.BILINEAR)
    return {"from": [height, width], "to": [to_height, to_width], "values": numpy.asarray(image).ravel().tolist()}


def main():
    cases = [file_case(name, content, shape) for name, content in files() for shape in ([3, 4, 6], [1, 8, 5])]
    sizes = [(1, 1, 3, 3), (2, 2, 5, 4), (5, 7, 5, 7), (8, 8, 4, 4), (9, 13, 4, 5), (40, 3, 2, 6), (64, 200, 3, 4)]
    content = {"made_with": f"Pillow {PIL.__version__}", "files": cases, "resizes": [resize_case(*size) for size in sizes]}
    lines = json.dumps(content, indent=1)
    # One line for each list of numbers.
    while (shorter := lines.replace(",\n    ", ", ")) != lines:
        lines = shorter
    (FOLDER / "pictures.json").write_text(lines + "\n")


if __name__ == "__main__":
    main()
