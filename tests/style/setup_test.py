#!/usr/bin/env python3
"""`make demo` and the texts of Makefile.hpc about packages and tests that were not run, in a folder whose PATH begins with
stand-ins of apt-get, cmake, ctest and others: nothing is installed, compiled or trained."""

import os
import pathlib
import pty
import shutil
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).parents[2]

# Each writes its name and arguments into the log `calls`.
STAND_INS = {
    "dpkg-query": 'grep -qx "${@: -1}" installed && printf installed',
    "sudo": 'exec "$@"',
    "id": "echo ${FAKE_USER:-0}",
    "nproc": "echo 2",
    "apt-get": r"""
case "$*" in
  *--print-uris*)
    [ ! -e no-lists ] || { echo "E: Unable to locate package" >&2; exit 100; }
    echo "0 upgraded, 441 newly installed, 0 to remove and 127 not upgraded."
    echo "Need to get 1,024 B/387 MB of archives."
    echo "After this operation, 1738 MB of additional disk space will be used." ;;
  *update) rm -f no-lists ;;
  *install*)
    echo "Selecting previously unselected package g++." >&2
    echo "dlstatus:1:12.5:Retrieving file 54 of 441" >&3
    sleep ${FAKE_SLEEP:-0}
    echo "pmstatus:libtorch-dev:61.25:Unpacking libtorch-dev (amd64)" >&3
    [ ! -e broken ] || { echo "E: Failed to fetch libtorch-dev  404  Not Found" >&2; exit 100; }
    sort -u - installed <<< "$(tr ' ' '\n' <<< "$*")" > all; mv all installed ;;
esac""",
    "c++": "echo 'c++ 12.2.0'",
    "ninja": "echo 1.11",
    "cmake": r"""
[ "$1" != --version ] || { echo "cmake version ${FAKE_CMAKE:-3.25.1}"; exit; }
[ "$1" != --preset ] || exit ${FAKE_MISSING:-0}
if [ "$1" = --build ]; then mkdir -p build/bin; cp "$(dirname "$0")/tandem" build/bin/tandem; fi
printf 'e2e gpu\te2e.gpu: needs a GPU\nslurm \tjobs: needs Slurm (slurm-deps)\n' > build/tests_not_run.txt""",
    "ctest": "echo '100% tests passed'",
    "tandem": "echo 'test accuracy 0.9317'",
}


