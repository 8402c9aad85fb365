# FindCudaHeaders: the headers of CUDA's runtime and of NCCL, for a libtorch that was built with CUDA. After LibTorch.
#
# Nothing is linked and no nvcc is needed: the program opens both libraries where a GPU is used. Looked for in this order:
#   NCCL_ROOT, CUDAToolkit_ROOT        as variables of CMake or of the environment (also CUDA_HOME, CUDA_PATH)
#   site-packages/nvidia/…             the packages that PyPI's torch needs, beside site-packages/torch
#   /usr/local/cuda and the system     for a libtorch zip with an installed toolkit and NCCL
# Sets CudaHeaders_INCLUDE_DIRS, CudaHeaders_CUDA_VERSION, CudaHeaders_NCCL_VERSION, and in CudaHeaders_LIBRARY_DIRS the
# folders of the libraries that belong to the headers.
get_filename_component(torch_packages ${LibTorch_LIBRARY_DIR}/../../nvidia ABSOLUTE)
file(GLOB torch_cuda_packages ${torch_packages}/cu[0-9]* ${torch_packages}/cuda_runtime)

find_path(NCCL_INCLUDE_DIR nccl.h
  HINTS ${NCCL_ROOT} ENV NCCL_ROOT ${torch_packages}/nccl PATH_SUFFIXES include)
find_path(CUDA_RUNTIME_INCLUDE_DIR cuda_runtime_api.h
  HINTS ${CUDAToolkit_ROOT} ENV CUDAToolkit_ROOT ${torch_cuda_packages} ENV CUDA_HOME ENV CUDA_PATH
  PATHS /usr/local/cuda PATH_SUFFIXES include)
# Of these headers PyPI's runtime package lacks the folder crt, which triton has, that torch needs as well.
get_filename_component(torch_triton ${LibTorch_LIBRARY_DIR}/../../triton/backends/nvidia ABSOLUTE)
find_path(CUDA_CRT_INCLUDE_DIR crt/host_defines.h
  HINTS ${CUDA_RUNTIME_INCLUDE_DIR} ${torch_triton} PATHS /usr/local/cuda PATH_SUFFIXES include)
mark_as_advanced(NCCL_INCLUDE_DIR CUDA_RUNTIME_INCLUDE_DIR CUDA_CRT_INCLUDE_DIR)

if(NCCL_INCLUDE_DIR)
  file(STRINGS ${NCCL_INCLUDE_DIR}/nccl.h numbers REGEX "^#define NCCL_(MAJOR|MINOR|PATCH) +[0-9]+")
  list(TRANSFORM numbers REPLACE ".* " "")
  list(JOIN numbers "." CudaHeaders_NCCL_VERSION)
endif()
if(CUDA_RUNTIME_INCLUDE_DIR)
  file(STRINGS ${CUDA_RUNTIME_INCLUDE_DIR}/cuda_runtime_api.h number REGEX "^#define CUDART_VERSION +[0-9]+")
  string(REGEX REPLACE ".* " "" number "${number}")
  math(EXPR major "${number} / 1000")
  math(EXPR minor "${number} % 1000 / 10")
  set(CudaHeaders_CUDA_VERSION ${major}.${minor})
endif()

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(CudaHeaders
  REQUIRED_VARS NCCL_INCLUDE_DIR CUDA_RUNTIME_INCLUDE_DIR CUDA_CRT_INCLUDE_DIR CudaHeaders_NCCL_VERSION CudaHeaders_CUDA_VERSION
  VERSION_VAR CudaHeaders_CUDA_VERSION
  REASON_FAILURE_MESSAGE "this libtorch has a CUDA part, which tandem leaves unused without these, see
  cmake/FindCudaHeaders.cmake")

if(CudaHeaders_FOUND)
  # nccl.h includes four headers of CUDA that in turn need files which PyPI's packages leave out, and uses nothing of them
  # but what the runtime's declares. These come first.
  set(nccl_needs ${PROJECT_BINARY_DIR}/nccl_needs)
  file(CONFIGURE OUTPUT ${nccl_needs}/cuda_runtime.h CONTENT "#include <cuda_runtime_api.h>\n")
  foreach(name cuda_fp16.h cuda_bf16.h cuda_fp8.h)
    file(CONFIGURE OUTPUT ${nccl_needs}/${name} CONTENT "")
  endforeach()
  set(CudaHeaders_INCLUDE_DIRS ${nccl_needs} ${NCCL_INCLUDE_DIR} ${CUDA_RUNTIME_INCLUDE_DIR} ${CUDA_CRT_INCLUDE_DIR})
  foreach(folder ${NCCL_INCLUDE_DIR} ${CUDA_RUNTIME_INCLUDE_DIR})
    foreach(candidate ${folder}/../lib ${folder}/../lib64)
      get_filename_component(candidate ${candidate} ABSOLUTE)
      file(GLOB found ${candidate}/libnccl.so* ${candidate}/libcudart.so*)
      if(found AND NOT candidate IN_LIST CMAKE_CXX_IMPLICIT_LINK_DIRECTORIES)
        list(APPEND CudaHeaders_LIBRARY_DIRS ${candidate})
      endif()
    endforeach()
  endforeach()
  list(REMOVE_DUPLICATES CudaHeaders_LIBRARY_DIRS)
endif()
