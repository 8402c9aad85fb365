# Every library that tandem is built on, found here and nowhere else; nothing is vendored or downloaded.
find_program(CCACHE ccache)
if(CCACHE)
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CCACHE})
endif()
find_program(LLD ld.lld)
if(LLD)
  add_link_options(-fuse-ld=lld)
endif()

if(POLICY CMP0167)  # CMake 3.30: Boost's own configuration, which every Boost since 1.70 brings
  cmake_policy(SET CMP0167 NEW)
endif()
find_package(Threads REQUIRED)
# tandem_require(TITLE NAME [VERSION] …): find_package(NAME …). Reports all missing packages together at the end.
set(TANDEM_MISSING "")
macro(tandem_require title name)
  find_package(${name} ${ARGN})
  if(NOT ${name}_FOUND)
    set(tandem_lowest "${ARGN} ")
    string(REGEX MATCH "^[0-9][0-9.]*" tandem_lowest "${tandem_lowest}")
    string(APPEND TANDEM_MISSING "\n  ${title}")
    if(tandem_lowest)
      string(APPEND TANDEM_MISSING " ${tandem_lowest} or later")
    endif()
  endif()
endmacro()

if(CMAKE_CXX_COMPILER_ID STREQUAL GNU AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 11)  # std::from_chars of a double
  string(APPEND TANDEM_MISSING "\n  GCC 11 or later (${CMAKE_CXX_COMPILER} is ${CMAKE_CXX_COMPILER_VERSION})")
endif()
tandem_require(nlohmann-json nlohmann_json 3.9)
tandem_require(OpenSSL OpenSSL 3.0 COMPONENTS Crypto)
tandem_require(zlib ZLIB)
tandem_require(libarchive LibArchive 3.3)
tandem_require(libpng PNG 1.6)
tandem_require(libjpeg JPEG)
tandem_require(Boost.ProgramOptions Boost 1.74 COMPONENTS program_options)  # its headers hold Boost.CRC
set(HDF5_PREFER_PARALLEL OFF)  # the serial library is thread-safe on Debian and is what libtorch links; the MPI one is neither
tandem_require(HDF5 HDF5 1.10.3 COMPONENTS C)  # H5Oget_info_by_name2

tandem_require("MPI (Open MPI, MPICH, Intel MPI or another MPI 3)" MPI COMPONENTS C)

if(TANDEM_TORCH)
  list(APPEND CMAKE_MODULE_PATH ${PROJECT_SOURCE_DIR}/cmake)
  tandem_require(libtorch LibTorch 1.13)
endif()
if(TANDEM_TESTS)
  tandem_require(GoogleTest GTest)
endif()
if(TANDEM_MISSING)
  message(FATAL_ERROR "missing, with their headers:${TANDEM_MISSING}
The lines \"Could NOT find\" above name what was found instead.
fix: install them, or name the folders where they are: -DCMAKE_PREFIX_PATH='FOLDER;FOLDER'")
endif()

# Without these, mpi.h also declares the C++ bindings, whose library Open MPI 5 no longer has.
target_compile_definitions(MPI::MPI_C INTERFACE OMPI_SKIP_MPICXX MPICH_SKIP_MPICXX)
if(TANDEM_TORCH)
  if(EXISTS ${LibTorch_LIBRARY_DIR}/libtorch_cuda.so)
    find_package(CudaHeaders)  # "with CUDA" is where they are found
  endif()
  include(${PROJECT_SOURCE_DIR}/cmake/RunPaths.cmake)
endif()
