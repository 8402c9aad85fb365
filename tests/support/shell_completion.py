"""Completion as a person at a shell has it: words are typed on a terminal, and what the shell makes of them is seen by a
program that takes the place of tandem, but for the question what a word may be."""

import pathlib

from screen import OnTerminal, Transcript
from tandem import PROGRAM, TandemTest

SHARE = pathlib.Path(PROGRAM).parents[1] / "share"
PROMPT = "ready> "

# What is typed before the tab, and the words that are run.
TYPED = [("tandem tra", ["train"]), ("tandem train --optimizer a", ["train", "--optimizer", "adamw"]),
         ("tandem train --recipe mni", ["train", "--recipe", "mnist-lenet"]), ("tandem train --no-save", ["train", "--no-save-best"]),
         ("tandem verify you", ["verify", "your data.h5"]),
         ("tandem emit bash", ["emit", "bash-completion"]), ("tandem emit sbatch --gp", ["emit", "sbatch", "--gpus-per-node"]),
         ("tandem emit sbatch -- --save-b", ["emit", "sbatch", "--", "--save-best"])]


class ShellCompletion(TandemTest):
    def check_shell(self, command, environment, more=[]):
        (self.folder / "bin").mkdir()
        stand_in = self.folder / "bin/tandem"
        stand_in.write_text(f'#!/bin/sh\n[ "$1" != __complete ] || exec "{PROGRAM}" "$@"\n'
                            'printf "%s|" "$@" > words.new && mv words.new words\n')
        stand_in.chmod(0o755)
        launcher = self.folder / "bin/mpirun"
        launcher.write_text('#!/bin/sh\nexec "$@"\n')
        launcher.chmod(0o755)
        (self.folder / "your data.h5").touch()
        (self.folder / "my runs").mkdir()
        shell = OnTerminal(command, 200, self.folder, {"TERM": "vt100", "PS1": PROMPT, **environment}, screen=Transcript())
        self.addCleanup(shell.close)
        for typed, expected in TYPED + more:
            with self.subTest(typed=typed):
                shell.read_until(lambda screen: PROMPT in screen.text, 20)
                shell.screen.text = ""
                shell.type(typed.encode() + b"\t\r")
                shell.read_until(lambda _: (self.folder / "words").exists(), 20)
                words = (self.folder / "words").read_text().split("|")[:-1]
                (self.folder / "words").unlink()
                self.assertEqual(words, expected)
