#!/usr/bin/env python3
"""What the program tells of itself: --help, the manual page, and completion in bash and zsh, all from one table of options."""

import os
import pathlib
import re
import unittest

from PIL import Image
from shell_completion import PROMPT, SHARE, ShellCompletion
from tandem import DATA, PROGRAM, whole

ROOT = pathlib.Path(__file__).resolve().parents[2]


class Help(ShellCompletion):
    @classmethod
    def setUpClass(cls):
        cls.helps = {}

    def commands(self):
        return re.findall(r"(?m)^  ([a-z]+) +\S", self.tandem("--help").stdout.split("commands:\n")[1])

    def help_of(self, command):
        if command not in self.helps:
            self.helps[command] = self.tandem(command, "--help").stdout
        return self.helps[command]

    def spellings_of(self, command):
        found = {"--help"}
        for name in self.names_of(command):
            plain = name.replace("[no-]", "")
            found |= {f"--{plain}", f"--no-{plain}"} if plain != name else {f"--{plain}"}
        return found

    def names_of(self, command):
        """As --help shows them: data, [no-]quiet."""
        return re.findall(r"(?m)^  --(\S+)", self.help_of(command).split("\nall options, each in its group:\n")[-1])

    def test_help_fits_100_columns_is_grouped_and_ends_with_an_example(self):
        for words in [self.tandem("--help").stdout, *map(self.help_of, self.commands())]:
            self.assertLessEqual(max(map(len, words.splitlines())), 100, words)
        for command in self.commands():
            with self.subTest(command=command):
                words = self.help_of(command)
                self.assertRegex(words, rf"^usage: tandem {command} ")
                before, example = words.split("\nexample:\n")
                self.assertRegex(example, rf"tandem {command}\b")
                self.assertEqual(len(example.splitlines()), 1)
                # Each option stands below the heading of its group.
                self.assertRegex(before, r"(?m)\n\n[a-z][a-z ]+:\n  --")

    def test_the_short_spelling_is_understood_everywhere(self):
        for words in ([], ["predict"], ["emit"]):
            self.assertEqual(self.tandem(*words, "-h").stdout, self.tandem(*words, "--help").stdout)

    def test_help_of_a_command_is_that_of_its_option(self):
        self.assertEqual(self.tandem("help").stdout, self.tandem("--help").stdout)
        for words in (["help", "train"], ["--help", "train"], ["-h", "train"]):
            self.assertEqual(self.tandem(*words).stdout, self.help_of("train"))
        self.assertEqual(self.tandem("help", "bench", "step").stdout, self.help_of("bench"))
        self.assertRegex(self.help_of("train"), r"\nthe 6 options you need:\n  --data FILE.h5 +packed")
        for words, said in ((["help", "trian"], "did you mean train?"), (["help", "train", "x"], "'x' was not expected after tandem help train"),
                            (["--version", "x"], "'x' was not expected after tandem --version"), (["--vers"], "did you mean --version?")):
            self.assert_one_error(self.tandem(*words, code=2), re.escape(said))

    def test_a_mistyped_variable_is_named(self):
        done = self.tandem("runs", "--json", "--runs-dir", str(self.folder), environment={"TANDEM_RUN_DIR": "x"})
        self.assertEqual(done.stderr, "tandem: warning: environment: TANDEM_RUN_DIR belongs to no option; did you mean TANDEM_RUNS_DIR?\n")

    @whole
    def test_examples_run_as_pasted(self):
        """One after the other, in an empty folder with two pictures of the reader's own."""
        (self.folder / "photos").mkdir()
        for path in ("photos/dog.png", "cat.jpg"):
            Image.new("RGB", (40, 30), (200, 100, 0)).save(self.folder / path)
        programs = self.folder / "bin"
        programs.mkdir()
        (programs / "tandem").symlink_to(PROGRAM)
        for command in self.commands():
            line = self.help_of(command).split("\nexample:\n")[1].strip()
            with self.subTest(line=line):
                done = self.run_command(["bash", "-euo", "pipefail", "-c", f'PATH="{programs}:$PATH"\n{line}'], 0, {})
                self.assertNotIn("tandem: error", done.stderr)
        for left in ("synthetic.h5", "runs/demo/summary.json", "net.pth", "demo.html", "job.sbatch"):
            self.assertTrue((self.folder / left).exists(), left)

    def test_misspelt_names_suggest_the_nearest(self):
        for words, suggestion in ((["trian"], "train"), (["--hepl"], "--help"), (["emit", "sbacth"], "sbatch"), (["runs", "--sort", "runn"], "run"), (["runs", "--sort", "accuracy"], "test_accuracy"),
                                  (["train", "--data", DATA, "--modle", "mlp"], "--model"),
                                  (["train", "--data", DATA, "--model", "elnet"], "lenet"),
                                  (["train", "--data", DATA, "--recipe", "minst-lenet"], "mnist-lenet"),
                                  (["train", "--data", DATA, "--optimizer", "admaw"], "adamw"),
                                  (["train", "--data", DATA, "--schedule", "cosin"], "cosine"),
                                  (["pack", "--input", "x", "--output", "y", "--format", "cifra10"], "cifar10")):
            with self.subTest(words=words):
                self.assert_one_error(self.tandem(*words, code=2), rf"did you mean {suggestion}\?")

    def test_the_manual_page_holds_every_option_and_exit_code(self):
        page = self.tandem("emit", "man").stdout
        self.assertEqual(page, (SHARE / "man/man1/tandem.1").read_text())
        plain = page.replace("\\-", "-")
        for command in self.commands():
            part = plain.split(f'.SS "tandem {command} ')[1].split("\n.SS ")[0]
            self.assertEqual(re.findall(r"(?m)^\\fB--(\S+)\\fR", part), self.names_of(command), command)
        documented = set(re.findall(r"(?m)^\| (\d+) \|", (ROOT / "docs/reference.md").read_text())) - {"205"}  # mpirun's own
        self.assertEqual(set(re.findall(r"(?m)^\\fB(\d+)\\fR$", page)), documented)

    def test_forms_that_tell_of_the_program_take_no_options(self):
        for words in (["man", "--nodes", "2"], ["bash-completion", "--", "--epochs", "3"]):
            self.assert_one_error(self.tandem("emit", *words, code=2), f"{words[0]} takes no options")

    def offered_by_bash(self, *words, function="_tandem"):
        """What the function offers for the last of these words."""
        script = (f'source "$1"; shift; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); {function}; '
                  'printf "%s\\n" "${COMPREPLY[@]}"')
        path = f"{pathlib.Path(PROGRAM).parent}:{os.environ['PATH']}"
        return self.run_command(["bash", "-uc", script, "bash", SHARE / "bash-completion/completions/tandem",
                                 *(["tandem"] if function == "_tandem" else []), *words], 0, {"PATH": path}).stdout.split()

    def test_bash_offers_what_the_table_holds(self):
        self.assertEqual(set(self.offered_by_bash("")), {*self.commands(), "--help", "--version"})
        for command in self.commands():
            self.assertEqual(set(self.offered_by_bash(command, "--")), self.spellings_of(command), command)
        (self.folder / "my data.h5").touch()
        (self.folder / "runs").mkdir()
        for name in ("log.txt", "own.conf", "net.pt"):
            (self.folder / name).touch()
        recipes = [path.stem for path in SHARE.glob("tandem/recipes/*.conf")]
        for words, offered in ((["tr"], ["train"]), (["train", "--model", "res"], ["resnet9", "resnet18", "resnet34", "resnet50"]),
                               (["train", "--model", "=", "le"], ["lenet"]), (["train", "--device", "="], ["auto", "cpu", "cuda"]),
                               (["train", "--epochs", ""], []), (["train", "--recipe", ""], recipes), (["train", "--recipe", "own"], ["own.conf"]),
                               (["train", "--data", ""], ["my", "data.h5", "runs"]), (["report", ""], ["runs"]),
                               (["train", "--model", "n"], ["net.pt"]), (["train", "--runs-dir", ""], ["runs"]), (["verify", "my"], ["my", "data.h5"]),
                               (["emit", "ma"], ["man"]), (["emit", "sbatch", "--", "--recipe", "mn"], ["mnist-lenet"]),
                               (["emit", "sbatch", "--", "--save-b"], ["--save-best"]), (["emit", "sbatch", "--gp"], ["--gpus-per-node"])):
            with self.subTest(words=words):
                self.assertEqual(sorted(self.offered_by_bash(*words)), sorted(offered))

    def test_bash_completes_after_a_launcher(self):
        (self.folder / "hosts").touch()
        for words, offered in ((["mpirun", "-np", "2", "tandem", "tr"], ["train"]),
                               (["mpirun", "-np", "2", PROGRAM, "train", "--optimizer", "a"], ["adamw"]),
                               (["mpiexec", "--hostfile", "ho"], [])):  # left to readline
            self.assertEqual(self.offered_by_bash(*words, function="_tandem_launched"), offered)

    def test_bash_completes_a_line_that_is_typed(self):
        (self.folder / "rc").write_text(f"PS1='{PROMPT}'\nbind 'set enable-bracketed-paste off'\nPATH=\"$PWD/bin:$PATH\"\n"
                                        f"source {SHARE}/bash-completion/completions/tandem\n")
        self.check_shell(["bash", "--noprofile", "--rcfile", "rc", "-i"], {}, [("tandem train --device=cu", ["train", "--device=cuda"]), ("tandem train --runs-dir my", ["train", "--runs-dir", "my runs/"]),
                                                                                     ("mpirun tandem train --data you", ["train", "--data", "your data.h5"])])


if __name__ == "__main__":
    unittest.main(verbosity=2)
