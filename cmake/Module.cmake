# tandem_module(NAME SOURCES … USES … PRIVATE …): one static library per folder of src/.
# USES are other tandem modules, seen by includers; PRIVATE are third-party libraries that no public header shows.
# WITH_TORCH compiles against libtorch through one precompiled header shared by all such modules. GCC instantiates the
# templates that it left pending anew for every file, which takes seconds. So files that need nothing of libtorch are
# listed under TORCH_FREE instead. TANDEM_UNITY compiles the others five at a time, and files of modules without libtorch
# eight at a time, because most of their time goes to the headers that they share.
add_library(tandem_flags INTERFACE)
target_include_directories(tandem_flags INTERFACE ${PROJECT_SOURCE_DIR}/include)
# No fused multiply-add by contraction: every rank must round alike, whatever instruction set its loops were cloned for.
target_compile_options(tandem_flags INTERFACE -Wall -Wextra -Wpedantic -Wshadow -ffp-contract=off)
# For the engine, a library; tests and program share its precompiled header, so all are compiled alike.
# No function of ours is replaced at run time, so GCC may inline calls as in a program.
target_compile_options(tandem_flags INTERFACE -fPIC -fno-semantic-interposition)
# Not with sanitizers: their instrumentation makes GCC warn of what cannot happen.
if("$ENV{TANDEM_CI}" STREQUAL "1" AND NOT TANDEM_SANITIZE)
  target_compile_options(tandem_flags INTERFACE -Werror)
endif()
if(TANDEM_SANITIZE)
  target_compile_options(tandem_flags INTERFACE -fsanitize=${TANDEM_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=all)
  target_link_options(tandem_flags INTERFACE -fsanitize=${TANDEM_SANITIZE})
  target_compile_definitions(tandem_flags INTERFACE TANDEM_SANITIZED)
endif()

if(TANDEM_TORCH)
  file(CONFIGURE OUTPUT ${CMAKE_BINARY_DIR}/torch_precompiled.cpp CONTENT "")  # once; a new one would be compiled anew
  add_library(tandem_torch_precompiled OBJECT ${CMAKE_BINARY_DIR}/torch_precompiled.cpp)
  target_link_libraries(tandem_torch_precompiled PRIVATE tandem_flags LibTorch::LibTorch)
  target_precompile_headers(tandem_torch_precompiled PRIVATE ${PROJECT_SOURCE_DIR}/include/tandem/model/libtorch.hpp)
endif()

if(TANDEM_COVERAGE)
  add_library(tandem_dump_coverage STATIC ${PROJECT_SOURCE_DIR}/tests/support/dump_coverage.c)
endif()

function(tandem_use_torch target)
  target_link_libraries(${target} PUBLIC LibTorch::LibTorch)
  target_precompile_headers(${target} REUSE_FROM tandem_torch_precompiled)
  set_target_properties(${target} PROPERTIES UNITY_BUILD ${TANDEM_UNITY} UNITY_BUILD_BATCH_SIZE 5)
  get_target_property(type ${target} TYPE)
  if(type STREQUAL EXECUTABLE)
    set_property(GLOBAL APPEND PROPERTY TANDEM_TORCH_PROGRAMS ${target})
  endif()
endfunction()

function(tandem_module name)
  cmake_parse_arguments(ARG "WITH_TORCH" "" "SOURCES;TORCH_FREE;USES;PRIVATE;PUBLIC" ${ARGN})
  add_library(tandem_${name} STATIC ${ARG_SOURCES} ${ARG_TORCH_FREE})
  if(ARG_TORCH_FREE)
    set_source_files_properties(${ARG_TORCH_FREE} PROPERTIES SKIP_PRECOMPILE_HEADERS ON SKIP_UNITY_BUILD_INCLUSION ON)
  endif()
  add_library(tandem::${name} ALIAS tandem_${name})  # its name for a project that uses the installed library
  set_target_properties(tandem_${name} PROPERTIES EXPORT_NAME ${name})
  target_compile_features(tandem_${name} PUBLIC cxx_std_17)
  # The flags are of this project; whoever uses the installed library has their own.
  target_link_libraries(tandem_${name} PUBLIC $<BUILD_INTERFACE:tandem_flags> ${ARG_PUBLIC} PRIVATE ${ARG_PRIVATE})
  # At -O1 branches are those of the source: -O0 adds some for each temporary that an exception would destroy, and inlined
  # functions of libtorch would add theirs.
  if(TANDEM_COVERAGE AND name MATCHES "^(core|comm|device|train)$")
    target_compile_options(tandem_${name} PRIVATE --coverage -fprofile-update=atomic -fno-inline -Wno-invalid-pch)
    target_link_options(tandem_${name} PUBLIC --coverage -Wl,--wrap=_exit,--wrap=_Exit,--wrap=MPI_Abort)
    target_link_libraries(tandem_${name} PUBLIC $<BUILD_INTERFACE:tandem_dump_coverage>)
  elseif(TANDEM_COVERAGE AND NOT ARG_WITH_TORCH)
    target_compile_options(tandem_${name} PRIVATE -O2)
  endif()
  foreach(other ${ARG_USES})
    target_link_libraries(tandem_${name} PUBLIC tandem_${other})
  endforeach()
  if(ARG_WITH_TORCH)
    tandem_use_torch(tandem_${name})
  else()
    set_target_properties(tandem_${name} PROPERTIES UNITY_BUILD ${TANDEM_UNITY} UNITY_BUILD_BATCH_SIZE 8)
  endif()
endfunction()
