#!/usr/bin/env python3
"""Data sets of files (tandem pack --store encoded): the same training as on their pixels, on any number of ranks."""

import base64
import hashlib
import io
import json
import unittest

import h5py
import numpy
from PIL import Image

from tandem import TandemTest

CLASSES = ["cat", "dog", "emu"]
TRAIN = ["--model", "simple", "--epochs", "2", "--lr", "0.02", "--global-batch-size", "16", "--augment", "standard",
         "--quiet", "--json", "--threads", "1"]


class Encoded(TandemTest):
    keeps_ranks = True

    def setUp(self):
        super().setUp()
        self.write_pictures()

    def write_pictures(self):
        """60 pictures of three classes and several sizes, as PNG, JPEG and gray JPEG, and 15 more for testing."""
        random = numpy.random.default_rng(1)
        for split, count in (("train", 20), ("test", 5)):
            for label, name in enumerate(CLASSES):
                folder = self.folder / "pets" / split / name
                folder.mkdir(parents=True)
                for i in range(count):
                    pixels = random.integers(0, 90, (40 + i, 50 - i, 3), dtype=numpy.uint8)
                    pixels[:, :, label] += 120
                    image = Image.fromarray(pixels)
                    if i % 5 == 4:
                        image = image.convert("L")
                    image.save(folder / (f"{i:02}.png" if i % 3 == 0 else f"{i:02}.jpg"))

    def pack(self, name="pets.h5", *options, code=0):
        return self.tandem("pack", "--input", "pets", "--size", "32", "--output", name, *options, code=code)

    def pack_encoded(self, name="pets.h5", *options, code=0):
        return self.pack(name, "--store", "encoded", *options, code=code)

    def summary(self, ranks, run_id, *options, data="pets.h5"):
        done = self.mpirun(ranks, "train", "--data", data, *TRAIN, "--run-id", run_id, *options)
        return json.loads(done.stdout.splitlines()[-1])

    def test_trains_as_on_the_pixels(self):
        """In the order of the pixels' set, with mean and deviation of the same pictures, every bit is the same."""
        self.pack("pixels.h5")
        self.assertIn("--keep-order", self.pack_encoded("files.h5", "--keep-order").stderr)
        pixels = self.summary(2, "pixels", data="pixels.h5")
        files = self.summary(2, "files", "--read-lanes", "0", data="files.h5")
        for name in ("weights_sha256", "train_loss", "test_loss", "test_accuracy"):
            self.assertEqual(files[name], pixels[name], name)
        for name in ("worst", "confusion"):
            of_files, of_pixels = (json.loads((self.folder / f"runs/{run}/evaluation.json").read_text())[name]
                                   for run in ("files", "pixels"))
            self.assertEqual(of_files, of_pixels)
        more = self.summary(2, "pixels", "--resume", "auto", "--epochs", "3", "--read-lanes", "3", data="pixels.h5")
        self.assertEqual(more["steps"], pixels["steps"] * 3 / 2, "lanes have no effect on pixels")

    def test_same_weights_on_any_number_of_ranks(self):
        self.pack_encoded()
        digests = {self.summary(ranks, f"on{ranks}", "--virtual-ranks", "4", "--validation-split", "0.2")["weights_sha256"]
                   for ranks in (1, 2, 4)}
        self.assertEqual(len(digests), 1)

    def test_resumed_run_has_the_same_weights(self):
        self.pack_encoded()
        whole = self.summary(2, "whole")
        self.assertEqual(whole["images_seen"], 120)
        self.summary(2, "parts", "--max-steps", "3", "--checkpoint-every", "1")
        resumed = self.summary(2, "parts", "--resume", "auto", "--max-steps", str(whole["steps"]))
        self.assertEqual(resumed["steps"], whole["steps"])
        self.assertEqual(resumed["weights_sha256"], whole["weights_sha256"])

    def test_threads_of_the_loader_change_no_bit_and_scaled_decoding_does(self):
        pixels = numpy.random.default_rng(2).integers(0, 256, (180, 200, 3), dtype=numpy.uint8)
        Image.fromarray(pixels).save(self.folder / "pets/train/cat/large.jpg")  # the others are too small to be scaled
        self.pack_encoded()
        crops = ["--augment", "resized-crop=0.3,flip,mixup=0.2"]
        digests = {threads: self.summary(2, f"by{threads}", *crops, "--loader-threads", threads)["weights_sha256"] for threads in ("1", "3")}
        self.assertEqual(digests["1"], digests["3"])
        scaled = ["--decode", "scaled", *crops]
        half = self.summary(2, "scaled", *scaled, "--max-steps", "4", "--checkpoint-every", "1")
        whole = self.summary(1, "shards", *scaled, "--virtual-ranks", "2", "--loader-threads", "2")
        again = self.summary(2, "again", *scaled, "--virtual-ranks", "2")
        self.assertEqual(whole["weights_sha256"], again["weights_sha256"])
        self.assertNotEqual(self.summary(2, "exact", *crops, "--max-steps", "4")["weights_sha256"], half["weights_sha256"])
        refused = self.mpirun(2, "train", "--data", "pets.h5", *TRAIN, *crops, "--run-id", "scaled", "--resume", "auto", code=78)
        self.assert_one_error(refused, "--decode: the run has 'scaled', now 'exact' is asked for")

    def test_evaluation_and_prediction_agree(self):
        self.pack_encoded()
        summary = self.summary(2, "a")
        for ranks in (1, 3):
            found = self.evaluate(ranks, "runs/a", data="pets.h5")
            self.assertEqual(found["test_accuracy"], summary["test_accuracy"])
        done = self.tandem("predict", "--checkpoint", "runs/a", "--json", "pets/test")
        answers = [json.loads(line) for line in done.stdout.splitlines()]
        right = sum(answer["file"].split("/")[2] == answer["top"][0]["class"] for answer in answers)
        self.assertEqual(right / 15, summary["test_accuracy"])

    def test_evaluates_the_center_as_torchvision_does(self):
        """Beside a set of pixels that Pillow has resized and cropped."""
        for path in sorted((self.folder / "pets").rglob("*.*")):
            image = Image.open(path).convert("RGB")
            if "test" in path.parts:
                scale = 32 * 256 // 224
                width, height = image.size
                image = image.resize((scale, scale * height // width) if width <= height else (scale * width // height, scale),
                                     Image.BILINEAR)
                left, top = round((image.width - 32) / 2), round((image.height - 32) / 2)
                image = image.crop((left, top, left + 32, top + 32))
            copy = self.folder / "cropped" / path.relative_to(self.folder / "pets").with_suffix(".png")
            copy.parent.mkdir(parents=True, exist_ok=True)
            image.save(copy)
        self.pack_encoded()
        self.tandem("pack", "--input", "cropped", "--size", "32", "--output", "cropped.h5")
        crop = self.summary(2, "crop", "--eval-crop", "center")
        whole = self.summary(2, "whole")
        self.assertEqual(crop["weights_sha256"], whole["weights_sha256"])
        with h5py.File(self.folder / "cropped.h5") as file:
            shown = {image.tobytes() for image in file["test/images"]}
        for run, expected in (("crop", 15), ("whole", 0)):
            worst = json.loads((self.folder / f"runs/{run}/evaluation.json").read_text())["worst"]
            self.assertEqual(len(shown & {base64.b64decode(image["pixels"]) for image in worst}), expected, run)
        expected = self.evaluate(2, "runs/crop", data="cropped.h5")["test_loss"]
        self.assertAlmostEqual(crop["test_loss"], expected, 6)
        self.assertNotAlmostEqual(whole["test_loss"], expected, 3)
        for ranks in (1, 2):
            self.assertAlmostEqual(self.evaluate(ranks, "runs/crop", data="pets.h5")["test_loss"], expected, 6)
            self.assertAlmostEqual(self.evaluate(ranks, "runs/whole", data="pets.h5")["test_loss"], whole["test_loss"], 6)
        first = self.folder / "pets/test/cat/00.png"  # 50 x 40
        guesses = [json.loads(self.tandem("predict", "--checkpoint", f"runs/{run}", "--json", path).stdout)["top"][0]["probability"]
                   for run, path in (("crop", first), ("whole", self.folder / "cropped/test/cat/00.png"), ("whole", first))]
        self.assertAlmostEqual(guesses[0], guesses[1], 6)
        self.assertNotAlmostEqual(guesses[0], guesses[2], 4)
        done = self.mpirun(2, "train", "--data", "pets.h5", *TRAIN, "--run-id", "crop", "--resume", "auto", "--epochs", "3", code=78)
        self.assertRegex(done.stderr, "eval-crop")
        done = self.mpirun(2, "train", "--data", "cropped.h5", *TRAIN, "--eval-crop", "center", code=2)
        self.assert_one_error(done, "--eval-crop center is for picture files, and cropped.h5 has pixels")

    def test_h5py_reads_what_the_folder_holds(self):
        shown = self.pack_encoded().stdout
        self.assertIn("pets, 60 train and 15 test images of 3x32x32 from files of", shown)
        contents = {path.read_bytes(): path.parent.name for path in (self.folder / "pets").rglob("*.*")}
        with h5py.File(self.folder / "pets.h5") as file:
            self.assertEqual(file.attrs["version"], 2)
            names = list(file["classes"].asstr())
            self.assertEqual(names, CLASSES)
            seen = []
            for split in ("train", "test"):
                group = file[split]
                self.assertEqual((group["labels"].dtype, group["offsets"].dtype), (numpy.uint16, numpy.uint64))
                for i, label in enumerate(group["labels"]):
                    content = group["bytes"][slice(*group["offsets"][i:i + 2])].tobytes()
                    Image.open(io.BytesIO(content)).load()
                    self.assertEqual(contents.pop(content), names[label])
                    seen.append(label)
            self.assertNotEqual(seen[:60], sorted(seen[:60]))
        self.assertEqual(contents, {})
        self.assertIn("whole", self.tandem("verify", "pets.h5").stdout)
        inspected = json.loads(self.tandem("inspect", "--json", "pets.h5").stdout)
        self.assertEqual((inspected["store"], inspected["classes"], inspected["sealed"]), ("encoded", CLASSES, True))

    def test_bytes_follow_from_folder_and_seed(self):
        digests = []
        for name, options in (("a.h5", []), ("b.h5", ["--threads", "7"]), ("c.h5", ["--check", "structure"]),
                              ("d.h5", ["--seed", "1"])):
            self.pack_encoded(name, *options)
            digests.append(hashlib.sha256((self.folder / name).read_bytes()).hexdigest())
        self.assertEqual(digests[0], digests[1])
        self.assertEqual(digests[0], digests[2])
        self.assertNotEqual(digests[0], digests[3])

    def test_many_classes(self):
        """1,200 classes: labels above a byte, and evaluations without a confusion matrix."""
        for i in range(1200):
            folder = self.folder / f"many/c{i:04}"
            folder.mkdir(parents=True)
            for k in range(2):
                Image.new("RGB", (8, 8), (i % 256, i // 256, k * 9)).save(folder / f"{k}.png")
        pack = ["pack", "--input", "many", "--size", "32", "--test-split", "0.5", "--output", "many.h5"]
        self.tandem(*pack, "--store", "encoded", "--keep-order")
        summary = self.summary(2, "many", "--class-weights", "balanced", data="many.h5")
        self.assertEqual(summary["images_seen"], 2400)
        evaluation = json.loads((self.folder / "runs/many/evaluation.json").read_text())
        self.assertEqual((len(evaluation["classes"]), evaluation["confusion"]), (1200, []))
        self.assertIn("</html>", (self.folder / "runs/many/report.html").read_text())
        found = self.evaluate(1, "runs/many", data="many.h5")
        self.assertEqual(found["test_accuracy"], summary["test_accuracy"])

        self.tandem(*pack)  # as pixels
        with h5py.File(self.folder / "many.h5") as file:
            self.assertEqual((file.attrs["version"], file["train/images"].shape), (2, (1200, 3, 32, 32)))
            self.assertEqual(file["train/labels"][:].tolist(), list(range(1200)))
            numpy.testing.assert_allclose(file.attrs["mean"], file["train/images"][:].mean((0, 2, 3)) / 255, rtol=1e-6)
        self.tandem("verify", "many.h5")
        self.assertEqual(self.summary(2, "pixels", data="many.h5")["images_seen"], 2400)

    def test_options_of_the_other_form_are_refused(self):
        done = self.pack("pets.h5", "--check", "structure", "--keep-order", code=2)
        self.assert_one_error(done, "--check is for --store encoded only", "--keep-order is for --store encoded only")

    def test_built_in_pictures(self):
        self.tandem("pack", "--input", "synthetic", "--images", "40", "--size", "40x32", "--store", "encoded", "--output", "drawn.h5")
        with h5py.File(self.folder / "drawn.h5") as file:
            self.assertEqual(list(file.attrs["shape"]), [3, 40, 32])
            picture = Image.open(io.BytesIO(file["train/bytes"][slice(*file["train/offsets"][3:5])]))
            self.assertEqual((picture.format, picture.size), ("JPEG", (32, 40)))


if __name__ == "__main__":
    unittest.main(verbosity=2)
