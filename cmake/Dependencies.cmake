# Every library that tandem is built on, found here and nowhere else; nothing is vendored or downloaded.
find_program(CCACHE ccache)
if(CCACHE)
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CCACHE})
endif()
find_program(LLD ld.lld)
if(LLD)
  add_link_options(-fuse-ld=lld)
endif()

find_package(Threads REQUIRED)
find_package(nlohmann_json 3.9 REQUIRED)
find_package(OpenSSL 3.0 REQUIRED COMPONENTS Crypto)
find_package(ZLIB REQUIRED)
find_package(LibArchive 3.3 REQUIRED)
find_package(PNG 1.6 REQUIRED)
find_package(JPEG REQUIRED)
find_package(Boost 1.74 REQUIRED COMPONENTS program_options)  # its headers hold Boost.CRC
set(HDF5_PREFER_PARALLEL OFF)  # the serial library is thread-safe on Debian and is what libtorch links; the MPI one is neither
find_package(HDF5 REQUIRED COMPONENTS C)

find_package(MPI REQUIRED COMPONENTS C)
# Without these, mpi.h also declares the C++ bindings, whose library Open MPI 5 no longer has.
target_compile_definitions(MPI::MPI_C INTERFACE OMPI_SKIP_MPICXX MPICH_SKIP_MPICXX)

if(TANDEM_TORCH)
  list(APPEND CMAKE_MODULE_PATH ${PROJECT_SOURCE_DIR}/cmake)
  find_package(LibTorch 1.13 REQUIRED)
  if(EXISTS ${LibTorch_LIBRARY_DIR}/libtorch_cuda.so)
    find_package(CudaHeaders)  # "with CUDA" is where they are found
  endif()
  include(${PROJECT_SOURCE_DIR}/cmake/RunPaths.cmake)
endif()
if(TANDEM_TESTS)
  find_package(GTest REQUIRED)
endif()
