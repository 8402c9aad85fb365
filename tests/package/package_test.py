#!/usr/bin/env python3
"""The Debian package, in a fresh Debian without the source tree, and what containers are made of: the RUN steps of the
Dockerfile's variant `cpu` and %post of apptainer.def, in that same Debian, which stands for their base image.

    package_test.py PACKAGE.deb

As root, with a network: Debian's packages are fetched."""

import getpass
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

from chroot import Chroot
from dockerfile import ROOT, Dockerfile, substitute

PACKAGE = pathlib.Path(sys.argv.pop(1)).resolve()
DOCKERFILE = Dockerfile()
APPTAINER = (ROOT / "jobs/apptainer.def").read_text()
MPIRUN = "mpirun --oversubscribe --bind-to none -np 2 "


def words_of(*command):
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout


class Contents(unittest.TestCase):
    def test_program_recipes_and_documentation_but_no_tests(self):
        files = re.findall(r"^-.* \./(\S+)$", words_of("dpkg-deb", "--contents", PACKAGE), re.MULTILINE)
        for wanted in ("usr/bin/tandem", "usr/share/tandem/recipes/cifar10-simple.conf", "usr/share/doc/tandem/docs/reference.md",
                       "usr/share/tandem/jobs/ssh-into-container.sh", "usr/share/tandem/data/fetch_cifar10.sh",
                       "usr/share/tandem/python/tandem_models.py", "usr/share/man/man1/tandem.1",
                       "usr/share/bash-completion/completions/tandem", "usr/share/zsh/vendor-completions/_tandem"):
            self.assertIn(wanted, files)
        self.assertEqual([name for name in files if re.search(r"test|\.hpp$|\.a$", name)], [])
        self.assertLess(PACKAGE.stat().st_size, 10e6)

    def test_names_its_maintainer_and_what_it_needs(self):
        fields = dict(re.findall(r"^ ?(\w[\w-]*): (.*)$", words_of("dpkg-deb", "--info", PACKAGE), re.MULTILINE))
        self.assertEqual(fields["Maintainer"], "tandem maintainers <tandem@tandem.invalid>")
        for needed in ("openmpi-bin", "libtorch", "libhdf5", "libarchive13", "libjpeg62-turbo", "libopenmpi", "libpng16"):
            self.assertIn(needed, fields["Depends"])


class Containers(unittest.TestCase):
    def test_every_variant_has_its_stages_files_and_packages(self):
        for variant in ("cpu", "cuda"):
            image, instructions = DOCKERFILE.chain(arguments={"VARIANT": variant})
            self.assertEqual(image, "debian:bookworm-slim")
            for words in (i.words for i in instructions if i.name == "COPY"):
                self.assertIn(re.match(r"--from=(\S+) ", words)[1], list(DOCKERFILE.stages))
            self.assertEqual([i.words for i in instructions if i.name == "USER"], ["tandem"])
        packages = DOCKERFILE.packages()
        self.assertIn("openssh-client", packages)
        for package in packages:
            self.assertIn("Version:", words_of("apt-cache", "show", "--no-all-versions", package), package)

    def test_targets_and_variables_of_the_builds_exist(self):
        makefile = (ROOT / "Makefile.hpc").read_text()
        commands = [c for _, instructions in DOCKERFILE.stages.values() for i in instructions
                    for c in re.findall(r"make -f Makefile\.hpc ([^&]*)", i.words)]
        self.assertEqual(len(commands), 2)
        for target, *variables in map(str.split, commands):
            self.assertRegex(makefile, rf"(?m)^{target}:")
            for variable in variables:
                self.assertRegex(makefile, rf"(?m)^{variable.split('=')[0]} \?=")


