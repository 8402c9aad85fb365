#!/usr/bin/env python3
"""tandem pack, verify and inspect: what they make, and that they refuse everything else and leave nothing behind."""

import gzip
import hashlib
import io
import pathlib
import re
import shlex
import shutil
import signal
import struct
import subprocess
import sys
import tarfile
import time
import unittest

import h5py
import numpy
from PIL import Image, ImageOps

from tandem import DATA, PROGRAM, TandemTest, whole

ROOT = pathlib.Path(__file__).resolve().parents[2]
CLASSES = "airplane automobile bird cat deer dog frog horse ship truck".split()


def pattern(shape, seed):
    """Pixels that differ from place to place and from seed to seed, made and compressed in no time."""
    size = int(numpy.prod(shape))
    return numpy.resize(((numpy.arange(65521) + seed) * 31 % 251).astype(numpy.uint8), size).reshape(shape)


def cifar_batch(seed):
    """A batch file of the published form: 10,000 times a label byte and 3072 pixels."""
    records = pattern((10000, 3073), seed)
    records[:, 0] = numpy.arange(10000) % 10
    return records.tobytes()


def idx(array):
    return struct.pack(f">BBBB{array.ndim}I", 0, 0, 8, array.ndim, *array.shape) + array.tobytes()


class Pack(TandemTest):
    def write_cifar(self):
        folder = self.folder / "cifar-10-batches-bin"
        folder.mkdir()
        for i in range(1, 6):
            (folder / f"data_batch_{i}.bin").write_bytes(cifar_batch(i))
        (folder / "test_batch.bin").write_bytes(cifar_batch(0))
        (folder / "batches.meta.txt").write_text("\n".join(CLASSES) + "\n\n")
        return folder

    def write_mnist(self, folder):
        folder.mkdir(parents=True)
        for name, count in (("train", 60000), ("t10k", 10000)):
            images = pattern((count, 28, 28), count)
            labels = (numpy.arange(count) % 10).astype(numpy.uint8)
            (folder / f"{name}-images-idx3-ubyte.gz").write_bytes(gzip.compress(idx(images), 1))
            (folder / f"{name}-labels-idx1-ubyte").write_bytes(idx(labels))
        return folder

    def assert_refused(self, code, *patterns, source):
        done = self.tandem("pack", "--input", source, "--output", "out/new.h5", code=code)
        self.assert_one_error(done, *patterns)
        self.assertEqual(list((self.folder / "out").iterdir()), [], "nothing may be left behind")

    def setUp(self):
        super().setUp()
        (self.folder / "out").mkdir()

    def test_synthetic_is_a_function_of_its_seed(self):
        for name, seed in (("a", 1), ("b", 1), ("c", 2)):
            self.tandem("pack", "--input", "synthetic", "--images", "100", "--seed", seed, "--output", f"{name}.h5")
        a, b, c = (hashlib.sha256((self.folder / f"{name}.h5").read_bytes()).digest() for name in "abc")
        self.assertEqual(a, b)
        self.assertNotEqual(a, c)

    def test_layout_is_the_documented_one(self):
        with h5py.File(DATA, "r") as file:
            self.assertEqual(file["train/images"].shape, (600, 3, 32, 32))
            self.assertEqual(file["test/labels"].shape, (120,))
            for name in ("train/images", "train/labels", "test/images", "test/labels"):
                self.assertEqual(file[name].dtype, numpy.uint8)
                self.assertTrue(file[name].fletcher32, name)
            attributes = dict(file.attrs)
            self.assertEqual(attributes["version"], 1)
            self.assertEqual(attributes["complete"], 1)
            self.assertEqual(len(attributes["classes"]), 10)
            mean = file["train/images"][:].mean(axis=(0, 2, 3)) / 255
            numpy.testing.assert_allclose(attributes["mean"], mean, rtol=1e-6)

    def test_cifar10_folder_and_archive_hold_the_published_images(self):
        folder = self.write_cifar()
        with tarfile.open(self.folder / "cifar.tar.gz", "w:gz", compresslevel=1) as archive:
            archive.add(folder, folder.name)
        for source in (folder, "cifar.tar.gz"):
            self.tandem("pack", "--input", source, "--output", "out/cifar.h5")
            with h5py.File(self.folder / "out/cifar.h5", "r") as file:
                records = numpy.frombuffer(cifar_batch(3), numpy.uint8).reshape(-1, 3073)
                numpy.testing.assert_array_equal(file["train/labels"][20000:30000], records[:, 0])
                numpy.testing.assert_array_equal(file["train/images"][20000:30000].reshape(10000, -1), records[:, 1:])
                self.assertEqual(list(file.attrs["classes"]), CLASSES)
            self.tandem("verify", "out/cifar.h5")
            (self.folder / "out/cifar.h5").unlink()

    def test_damaged_cifar10_is_refused(self):
        folder = self.write_cifar()
        batch = folder / "data_batch_2.bin"
        whole = batch.read_bytes()
        for name, content, patterns in (
                ("truncated", whole[:-1], ["data_batch_2.bin"]),
                ("oversized", whole + b"x", ["data_batch_2.bin"]),
                ("empty", b"", ["data_batch_2.bin"]),
                ("mislabelled", whole[:3073] + b"\x0a" + whole[3074:], ["data_batch_2.bin", "3073", "10"]),
                ("HTML", b"<!DOCTYPE html><html><body>404</body></html>", ["data_batch_2.bin"])):
            with self.subTest(name):
                batch.write_bytes(content)
                self.assert_refused(65, *patterns, source=folder)
        batch.unlink()
        with self.subTest("missing"):
            self.assert_refused(66, "data_batch_2.bin", source=folder)

    def test_mnist_mixes_plain_and_compressed_files(self):
        folder = self.write_mnist(self.folder / "MNIST" / "raw")
        self.tandem("pack", "--input", folder, "--output", "out/mnist.h5")
        with h5py.File(self.folder / "out/mnist.h5", "r") as file:
            self.assertEqual(file["train/images"].shape, (60000, 1, 28, 28))
            numpy.testing.assert_array_equal(file["test/labels"][:], numpy.arange(10000) % 10)

    @whole
    def test_cifar100_folder_and_archive_hold_the_fine_labels(self):
        folder = self.folder / "cifar-100-binary"
        folder.mkdir()
        for name, count in (("train", 50000), ("test", 10000)):
            records = pattern((count, 3074), count)
            records[:, 0] = numpy.arange(count) % 20
            records[:, 1] = numpy.arange(count) % 100
            (folder / f"{name}.bin").write_bytes(records.tobytes())
        (folder / "fine_label_names.txt").write_text("".join(f"fine {i}\n" for i in range(100)))
        (folder / "coarse_label_names.txt").write_text("".join(f"coarse {i}\n" for i in range(20)))
        with tarfile.open(self.folder / "cifar.tar.gz", "w:gz", compresslevel=1) as archive:
            archive.add(folder, folder.name)
        for source in (folder, "cifar.tar.gz"):
            self.tandem("pack", "--input", source, "--output", "out/cifar.h5")
            with h5py.File(self.folder / "out/cifar.h5", "r") as file:
                self.assertEqual(file.attrs["name"], "cifar100")
                self.assertEqual(file.attrs["classes"][42], "fine 42")
                numpy.testing.assert_array_equal(file["train/labels"][:], numpy.arange(50000) % 100)
                numpy.testing.assert_array_equal(file["test/images"][:].reshape(10000, -1),
                                                 pattern((10000, 3074), 10000)[:, 2:])
            self.tandem("verify", "out/cifar.h5")
            (self.folder / "out/cifar.h5").unlink()

    def write_pictures(self, folder, mode="RGB"):
        """Ten pictures of two classes in several sizes, by path below the folder."""
        images = {}
        for i in range(10):
            shape = (20 + i, 31 - 2 * i) + ((3,) if mode == "RGB" else ())
            path = f"{'cat' if i < 6 else 'dog'}/{i}.{'png' if i % 2 else 'jpg'}"
            (folder / path).parent.mkdir(parents=True, exist_ok=True)
            Image.fromarray(pattern(shape, i)).save(folder / path)
            images[path] = numpy.asarray(Image.open(folder / path).resize((16, 24), Image.BILINEAR))
        return images

    def test_folder_of_pictures_is_resized_as_pillow_does(self):
        images = self.write_pictures(self.folder / "pets/train")
        self.write_pictures(self.folder / "pets/test")
        self.tandem("pack", "--input", "pets", "--size", "24x16", "--output", "out/pets.h5")
        self.tandem("verify", "out/pets.h5")
        with h5py.File(self.folder / "out/pets.h5", "r") as file:
            self.assertEqual(file.attrs["name"], "pets")
            self.assertEqual(list(file.attrs["classes"]), ["cat", "dog"])
            expected = numpy.stack([images[path].transpose(2, 0, 1) for path in sorted(images)])
            for split in ("train", "test"):
                numpy.testing.assert_array_equal(file[f"{split}/images"][:], expected)
                numpy.testing.assert_array_equal(file[f"{split}/labels"][:], [0] * 6 + [1] * 4)
            lines = "".join(f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.relative_to(self.folder / 'pets')}\n"
                            for path in sorted((self.folder / "pets").rglob("*.*")))
            self.assertEqual(file.attrs["source_sha256"], hashlib.sha256(lines.encode()).hexdigest())

    def test_one_folder_is_split_by_class(self):
        self.write_pictures(self.folder / "pets", "L")
        self.tandem("pack", "--input", "pets", "--size", "8", "--test-split", "0.5", "--output", "out/a.h5")
        self.tandem("pack", "--input", "pets", "--size", "8", "--test-split", "0.5", "--output", "out/b.h5")
        self.tandem("pack", "--input", "pets", "--size", "8", "--test-split", "0.5", "--channels", "3", "--output", "out/c.h5")
        self.assertEqual((self.folder / "out/a.h5").read_bytes(), (self.folder / "out/b.h5").read_bytes())
        with h5py.File(self.folder / "out/a.h5", "r") as file, h5py.File(self.folder / "out/c.h5", "r") as colour:
            self.assertEqual(file["test/images"].shape, (5, 1, 8, 8))
            self.assertEqual(list(file["test/labels"][:]), [0, 0, 0, 1, 1])
            self.assertEqual(list(file["train/labels"][:]), [0, 0, 0, 1, 1])
            numpy.testing.assert_array_equal(colour["test/images"][:, 2], file["test/images"][:, 0])

    def test_folder_of_pictures_with_a_fault_is_refused(self):
        self.write_pictures(self.folder / "pets")
        pack = ["pack", "--input", "pets", "--output", "out/new.h5"]
        done = self.tandem(*pack, code=2)
        self.assert_one_error(done, "--test-split is missing", "--size is missing", "cat/0.jpg")
        pack += ["--test-split", "0.5"]
        done = self.tandem(*pack, "--size", "65536", code=2)
        self.assert_one_error(done, "--size", "65536", "at most 1,000,000")
        self.assertEqual(list((self.folder / "out").iterdir()), [])

    def test_an_output_among_the_pictures_does_not_count_as_one(self):
        self.write_pictures(self.folder / "pets")
        pack = ["pack", "--input", "pets", "--output", "pets/pets.h5", "--test-split", "0.5", "--size", "8"]
        self.tandem(*pack)
        first = (self.folder / "pets/pets.h5").read_bytes()
        self.tandem(*pack)
        self.assertEqual((self.folder / "pets/pets.h5").read_bytes(), first)

    def test_broken_pictures_are_named_at_once_or_left_out(self):
        self.write_pictures(self.folder / "pets")
        whole = (self.folder / "pets/dog/8.jpg").read_bytes()
        (self.folder / "pets/dog/8.jpg").write_bytes(whole[:-200])
        (self.folder / "pets/cat/0.jpg").write_bytes(b"<html>")
        Image.new("RGB", (8, 8)).save(self.folder / "pets/cat/x.webp")
        pack = ["pack", "--input", "pets", "--output", "out/new.h5", "--test-split", "0.5", "--size", "8"]
        done = self.tandem(*pack, code=65)
        self.assert_one_error(done, "3 files cannot be packed; out/new.h5.broken.txt lists them", "--skip-broken",
                              "pets/dog/8.jpg: is a damaged JPEG", "pets/cat/0.jpg: is a web page",
                              "pets/cat/x.webp: is a WebP picture, .*: magick 'pets/cat/x.webp.0.' pets/cat/x.webp.png")
        self.assertEqual([path.name for path in (self.folder / "out").iterdir()], ["new.h5.broken.txt"])
        listed = (self.folder / "out/new.h5.broken.txt").read_text()
        mark, *lines = listed.splitlines()
        self.assertEqual(mark, "# tandem pack: files that cannot be packed, and why")
        self.assertEqual([line.split("\t")[0] for line in lines],
                         ["pets/cat/0.jpg", "pets/cat/x.webp", "pets/dog/8.jpg"])
        done = self.tandem(*pack, "--skip-broken")
        self.assertIn("warning: 3 files of pets cannot be packed and are left out", done.stderr)
        self.assertEqual((self.folder / "out/new.h5.broken.txt").read_text(), listed)
        self.tandem("verify", "out/new.h5")
        self.assertRegex(self.tandem("inspect", "out/new.h5").stdout, r"broken_files +3\n")
        with h5py.File(self.folder / "out/new.h5", "r") as file:
            self.assertEqual(file.attrs["broken_files"], 3)
            self.assertEqual(["pets/" + line.split("\t")[0] for line in bytes(file["broken_files"]).decode().splitlines()],
                             [line.split("\t")[0] for line in lines])
            self.assertEqual(len(file["train/labels"]) + len(file["test/labels"]), 8)

    def test_pictures_are_turned_upright_by_exif(self):
        """In all eight orientations, as Pillow does it; the sizes of upright pictures must agree."""
        expected = []
        for i in range(1, 9):
            tags = Image.Exif()
            tags[0x0112] = i
            path = self.folder / f"pets/train/cat/{i}.jpg"
            path.parent.mkdir(parents=True, exist_ok=True)
            Image.fromarray(pattern((20, 30, 3) if i < 5 else (30, 20, 3), i)).save(path, exif=tags)
            expected.append(numpy.asarray(ImageOps.exif_transpose(Image.open(path))).transpose(2, 0, 1))
        shutil.copytree(self.folder / "pets/train", self.folder / "pets/test")
        done = self.tandem("pack", "--input", "pets", "--output", "out/pets.h5")
        self.assertEqual(done.stderr, "tandem: 14 pictures of pets turned upright by the EXIF orientation\n")
        with h5py.File(self.folder / "out/pets.h5", "r") as file:
            self.assertEqual(file.attrs["exif_orientation"], 1)
            numpy.testing.assert_array_equal(file["train/images"][:], numpy.stack(expected))
        self.assertRegex(self.tandem("inspect", "out/pets.h5").stdout, r"exif_orientation +applied\n")

    def test_arrays_of_numpy_keep_their_pixels(self):
        images, labels = pattern((50, 12, 10, 3), 1), numpy.arange(50) % 3
        for name, save in (("stored", numpy.savez), ("deflated", numpy.savez_compressed)):
            save(self.folder / f"{name}.npz", train_images=images, train_labels=labels[:, None], test_images=images[:7],
                 test_labels=labels[:7].astype(numpy.uint8))
            self.tandem("pack", "--input", f"{name}.npz", "--output", f"out/{name}.h5")
            with h5py.File(self.folder / f"out/{name}.h5", "r") as file:
                numpy.testing.assert_array_equal(file["train/images"][:], images.transpose(0, 3, 1, 2))
                numpy.testing.assert_array_equal(file["train/labels"][:], labels)
                self.assertEqual(len(file["test/labels"]), 7)
                self.assertEqual(list(file.attrs["classes"]), ["0", "1", "2"])
        (self.folder / "classes").write_text("x\ny\nz\n")
        numpy.savez(self.folder / "one.npz", images=images[:, :, :, 0], labels=labels)
        self.tandem("pack", "--input", "one.npz", "--test-split", "0.2", "--classes", "classes", "--output", "out/one.h5")
        with h5py.File(self.folder / "out/one.h5", "r") as file:
            self.assertEqual(file["train/images"].shape, (41, 1, 12, 10))  # 17, 17 and 16 give 3 each
            self.assertEqual(list(file.attrs["classes"]), ["x", "y", "z"])
        (self.folder / "cut.npz").write_bytes((self.folder / "deflated.npz").read_bytes()[:-100])
        for path in (self.folder / "out").iterdir():
            path.unlink()
        self.assert_refused(65, "cut.npz", source="cut.npz")

    def test_script_writes_arrays_that_verify_accepts(self):
        images = pattern((60, 12, 10, 3), 1)
        numpy.save(self.folder / "images.npy", images)
        numpy.save(self.folder / "labels.npy", numpy.arange(60) % 4)
        arrays = ["images.npy", "labels.npy"]
        script = [sys.executable, "-B", ROOT / "data/write_dataset.py", "own.h5", "--train", *arrays, "--test", *arrays]
        subprocess.run(script, check=True, cwd=self.folder, stdout=subprocess.PIPE)
        self.tandem("verify", "own.h5", "--seal")
        self.tandem("verify", "own.h5")
        with h5py.File(self.folder / "own.h5", "r") as file:
            numpy.testing.assert_array_equal(file["train/images"][:], images.transpose(0, 3, 1, 2))
            numpy.testing.assert_allclose(file.attrs["mean"], images.mean(axis=(0, 1, 2)) / 255)
            numpy.testing.assert_allclose(file.attrs["std"], images.std(axis=(0, 1, 2)) / 255)
        numpy.save(self.folder / "labels.npy", numpy.arange(59))
        done = subprocess.run(script, cwd=self.folder, stderr=subprocess.PIPE, text=True)
        self.assertEqual(done.returncode, 65, done.stderr)
        self.assertRegex(done.stderr, "60 images and 59 labels")

    def write_own(self, *options, images="images.npy", labels="labels.npy", output="own.h5"):
        script = [sys.executable, "-B", ROOT / "data/write_dataset.py", output]
        return subprocess.run([*script, "--train", images, labels, "--test", "images.npy", "labels.npy", *options],
                              cwd=self.folder, text=True, capture_output=True)

    @whole
    def test_script_refuses_before_it_writes(self):
        numpy.save(self.folder / "images.npy", pattern((60, 12, 10, 3), 1))
        numpy.save(self.folder / "labels.npy", numpy.arange(60) % 4)
        numpy.save(self.folder / "other.npy", pattern((60, 12, 11, 3), 1))
        numpy.save(self.folder / "real.npy", numpy.zeros((60, 12, 10, 3)))
        numpy.save(self.folder / "large.npy", pattern((60, 600, 600, 3), 1))
        numpy.save(self.folder / "one.npy", numpy.uint8(1))
        numpy.savez(self.folder / "archive.npz", images=numpy.zeros(3))
        (self.folder / "page.npy").write_text("<html>")
        (self.folder / "classes").write_text("a\nb\n" + "c" * 101 + "\nd\n")
        (self.folder / "few").write_text("a\n")
        (self.folder / "folder.h5").mkdir()
        for code, words, arguments, files in (
                (65, "the name is '../x'", ["--name", "../x"], {}),
                (65, "the name is '\\x1b[2J'", ["--name", "\x1b[2J"], {}),
                (65, "class 2 is 'ccc", ["--classes", "classes"], {}),
                (65, "labels are int64 from 0 to 3", ["--classes", "few"], {}),
                (65, "those for testing", [], {"images": "other.npy"}),
                (65, "images are float64", [], {"images": "real.npy"}),
                (65, "1 to 1000000 values", [], {"images": "large.npy"}),
                (65, "a single value", [], {"images": "one.npy"}),
                (65, "archive.npz: is an archive", [], {"images": "archive.npz"}),
                (65, "page.npy: is no array", [], {"images": "page.npy"}),
                (66, "absent.npy: is not there", [], {"labels": "absent.npy"}),
                (74, "folder.h5: Is a directory", [], {"labels": "folder.h5"}),
                (73, "folder.h5: is a folder", [], {"output": "folder.h5"}),
                (73, "no/such/own.h5", [], {"output": "no/such/own.h5"})):
            with self.subTest(words):
                done = self.write_own(*arguments, **files)
                self.assertEqual(done.returncode, code, done.stderr)
                self.assertIn(words, done.stderr)
                self.assertEqual(len(done.stderr.splitlines()), 1, done.stderr)
                self.assertEqual(list(self.folder.glob("own.h5*")) + list(self.folder.glob("folder.h5.*")), [])

    def test_script_that_is_ended_leaves_nothing(self):
        """With more to write than it can have written by then."""
        numpy.save(self.folder / "labels.npy", numpy.zeros(1_000_000, numpy.uint8))
        numpy.lib.format.open_memmap(self.folder / "images.npy", "w+", numpy.uint8, (1_000_000, 32, 32, 3)).flush()
        process = subprocess.Popen([sys.executable, "-B", ROOT / "data/write_dataset.py", "own.h5", "--train", "images.npy",
                                    "labels.npy", "--test", "images.npy", "labels.npy"], cwd=self.folder,
                                   stderr=subprocess.PIPE)
        while process.poll() is None and not list(self.folder.glob("own.h5.tmp.*")):
            time.sleep(0.001)
        process.terminate()
        process.communicate()
        self.assertEqual(process.returncode, 128 + signal.SIGTERM)
        self.assertEqual(list(self.folder.glob("own.h5*")), [])

    def test_python_form_is_answered_with_the_converter(self):
        folder = self.folder / "cifar-10-batches-py"
        folder.mkdir()
        for name in ("data_batch_1", "test_batch", "batches.meta"):
            (folder / name).write_bytes(b"\x80\x02}q\x00.")
        self.assert_refused(65, r"data/cifar10_from_python\.py", source=folder)

    def test_missing_input_and_unusable_output(self):
        self.assert_refused(66, "absent", source="absent")
        done = self.tandem("pack", "--input", "synthetic", "--images", "10", "--output", "no/such/folder/x.h5", code=73)
        self.assert_one_error(done, "no/such/folder/x.h5")

    def test_archive_that_is_none_is_refused(self):
        (self.folder / "page.tar.gz").write_bytes(b"<html>not found</html>" * 100)
        self.assert_refused(65, "page.tar.gz", source="page.tar.gz")
        buffer = io.BytesIO()
        with tarfile.open(fileobj=buffer, mode="w:gz") as archive:
            archive.addfile(tarfile.TarInfo("something/else"))
        (self.folder / "other.tar.gz").write_bytes(buffer.getvalue())
        self.assert_refused(65, "other.tar.gz", source="other.tar.gz")

    def test_verify_finds_one_flipped_bit_and_truncation(self):
        whole = pathlib.Path(DATA).read_bytes()
        for offset in (0, 40, 600, len(whole) // 2, len(whole) - 1):
            damaged = bytearray(whole)
            damaged[offset] ^= 1
            (self.folder / "damaged.h5").write_bytes(damaged)
            with self.subTest(offset=offset):
                self.assert_one_error(self.tandem("verify", "damaged.h5", code=65), "damaged.h5")
        (self.folder / "damaged.h5").write_bytes(whole[:-1])
        self.assert_one_error(self.tandem("verify", "damaged.h5", code=65), "damaged.h5")
        (self.folder / "text").write_text("not a data set")
        self.assert_one_error(self.tandem("verify", "text", code=65), "text")
        self.assert_one_error(self.tandem("verify", "absent", code=66), "absent")

    def test_verify_looks_at_every_file_and_ends_with_the_worst_code(self):
        whole = pathlib.Path(DATA).read_bytes()
        (self.folder / "short.h5").write_bytes(whole[:-1])
        (self.folder / "shorter.h5").write_bytes(whole[:-2])
        done = self.tandem("verify", "absent.h5", "short.h5", DATA, "shorter.h5", "absent.safetensors", code=65)
        self.assertEqual(re.findall(r"(?m)^tandem: error: ([a-z.0-9]+): ", done.stderr),
                         ["absent.h5", "short.h5", "shorter.h5", "absent.safetensors"])
        self.assertRegex(done.stdout, f"^{re.escape(DATA)}: whole; ")
        self.tandem("verify", "absent.h5", DATA, code=66)

    def test_what_is_packed_already_and_a_size_that_is_none_are_told(self):
        done = self.tandem("pack", "--input", DATA, "--output", "again.h5", code=65)
        self.assert_one_error(done, "is HDF5, as pack writes it; give it to tandem train --data")
        for size in ("16x", "x16", "16x16x3", "a", "-4"):
            done = self.tandem("pack", "--input", "synthetic", "--size", size, "--output", "new.h5", code=2)
            self.assert_one_error(done, f"--size: '{size}' is neither N nor HxW, such as 64x64")

    def test_file_of_a_user_can_be_sealed(self):
        with h5py.File(DATA, "r") as source, h5py.File(self.folder / "own.h5", "w") as own:
            for name in ("train/images", "train/labels", "test/images", "test/labels"):
                own.create_dataset(name, data=source[name][:], chunks=True, fletcher32=True)
            for name, value in source.attrs.items():
                own.attrs[name] = value
            own.attrs["classes"] = [f"class {i}" for i in range(10)]
        done = self.tandem("verify", "own.h5")
        self.assertRegex(done.stdout + done.stderr, "--seal")
        self.tandem("verify", "own.h5", "--seal")
        done = self.tandem("verify", "own.h5")
        self.assertNotRegex(done.stdout + done.stderr, "--seal")
        with h5py.File(self.folder / "own.h5", "r") as sealed:
            self.assertEqual(sealed.userblock_size, 512)

    def test_interrupted_pack_leaves_nothing(self):
        process = subprocess.Popen([PROGRAM, "pack", "--input", "synthetic", "--images", "1000000", "--output",
                                    "out/new.h5"], cwd=self.folder, stderr=subprocess.PIPE, text=True)
        while process.poll() is None and not list((self.folder / "out").iterdir()):
            time.sleep(0.001)
        process.terminate()
        process.communicate()
        self.assertEqual(process.returncode, 128 + signal.SIGTERM)
        self.assertEqual(list((self.folder / "out").iterdir()), [])

    def test_inspect_shows_the_data_set(self):
        shown = self.tandem("inspect", DATA).stdout
        for word in ("synthetic", "600", "120", "disc, ring, square"):
            self.assertIn(word, shown)

    def test_files_of_other_software_are_named_with_what_reads_them(self):
        """The command that a message names makes the data set."""
        self.write_pictures(self.folder / "pets")
        labels = numpy.arange(30) % 3
        numpy.savez(self.folder / "my set.npz", images=pattern((30, 8, 8, 3), 1), labels=labels)
        (self.folder / "net.json").write_text('{"a": 1}')
        for path, words, packed in (("pets", "is a folder of pictures", "pets.h5"),
                                    ("my set.npz", "is an .npz file of numpy", "my set.h5"),
                                    ("net.json", "is a JSON file", None)):
            # A folder may be a run to verify, and a file is a data set to both.
            for command in ([] if path == "pets" else [["verify"]]) + [["train", "--data"]]:
                done = self.tandem(*command, path, code=65)
                self.assert_one_error(done, re.escape(path), words, "a packed data set was expected")
            if packed:
                line = re.search(r"pack it: tandem (.*)", done.stderr)[1]
                self.tandem(*shlex.split(line))
                self.tandem("verify", packed)


if __name__ == "__main__":
    unittest.main(verbosity=2)
