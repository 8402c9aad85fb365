#!/usr/bin/env python3
"""Completion of command lines in zsh."""

import os
import unittest

from shell_completion import PROMPT, SHARE, ShellCompletion


class Zsh(ShellCompletion):
    def test_completes_a_line_that_is_typed(self):
        (self.folder / ".zshrc").write_text(f"PS1='{PROMPT}'\nfpath=({SHARE}/zsh/site-functions $fpath)\n"
                                            "autoload -Uz compinit && compinit -D -u\nunset zle_bracketed_paste\n")
        self.check_shell(["zsh", "-d", "-i"], {"ZDOTDIR": str(self.folder), "PATH": f"{self.folder}/bin:{os.environ['PATH']}"},
                         [("tandem train --device=cu", ["train", "--device=cuda"]), ("mpirun tandem train --data you", ["train", "--data", "your data.h5"])])


if __name__ == "__main__":
    unittest.main(verbosity=2)
