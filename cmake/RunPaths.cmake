# Where a program finds libtorch and, with CUDA, the libraries that it opens while it runs.
#
# In the build folder the paths are relative to the program, so that source, build and libtorch may be moved together, and
# then absolute. Install.cmake takes the relative ones out: an installed program may be moved, and libtorch stays.
set(library_dirs ${LibTorch_LIBRARY_DIR} ${CudaHeaders_LIBRARY_DIRS})
list(REMOVE_ITEM library_dirs ${CMAKE_CXX_IMPLICIT_LINK_DIRECTORIES})
foreach(folder ${library_dirs})
  file(RELATIVE_PATH relative ${CMAKE_RUNTIME_OUTPUT_DIRECTORY} ${folder})
  list(APPEND TANDEM_RELATIVE_RUN_PATHS $ORIGIN/${relative})
endforeach()
list(JOIN library_dirs ":" TANDEM_INSTALLED_RUN_PATHS)
list(JOIN TANDEM_RELATIVE_RUN_PATHS ":" TANDEM_BUILD_RUN_PATHS)
string(APPEND TANDEM_BUILD_RUN_PATHS ":${TANDEM_INSTALLED_RUN_PATHS}")
string(REPLACE "$" "\\$" TANDEM_BUILD_RUN_PATHS "${TANDEM_BUILD_RUN_PATHS}")  # as a CMake script says it

list(PREPEND CMAKE_INSTALL_RPATH ${TANDEM_RELATIVE_RUN_PATHS} ${library_dirs})
set(CMAKE_INSTALL_RPATH_USE_LINK_PATH ON)  # and those of Open MPI and HDF5, where they are not in the system's folders
# CMake would do the exchange itself, but ends the list in the build folder by an empty path, from which the working
# folder's libraries are loaded.
set(CMAKE_BUILD_WITH_INSTALL_RPATH ON)
