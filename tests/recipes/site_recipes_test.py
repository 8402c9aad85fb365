#!/usr/bin/env python3
"""Checks packaging/ with the programs of an HPC site: EasyBuild checks the style and resolves all dependencies, and Environment
Modules and Lmod load the module file. `make -f Makefile.hpc site-recipes-test` fetches them into FOLDER, which is its argument.
Nothing is built."""

import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).parents[2]
FOLDER = pathlib.Path(sys.argv.pop(1)).resolve()
MODULES = FOLDER / "modules/usr"
EASYCONFIG, = (ROOT / "packaging/easybuild").iterdir()
VERSION = re.search(r"project\(tandem VERSION ([0-9.]+)", (ROOT / "CMakeLists.txt").read_text())[1]
MODULECMD, = MODULES.glob("lib/*-linux-gnu/modulecmd.tcl")


def run(*words, **environment):
    done = subprocess.run(words, env={"PATH": f"{FOLDER}/bin:/usr/bin:/bin", "HOME": str(FOLDER), **environment}, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True)
    return done.returncode, done.stdout


class EasyBuild(unittest.TestCase):
    def eb(self, *words):
        home = FOLDER / "moduleshome/libexec"
        home.mkdir(parents=True, exist_ok=True)
        shutil.copy(MODULECMD, home)
        return run("eb", "--allow-use-as-root-and-accept-consequences", "--modules-tool=EnvironmentModules", "--module-syntax=Tcl",
                   "--allow-modules-tool-mismatch", f"--robot={FOLDER}/easybuild/easyconfigs", *words, MODULESHOME=str(home.parent))

    def with_change(self, old, new):
        text = EASYCONFIG.read_text()
        self.assertIn(old, text)
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        path = pathlib.Path(folder.name) / EASYCONFIG.name
        path.write_text(text.replace(old, new))
        return path

    def test_style(self):
        code, words = self.eb("--check-style", EASYCONFIG)
        self.assertEqual(code, 0, words)
        self.assertIn("All style checks PASSed", words)
        self.assertNotEqual(self.eb("--check-style", self.with_change("name = 'tandem'", "name='tandem'"))[0], 0)

    def test_every_dependency_is_there(self):
        code, words = self.eb("--dry-run", EASYCONFIG)
        self.assertEqual(code, 0, words)
        for name in ("PyTorch", "HDF5", "OpenMPI", "libarchive"):
            self.assertRegex(words, rf"\(module: {name}/\S+\)")
        self.assertIn(f"(module: tandem/{VERSION}-foss-2025b)", words)
        code, words = self.eb("--dry-run", self.with_change("'libpng', '1.6.50'", "'libpng', '1.6.99'"))
        self.assertNotEqual(code, 0)
        self.assertIn("libpng/1.6.99", words)


class ModuleFile(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.prefix = pathlib.Path(folder.name)
        place = self.prefix / "share/tandem/modulefiles/tandem"
        place.mkdir(parents=True)
        shutil.copy(ROOT / "packaging/modulefile", place / VERSION)
        self.environment = {"MODULEPATH": str(place.parent)}

    def expect_loaded(self, *program, **environment):
        code, words = run(*program, "bash", "load", "tandem", **self.environment, **environment)
        self.assertEqual(code, 0, words)
        self.assertRegex(words, rf"(?m)^PATH={self.prefix}/bin:")
        self.assertRegex(words, rf"(?m)^CMAKE_PREFIX_PATH={self.prefix};")
        self.assertRegex(words, rf"(?m)^LOADEDMODULES=tandem/{re.escape(VERSION)};")

    def test_environment_modules(self):
        self.expect_loaded("tclsh", MODULECMD)

    def test_lmod(self):
        lmod, = MODULES.glob("share/lmod/[0-9]*/libexec/lmod")
        text = lmod.read_text()  # it looks below /usr, unless its paths begin with an @
        lmod.write_text(re.sub(r'(?m)^(local sys_lua_c?path = )".*"', r'\1"@"', text))
        library, = MODULES.glob("lib/*-linux-gnu")
        self.expect_loaded(MODULES / "bin/lua5.3", lmod, LD_LIBRARY_PATH=str(library), LUA_CPATH=f"{library}/lua/5.3/?.so;;",
                           LUA_PATH=f"{MODULES}/share/lua/5.3/?.lua;{MODULES}/share/lua/5.3/?/init.lua;;")


if __name__ == "__main__":
    unittest.main(verbosity=2)
