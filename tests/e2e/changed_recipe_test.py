#!/usr/bin/env python3
"""Another version of tandem has changed a shipped recipe. A run that began with the recipe resumes with its own values, and opens
its device with them."""

import json
import pathlib
import shutil
import unittest

from gpus import PROGRAM_FOR_GPUS, gpus
from tandem import MPIRUN, QUICK, TandemTest

NO_GPUS = {"CUDA_VISIBLE_DEVICES": ""}


class ChangedRecipe(TandemTest):
    def setUp(self):
        """A copy of the program, with a recipe of its own."""
        super().setUp()
        self.program = self.folder / "own/bin/tandem"
        self.recipe = self.folder / "own/share/tandem/recipes/changing.conf"
        for path in (self.program, self.recipe):
            path.parent.mkdir(parents=True)
        shutil.copy(PROGRAM_FOR_GPUS, self.program)
        (self.folder / "own/lib").symlink_to(pathlib.Path(PROGRAM_FOR_GPUS).parents[1] / "lib")

    def run_to(self, steps, run_id, recipe, launcher=(), code=0, environment=NO_GPUS, more=()):
        self.recipe.write_text(recipe)
        return self.run_command([*launcher, self.program, "train", *QUICK, "--max-steps", steps, "--recipe", "changing",
                                 "--run-id", run_id, "--resume", "auto", *more], code, environment)

    def digest(self, run_id):
        return json.loads((self.folder / "runs" / run_id / "summary.json").read_text())["weights_sha256"]

    def test_a_device_has_the_precision_of_the_run(self):
        """CPUs refuse fp16."""
        self.run_to(4, "whole", "precision = bf16\n")
        self.run_to(2, "parts", "precision = bf16\n")
        done = self.run_to(4, "parts", "precision = fp16\n")
        self.assertIn("the run keeps its --precision bf16; --recipe changing has other values\n", done.stdout)
        self.assertEqual(self.digest("parts"), self.digest("whole"))

    def test_a_run_keeps_its_global_batch(self):
        words = [word for word in QUICK if word not in ("--global-batch-size", "64")]
        for steps, batch in ((2, 32), (4, 16)):
            self.recipe.write_text(f"batch-size = {batch}\n")
            done = self.run_command([self.program, "train", *words, "--max-steps", steps, "--recipe", "changing", "--run-id", "a",
                                     "--resume", "auto"], 0, NO_GPUS)
        self.assertIn("the run keeps its global batch of 32; 16 images per rank would make 16\n", done.stdout)

    def test_quiet_runs_print_only_what_was_asked(self):
        self.run_to(2, "a", "weight-decay = 0.01\n")
        done = self.run_to(4, "a", "weight-decay = 0.02\n", more=["--quiet", "--json"])
        self.assertEqual(json.loads(done.stdout)["steps"], 4)

    def test_virtual_ranks_stay_on_cpus(self):
        """libtorch cannot use these GPUs, and a run that tries to use them prints a warning."""
        self.run_to(2, "a", "virtual-ranks = 2\n")
        done = self.run_to(4, "a", "virtual-ranks = 0\n", environment=gpus(2))
        self.assertIn("the run keeps its --virtual-ranks 2; ", done.stdout)
        self.assertNotIn("--device auto", done.stderr)
        done = self.run_to(2, "new", "virtual-ranks = 0\n", environment=gpus(2))
        self.assertIn("--device auto takes the CPU on all ranks: ", done.stderr)

    def test_values_that_exclude_each_other_are_refused_once(self):
        self.run_to(2, "a", "virtual-ranks = 2\n")
        done = self.run_to(4, "a", "virtual-ranks = 0\naccumulate = 2\n", [*MPIRUN, "-n", 2], code=2)
        self.assertEqual(done.stdout, "the run keeps its --virtual-ranks 2; --recipe changing has other values\n")
        self.assertEqual(done.stderr.count("--virtual-ranks and --accumulate exclude each other"), 1, done.stderr)
        self.assertNotIn("MPI_ABORT", done.stderr)


if __name__ == "__main__":
    unittest.main(verbosity=2)
