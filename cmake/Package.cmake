# The Debian package that `make -f Makefile.hpc package` makes: the component `program` of Install.cmake, stripped, for the
# distribution on which it is built. Which libraries it needs is read from the program by dpkg-shlibdeps.
execute_process(COMMAND dpkg --print-architecture OUTPUT_VARIABLE architecture OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME tandem)
set(CPACK_PACKAGE_DIRECTORY ${PROJECT_BINARY_DIR})
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_COMPONENTS_ALL program)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_COMPONENTS_GROUPING ALL_COMPONENTS_IN_ONE)

set(CPACK_DEBIAN_FILE_NAME tandem_${PROJECT_VERSION}_${architecture}.deb)
set(CPACK_DEBIAN_PACKAGE_ARCHITECTURE ${architecture})
set(CPACK_DEBIAN_PACKAGE_MAINTAINER "tandem maintainers <tandem@tandem.invalid>")
set(CPACK_DEBIAN_PACKAGE_SECTION science)
set(CPACK_DEBIAN_PACKAGE_DESCRIPTION  # below the one line that project() has
"One program that packs a data set, trains on several ranks started by mpirun or
srun, evaluates and exports. Ranks train as one: the gradient is the mean over
the global batch at any number of ranks, and every image counts exactly once.")
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
# libtorch alone brings the reference BLAS, in which training takes many times longer.
set(CPACK_DEBIAN_PACKAGE_DEPENDS "openmpi-bin, libopenblas0-openmp | libopenblas0")
set(CPACK_DEBIAN_PACKAGE_SUGGESTS "openssh-client, slurm-client")
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
# Else cpack would first build the tests. `make -f Makefile.hpc package` builds what it packs.
# So cpack and `--target install` need a build first.
set(CMAKE_SKIP_INSTALL_ALL_DEPENDENCY ON)
include(CPack)
