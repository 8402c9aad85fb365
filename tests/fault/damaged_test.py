#!/usr/bin/env python3
"""Flipped bits and missing ends in data sets and checkpoints are found, soon; a run takes the checkpoint before."""

import json
import random
import unittest
from concurrent.futures import ThreadPoolExecutor

import numpy
from PIL import Image

from damage import Damage, assert_refused
from tandem import TandemTest

TRAIN = ["train", "--data", "data.h5", "--model", "lenet", "--global-batch-size", "16", "--lr", "0.01", "--threads", "1",
         "--eval-every", "0", "--run-id", "a", "--quiet", "--resume", "auto"]
USER_BLOCK = 512


def flip(byte, bit=0):
    return Damage("flip", 8 * byte + bit)


def cut(size):
    return Damage("cut", size)


def damages_of_checkpoint(content):
    """Always as many: each field of the header, each end, and two at random. Checkpoints of one run differ by some bytes in size."""
    size, header = len(content), 8 + int.from_bytes(content[:8], "little")
    return [flip(0), flip(8), flip(content.index(b'"sha256"') + 3), flip(content.index(b'"hash64"') + 3),
            flip(content.index(b'"sha256":"') + 20), flip(header), flip(size - 1, 7),
            cut(0), cut(7), cut(header), cut(size - 1), *(Damage.at_random(random, size) for _ in range(2))]


class Damaged(TandemTest):
    def setUp(self):
        super().setUp()
        self.tandem("pack", "--input", "synthetic", "--images", "16", "--output", "data.h5")
        self.data = (self.folder / "data.h5").read_bytes()

    def assert_all_refused(self, content, suffix, damages):
        def check(number, damage):
            path = self.folder / f"damaged-{number}{suffix}"
            path.write_bytes(damage.of(content))
            assert_refused(self.folder, "verify", path)

        with ThreadPoolExecutor(2) as pool:
            futures = [(damage, pool.submit(check, number, damage)) for number, damage in enumerate(damages)]
        for damage, future in futures:
            with self.subTest(damage):
                future.result()

    def test_data_set(self):
        size = len(self.data)
        random_ones = [Damage.at_random(random, size) for _ in range(2)]
        self.assert_all_refused(self.data, ".h5", [
            flip(0), flip(USER_BLOCK - 1, 7), flip(USER_BLOCK), flip(size // 2), flip(size - 1, 7),
            cut(0), cut(USER_BLOCK - 1), cut(size - 1), *random_ones])
        (self.folder / "data.h5").write_bytes(flip(size // 2).of(self.data))
        self.assert_one_error(self.tandem(*TRAIN, code=65), r"data\.h5")

    def test_data_set_of_files(self):
        self.tandem("pack", "--input", "synthetic", "--images", "20", "--size", "32", "--store", "encoded", "--output", "data.h5")
        content = (self.folder / "data.h5").read_bytes()
        size = len(content)
        table = int.from_bytes(content[96:104], "little")
        picture = content.index(b"\xff\xd8\xff")
        random_ones = [Damage.at_random(random, size) for _ in range(4)]
        self.assert_all_refused(content, ".h5", [
            flip(0), flip(17), flip(USER_BLOCK - 1, 7), flip(USER_BLOCK), flip(picture + 500), flip(size - table), flip(size - 1, 7),
            cut(USER_BLOCK - 1), cut(size - table), cut(size - 1), *random_ones])
        (self.folder / "data.h5").write_bytes(flip(picture + 500).of(content))
        for ranks in (1, 2):
            done = self.mpirun(ranks, *TRAIN, code=65)
            self.assert_one_error(done, r"data\.h5: block 1 \(\d+ bytes at offset \d+\) is damaged")

    def test_picture_that_cannot_be_decoded(self):
        """Packed without decoding, it ends the run when TensorBoard's sheet of eight images or its batch is prepared."""
        for name in ("train/a", "train/b", "test/a", "test/b"):
            (self.folder / "pets" / name).mkdir(parents=True)
            for i in range(12):
                pixels = numpy.random.default_rng(i).integers(0, 256, (32, 32, 3), dtype=numpy.uint8)
                Image.fromarray(pixels).save(self.folder / f"pets/{name}/{i}.jpg", quality=95)
        for run_id, name in (("sheet", "train/a/0.jpg"), ("batch", "train/b/7.jpg")):
            with self.subTest(run_id):
                whole = (self.folder / "pets" / name).read_bytes()
                # Restart markers where none belong.
                (self.folder / "pets" / name).write_bytes(whole[:-40] + b"\xff\xd3" * 5 + whole[-30:])
                pack = ["pack", "--input", "pets", "--size", "32", "--store", "encoded", "--keep-order", "--output", f"{run_id}.h5"]
                self.assertIn(name, self.tandem(*pack, code=65).stderr)
                self.tandem(*pack, "--check", "structure")
                self.tandem("verify", f"{run_id}.h5")
                done = self.mpirun(2, *TRAIN, "--data", f"{run_id}.h5", "--run-id", run_id, "--epochs", "1", code=65)
                (self.folder / "pets" / name).write_bytes(whole)
                words = rf"{run_id}\.h5: /train: picture \d+: is a damaged JPEG file"
                self.assertRegex(done.stderr, f"tandem: error: .*{words}")
                summary = json.loads((self.folder / "runs" / run_id / "summary.json").read_text())
                self.assertEqual(summary["exit_reason"], "failed")
                self.assertRegex(summary["error"], words)

    def test_checkpoint(self):
        self.tandem(*TRAIN, "--max-steps", "1")
        first = self.checkpoint(1).read_bytes()
        damages = damages_of_checkpoint(first)
        self.assert_all_refused(first, ".safetensors", damages)

        self.tandem(*TRAIN, "--max-steps", str(1 + len(damages)), "--epochs", "20", "--keep-checkpoints", "100")
        for number in range(len(damages)):
            path = self.checkpoint(2 + number)
            content = path.read_bytes()
            path.write_bytes(damages_of_checkpoint(content)[number].of(content))
        self.assertIn("step-", self.tandem("verify", "runs/a", code=65).stderr)
        done = self.tandem(*TRAIN, "--max-steps", "2", "--checkpoint-every", "0")
        self.assertIn("checkpoints were refused", done.stderr)
        for number in range(len(damages)):
            self.assertIn(f"step-{2 + number:08}.safetensors: ", done.stderr)

    def checkpoint(self, step):
        return self.folder / f"runs/a/checkpoints/step-{step:08}.safetensors"


if __name__ == "__main__":
    unittest.main(verbosity=2)