class InFreshDebian(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = pathlib.Path(tempfile.mkdtemp(prefix="tandem-package-"))
        cls.addClassCleanup(shutil.rmtree, cls.folder)
        image, instructions = DOCKERFILE.chain(arguments={"VARIANT": "cpu"})
        cls.debian = Chroot(cls.folder / "root", image.removeprefix("debian:").removesuffix("-slim"))
        assert not (cls.debian.root / "usr/bin/mpirun").exists()
        cls.user, cls.workdir, values = "root", "/", {}
        for name, words in instructions:
            if name == "ARG":
                key, _, value = words.partition("=")
                values[key] = value
            elif name == "COPY":  # what `make -f Makefile.hpc package` made stands for the stage that runs it
                source, destination = re.fullmatch(r"--from=build-cpu (\S+) (\S+)", words).groups()
                assert source == "/out/tandem.deb", source
                shutil.copy(PACKAGE, cls.debian.root / destination.lstrip("/"))
            elif name == "RUN":
                cls.debian.run(substitute(words, values), user=cls.user)
            elif name == "USER":
                cls.user = words
            elif name == "WORKDIR":
                cls.workdir = words

    def run_inside(self, script):
        return self.debian.run(script, self.user, self.workdir, DOCKERFILE.environment("cpu"))

    def test_1_says_its_version_and_finds_its_recipes(self):
        version = PACKAGE.name.split("_")[1]
        self.assertRegex(self.run_inside("tandem --version"), rf"^tandem {re.escape(version)} \(")
        words = self.run_inside("tandem train --data none.h5 --recipe cifar10-simple --print-config")
        self.assertRegex(words, r"model +simple .*recipe")

    def test_2_two_ranks_train_and_evaluate_as_an_ordinary_user(self):
        self.assertNotEqual(self.run_inside("id -u").strip(), "0")
        self.run_inside("tandem pack --input synthetic --images 600 --output s.h5")
        self.run_inside(MPIRUN + "tandem train --data s.h5 --model lenet --epochs 2 --run-id demo --quiet")
        summary = json.loads((self.debian.root / "scratch/runs/demo/summary.json").read_text())
        self.assertEqual((summary["world_size"], summary["exit_reason"]), (2, "completed"))
        words = self.run_inside(MPIRUN + "tandem eval --data s.h5 --checkpoint runs/demo --json")
        self.assertEqual(json.loads(words.splitlines()[-1])["test_accuracy"], summary["test_accuracy"])

    def test_3_is_removed_without_a_trace_and_apptainer_installs_it_again(self):
        self.debian.run("apt-get purge --quiet --yes tandem")
        self.assertEqual(self.debian.run("find /usr /etc -path '*/tandem*' -not -name ssh-into-container -not -name start-by-hand"), "")
        script = re.search(r"^%post\n(.*?)^%", APPTAINER, re.MULTILINE | re.DOTALL)[1]
        shutil.copy(PACKAGE, self.debian.root / "tmp/tandem.deb")
        self.debian.run(script)
        self.assertRegex(self.run_inside("tandem --version"), "^tandem ")

    def test_4_two_ranks_train_each_in_a_container_of_its_own_under_the_hosts_mpirun(self):
        """By Charliecloud in place of Apptainer, which Debian has not: both show a folder as the root and need no daemon."""
        data = self.folder / "data"
        data.mkdir()
        inside = ["ch-run", f"--bind={data}:/mnt", "--cd=/mnt", self.debian.root, "--", "tandem"]
        exports = re.search(r"^%environment\n(.*?)^%", APPTAINER, re.MULTILINE | re.DOTALL)[1]
        environment = {**os.environ, "USER": getpass.getuser(), **dict(re.findall(r"export (\w+)=(\S+)", exports))}
        for command in ([*inside, "pack", "--input", "synthetic", "--images", "600", "--output", "s.h5"],
                        [*MPIRUN.split(), *inside, "train", "--data", "s.h5", "--model", "lenet", "--run-id", "a", "--quiet"]):
            done = subprocess.run(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
            self.assertEqual(done.returncode, 0, f"{command}\n{done.stdout}")
        summary = json.loads((data / "runs/a/summary.json").read_text())
        self.assertEqual((summary["world_size"], summary["exit_reason"]), (2, "completed"))


if __name__ == "__main__":
    unittest.main(verbosity=2)
