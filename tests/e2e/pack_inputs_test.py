#!/usr/bin/env python3
"""tandem pack --store encoded from WebDataset's archives and from lists, as Python's tarfile and csv write them."""

import bz2
import csv
import gzip
import hashlib
import io
import json
import lzma
import pathlib
import re
import subprocess
import tarfile
import unittest

import h5py
import numpy
from PIL import Image

from tandem import TandemTest

CLASSES = ["cat", "dog", "emu"]
LONG = "a-folder-with-a-long-name/" * 6  # above what a ustar header holds


def picture(i, form="JPEG"):
    pixels = numpy.random.default_rng(i).integers(0, 255, (20 + i % 7, 24 - i % 5, 3), dtype=numpy.uint8)
    stream = io.BytesIO()
    Image.fromarray(pixels).save(stream, form)
    return stream.getvalue()


def form_of(i):
    return ("PNG", "png") if i % 4 == 0 else ("JPEG", "jpg")


def content_of(file, split):
    """Bytes and class name of every picture, in the order of the packed file."""
    names = file["classes"].asstr()[:]
    group = file[split]
    return [(group["bytes"][slice(*group["offsets"][i:i + 2])].tobytes(), names[label])
            for i, label in enumerate(group["labels"])]


class PackInputs(TandemTest):
    def pack(self, source, *options, output="out.h5", code=0):
        return self.tandem("pack", "--store", "encoded", "--size", "16", "--input", source, "--output", output, *options,
                           code=code)

    def content(self, path="out.h5"):
        with h5py.File(self.folder / path) as file:
            return content_of(file, "train"), content_of(file, "test"), file.attrs["source_sha256"]

    def write_tar(self, name, members, form=tarfile.PAX_FORMAT, mtime=1.5):
        """A float as time makes an extended header for each member, as WebDataset's TarWriter does."""
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        with tarfile.open(path, "w", format=form) as archive:
            for member, content in members:
                info = tarfile.TarInfo(member)
                info.size, info.mtime = len(content), mtime
                archive.addfile(info, io.BytesIO(content))

    def samples(self, first, count, label=lambda i: (".cls", str(i % 3)), folder=""):
        members = []
        for i in range(first, first + count):
            form, suffix = form_of(i)
            ending, text = label(i)
            members += [(f"{folder}{i:04}.{suffix}", picture(i, form)), (f"{folder}{i:04}{ending}", text.encode())]
        return members

    def write_list(self, name, rows, header=None, **form):
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        with open(path, "w", newline="", encoding="utf-8") as file:
            writer = csv.writer(file, **form)
            if header:
                writer.writerow(header)
            writer.writerows(rows)

    def write_pictures(self, count, folder="photos"):
        """Paths within the folder, with names that need quotes in a list."""
        paths = []
        for i in range(count):
            form, suffix = form_of(i)
            path = f'{CLASSES[i % 3]}/a, "{i:02}".{suffix}'
            (self.folder / folder / path).parent.mkdir(parents=True, exist_ok=True)
            (self.folder / folder / path).write_bytes(picture(i, form))
            paths.append(path)
        return paths

    def expected(self, numbers, name=lambda i: CLASSES[i % 3]):
        return sorted((picture(i, form_of(i)[0]), name(i)) for i in numbers)

    def test_archives_of_every_form(self):
        (self.folder / "names.txt").write_text("\n".join(CLASSES) + "\n")
        for form in (tarfile.USTAR_FORMAT, tarfile.GNU_FORMAT, tarfile.PAX_FORMAT):
            mtime = 1 if form == tarfile.USTAR_FORMAT else 1.5
            self.write_tar("shards/train-000.tar", self.samples(0, 20), form, mtime)
            self.write_tar("shards/train-001.tar", self.samples(20, 21, folder="" if form == tarfile.USTAR_FORMAT else LONG),
                           form, mtime)
            self.write_tar("shards/val-000.tar", self.samples(50, 9), form, mtime)
            self.pack("shards/train-{000..001}.tar", "--test-input", "shards/val-*.tar", "--classes", "names.txt")
            train, test, _ = self.content()
            self.assertEqual(sorted(train), self.expected(range(41)))
            self.assertEqual(sorted(test), self.expected(range(50, 59)))
            order = [label for _, label in train]
            self.assertNotEqual(order, [CLASSES[i % 3] for i in range(41)], "shuffled")
            self.assertIn("whole; train, 41 train and 9 test images", self.tandem("verify", "out.h5").stdout)

    def test_order_and_bytes_follow_from_the_seed(self):
        self.write_tar("a-0.tar", self.samples(0, 30))
        contents = {}
        for name, options in (("a", []), ("b", ["--threads", "7", "--check", "structure"]), ("c", ["--seed", "1"]),
                              ("d", ["--keep-order"])):
            done = self.pack("a-0.tar", "--test-split", "0.2", *options, output=f"{name}.h5")
            contents[name] = (self.folder / f"{name}.h5").read_bytes()
            self.assertEqual("--keep-order: pictures stay" in done.stderr, name == "d")
        self.assertEqual(contents["a"], contents["b"])
        self.assertNotEqual(contents["a"], contents["c"])
        train, test, digest = self.content("d.h5")
        whole = [(picture(i, form_of(i)[0]), str(i % 3)) for i in range(30)]
        self.assertEqual(train, [each for each in whole if each in train])
        self.assertEqual(sorted(train + test), sorted(whole))
        lines = sorted(f"a-0.tar/{i:04}.{form_of(i)[1]}" for i in range(30))
        text = "".join(f"{hashlib.sha256(picture(int(line[8:12]), form_of(int(line[8:12]))[0])).hexdigest()}  {line}\n"
                       for line in lines)
        self.assertEqual(digest, hashlib.sha256(text.encode()).hexdigest())

    def test_labels_as_json_and_as_text(self):
        def label(i):
            return [(".json", json.dumps({"label": i % 3, "caption": "x"})), (".json", json.dumps({"cls": str(i % 3)})),
                    (".txt", f" {i % 3}\n"), (".cls", str(i % 3))][i % 4]
        members = self.samples(0, 24, label)
        members[1:1] = [("0000.txt", b"a caption that says nothing of the class"), ("0000.seg.png", b"a mask")]
        members.append(("__about__.json", b"{}"))
        self.write_tar("set.tar", members)
        self.pack("set.tar", "--test-split", "0.25")
        train, test, _ = self.content()
        self.assertEqual(sorted(train + test), self.expected(range(24), lambda i: str(i % 3)))

    def test_classes_are_sorted_as_numbers(self):
        self.write_tar("set.tar", self.samples(0, 36, lambda i: (".cls", str(1 + i % 12))))
        self.pack("set.tar", "--test-split", "0.25")
        with h5py.File(self.folder / "out.h5") as file:
            self.assertEqual(list(file["classes"].asstr()), [str(i) for i in range(1, 13)])

    def test_broken_samples_are_listed_or_left_out(self):
        members = self.samples(0, 30)
        for i in range(25):
            members += [(f"bad/{i:02}.jpg", b"no picture"), (f"bad/{i:02}.cls", b"1")]
        members += [("lone/a.jpg", picture(1)), ("lone/b.cls", b"1"), ("lone/c.jpg", picture(2)), ("lone/c.cls", b"one")]
        self.write_tar("s/set.tar", members)
        done = self.pack("s/set.tar", "--test-split", "0.2", code=65)
        self.assert_one_error(done, "s/set.tar: 28 files cannot be packed; out.h5.broken.txt lists them", "and 8 more")
        self.assertFalse((self.folder / "out.h5").exists())
        mark, *lines = (self.folder / "out.h5.broken.txt").read_text().splitlines()
        self.assertEqual(len(lines), 28)
        reasons = dict(line.split("\t") for line in lines)
        self.assertIn("is text", reasons["s/set.tar/bad/00.jpg"])
        self.assertIn("has no label beside it: lone/a.cls", reasons["s/set.tar/lone/a.jpg"])
        self.assertIn("has no picture lone/b.jpg", reasons["s/set.tar/lone/b.cls"])
        self.assertIn("its label lone/c.cls is 'one', a whole number", reasons["s/set.tar/lone/c.jpg"])
        done = self.pack("s/set.tar", "--test-split", "0.2", "--skip-broken")
        self.assertIn("28 files of s/set.tar cannot be packed and are left out", done.stderr)
        train, test, _ = self.content()
        self.assertEqual(sorted(train + test), self.expected(range(30), lambda i: str(i % 3)))
        with h5py.File(self.folder / "out.h5") as file:
            listed = bytes(file["broken_files"]).decode().splitlines()
        self.assertEqual(["s/" + line for line in listed], lines)

    def test_archives_that_cannot_be_used_are_refused(self):
        self.write_tar("set.tar", self.samples(0, 12))
        whole = (self.folder / "set.tar").read_bytes()
        (self.folder / "set.tar.gz").write_bytes(gzip.compress(whole))
        self.assert_one_error(self.pack("set.tar.gz", "--test-split", "0.2", code=65),
                              "set.tar.gz: is compressed with gzip", "unpack it: gunzip -k set.tar.gz")
        forms = {"gzip": gzip.compress(whole), "bzip2": bz2.compress(whole), "xz": lzma.compress(whole)}
        for form, content in forms.items():  # whose programs refuse this name
            with self.subTest(form):
                (self.folder / "named.tar").write_bytes(content)
                done = self.pack("named.tar", "--test-split", "0.2", code=65)
                command = re.search("named.tar: is compressed with .* unpack it: (.*)", done.stderr)[1]
                subprocess.run(command, shell=True, cwd=self.folder, check=True)
                self.pack("named.plain.tar", "--test-split", "0.2", output="plain.h5")
        for name, content, pattern in (
                ("cut", whole[:5000], "at offset 5000: found the end"), ("no-end", whole.rstrip(b"\0"), "found the end"),
                ("twice", whole + whole, "bytes after the mark of its end"),
                ("damaged", whole[:100] + bytes([whole[100] ^ 1]) + whole[101:], "no header of a member, or a damaged one"),
                ("empty", b"", "found the end")):
            with self.subTest(name):
                (self.folder / "set.tar").write_bytes(content)
                self.assert_one_error(self.pack("set.tar", "--test-split", "0.2", code=65), "set.tar: at offset", pattern)
                self.assertFalse((self.folder / "out.h5").exists())
        (self.folder / "set.tar").write_bytes(whole)
        self.assert_one_error(self.pack("set-{0..3}.tar", "--test-split", "0.2", code=66), "set-0.tar: is not there")
        self.assert_one_error(self.pack("no-*.tar", "--test-split", "0.2", code=66), "no-[*].tar: no file has such a name")
        self.assert_one_error(self.pack("set.tar", code=2), "--test-split is missing", "--test-input")
        self.assert_one_error(self.pack("set.tar", "--test-split", "0.2", "--test-input", "set.tar", code=2), "leave one of them out")
        self.assert_one_error(self.pack("set.tar", "--test-input", "set.tar", code=65), "set.tar: has the picture set.tar/0000.png, and set.tar has it for testing")
        self.assert_one_error(self.tandem("pack", "--input", "set.tar", "--output", "out.h5", code=2), "add --store encoded")
        (self.folder / "names.txt").write_text("cat\ndog\n")
        self.assert_one_error(self.pack("set.tar", "--test-split", "0.2", "--classes", "names.txt", code=65),
                              "set.tar/0002.jpg: has the label '2', one of the 2 names in names.txt")

    def test_lists_as_csv_writes_them(self):
        paths = self.write_pictures(30)
        rows = [(path, CLASSES[i % 3]) for i, path in enumerate(paths)]
        wide = [(i, label, path, "x\ny") for i, (path, label) in enumerate(rows)]
        for name, content, header, form in (
                ("plain.csv", rows, None, {}), ("named.csv", rows, ["path", "label"], {}),
                ("wide.csv", wide, ["id", "Class", "filename", "note"], {}),
                ("all.csv", rows, None, {"quoting": csv.QUOTE_ALL, "lineterminator": "\n"}),
                ("tabs.tsv", rows, ["image", "label"], {"dialect": "excel-tab"})):
            with self.subTest(name):
                self.write_list(f"photos/{name}", content, header, **form)
                shown = self.pack(f"photos/{name}", "--test-split", "0.2").stdout
                self.assertIn(f"out.h5: {name[:-4]}, 24 train and 6 test images of 3x16x16", shown)
                train, test, digest = self.content()
                self.assertEqual(sorted(train + test), self.expected(range(30)))
                lines = "".join(f"{hashlib.sha256((self.folder / 'photos' / path).read_bytes()).hexdigest()}  {path}\n"
                                for path in sorted(paths))
                self.assertEqual(digest, hashlib.sha256(lines.encode()).hexdigest())
        (self.folder / "photos/mark.csv").write_bytes(b"\xef\xbb\xbf" + (self.folder / "photos/named.csv").read_bytes())
        self.pack("photos/mark.csv", "--test-split", "0.2")
        self.assertEqual(sorted(self.content()[0]), sorted(train))

    def test_list_gives_the_same_set_as_the_folder(self):
        """In the order of the input, with the same pictures for testing."""
        paths = self.write_pictures(30)
        self.write_list("photos.csv", sorted((f"photos/{path}", CLASSES[i % 3]) for i, path in enumerate(paths)))
        options = ["--test-split", "0.2", "--seed", "5"]
        self.pack("photos", *options, output="folder.h5")
        self.pack("photos.csv", *options, "--name", "photos", output="list.h5")
        self.assertEqual(self.content("folder.h5")[:2], self.content("list.h5")[:2])

    def test_test_list_and_names_of_classes(self):
        paths = self.write_pictures(24)
        rows = [(path, CLASSES[i % 3]) for i, path in enumerate(paths)]
        self.write_list("photos/train.csv", rows[:18])
        self.write_list("photos/test.csv", rows[18:])
        (self.folder / "names.txt").write_text("gnu\nemu\ndog\ncat\n")
        self.pack("photos/train.csv", "--test-input", "photos/test.csv", "--classes", "names.txt")
        with h5py.File(self.folder / "out.h5") as file:
            self.assertEqual(list(file["classes"].asstr()), ["gnu", "emu", "dog", "cat"])
        train, test, _ = self.content()
        self.assertEqual((sorted(train), sorted(test)), (self.expected(range(18)), self.expected(range(18, 24))))
        self.write_list("photos/test.csv", rows[18:] + [(paths[0], "yak")])
        self.assert_one_error(self.pack("photos/train.csv", "--test-input", "photos/test.csv", code=65),
                              f"photos/train.csv: has the picture {paths[0]}, and photos/test.csv has it for testing")
        self.write_list("photos/test.csv", rows[18:] + rows[20:21])
        self.assert_one_error(self.pack("photos/train.csv", "--test-input", "photos/test.csv", code=65),
                              f"photos/test.csv: has the picture {paths[20]} twice")
        (self.folder / "photos/link.jpg").symlink_to(paths[1])
        (self.folder / "other").symlink_to("photos")
        for alias in (f"./{paths[1]}", f"dog/../{paths[1]}", "link.jpg", f"../other/{paths[1]}",
                      str(self.folder.resolve() / "photos" / paths[1])):
            with self.subTest(alias):
                self.write_list("photos/test.csv", rows[18:] + [(alias, CLASSES[1])])
                done = self.pack("photos/train.csv", "--test-input", "photos/test.csv", code=65)
                self.assert_one_error(done, "photos/train.csv: has one picture as .* and as .*, for training and for testing")
                self.write_list("photos/all.csv", rows + [(alias, CLASSES[1])])
                self.assert_one_error(self.pack("photos/all.csv", "--test-split", "0.2", code=65), "has one picture as ")
        (self.folder / "photos/yak.png").write_bytes(picture(0, "PNG"))
        self.write_list("photos/test.csv", rows[18:] + [("yak.png", "yak")])
        self.assert_one_error(self.pack("photos/train.csv", "--test-input", "photos/test.csv", code=65),
                              "class yak for testing and none for training")

    def test_list_with_any_number_of_labels(self):
        paths = self.write_pictures(30)
        named = [{CLASSES[j] for j in range(3) if i >> j & 1} for i in range(30)]
        rows = [(path, " ; ".join(sorted(labels, reverse=True))) for path, labels in zip(paths, named)]
        rows[3] = (rows[3][0], f"{rows[3][1]};{rows[3][1]}")  # twice counts once
        self.write_list("photos/several.csv", rows, ["path", "labels"])
        for more in ([], ["--files", "3"]):
            with self.subTest(more):
                self.pack("photos/several.csv", "--multi-label", "--test-split", "0.2", *more)
                found = []
                for name in sorted(self.folder.glob("out*.h5")):
                    with h5py.File(name) as file:
                        classes = list(file["classes"].asstr())
                        self.assertEqual(classes, sorted(CLASSES))
                        for group in ("train", "test"):
                            self.assertNotIn("labels", file[group])
                            pictures = numpy.split(file[group]["bytes"][()], file[group]["offsets"][1:-1])
                            found += zip([each.tobytes() for each in pictures], file[group]["targets"][()].tolist())
                    name.unlink()
                wanted = [((self.folder / "photos" / path).read_bytes(), [int(name in labels) for name in classes])
                          for path, labels in zip(paths, named)]
                self.assertEqual(sorted(found), sorted(wanted))
        self.write_list("photos/several.csv", [*rows, ("a.jpg", "cat;;dog")])
        several = ("photos/several.csv", "--multi-label", "--test-split", "0.2")
        self.assert_one_error(self.pack(*several, code=65), "a.jpg: has an empty label")
        self.assert_one_error(self.pack("photos/several.csv", "--test-split", "0.2", code=2),
                              "photos/several.csv: line 4 has the label '.*;.*'; add --multi-label", "--classes FILE")
        self.write_list("photos/several.csv", [(path, "") for path in paths])
        self.assert_one_error(self.pack(*several, code=65), "no picture has a label")
        self.assert_one_error(self.pack("photos", "--multi-label", "--test-split", "0.2", code=2),
                              "--multi-label is for lists")

    def test_lists_that_cannot_be_used_are_refused(self):
        paths = self.write_pictures(12)
        rows = [(path, CLASSES[i % 3]) for i, path in enumerate(paths)]
        (self.folder / "photos/dog/cut.jpg").write_bytes(picture(1)[:300])
        self.write_list("photos/a.csv", [*rows, ("no/such.jpg", "cat"), ("dog/cut.jpg", "dog"), ("x.jpg", "")])
        done = self.pack("photos/a.csv", "--test-split", "0.3", code=65)
        self.assert_one_error(done, "photos/a.csv: 3 files cannot be packed", "photos/no/such.jpg: cannot be read: No such file",
                              "photos/dog/cut.jpg: is a damaged JPEG", "photos/x.jpg: has an empty label")
        self.pack("photos/a.csv", "--test-split", "0.3", "--skip-broken")
        self.assertEqual(sum(map(len, self.content()[:2])), 12)
        self.write_list("photos/a.csv", [("no/such.webp", "cat"), *rows])
        done = self.pack("photos/a.csv", "--test-split", "0.3", code=65)
        self.assert_one_error(done, "photos/a.csv: 1 file cannot be packed", "photos/no/such.webp: cannot be read: No such file")
        self.assertIn("such.webp", (self.folder / "out.h5.broken.txt").read_text())
        self.pack("photos/a.csv", "--test-split", "0.3", "--skip-broken")
        self.assertEqual(sum(map(len, self.content()[:2])), 12)
        for text, pattern in (("a.jpg\n", "line 1 has 1 field, 2 are expected: path and label"),
                              ("path,label\na.jpg,cat\nb.jpg,cat,x\n", "line 3 has 3 fields, 2 are expected"),
                              ('"a.jpg,cat\n', "line 1 has a quoted field without its second quote"),
                              ('"a"b.jpg,cat\n', "line 1 has text after a quoted field"), (",cat\n", "line 1 has no path"),
                              ("picture,species\na.jpg,cat\n", "line 1 is 'picture' and 'species', which is neither"),
                              ("", "holds no picture with a label"), ("path,label\r\n", "holds no picture with a label")):
            with self.subTest(text):
                pathlib.Path(self.folder / "b.csv").write_text(text)
                self.assert_one_error(self.pack("b.csv", "--test-split", "0.3", code=65), "b.csv", pattern)


if __name__ == "__main__":
    unittest.main(verbosity=2)
