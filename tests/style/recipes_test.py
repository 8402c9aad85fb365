#!/usr/bin/env python3
"""The recipes of packaging/ name the project's version, and no older libraries than cmake/Dependencies.cmake requires. Stand-ins
of Spack's directives read package.py. tests/recipes checks the other files with EasyBuild and the module systems."""

import pathlib
import re
import sys
import types
import unittest

ROOT = pathlib.Path(__file__).parents[2]
VERSION = re.search(r"project\(tandem VERSION ([0-9.]+)", (ROOT / "CMakeLists.txt").read_text())[1]
EASYCONFIG, = (ROOT / "packaging/easybuild").iterdir()

# Names in CMake, Spack, EasyBuild and README.
LIBRARIES = (("nlohmann_json", "nlohmann-json", "nlohmann_json", "nlohmann-json"), ("OpenSSL", "openssl", "OpenSSL", "OpenSSL"),
             ("ZLIB", "zlib-api", "zlib", "zlib"), ("LibArchive", "libarchive", "libarchive", "libarchive"),
             ("PNG", "libpng", "libpng", "libpng"), ("JPEG", "jpeg", "libjpeg-turbo", "libjpeg"), ("Boost", "boost", "Boost", "Boost"),
             ("HDF5", "hdf5", "HDF5", "HDF5"), ("LibTorch", "py-torch", "PyTorch", "libtorch"))


def numbers(version):
    return ([int(part) for part in version.split(".")] + [0, 0])[:3]


def asked_by_cmake():
    """Library: lowest version, "" if any will do."""
    text = (ROOT / "cmake/Dependencies.cmake").read_text()
    found = {name: version or "" for name, version in re.findall(r'(?m)^ *tandem_require\((?:"[^"]*"|\S+) (\w+) ?([0-9.]+)?', text)}
    cmake = re.search(r"cmake_minimum_required\(VERSION ([0-9.]+)\)", (ROOT / "CMakeLists.txt").read_text())[1]
    return {**found, "CMake": cmake}


def read_spack():
    """(class name, versions, {dependency: lowest version})"""
    versions, needs = [], {}

    def depends_on(spec, **_):
        name, version = re.fullmatch(r"([a-z0-9-]+)(?:@([0-9.]+):)?(?: [~+][a-z_]+)*", spec).groups()
        needs[name] = version or ""

    package = types.ModuleType("spack.package")
    package.__all__ = ["license", "version", "depends_on", "conflicts", "generator", "join_path"]
    package.version = lambda number, **_: versions.append(number)
    package.depends_on = depends_on
    package.license = package.conflicts = package.generator = lambda *_, **__: None
    package.join_path = lambda *parts: "/".join(parts)
    cmake = types.ModuleType("spack_repo.builtin.build_systems.cmake")

    class CMakePackage:
        define = staticmethod(lambda name, value: f"-D{name}={value}")
        spec = {"py-torch": types.SimpleNamespace(prefix="/torch"),
                "python": types.SimpleNamespace(package=types.SimpleNamespace(platlib="lib/python3.11/site-packages"))}

    cmake.CMakePackage = CMakePackage
    for name, module in (("spack", types.ModuleType("spack")), ("spack.package", package), (cmake.__name__, cmake)):
        sys.modules[name] = module
    for name in ("spack_repo", "spack_repo.builtin", "spack_repo.builtin.build_systems"):
        sys.modules[name] = types.ModuleType(name)
    scope = {}
    exec(compile((ROOT / "packaging/spack/package.py").read_text(), "package.py", "exec"), scope)
    return scope["Tandem"], versions, needs


def read_easyconfig():
    scope = {"SOURCE_TAR_GZ": "%(name)s-%(version)s.tar.gz", "SYSTEM": {"name": "system", "version": "system"}}
    exec(compile(EASYCONFIG.read_text(), EASYCONFIG.name, "exec"), scope)
    return scope


class Recipes(unittest.TestCase):
    def test_versions_are_the_projects(self):
        _, versions, _ = read_spack()
        easyconfig = read_easyconfig()
        self.assertEqual([versions, easyconfig["version"]], [[VERSION], VERSION])
        toolchain = "-".join(easyconfig["toolchain"].values())
        self.assertEqual(EASYCONFIG.name, f"tandem-{VERSION}-{toolchain}.eb")
        for path in (EASYCONFIG, ROOT / "packaging/spack/package.py"):
            for number in re.findall(r"tandem[-@]([0-9]+\.[0-9]+\.[0-9]+)", path.read_text()):
                self.assertEqual(number, VERSION, path)

    def test_libraries_are_as_new_as_cmake_asks(self):
        asked = asked_by_cmake()
        _, _, spack = read_spack()
        easyconfig = read_easyconfig()
        easybuild = {name: version for name, version, *_ in easyconfig["dependencies"] + easyconfig["builddependencies"]}
        table = dict(re.findall(r"^\| ([^|]+?) \| ([^|]*?) \|", (ROOT / "docs/install.md").read_text(), re.MULTILINE))
        self.assertEqual(set(asked) - {names[0] for names in LIBRARIES}, {"CMake", "MPI", "GTest"})
        for of_cmake, of_spack, of_easybuild, of_table in (*LIBRARIES, ("CMake", "cmake", "CMake", "CMake")):
            with self.subTest(of_cmake):
                lowest = asked[of_cmake]
                self.assertEqual(spack[of_spack], lowest)
                self.assertGreaterEqual(numbers(easybuild[of_easybuild]), numbers(lowest or "0"))
                self.assertEqual(table[of_table], lowest or "any")
        self.assertEqual(spack["mpi"], "3")

    def test_libtorch_is_named_by_its_folder(self):
        recipe, _, _ = read_spack()
        self.assertIn("-DLibTorch_ROOT=/torch/lib/python3.11/site-packages/torch", recipe().cmake_args())
        self.assertIn("-DLibTorch_ROOT=$EBROOTPYTORCH/lib/python%(pyshortver)s/site-packages/torch", read_easyconfig()["configopts"])


if __name__ == "__main__":
    unittest.main(verbosity=2)
