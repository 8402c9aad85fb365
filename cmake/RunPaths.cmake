# Where program and engine find libtorch and, with CUDA, the libraries that they open while they run.
#
# In the build folder the paths are relative to the file, so that source, build and libtorch may be moved together, and
# then absolute. Install.cmake takes the relative ones out: an installed program may be moved, and libtorch stays.
set(library_dirs ${LibTorch_LIBRARY_DIR} ${CudaHeaders_LIBRARY_DIRS})
list(REMOVE_ITEM library_dirs ${CMAKE_CXX_IMPLICIT_LINK_DIRECTORIES})
list(JOIN library_dirs ":" TANDEM_INSTALLED_RUN_PATHS)

# tandem_run_paths(NAME FOLDER): sets NAME_RUN_PATHS to those of a file in FOLDER, and NAME_BUILD_RUN_PATHS to the same as a
# CMake script says them.
function(tandem_run_paths name folder)
  set(paths "")
  foreach(directory ${library_dirs})
    file(RELATIVE_PATH relative ${folder} ${directory})
    list(APPEND paths $ORIGIN/${relative})
  endforeach()
  list(APPEND paths ${library_dirs})
  set(${name}_RUN_PATHS ${paths} PARENT_SCOPE)
  list(JOIN paths ":" text)
  string(REPLACE "$" "\\$" text "${text}")
  set(${name}_BUILD_RUN_PATHS "${text}" PARENT_SCOPE)
endfunction()
tandem_run_paths(TANDEM ${CMAKE_RUNTIME_OUTPUT_DIRECTORY})
tandem_run_paths(TANDEM_ENGINE ${CMAKE_BINARY_DIR}/lib/tandem)

list(PREPEND CMAKE_INSTALL_RPATH ${TANDEM_RUN_PATHS})
set(CMAKE_INSTALL_RPATH_USE_LINK_PATH ON)  # and those of Open MPI and HDF5, where they are not in the system's folders
# CMake would do the exchange itself, but ends the list in the build folder by an empty path, from which the working
# folder's libraries are loaded.
set(CMAKE_BUILD_WITH_INSTALL_RPATH ON)