class Setup(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="tandem-setup-"))
        self.addCleanup(shutil.rmtree, self.folder)
        (self.folder / ".ci").mkdir()
        shutil.copy(ROOT / ".ci/setup.sh", self.folder / ".ci")
        shutil.copy(ROOT / "Makefile.hpc", self.folder)
        (self.folder / "installed").write_text("g++\n")
        (self.folder / "build").mkdir()
        stand_ins = self.folder / "stand-ins"
        stand_ins.mkdir()
        for name, body in STAND_INS.items():
            path = stand_ins / name
            path.write_text(f'#!/bin/bash\necho "{name} $*" >> calls\n{body}\n')
            path.chmod(0o755)
        self.environment = {"PATH": f"{stand_ins}:/usr/bin:/bin", "HOME": str(self.folder)}

    def command(self, *words):
        return ["make", "-f", "Makefile.hpc", *words]

    def make(self, *words, expect=0, **environment):
        done = subprocess.run(self.command(*words), cwd=self.folder, env={**self.environment, **environment},
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.assertEqual(done.returncode, expect, done.stdout + done.stderr)
        return done

    def calls(self, name):
        return [line for line in (self.folder / "calls").read_text().splitlines() if line.startswith(name + " ")]

    def test_demo_announces_its_cost_before_it_installs_and_runs_the_program(self):
        lines = self.make("demo").stdout.splitlines()
        self.assertEqual(lines[:4], [
            "demo: installs packages, compiles tandem, trains with 2 ranks and evaluates",
            "  packages  441 packages: 387 MB to download, 1738 MB on disk, about 5 minutes; as root or by sudo",
            "  program   500 MB in build/, about 5 minutes on 2 cores",
            "  demo      100 MB in build/demo/, about 1 minute"])
        self.assertEqual(lines[-1], "test accuracy 0.9317")  # tests/e2e/demo_test.py has the rest
        self.assertEqual(self.calls("tandem"), ["tandem demo --dir build/demo"])
        # The tests are not built.
        self.assertEqual([call.split("--target ")[1] for call in self.calls("cmake") if "--build" in call], ["tandem"])
        # A second time nothing is installed.
        lines = self.make("demo").stdout.splitlines()
        self.assertEqual(lines[1:3], ["  packages  all are installed", "  program   is in build/; only changes are compiled"])
        self.assertEqual(len([call for call in self.calls("apt-get") if " -y " in call and "uris" not in call]), 1)

    def test_without_package_lists_the_measured_cost_is_said_and_then_that_of_apt(self):
        (self.folder / "no-lists").touch()
        words = self.make("demo", FAKE_USER="1000").stdout
        self.assertIn("  packages  about 440 packages: 390 MB to download, 1740 MB on disk, about 5 minutes", words)
        self.assertIn("deps: 441 packages: 387 MB to download, 1738 MB on disk\n", words)
        self.assertEqual([call.split()[1] for call in self.calls("sudo")], ["apt-get", "env"])

    def test_progress_is_a_line_in_a_log_and_redrawn_on_a_terminal(self):
        words = self.make("deps")
        self.assertIn("deps: download 12 %  Retrieving file 54 of 441\n", words.stdout)
        self.assertNotIn("Selecting", words.stdout + words.stderr)

        (self.folder / "installed").write_text("")
        host, terminal = pty.openpty()
        process = subprocess.Popen(self.command("deps"), cwd=self.folder, env={**self.environment, "FAKE_SLEEP": "1.1"},
                                   stdin=terminal, stdout=terminal, stderr=terminal)
        os.close(terminal)
        drawn = b""
        try:
            while part := os.read(host, 4096):
                drawn += part
        except OSError:  # the end of a pseudo terminal
            pass
        os.close(host)
        self.assertEqual(process.wait(), 0, drawn)
        self.assertIn(b"\r\x1b[Kdeps: download 12 %  Retrieving file 54 of 441"
                      b"\r\x1b[Kdeps: installation 61 %  Unpacking libtorch-dev (amd64)\r\x1b[Kdeps: installed\r\n", drawn)

    def test_failure_of_apt_shows_its_words_and_stops(self):
        (self.folder / "broken").touch()
        done = self.make("demo", expect=2)
        self.assertIn("E: Failed to fetch libtorch-dev  404  Not Found\n", done.stderr)
        self.assertIn("deps: apt-get failed", done.stderr)
        self.assertEqual(self.calls("cmake"), [])

    def on_another_system(self, *hidden):
        """No dpkg-query, and nothing called as `hidden`."""
        tools = self.folder / "tools"
        tools.mkdir()
        for path in pathlib.Path("/usr/bin").iterdir():
            if path.name not in ("dpkg-query", "apt-get", *hidden):
                (tools / path.name).symlink_to(path)
        for name in ("dpkg-query", *hidden):
            (self.folder / "stand-ins" / name).unlink(missing_ok=True)
        self.environment["PATH"] = f"{self.folder}/stand-ins:{tools}"

    def test_another_system_lists_all_missing_programs(self):
        self.on_another_system("c++", "ninja")
        done = self.make("deps", expect=2, FAKE_CMAKE="3.18.4")
        self.assertIn("deps: this is not Debian, and these are missing:\n  a C++17 compiler as c++: GCC 11 or later, or Clang\n"
                      "  CMake 3.22 or later (found 3.18.4); pip install cmake is one way\n  ninja; pip install ninja is one way\n",
                      done.stderr)
        self.assertEqual([call for call in self.calls("cmake") if "--preset" in call], [])

    def test_another_system_is_configured_to_list_missing_libraries(self):
        self.on_another_system()
        self.make("deps")
        self.assertEqual([call.split()[1:3] for call in self.calls("cmake") if "--preset" in call], [["--preset", "release"]])
        self.assertFalse((self.folder / "calls").read_text().count("apt-get"))
        self.assertIn("Error 5", self.make("program", expect=2, FAKE_MISSING="5").stderr)

    def test_cmake_names_all_missing_libraries_at_once(self):
        """The project's own configuration, without libraries that are hidden from it."""
        done = subprocess.run(["cmake", "-S", ROOT, "-B", self.folder / "configured", "-DTANDEM_TORCH=OFF", "-DTANDEM_TESTS=OFF",
                               *[f"-DCMAKE_DISABLE_FIND_PACKAGE_{name}=ON" for name in ("PNG", "HDF5", "MPI", "JPEG")]],
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.assertEqual(done.returncode, 1, done.stdout + done.stderr)
        self.assertIn("missing, with their headers:\n\n    libpng 1.6 or later\n    libjpeg\n    HDF5 1.10.3 or later\n    MPI (Open MPI, MPICH",
                      done.stderr)

    def test_notes_on_tests_not_run_are_of_the_labels_asked_for(self):
        self.assertNotIn("not run:", self.make("test", "LABELS=unit|mpi").stdout)
        self.assertIn("not run: e2e.gpu: needs a GPU\n", self.make("test", "LABELS=gpu", TANDEM_CI="1").stdout)
        done = self.make("test", TANDEM_CI="1", expect=2)
        self.assertIn("not run: jobs: needs Slurm (slurm-deps)\n", done.stdout)


if __name__ == "__main__":
    sys.exit(unittest.main())
