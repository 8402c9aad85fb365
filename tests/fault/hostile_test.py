#!/usr/bin/env python3
"""No packed file, sealed or not, ends the program by a signal; `make -f Makefile.hpc soak SOAK="--only hostile"` tries a thousand."""

import random
import unittest

from hostile_files import HostileFiles
from packed_files import BASES, h5py, sealed, write_base
from tandem import TandemTest


class Hostile(TandemTest):
    def test_mutated_files_are_refused_or_read(self):
        seed = random.randrange(1_000_000)
        with self.subTest(seed=seed):
            choices = random.Random(seed)
            files = HostileFiles(self.folder)
            for _ in range(10):
                files.check(choices, self.folder / "hostile.h5")

    def test_every_form_of_index_is_read(self):
        for name in BASES:
            with self.subTest(name):
                path = self.folder / f"{name}.h5"
                path.write_bytes(sealed(bytes(write_base(path, **BASES[name]))))
                self.assertIn("20 train and 20 test images", self.tandem("verify", path).stdout)

    def write(self, change):
        path = self.folder / "stranger.h5"
        path.write_bytes(sealed(bytes(write_base(path, **BASES["btree1"], change=change))))
        return path

    def test_a_chunk_too_short_for_its_checksum_is_refused(self):
        """HDF5 subtracts 4 from the chunk's length without a check and sums what follows (SIGSEGV)."""
        for kind, origin in (("images", (0, 0, 0, 0)), ("labels", (0,))):
            path = self.write(lambda file: file[f"train/{kind}"].id.write_direct_chunk(origin, b"\0\0", 0))
            train = ["train", "--data", path, "--model", "mlp", "--max-steps", "1", "--run-id", kind, "--quiet"]
            for command in (["verify", path], ["inspect", path], train):
                self.assert_one_error(self.tandem(*command, code=65), f"/train/{kind} has a chunk .number 0. of 2 bytes")
            self.assertIn("cannot hold", self.tandem("doctor", "--data", path, code=78).stdout)

    def test_chunks_that_share_bytes_are_refused(self):
        path = self.write(None)
        content = bytearray(path.read_bytes()[512:])
        with h5py.File(path, "r") as file:
            first, second = (file["train/images"].id.get_chunk_info(i).byte_offset for i in range(2))
        at = content.find(second.to_bytes(8, "little"))
        content[at:at + 8] = first.to_bytes(8, "little")
        path.write_bytes(sealed(bytes(content)))
        self.assert_one_error(self.tandem("verify", path, code=65), "two chunks share the bytes at offset")


if __name__ == "__main__":
    unittest.main()
