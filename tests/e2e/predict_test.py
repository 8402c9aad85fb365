#!/usr/bin/env python3
"""tandem predict: pictures of any size and kind, from files, folders and lists, and what is broken among them."""

import itertools
import json
import os
import pathlib
import re
import resource
import struct
import subprocess
import tempfile
import unittest
import zlib

import h5py
import numpy
from PIL import Image, ImageOps

from safetensors_file import metadata_of, replace_metadata
from tandem import DATA, PROGRAM, QUICK, TandemTest, whole


# Of an address space, for what allocators reserve in some runs only: less than three pictures of 8192 x 8192.
MARGIN = 512 << 20


def virtual_peak(command, names, folder):
    """Bytes of address space that a program has taken once it has answered to all names of a list."""
    process = subprocess.Popen([*command, "-"], cwd=folder, text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    process.stdin.write("".join(f"{name}\n" for name in names))
    process.stdin.flush()
    for _ in names:
        process.stdout.readline()
    status = pathlib.Path(f"/proc/{process.pid}/status").read_text()
    process.communicate()
    return int(re.search(r"^VmPeak:\s+(\d+) kB$", status, re.MULTILINE)[1]) * 1024


class Predict(TandemTest):
    keeps_ranks = True

    @classmethod
    def setUpClass(cls):
        with h5py.File(DATA, "r") as file:
            cls.images = file["test/images"][:].transpose(0, 2, 3, 1)
            cls.labels = file["test/labels"][:]
            cls.classes = list(file.attrs["classes"])
        runs = tempfile.TemporaryDirectory(prefix="tandem-predict-")
        cls.addClassCleanup(runs.cleanup)
        subprocess.run([PROGRAM, "train", *QUICK, "--model", "simple", "--lr", "0.05", "--max-steps", "150", "--quiet",
                        "--runs-dir", runs.name, "--run-id", "a"], check=True, cwd=runs.name)
        cls.model = f"{runs.name}/a"

    def setUp(self):
        super().setUp()
        (self.folder / "images").mkdir()

    def write_test_set(self):
        for i, image in enumerate(self.images):
            Image.fromarray(image).save(self.folder / f"images/{i:03}.png")

    def predict(self, *arguments, code=0, given=None):
        """The objects on standard output, and standard error after its line that names the model file."""
        done = subprocess.run([PROGRAM, "predict", "--checkpoint", self.model, "--json", *map(str, arguments)], input=given,
                              cwd=self.folder, text=True, capture_output=True)
        self.assertEqual(done.returncode, code, done.stderr)
        model, _, errors = done.stderr.partition("\n")
        self.assertEqual(model, f"tandem: --checkpoint {self.model}: reads {self.model}/model/model.safetensors")
        return [json.loads(line) for line in done.stdout.splitlines()], errors

    def assert_same(self, found, expected):
        """Up to the order of sums, which depends on the size of a batch."""
        self.assertEqual(found["class"], expected["class"])
        for guess, other in zip(found["top"], expected["top"]):
            self.assertAlmostEqual(guess["probability"], other["probability"], places=5)

    def test_images_of_the_test_set_are_what_eval_takes_them_for(self):
        self.write_test_set()
        found, errors = self.predict("images")
        self.assertEqual(errors, "")
        self.assertEqual([each["file"] for each in found], [f"images/{i:03}.png" for i in range(len(self.images))])
        correct = dict.fromkeys(self.classes, 0)
        for each, label in zip(found, self.labels):
            correct[self.classes[label]] += each["class"] == self.classes[label]
        expected = self.evaluate(1, self.model)
        images = numpy.bincount(self.labels, minlength=len(self.classes))
        for name, count in zip(self.classes, images):
            self.assertAlmostEqual(correct[name], expected["class_accuracy"][name] * count, places=6)
        # A network that knows no class would pass without this.
        self.assertGreater(len({each["class"] for each in found}), 1)

    def test_probabilities_are_sorted_and_of_three_classes(self):
        self.write_test_set()
        for each in self.predict("images")[0]:
            top = each["top"]
            self.assertEqual(len({guess["class"] for guess in top}), 3)
            self.assertEqual((each["class"], each["probability"]), (top[0]["class"], top[0]["probability"]))
            shares = [guess["probability"] for guess in top]
            self.assertEqual(shares, sorted(shares, reverse=True))
            self.assertTrue(0 < sum(shares) <= 1.0001)

    @whole
    def test_batches_and_threads_change_nothing(self):
        self.write_test_set()
        expected, _ = self.predict("images")
        for options in (["--batch-size", "7"], ["--threads", "3"], ["--batch-size", "1", "--threads", "1"]):
            found, _ = self.predict("images", *options)
            self.assertEqual([each["file"] for each in found], [each["file"] for each in expected])
            for each, other in zip(found, expected):
                self.assert_same(each, other)

    def test_the_device(self):
        """The tests see no GPU."""
        Image.fromarray(self.images[0]).save(self.folder / "a.png")
        words = ["predict", "--checkpoint", self.model, "a.png"]
        self.assertEqual(self.tandem(*words, "--device", "auto").stdout, self.tandem(*words, "--device", "cpu").stdout)
        for option, value in (("--device", "cuda"), ("--gpu-ids", "0")):
            self.assert_one_error(self.tandem(*words, option, value, code=69),
                                  f"{option} {value}: (this program was built without CUDA|no GPU for rank 0)")
        self.assert_one_error(self.tandem(*words, "--device", "cpu", "--gpu-ids", "0", code=2), "exclude each other")

    def test_files_folders_and_lists_in_one_line(self):
        self.write_test_set()
        (self.folder / "more").mkdir()
        Image.fromarray(self.images[0]).save(self.folder / "more/x.PNG")
        (self.folder / "more/notes.txt").write_text("no picture")
        found, _ = self.predict("images/003.png", "more", "-", given="images/001.png\n\nimages/002.png\n")
        self.assertEqual([each["file"] for each in found],
                         ["images/003.png", "more/x.PNG", "images/001.png", "images/002.png"])

    def test_every_kind_of_picture_is_resized_as_pillow_does(self):
        """What Pillow makes of a picture, as an exact PNG, is taken for the same with the same probability."""
        rng = numpy.random.default_rng(3)
        colour = Image.fromarray(self.images[4]).resize((301, 187), Image.BICUBIC)
        noise = Image.fromarray(rng.integers(0, 256, (90, 70, 3), dtype=numpy.uint8))
        kinds = {"large.jpg": colour, "small.png": colour.resize((9, 5)), "noise.png": noise, "grey.png": noise.convert("L"),
                 "grey.jpg": colour.convert("L"), "palette.png": noise.quantize(16), "bits.png": noise.convert("1"),
                 "print.jpg": colour.convert("CMYK")}
        for name, image in kinds.items():
            with self.subTest(name):
                image.save(self.folder / name)
                fitted = Image.open(self.folder / name).convert("RGB").resize((32, 32), Image.BILINEAR)
                fitted.save(self.folder / "fitted.png")
                ours, pillows = self.predict(name, "fitted.png")[0]
                self.assert_same(ours, pillows)

    def test_pictures_are_turned_upright_by_exif(self):
        """Unless the model is of an earlier version, whose training pictures were not turned."""
        tags = Image.Exif()
        tags[0x0112] = 6
        picture = Image.fromarray(self.images[4])
        picture.save(self.folder / "camera.jpg", exif=tags)
        stored = Image.open(self.folder / "camera.jpg")
        stored.save(self.folder / "stored.png", exif=b"")
        ImageOps.exif_transpose(stored).save(self.folder / "upright.png")
        (camera, upright), errors = self.predict("camera.jpg", "upright.png")
        self.assert_same(camera, upright)
        self.assertEqual(errors, "tandem: 1 picture turned upright by the EXIF orientation\n")
        model, old = pathlib.Path(self.model, "model/model.safetensors"), self.folder / "old.safetensors"
        metadata = metadata_of(model)
        for key in ("exif_orientation", "sha256", "hash64"):
            del metadata[key]
        replace_metadata(model, metadata, old)
        done = self.tandem("predict", "--checkpoint", old, "--json", "camera.jpg", "stored.png")
        camera, stored = map(json.loads, done.stdout.splitlines())
        self.assert_same(camera, stored)
        self.assertIn("warning: 1 picture with an EXIF orientation, which is ignored", done.stderr)

    def test_transparency_is_white(self):
        transparent = numpy.dstack([self.images[5], numpy.zeros((32, 32), numpy.uint8)])
        Image.fromarray(transparent).save(self.folder / "transparent.png")
        Image.new("RGB", (32, 32), "white").save(self.folder / "white.png")
        ours, white = self.predict("transparent.png", "white.png")[0]
        self.assert_same(ours, white)

    def test_broken_pictures_are_named_and_the_rest_goes_on(self):
        Image.fromarray(self.images[0]).save(self.folder / "whole.jpg")
        whole = (self.folder / "whole.jpg").read_bytes()
        (self.folder / "cut.jpg").write_bytes(whole[:len(whole) // 2])
        (self.folder / "page.png").write_bytes(b"<html>404</html>")
        (self.folder / "empty.png").touch()
        found, errors = self.predict("cut.jpg", "whole.jpg", "page.png", "absent.png", "empty.png", "whole.jpg", code=65)
        self.assertEqual([each["file"] for each in found], ["whole.jpg", "whole.jpg"])
        lines = errors.splitlines()
        self.assertEqual(len(lines), 4, errors)
        for line, name in zip(lines, ("cut.jpg", "page.png", "absent.png", "empty.png")):
            self.assertRegex(line, f"^tandem: error: {name}: ")
        self.predict("absent.png", "whole.jpg", code=66)
        self.assertEqual(self.tandem("predict", "--checkpoint", self.model, "page.png", code=65).stdout, "", "no table")

    def write_claim(self, side):
        Image.new("RGB", (1, 1)).save(self.folder / "huge.png")
        whole = (self.folder / "huge.png").read_bytes()
        header = b"IHDR" + struct.pack(">II", side, side) + whole[24:29]
        (self.folder / "huge.png").write_bytes(whole[:12] + header + struct.pack(">I", zlib.crc32(header)) + whole[33:])

    def test_a_claim_of_a_huge_picture_costs_no_memory(self):
        """Sixteen threads would take 3.2 GB for pictures of an allowed size that the file cannot hold."""
        Image.fromarray(self.images[0]).save(self.folder / "whole.png")
        self.write_claim(20000)
        _, errors = self.predict("huge.png", code=65)
        self.assertRegex(errors, "huge.png: is a picture of 20000 x 20000")
        self.write_claim(8192)
        names = ["huge.png"] * 16 + ["whole.png"] + ["huge.png"] * 16
        command = [PROGRAM, "predict", "--checkpoint", self.model, "--json", "--threads", "16", "--batch-size", str(len(names))]
        needed = virtual_peak(command, ["whole.png"] * len(names), self.folder)
        done = subprocess.run([*command, *names], cwd=self.folder, text=True, capture_output=True,
                              preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (needed + MARGIN, needed + MARGIN)))
        self.assertEqual(done.returncode, 65, done.stderr)
        self.assertEqual([json.loads(line)["file"] for line in done.stdout.splitlines()], ["whole.png"])
        self.assertEqual(done.stderr.count("huge.png: is a damaged PNG file (so few bytes"), 32, done.stderr)

    @whole
    def test_the_exit_code_does_not_depend_on_the_order(self):
        """Damage outweighs what cannot be read, which outweighs what is missing, within a batch and across."""
        (self.folder / "damaged.png").write_bytes(b"<html>")
        (self.folder / "loop.png").symlink_to("loop.png")
        for names, code in ((("absent.png", "loop.png", "damaged.png"), 65), (("absent.png", "loop.png"), 74)):
            for order in itertools.permutations(names):
                for size in ("1", "256"):
                    self.predict(*order, "--batch-size", size, code=code)

    def test_a_list_that_cannot_be_read_or_names_nothing_is_a_fault(self):
        folder = os.open(self.folder, os.O_RDONLY)
        self.addCleanup(os.close, folder)
        done = subprocess.run([PROGRAM, "predict", "--checkpoint", self.model, "-"], cwd=self.folder, stdin=folder, text=True,
                              capture_output=True)
        self.assertEqual(done.returncode, 74, done.stderr)
        self.assert_one_error(done, "standard input: cannot be read: Is a directory")
        _, errors = self.predict("-", given="\n", code=65)
        self.assertRegex(errors, "standard input: names no file")

    def test_a_name_cannot_forge_a_line(self):
        _, errors = self.predict("x\ntandem: error: forged", code=66)
        self.assertEqual(len(errors.splitlines()), 1, errors)

    def test_nobody_waits_for_a_list_when_the_output_has_ended(self):
        Image.fromarray(self.images[0]).save(self.folder / "whole.png")
        process = subprocess.Popen([PROGRAM, "predict", "--checkpoint", self.model, "--batch-size", "1", "-"], cwd=self.folder,
                                   stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        process.stdout.close()
        process.stdin.write(b"whole.png\n")
        process.stdin.flush()  # and stays open
        self.assertNotEqual(process.wait(timeout=120), 0)
        process.stdin.close()
        process.stderr.close()

    def test_the_table_has_a_line_for_each_picture(self):
        self.write_test_set()
        found, _ = self.predict("images")
        lines = self.tandem("predict", "--checkpoint", self.model, "images", "--batch-size", "50").stdout.splitlines()
        self.assertEqual(len(lines), 1 + len(found))
        self.assertEqual(lines[0].split(), ["class", "p", "second", "p", "third", "p", "file"])
        for line, each in zip(lines[1:], found):
            words = line.split()
            self.assertEqual((words[0], words[-1]), (each["class"], each["file"]))
            self.assertAlmostEqual(float(words[1]), each["probability"], places=3)

    def test_usage(self):
        done = self.tandem("predict", code=2)
        self.assert_one_error(done, "--checkpoint is missing", "no IMAGE")
        done = self.tandem("predict", "--checkpoint", "absent", "x.png", code=66)
        self.assert_one_error(done, "absent")
        (self.folder / "x.png").write_bytes(b"not looked at")
        done = self.tandem("predict", "--checkpoint", self.model, "x.png", "images", code=65)
        self.assert_one_error(done, r"images: the folder holds no file")


if __name__ == "__main__":
    unittest.main(verbosity=2)
