#!/usr/bin/env python3
"""The manual page, as mandoc reads it."""

import re
import unittest

from tandem import TandemTest


class Manual(TandemTest):
    def test_is_well_formed_and_shows_what_it_should(self):
        (self.folder / "tandem.1").write_text(self.tandem("emit", "man").stdout)
        done = self.run_command(["mandoc", "-T", "lint", "-W", "warning", "tandem.1"], 0, {})
        self.assertEqual(done.stdout + done.stderr, "")
        self.assertNotIn("\\[u", (self.folder / "tandem.1").read_text(), "a character that a terminal without UTF-8 lacks")
        shown = re.sub(".\x08", "", self.run_command(["mandoc", "-T", "utf8", "-O", "width=100", "tandem.1"], 0, {}).stdout)
        for words in ("tandem pack --input synthetic --output synthetic.h5", "--[no-]quiet", "such as mnist-lenet or cifar10-simple"):
            self.assertIn(words, shown)


if __name__ == "__main__":
    unittest.main(verbosity=2)
