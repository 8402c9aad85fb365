#!/usr/bin/env python3
"""Compares how many pictures per second one core decodes and augments with a DataLoader of torchvision on the same files: JPEG,
RandomResizedCrop to 224x224, flip, normalization. Prints a Markdown table. Run it on an idle machine.

It tries each variant of the peer (decode_peer.py) once and takes the fastest. Then both sides run in turn on the same core.

Usage: decode.py --tandem build/bin/tandem --crops build/tests/bench_decode_crops --python PYTHON --modules FOLDER --kept FOLDER
                 [--pictures 1000] [--width 500] [--height 375] [--pairs 5] [--core 0] [--only pictures|compare|rates]
PYTHON has torch. The folder of --modules has torchvision and Pillow. The pictures are made once, in the folder of --kept.
"""
import argparse
import itertools
import json
import os
import pathlib
import statistics
import subprocess

CLASSES, QUALITY = 10, 94
COMPARED = 200
ENVIRONMENT = dict(os.environ, OMP_NUM_THREADS="1", OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1")
# Run by PYTHON. Slopes, shapes and noise, in files of about 100 kB.
MAKE_PICTURES = """
import pathlib, sys
import numpy
from PIL import Image, ImageDraw
folder, count, width, height, classes, quality = pathlib.Path(sys.argv[1]), *map(int, sys.argv[2:])
for number in range(count):
    random = numpy.random.default_rng(number)
    small = Image.fromarray(random.integers(0, 256, (6, 8, 3), dtype=numpy.uint8))
    picture = small.resize((width, height), Image.BICUBIC)
    draw = ImageDraw.Draw(picture)
    for _ in range(12):
        x, y, size = random.integers(0, width), random.integers(0, height), random.integers(10, 120)
        shape = draw.ellipse if random.random() < 0.5 else draw.rectangle
        shape((int(x), int(y), int(x + size), int(y + size)), fill=tuple(int(v) for v in random.integers(0, 256, 3)))
    noise = random.normal(0, 10, (height, width, 3)) + random.normal(0, 6, (height, width, 1))
    values = (numpy.asarray(picture) + noise).clip(0, 255).astype(numpy.uint8)
    place = folder / f"class{number % classes}" / f"{number:05}.jpg"
    place.parent.mkdir(parents=True, exist_ok=True)
    Image.fromarray(values).save(place, quality=quality)
"""


class Bench:
    def __init__(self, options):
        self.options = options
        name = f"pictures-{options.pictures}-{options.width}x{options.height}"
        self.pictures, self.packed = options.kept / name, options.kept / f"{name}.h5"
        self.peer_environment = dict(ENVIRONMENT, PYTHONPATH=str(options.modules), TORCH_DEVICE_BACKEND_AUTOLOAD="0")

    def run(self, words, environment, core=None):
        pinned = [] if core is None else ["taskset", "-c", str(core)]
        done = subprocess.run(pinned + [str(word) for word in words], env=environment, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise SystemExit(f"{' '.join(map(str, words))}\nended with {done.returncode}\n{done.stderr[-2000:]}")
        return done.stdout

    def peer(self, *words, core=None):
        program = pathlib.Path(__file__).with_name("decode_peer.py")
        return json.loads(self.run([self.options.python, "-B", program, *words], self.peer_environment, core).splitlines()[-1])

    def prepare(self):
        options = self.options
        if not self.packed.exists():
            self.run([options.python, "-c", MAKE_PICTURES, self.pictures, options.pictures, options.width, options.height,
                      CLASSES, QUALITY], self.peer_environment)
            self.run([options.tandem, "pack", "--input", self.pictures, "--size", 224, "--store", "encoded", "--test-split", 0.01,
                      "--output", self.packed], ENVIRONMENT)
        sizes = [path.stat().st_size for path in self.pictures.rglob("*.jpg")]
        print(f"{len(sizes)} JPEG files of {options.width}x{options.height}, {statistics.mean(sizes) / 1000:.0f} kB on average\n", flush=True)

    def compare(self):
        files = sorted(map(str, self.pictures.rglob("*.jpg")))[:COMPARED]
        print("| decoding | mean difference from torchvision, levels of 255 | largest |\n|---|---|---|")
        for decoding in ("exact", "scaled"):
            values, regions = self.options.kept / "crops.bin", self.options.kept / "regions.txt"
            regions.write_text(self.run([self.options.crops, decoding, 224, values, *files], ENVIRONMENT))
            by = self.peer("compare", self.pictures, regions, values)
            print(f"| {decoding} | {by['mean']:.3f} | {by['largest']} |", flush=True)
        print()

    def tandem(self, decoding):
        words = [self.options.tandem, "bench", "loader", "--data", self.packed, "--augment", "resized-crop,flip", "--decode", decoding,
                 "--batch-size", 64, "--steps", 24, "--json"]
        return json.loads(self.run(words, ENVIRONMENT, self.options.core).splitlines()[-1])["images_per_second"]

    def rates(self):
        core = self.options.core
        forms = [["--decoder", decoder, "--workers", str(workers), *late] for decoder, workers, late in
                 itertools.product(("torchvision", "pillow"), (0, 1), ([], ["--late"]))]
        tried = {" ".join(form): self.peer("rate", self.pictures, *form, "--images", 512, core=core)["images_per_second"] for form in forms}
        best = max(tried, key=tried.get)
        print("forms of the peer, images/s: " + "; ".join(f"{form}: {found:.0f}" for form, found in tried.items()))
        print(f"the best: {best}\n", flush=True)
        found = {"exact": [], "scaled": [], "torchvision": []}
        for _ in range(self.options.pairs):
            found["exact"].append(self.tandem("exact"))
            found["torchvision"].append(self.peer("rate", self.pictures, *best.split(), core=core)["images_per_second"])
            found["scaled"].append(self.tandem("scaled"))
        print("| side | images/s of one core, median | ratio to torchvision, median | least to most |\n|---|---|---|---|")
        for side, rates in found.items():
            ratios = [mine / theirs for mine, theirs in zip(rates, found["torchvision"], strict=True)]
            print(f"| {side} | {statistics.median(rates):.0f} | {statistics.median(ratios):.2f} | {min(ratios):.2f} to {max(ratios):.2f} |")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in ("tandem", "crops", "python", "modules", "kept"):
        parser.add_argument("--" + name, required=True, type=lambda text: pathlib.Path(text).absolute())
    parser.add_argument("--pictures", type=int, default=1000)
    parser.add_argument("--width", type=int, default=500)
    parser.add_argument("--height", type=int, default=375)
    parser.add_argument("--pairs", type=int, default=5)
    parser.add_argument("--core", type=int, default=0)
    parser.add_argument("--only", choices=["pictures", "compare", "rates"])
    options = parser.parse_args()
    options.kept.mkdir(parents=True, exist_ok=True)
    bench = Bench(options)
    bench.prepare()
    if options.only in (None, "compare"):
        bench.compare()
    if options.only in (None, "rates"):
        bench.rates()


if __name__ == "__main__":
    main()
