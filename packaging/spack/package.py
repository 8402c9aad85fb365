# Spack's recipe. Build from a checkout of the same version:
#   spack repo create site && mkdir -p SITE/packages/tandem && cp package.py SITE/packages/tandem
#   spack repo add SITE && spack dev-build --source-path CHECKOUT tandem@0.1.0
# SITE is the folder that the first command prints. Not built yet: tests/style/recipes_test.py checks its versions.
from spack_repo.builtin.build_systems.cmake import CMakePackage

from spack.package import *


class Tandem(CMakePackage):
    """One program that trains image classifiers on several MPI ranks."""

    homepage = "https://tandem.invalid"

    license("Apache-2.0")

    version("0.1.0")

    depends_on("c", type="build")
    depends_on("cxx", type="build")
    depends_on("cmake@3.22:", type="build")
    depends_on("ninja", type="build")

    depends_on("mpi@3:")
    depends_on("py-torch@1.13:")  # for libtorch; with CUDA: ^py-torch+cuda+nccl cuda_arch=80
    depends_on("python", type=("build", "run"))
    depends_on("hdf5@1.10.3: ~mpi")
    depends_on("boost@1.74: +program_options")
    depends_on("nlohmann-json@3.9:")
    depends_on("openssl@3.0:")
    depends_on("zlib-api")
    depends_on("libarchive@3.3:")
    depends_on("libpng@1.6:")
    depends_on("jpeg")

    conflicts("%gcc@:10", msg="tandem needs std::from_chars of floating-point numbers")
    generator("ninja")

    def cmake_args(self):
        packages = join_path(self.spec["py-torch"].prefix, self.spec["python"].package.platlib)
        return [
            self.define("TANDEM_TESTS", False),
            self.define("LibTorch_ROOT", join_path(packages, "torch")),
        ]
