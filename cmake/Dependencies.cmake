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
find_package(Boost 1.74 REQUIRED COMPONENTS program_options)  # its headers hold Boost.CRC
set(HDF5_PREFER_PARALLEL OFF)  # the serial library is thread-safe on Debian and is what libtorch links; the MPI one is neither
find_package(HDF5 REQUIRED COMPONENTS C)

if(TANDEM_TORCH)
  find_package(MPI REQUIRED COMPONENTS CXX)
  list(APPEND CMAKE_MODULE_PATH ${PROJECT_SOURCE_DIR}/cmake)
  find_package(LibTorch 1.13 REQUIRED)
  # CMAKE_INSTALL_RPATH_USE_LINK_PATH leaves out what is inside the project, as the wheel in .deps is.
  if(NOT LibTorch_LIBRARY_DIR IN_LIST CMAKE_CXX_IMPLICIT_LINK_DIRECTORIES)
    list(APPEND CMAKE_INSTALL_RPATH ${LibTorch_LIBRARY_DIR})
  endif()
endif()
if(TANDEM_TESTS)
  find_package(GTest REQUIRED)
endif()
