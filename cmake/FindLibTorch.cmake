# FindLibTorch: libtorch's CPU part, from any libtorch (1.13 or later), as the target LibTorch::LibTorch.
#
# find_package(Torch) demands a CUDA toolkit as soon as the libtorch was built with CUDA. tandem needs none: it takes the
# headers and the two libraries it calls, whose own run paths find the rest. Found under CMAKE_PREFIX_PATH first
# (a wheel's site-packages/torch, an unpacked libtorch), else where the distribution puts it. Installed with tandem, whose
# package file calls it. Sets LibTorch_VERSION and LibTorch_LIBRARY_DIR.
find_path(TORCH_INCLUDE_DIR torch/csrc/api/include/torch/torch.h PATH_SUFFIXES include)
find_library(TORCH_CPU_LIBRARY torch_cpu PATH_SUFFIXES lib)
find_library(TORCH_C10_LIBRARY c10 PATH_SUFFIXES lib)
mark_as_advanced(TORCH_INCLUDE_DIR TORCH_CPU_LIBRARY TORCH_C10_LIBRARY)

if(TORCH_INCLUDE_DIR)
  set(torch_version_file ${TORCH_INCLUDE_DIR}/torch/headeronly/version.h)  # of later versions
  if(NOT EXISTS ${torch_version_file})
    set(torch_version_file ${TORCH_INCLUDE_DIR}/torch/csrc/api/include/torch/version.h)
  endif()
  file(STRINGS ${torch_version_file} numbers REGEX "^#define TORCH_VERSION_(MAJOR|MINOR|PATCH) [0-9]+")
  list(TRANSFORM numbers REPLACE ".* " "")
  list(JOIN numbers "." LibTorch_VERSION)
endif()

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(LibTorch
  REQUIRED_VARS TORCH_CPU_LIBRARY TORCH_C10_LIBRARY TORCH_INCLUDE_DIR
  VERSION_VAR LibTorch_VERSION
  REASON_FAILURE_MESSAGE "install libtorch-dev, or set CMAKE_PREFIX_PATH to a libtorch (in tandem's own source,
  make -f Makefile.hpc deps does the first, deps LIBTORCH=wheel the second)")

if(LibTorch_FOUND)
  get_filename_component(LibTorch_LIBRARY_DIR ${TORCH_CPU_LIBRARY} DIRECTORY)
  get_filename_component(torch_c10_library_dir ${TORCH_C10_LIBRARY} DIRECTORY)
  if(NOT LibTorch_LIBRARY_DIR STREQUAL torch_c10_library_dir)
    message(FATAL_ERROR "two libtorch installations are mixed: ${TORCH_CPU_LIBRARY} and ${TORCH_C10_LIBRARY}")
  endif()
  if(NOT TARGET LibTorch::LibTorch)
    find_package(Threads REQUIRED)
    add_library(LibTorch::LibTorch INTERFACE IMPORTED)
    target_include_directories(LibTorch::LibTorch INTERFACE
      ${TORCH_INCLUDE_DIR} ${TORCH_INCLUDE_DIR}/torch/csrc/api/include)
    target_link_libraries(LibTorch::LibTorch INTERFACE ${TORCH_CPU_LIBRARY} ${TORCH_C10_LIBRARY} Threads::Threads)
  endif()
endif()
