#!/usr/bin/env python3
"""`tandem demo`, and the message of ranks under the launcher of another MPI."""

import json
import os
import pathlib
import re
import shutil
import unittest

from tandem import DATA, PROGRAM, TandemTest


class Demo(TandemTest):
    def setUp(self):
        super().setUp()
        (self.folder / "first").mkdir()
        shutil.copy(DATA, self.folder / "first/synthetic.h5")  # smaller than the demo's own, which is then left as it is

    def test_trains_with_mpirun_and_ends_with_what_to_do_next(self):
        lines = self.tandem("demo", "--dir", "first", "--epochs", "2").stdout.splitlines()
        [run] = (self.folder / "first/runs").iterdir()
        summary = json.loads((run / "summary.json").read_text())
        self.assertEqual((summary["world_size"], summary["epochs"], summary["exit_reason"]), (2, 2, "completed"))
        self.assertRegex(run.name, r"^demo-\d{8}-\d{6}$")
        self.assertEqual(lines[-3:-1], [f"test accuracy {summary['test_accuracy']:.4f}", f"report: {run.resolve()}/report.html"])
        self.assertTrue((run / "report.html").exists())
        self.assertEqual(lines[-1], f"next: data/fetch_cifar10.sh && {PROGRAM} pack --input cifar-10-binary.tar.gz --output cifar10.h5")
        self.assertEqual((self.folder / "first/synthetic.h5").read_bytes(), pathlib.Path(DATA).read_bytes())

    def test_without_mpirun(self):
        done = self.tandem("demo", "--dir", "first", code=69, environment={"PATH": str(self.folder)})
        self.assert_one_error(done, "mpirun: cannot be started: No such file or directory; install an MPI")

    def test_an_empty_folder_is_refused(self):
        self.assert_one_error(self.tandem("demo", "--dir", "", code=2), "--dir is empty; leave it out, or give a value")

    def test_the_code_of_a_step_is_that_of_the_demo(self):
        (self.folder / "first/synthetic.h5").write_bytes(b"no data set")
        done = self.tandem("demo", "--dir", "first", code=65)
        self.assertNotIn("test accuracy", done.stdout)
        self.assertIn("this data set was there before; fix: rm first/synthetic.h5, and repeat the command\n", done.stderr)

    def test_a_folder_that_cannot_be_made_or_written_is_named_with_the_reason(self):
        (self.folder / "file").touch()
        self.assert_one_error(self.tandem("demo", "--dir", "file/demo", code=73), "file/demo: cannot be created: Not a directory; choose another folder with --dir")
        self.assert_one_error(self.tandem("demo", "--dir", "file", code=73), "file: cannot be created: (File exists|Not a directory)")
        self.assert_one_error(self.tandem("demo", "--dir", "/proc/absent/demo", code=73),
                              "/proc/absent/demo: cannot be created: No such file or directory")


class ForeignLauncher(TandemTest):
    """The environment of a rank that Hydra (MPICH, Intel MPI) starts. Open MPI's library does not read it."""

    HYDRA = {"PMI_RANK": "0", "PMI_SIZE": "3"}

    def test_is_refused_with_both_names(self):
        done = self.tandem("train", "--data", DATA, "--run-id", "a", code=69, environment=self.HYDRA)
        self.assert_one_error(done, rf"the launcher {re.escape(os.path.realpath('/proc/self/exe'))} started 3 ranks \(PMI_SIZE=3\)",
                              r"the MPI library of this program, Open MPI v\d\S+ \(/\S*libmpi\S*\), belongs to another launcher and does not connect the ranks",
                              r"start it with the launcher of that library: \S*mpirun -np 3 tandem …")
        self.assertFalse((self.folder / "runs").exists())

    def test_doctor_examines_it(self):
        done = self.tandem("doctor", code=78, environment=self.HYDRA)
        self.assertIn("E101 the launcher started 3 processes that are not in one MPI job", done.stdout)

    def test_one_rank_is_no_mistake(self):
        self.tandem("info", environment={**self.HYDRA, "PMI_SIZE": "1"})


if __name__ == "__main__":
    unittest.main(verbosity=2)
