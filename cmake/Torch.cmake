# tandem_torch: libtorch's CPU part, from any libtorch (1.13 or later).
#
# find_package(Torch) demands a CUDA toolkit as soon as the libtorch was built with CUDA. tandem needs none: it takes the
# headers and the two libraries it calls, whose own run paths find the rest. Found under CMAKE_PREFIX_PATH first
# (a wheel's site-packages/torch, an unpacked libtorch), else where the distribution puts it.
find_path(TORCH_INCLUDE_DIR torch/csrc/api/include/torch/torch.h PATH_SUFFIXES include)
find_library(TORCH_CPU_LIBRARY torch_cpu PATH_SUFFIXES lib)
find_library(TORCH_C10_LIBRARY c10 PATH_SUFFIXES lib)
if(NOT TORCH_INCLUDE_DIR OR NOT TORCH_CPU_LIBRARY OR NOT TORCH_C10_LIBRARY)
  message(FATAL_ERROR "libtorch was not found: install libtorch-dev, or set CMAKE_PREFIX_PATH to a libtorch "
                      "(make -f Makefile.hpc deps does the first, deps LIBTORCH=wheel the second)")
endif()
get_filename_component(torch_library_dir ${TORCH_CPU_LIBRARY} DIRECTORY)
get_filename_component(c10_library_dir ${TORCH_C10_LIBRARY} DIRECTORY)
if(NOT torch_library_dir STREQUAL c10_library_dir)
  message(FATAL_ERROR "two libtorch installations are mixed: ${TORCH_CPU_LIBRARY} and ${TORCH_C10_LIBRARY}")
endif()

# CMAKE_INSTALL_RPATH_USE_LINK_PATH leaves out what is inside the project, as the wheel in .deps is.
if(NOT torch_library_dir IN_LIST CMAKE_CXX_IMPLICIT_LINK_DIRECTORIES)
  list(APPEND CMAKE_INSTALL_RPATH ${torch_library_dir})
endif()

add_library(tandem_torch INTERFACE)
target_include_directories(tandem_torch SYSTEM INTERFACE ${TORCH_INCLUDE_DIR} ${TORCH_INCLUDE_DIR}/torch/csrc/api/include)
target_link_libraries(tandem_torch INTERFACE ${TORCH_CPU_LIBRARY} ${TORCH_C10_LIBRARY} Threads::Threads)
message(STATUS "libtorch: ${TORCH_CPU_LIBRARY}")
