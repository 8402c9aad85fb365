#!/usr/bin/env python3
"""Compares `tandem pack --store encoded --check decode` with a bare loop of libjpeg that reads and decodes the same files. Prints a
Markdown table. Both sides run in turn. The kernel's caches are dropped before each run, which needs root. Run it on an idle machine.

Usage: packing.py --tandem build/bin/tandem --loop build/tests/bench_decode_files --kept FOLDER
                  [--pictures 10000] [--pairs 3] [--threads 2]
The first run makes the pictures in the folder of --kept. It needs numpy and Pillow.
"""
import argparse
import os
import pathlib
import resource
import statistics
import subprocess
import sys
import time

from decode import CLASSES, MAKE_PICTURES, QUALITY

DISTINCT, WIDTH, HEIGHT = 200, 500, 375
CACHES = pathlib.Path("/proc/sys/vm/drop_caches")


def make_pictures(folder, count):
    """Files of about 100 kB. Each has one of DISTINCT pictures and a comment of its own."""
    originals = folder.with_name("distinct")
    words = [originals, DISTINCT, WIDTH, HEIGHT, CLASSES, QUALITY]
    if subprocess.run([sys.executable, "-c", MAKE_PICTURES, *map(str, words)], check=False).returncode != 0:
        raise SystemExit(f"{originals}: no pictures were made; fix: run with a Python that has numpy and Pillow")
    contents = [path.read_bytes() for path in sorted(originals.rglob("*.jpg"))]
    for number in range(count):
        content = contents[number % DISTINCT]
        path = folder / f"class{number % CLASSES}" / f"{number:06}.jpg"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content[:2] + b"\xff\xfe\x00\x0a" + f"{number:08}".encode() + content[2:])


def measure(words, stdin=subprocess.DEVNULL):
    """Seconds, and processor seconds."""
    os.sync()
    CACHES.write_text("3")
    before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    subprocess.run([str(word) for word in words], stdin=stdin, stdout=subprocess.DEVNULL, check=True)
    wall, after = time.monotonic() - began, resource.getrusage(resource.RUSAGE_CHILDREN)
    return wall, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in ("tandem", "loop", "kept"):
        parser.add_argument("--" + name, required=True, type=lambda text: pathlib.Path(text).absolute())
    parser.add_argument("--pictures", type=int, default=10_000)
    parser.add_argument("--pairs", type=int, default=3)
    parser.add_argument("--threads", type=int, default=2)
    options = parser.parse_args()
    if not os.access(CACHES, os.W_OK):
        raise SystemExit(f"{CACHES}: cannot be written; fix: run as root, so that each side reads from the disk")
    options.kept.mkdir(parents=True, exist_ok=True)
    pictures, output = options.kept / f"pictures-{options.pictures}", options.kept / "set.h5"
    made = options.kept / f"{pictures.name}.txt"  # the list of the loop, written last
    if not made.exists():
        make_pictures(pictures, options.pictures)
        made.write_text("".join(f"{path}\n" for path in sorted(pictures.rglob("*.jpg"))))
    pack = [options.tandem, "pack", "--input", pictures, "--test-split", 0.02, "--store", "encoded", "--check", "decode",
            "--threads", options.threads, "--output", output]
    rows = {"bare loop": [], "tandem pack": []}
    for _ in range(options.pairs):
        with made.open("rb") as files:
            rows["bare loop"].append(measure([options.loop, options.threads], files))
        output.unlink(missing_ok=True)
        rows["tandem pack"].append(measure(pack))
        output.unlink()
    print(f"{options.pictures} files, {options.threads} threads, medians of {options.pairs}\n")
    print("| side | pictures/s | seconds | processor seconds | speed beside the loop | least to most |\n|---|---|---|---|---|---|")
    for side, times in rows.items():
        wall, processor = (statistics.median(column) for column in zip(*times, strict=True))
        ratios = [loop[0] / own[0] for loop, own in zip(rows["bare loop"], times, strict=True)]
        print(f"| {side} | {options.pictures / wall:.0f} | {wall:.2f} | {processor:.2f} | {statistics.median(ratios):.2f} | "
              f"{min(ratios):.2f} to {max(ratios):.2f} |")


if __name__ == "__main__":
    main()
