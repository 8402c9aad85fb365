#!/usr/bin/env python3
"""python/tandem: run folders and packed data sets as pandas and numpy objects."""

import json
import pathlib
import subprocess
import sys
import unittest

import h5py
import numpy

from tandem import DATA, TandemTest

# The package has the name of the tests' own module.
FOLDER = pathlib.Path(__file__).resolve().parents[2] / "python"
del sys.modules["tandem"]
sys.path.insert(0, str(FOLDER))
import tandem  # noqa: E402

assert pathlib.Path(tandem.__file__).parent == FOLDER / "tandem", tandem.__file__
HEAVY = {"numpy", "pandas", "h5py", "torch", "safetensors"}


class Package(TandemTest):
    def test_import_is_light(self):
        script = "import sys; before = set(sys.modules); import tandem; print(*set(sys.modules) - before)"
        done = subprocess.run([sys.executable, "-c", script], cwd=FOLDER, check=True, stdout=subprocess.PIPE, text=True)
        loaded = {name.partition(".")[0] for name in done.stdout.split()}
        self.assertIn("tandem", loaded)
        self.assertEqual(loaded & HEAVY, set())
        self.assertLess(len(loaded), 40, loaded)

    def test_run_folder(self):
        self.mpirun(2, "train", "--data", DATA, "--model", "lenet", "--epochs", "2", "--lr", "0.02", "--log-every", "1",
                    "--run-id", "first", "--quiet")
        (self.folder / "runs/no-run").mkdir()
        [run] = tandem.runs(self.folder / "runs")
        text = json.loads((self.folder / "runs/first/summary.json").read_text())
        self.assertEqual((run.name, run.summary), ("first", text))
        self.assertEqual((run.config["lr"], run.config["model"]), ("0.02", "lenet"))
        self.assertEqual(len(run.manifest["ranks"]), 2)
        steps = run.metrics("step")
        self.assertEqual(list(steps["step"]), list(range(1, text["steps"] + 1)))
        self.assertNotIn("test_accuracy", steps)
        self.assertEqual(run.metrics("eval")["test_accuracy"].iloc[-1], text["test_accuracy"])
        self.assertEqual(set(run.metrics()["event"]) & {"step", "epoch", "eval"}, {"step", "epoch", "eval"})
        ranks = run.ranks()
        self.assertEqual(ranks.groupby("rank")["images"].sum().sum(), text["images_seen"])
        confusion = run.confusion()
        self.assertEqual((confusion.shape, confusion.sum()), ((10, 10), 120))
        self.assertEqual(numpy.trace(confusion) / 120, text["test_accuracy"])

    def test_run_that_still_trains(self):
        folder = self.folder / "young"
        folder.mkdir()
        with self.assertRaisesRegex(FileNotFoundError, "young: holds no manifest.json; give the folder of a run"):
            tandem.Run(folder)
        (folder / "manifest.json").write_text("{}")
        (folder / "metrics.jsonl").write_text('{"event":"step","step":1,"loss":2.5}\n{"event":"step","st')
        run = tandem.Run(folder)
        self.assertEqual((run.summary, run.evaluation, len(run.ranks())), (None, None, 0))
        self.assertEqual(list(run.metrics()["loss"]), [2.5])
        with self.assertRaisesRegex(FileNotFoundError, "has not evaluated"):
            run.confusion()
        (folder / "summary.json").write_text("{")
        with self.assertRaisesRegex(ValueError, "summary.json: is not JSON"):
            run.summary

    def test_packed_data_set(self):
        data = tandem.Dataset(DATA)
        with h5py.File(DATA, "r") as file:
            images, labels = file["train/images"][:], file["train/labels"][:]
            self.assertEqual(list(data.mean), list(file.attrs["mean"]))
        self.assertEqual((data.name, len(data.classes), data.shapes["test"]), ("synthetic", 10, (120, 3, 32, 32)))
        self.assertTrue(numpy.array_equal(data.images("train"), images))
        self.assertTrue(numpy.array_equal(data.images("train", slice(10, 20)), images[10:20]))
        self.assertTrue(numpy.array_equal(data.labels("train"), labels))
        with self.assertRaisesRegex(FileNotFoundError, "absent.h5: is not there; make it with tandem pack"):
            tandem.Dataset("absent.h5")
        (self.folder / "text.h5").write_text("text")
        with self.assertRaisesRegex(ValueError, "text.h5: is no packed data set"):
            tandem.Dataset(self.folder / "text.h5")
        with h5py.File(self.folder / "other.h5", "w"):
            pass
        with self.assertRaisesRegex(ValueError, "other.h5: is HDF5 but no packed data set"):
            tandem.Dataset(self.folder / "other.h5")

    def color(self, label):
        return (label % 256, label // 256 * 100 + label % 2, label % 3)

    def write_pictures(self, classes):
        """A folder of one PNG of 4x3 pixels for each class and split. Returns their bytes by split, in the order of classes."""
        from PIL import Image

        files = {"train": [], "test": []}
        for index in range(classes):
            for split, pictures in files.items():
                folder = self.folder / "pictures" / split / f"c{index:03}"
                folder.mkdir(parents=True)
                Image.new("RGB", (4, 3), self.color(index)).save(folder / "a.png")
                pictures.append((folder / "a.png").read_bytes())
        return files

    def test_packed_files_of_pictures(self):
        files = self.write_pictures(3)
        self.tandem("pack", "--input", "pictures", "--size", "8", "--store", "encoded", "--output", "files.h5")
        path = self.folder / "files.h5"
        data = tandem.Dataset(path)
        self.assertEqual((data.classes, data.encoded, data.shapes["test"]), (["c000", "c001", "c002"], True, (3, 3, 8, 8)))
        for split, pictures in files.items():
            labels = data.labels(split)
            self.assertEqual((labels.dtype, sorted(labels)), (numpy.uint16, [0, 1, 2]))
            for index, label in enumerate(labels):
                self.assertEqual(data.picture(split, index), pictures[label])
            self.assertEqual(data.picture(split, -1), pictures[labels[2]])
        for index in (3, -4):
            with self.assertRaisesRegex(IndexError, f"files.h5: has 3 pictures in train, number {index} is not one"):
                data.picture("train", index)
        with self.assertRaisesRegex(ValueError, r"files.h5: holds files of pictures, no pixels; read one by picture\("):
            data.images("train")
        with h5py.File(path, "r+") as file:
            file.attrs["version"] = 3
        with self.assertRaisesRegex(ValueError, "files.h5: has version 3, 1 or 2 was expected"):
            tandem.Dataset(path)

    def test_packed_pixels_of_many_classes(self):
        self.write_pictures(257)
        self.tandem("pack", "--input", "pictures", "--size", "8", "--output", "many.h5")
        data = tandem.Dataset(self.folder / "many.h5")
        self.assertEqual((len(data.classes), data.classes[256], data.encoded), (257, "c256", False))
        self.assertEqual(data.shapes["train"], (257, 3, 8, 8))
        for image, label in zip(data.images("train"), data.labels("train")):
            self.assertEqual(list(image[:, 4, 4]), list(self.color(int(label))))
        with self.assertRaisesRegex(ValueError, r"many.h5: holds pixels, no files of pictures; read them by images\("):
            data.picture("train", 0)


if __name__ == "__main__":
    unittest.main(verbosity=2)
