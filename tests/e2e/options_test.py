#!/usr/bin/env python3
"""The command line: where values come from, and what is said when they are wrong, by one rank."""

import pathlib
import re
import shutil
import unittest

from rank_variable import FIND_RANK
from tandem import DATA, PROGRAM, QUICK, TandemTest

COMMANDS = ["pack", "verify", "train", "eval", "predict", "export", "inspect", "report", "runs", "info", "doctor", "emit"]


class Options(TandemTest):
    def origins(self, *arguments, ranks=1, environment={}):
        """{option: (value, origin)} as --print-config prints them."""
        done = self.mpirun(ranks, "train", *arguments, "--print-config", environment=environment)
        rows = (re.split(r"\s{2,}", line.strip()) for line in done.stdout.splitlines())
        return {row[0]: (row[1], row[2]) for row in rows if len(row) == 3}

    def test_libraries_of_the_working_folder_are_not_loaded(self):
        dynamic = self.run_command(["readelf", "-d", PROGRAM], 0, {}).stdout
        run_path = re.search(r"R(?:UN)?PATH.*\[(.*)\]", dynamic)[1].split(":")
        self.assertTrue(all(folder.startswith("/") or folder.startswith("$ORIGIN") for folder in run_path), run_path)

    def test_help_and_version_need_no_rank(self):
        overview = self.tandem("--help").stdout
        for command in COMMANDS:
            self.assertRegex(overview, rf"(?m)^  {command} ")
            self.assertIn(f"tandem {command}", self.tandem(command, "--help").stdout)
        self.assertRegex(self.tandem("--version").stdout,
                         r"^tandem \d+\.\d+\.\d+ .*libtorch \d.*, GPU libraries: built (without CUDA|CUDA .*; found CUDA )")
        self.assertEqual(self.tandem(code=2).stdout, overview)

    def test_help_is_printed_once_under_mpirun(self):
        self.assertEqual(self.mpirun(3, "train", "--help").stdout, self.tandem("train", "--help").stdout)

    def test_unknown_names_suggest_the_nearest(self):
        self.assert_one_error(self.tandem("trian", code=2), "trian.*did you mean train")
        for word, ours in (("plan", "train --plan"), ("completion", "emit bash-completion or emit zsh-completion"),
                           ("resume", "train --resume auto"), ("man", "emit man")):
            self.assert_one_error(self.tandem(word, code=2), f"'{word}' is not a command; use tandem {ours}\n")
        done = self.mpirun(2, "train", "--data", DATA, "--batchsize", "3", code=2)
        self.assert_one_error(done, "--batchsize.*did you mean --batch-size")
        done = self.mpirun(2, "train", "--data", DATA, "--model", "resnet8", code=2)
        self.assert_one_error(done, "--model.*resnet8.*did you mean resnet")

    def test_words_of_other_programs_lead_to_ours(self):
        for command, word, answer in (("train", "learning-rate", "; here it is --lr"), ("train", "amp", "; here it is --precision bf16"),
                                      ("train", "nproc_per_node", ": .*mpirun -np N"), ("train", "drop", r"; did you mean --drop-last\?"),
                                      ("train", "gpu-idx", "; here it is --gpu-ids"), ("eval", "no-cuda", "; here it is --device cpu"),
                                      ("emit", "gpus", r"; did you mean --gpus-per-node\?"),
                                      ("emit", "nproc_per_node", "; here it is --ranks-per-node"), ("emit", "host", "; here it is --hosts"),
                                      ("train", "host", ": MPI connects the ranks.*"), ("pack", "datapath", "; here it is --input"),
                                      ("train", "datapath", ": tandem pack makes one file.*"),
                                      # These have no such option.
                                      ("eval", "arch", ""), ("pack", "output-dir", ""), ("emit", "learning-rate", "")):
            with self.subTest(command=command, word=word):
                done = self.tandem(command, f"--{word}", "1", code=2)
                self.assert_one_error(done, rf"--{word.replace('_', '-')} is not an option{answer}\n")

    def test_every_option_that_is_recommended_exists(self):
        helps = "".join(self.tandem(command, "--help").stdout for command in COMMANDS)
        known = set(re.findall(r"(?m)^  --(?:\[no-\])?([a-z0-9-]+)", helps))
        known |= {f"no-{name}" for name in known}
        source = pathlib.Path(__file__).parents[2].joinpath("src/cli/other_trainers.cpp").read_text()
        table = source[source.index("kOtherNames"):source.index("kAnswers")]
        recommended = re.findall(r'", "([a-z0-9-]+)', table)
        self.assertGreater(len(recommended), 10)
        self.assertLessEqual(set(recommended), known)

    def test_looking_at_the_machine_without_a_pause_is_refused(self):
        done = self.tandem("train", "--data", DATA, "--system-interval", "0.001", code=2)
        self.assert_one_error(done, "--system-interval: 0.001 seconds.*give 0.01 or more")

    def test_an_option_without_its_value_says_which(self):
        self.assert_one_error(self.tandem("train", "--data", DATA, "--resume", code=2), r"--resume needs a value, MODE \(none; auto")

    def test_all_faults_are_named_at_once(self):
        done = self.mpirun(3, "train", "--model", "nothing", "--epochs", "-1", "--lr", "fast", "--batch-size", "0",
                           "--precision", "fp8", code=2)
        self.assert_one_error(done, "--data", "--model.*nothing", "--epochs.*-1", "--lr.*fast", "--batch-size.*'0'",
                              "--precision.*fp8")

    def test_unknown_names_and_wrong_values_are_named_together(self):
        (self.folder / "c.ini").write_text("modle = mlp\nlr = abc\n")
        done = self.mpirun(2, "train", "--data", DATA, "--config", "c.ini", "--epochs", "x", "--sede", "1", code=2)
        self.assert_one_error(done, "--sede is not an option; did you mean --seed", "c.ini: --modle is not an option",
                              r"--lr: .*\(from the config file\)", "--epochs: 'x'")

    def test_the_variable_that_is_wrong_is_named(self):
        done = self.tandem("train", *QUICK[:4], code=2, environment={"TANDEM_EPOCHS": "x"})
        self.assert_one_error(done, "--epochs: .*from the environment: TANDEM_EPOCHS")

    def test_both_batch_sizes_exclude_each_other(self):
        done = self.tandem("train", "--data", DATA, "--batch-size", "8", "--global-batch-size", "8", code=2)
        self.assert_one_error(done, "--batch-size", "--global-batch-size")

    def test_views_need_two_rows_and_columns(self):
        self.tandem("pack", "--input", "synthetic", "--images", "20", "--size", "1x8", "--store", "encoded", "--output", "thin.h5")
        done = self.tandem("train", "--data", "thin.h5", "--model", "mlp", "--tta", code=2)
        self.assert_one_error(done, "--tta shifts images by a pixel, and those of synthetic are 3x1x8; leave it out")

    def test_views_need_an_evaluation(self):
        done = self.tandem("train", "--data", DATA, "--tta", "--eval-every", "0", code=2)
        self.assert_one_error(done, "--tta and --eval-every 0 exclude each other")
        done = self.tandem("train", "--data", DATA, "--save-best", "--validation-split", "0.2", "--eval-every", "0", code=2)
        self.assert_one_error(done, "--save-best and --eval-every 0 exclude each other",
                              "--validation-split and --eval-every 0 exclude each other")
        words = self.tandem("train", "--data", DATA, "--recipe", "cifar10-fast", "--eval-every", "0", "--print-config").stdout
        self.assertRegex(words, r"(?m)^tta +true ")

    def test_of_two_batch_sizes_the_stronger_is_printed(self):
        (self.folder / "recipe.conf").write_text("global-batch-size = 128\n")
        for words, batch, global_batch in (([], "-", "128"), (["--batch-size", "16"], "16", "-")):
            origins = self.origins("--data", DATA, "--recipe", "recipe.conf", *words)
            self.assertEqual((origins["batch-size"][0], origins["global-batch-size"][0]), (batch, global_batch))

    def test_a_time_that_is_none_is_told_with_one_that_is(self):
        for text in ("1h", "00:00:00", "1:2:3:4", "1:60", ""):
            done = self.tandem("train", "--data", DATA, "--max-time", text, code=2)
            self.assert_one_error(done, "--max-time" if text == "" else
                                  f"--max-time: '{text}' is not HH:MM:SS, MM:SS or seconds, above 0; 1 hour is 01:00:00")

    def test_devices_that_exclude_each_other_are_named_together(self):
        for command in (["train"], ["eval", "--checkpoint", "a"]):
            done = self.mpirun(2, *command, "--data", DATA, "--device", "cpu", "--gpu-ids", "1,x", "--share-gpu", code=2)
            self.assert_one_error(done, "--gpu-ids: '1,x' is not a list of numbers from 0 to 1023, such as 1,6,3",
                                  "--share-gpu and --device cpu exclude each other")
        self.assert_one_error(self.tandem("train", "--data", DATA, "--init-timeout", "0", code=2), "--init-timeout: '0'")
        self.assert_one_error(self.tandem("eval", "--backend", "mpi", code=2), "--backend is not an option: only tandem train")

    def test_a_word_that_is_no_value_suggests_the_one_that_was_meant(self):
        for option, given, meant in (("device", "gpu", "cuda"), ("precision", "FP16", "fp16"), ("precision", "half", "fp16"),
                                     ("backend", "gloo", "mpi"), ("optimizer", "sdg", "sgd")):
            done = self.tandem("train", "--data", DATA, f"--{option}", given, code=2)
            self.assert_one_error(done, f"--{option}: '{given}' is not one of .*; did you mean {meant}")
        done = self.tandem("train", "--data", DATA, "--bucket-mb", "none", code=2)
        self.assert_one_error(done, r"--bucket-mb: 'none' is not a number from 0 to 4096 \(0: one bucket\), nor auto")

    def test_precedence_is_command_line_environment_file_recipe_default(self):
        (self.folder / "my.conf").write_text("lr = 0.4\nmomentum = 0.4\nepochs = 4\n")
        (self.folder / "recipe.conf").write_text("lr = 0.3\nmomentum = 0.3\nepochs = 3\nweight-decay = 0.3\n")
        origins = self.origins("--data", DATA, "--recipe", "recipe.conf", "--config", "my.conf", "--lr", "0.6", ranks=2,
                               environment={"TANDEM_LR": "0.5", "TANDEM_MOMENTUM": "0.5"})
        self.assertEqual(origins["lr"], ("0.6", "command line"))
        self.assertEqual(origins["momentum"], ("0.5", "environment"))
        self.assertEqual(origins["epochs"], ("4", "config file"))
        self.assertEqual(origins["weight-decay"], ("0.3", "recipe"))
        self.assertEqual(origins["seed"], ("1", "default"))

    def test_environment_of_rank_0_holds_for_all(self):
        script = FIND_RANK + 'if [ "$rank" = 0 ]; then export TANDEM_SEED=7; else export TANDEM_SEED=8; fi; exec "$@"'
        done = self.mpirun_in_shell(2, script, "train", "--data", DATA, "--print-config")
        self.assertRegex(done.stdout, r"(?m)^seed +7 +environment")

    def test_a_missing_value_is_one_fault(self):
        done = self.mpirun(2, "train", "--data", "--model", "mlp", code=2)
        self.assert_one_error(done, "--data needs a value, FILE.h5 .*; found --model in its place")
        self.assertNotIn("--data is missing", done.stderr)

    def test_a_program_without_its_recipes_says_so(self):
        alone = self.folder / "bin/tandem"
        alone.parent.mkdir()
        shutil.copy(PROGRAM, alone)
        done = self.run_command([alone, "train", "--data", DATA, "--recipe", "mnist-lenet"], 2, {})
        self.assert_one_error(done, "mnist-lenet' is not a file, and .*/share/tandem/recipes holds no recipes")

    def test_shipped_recipes_are_found_by_name(self):
        for recipe, model in (("mnist-lenet", "lenet"), ("cifar10-simple", "simple"), ("cifar10-fast", "fastnet"), ("cifar10-resnet18", "resnet18"),
                              ("cifar10-large-batch", "fastnet"), ("imagenet-resnet50", "resnet50"), ("pictures-finetune", "resnet18")):
            self.assertEqual(self.origins("--data", DATA, "--recipe", recipe)["model"], (model, "recipe"))
        done = self.tandem("train", "--data", DATA, "--recipe", "cifar10-simpel", code=2)
        self.assert_one_error(done, "--recipe.*cifar10-simpel", "cifar10-simple")

    def test_file_with_an_unknown_name_is_refused(self):
        (self.folder / "my.conf").write_text("lr = 0.4\nmomentun = 0.4\n")
        done = self.mpirun(2, "train", "--data", DATA, "--config", "my.conf", code=2)
        self.assert_one_error(done, "my.conf", "momentun", "momentum")
        self.assert_one_error(self.tandem("train", "--data", DATA, "--config", "absent.conf", code=66), "absent.conf")

    def test_booleans_have_a_no_form(self):
        self.assertEqual(self.origins(*QUICK, "--nesterov", "--no-progress")["nesterov"], ("true", "command line"))
        self.assertEqual(self.origins(*QUICK, "--nesterov", "--no-nesterov")["nesterov"], ("false", "command line"))

    def test_control_characters_are_escaped(self):
        done = self.tandem("train", "--data", "\x1b[2Jx", "--model", "\x1b]0;title\x07", code=2)
        self.assertNotIn("\x1b", done.stderr)
        self.assertNotIn("\x07", done.stderr)
        done = self.mpirun(2, *["train", "--data", "\x1b[2Jx.h5"], code=66)
        self.assertNotIn("\x1b", done.stderr)
        self.assert_one_error(done, r"\\x1b\[2Jx\.h5")

    def test_info_lists_every_rank(self):
        shown = self.mpirun(3, "info").stdout
        for word in ("libtorch", "Open MPI", "hdf5"):
            self.assertEqual(shown.count(word), 1, shown)
        for rank in range(3):
            self.assertRegex(shown, rf"(?m)^{rank} ")


if __name__ == "__main__":
    unittest.main(verbosity=2)
