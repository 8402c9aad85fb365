# tandem_add_unit_test and tandem_add_mpi_test: one GoogleTest program each, registered with ctest.
#
#   tandem_add_unit_test(NAME SOURCES … LINKS … [WITH_TORCH])            label unit, needs no launcher
#   tandem_add_mpi_test(NAME SOURCES … LINKS … RANKS 1 2 3 4 [WITH_TORCH] [ONLY SUITE=RANKS …])
#                                                            label mpi, one entry for each number of ranks; ONLY names
#                                                            suites that run only at the given numbers of ranks
#   tandem_add_gpu_test(NAME)                                            label gpu: an MPI test on real GPUs, a rank on each
#   tandem_add_program_test(LABEL NAME [PYTHON python] [WITH_TORCH])     NAME_test.py, which drives bin/tandem
#
# LINKS are CMake targets. WITH_TORCH marks a test that another version of libtorch may turn red; its second label is
# libtorch. A unit test without libtorch has one ctest entry for each of its cases; with it one for each
# program, because loading libtorch takes longer than most cases.
include(GoogleTest)

# A test that exceeds this hangs: the longest takes 100 s on a first-generation EPYC with both cores busy. mpirun gives
# up a little earlier, because it ends its ranks and ctest would not.
set(TANDEM_TEST_SECONDS 240)
if(TANDEM_SANITIZE OR TANDEM_COVERAGE)
  set(TANDEM_TEST_SECONDS 480)
endif()
math(EXPR TANDEM_MPIRUN_SECONDS "${TANDEM_TEST_SECONDS} - 5")

# One thread a rank, and no GPU, where the machine has one.
include(${CMAKE_CURRENT_LIST_DIR}/TestLaunchers.cmake)
set(TANDEM_TEST_ENVIRONMENT
  OMP_NUM_THREADS=1
  OMP_WAIT_POLICY=passive  # tests have more threads and ranks than there are processors; they should not wait busily
  GTEST_COLOR=no
  CUDA_VISIBLE_DEVICES=
  ${TANDEM_LAUNCHER_ENVIRONMENT})
if(TANDEM_SANITIZE)
  # The runtimes up to GCC 13 and LLVM 16 take thread-local memory of a library that is loaded late, as Open MPI's components
  # are, for that of an old glibc where it lies at a certain offset, and LeakSanitizer then crashes.
  list(APPEND TANDEM_TEST_ENVIRONMENT
    ASAN_OPTIONS=intercept_tls_get_addr=0
    LSAN_OPTIONS=suppressions=${PROJECT_SOURCE_DIR}/tests/support/lsan_suppressions.txt:print_suppressions=0
    UBSAN_OPTIONS=print_stacktrace=1)
endif()

# tandem_tests_not_run(WHICH NEEDS [LABEL…]): notes that tests are left out. Makefile.hpc lists the notes after the tests, of the
# labels asked for. The name of the folder is a label, too.
set(TANDEM_NOT_RUN_FILE ${PROJECT_BINARY_DIR}/tests_not_run.txt)
file(WRITE ${TANDEM_NOT_RUN_FILE} "")
function(tandem_tests_not_run which needs)
  get_filename_component(folder ${CMAKE_CURRENT_SOURCE_DIR} NAME)
  list(JOIN ARGN " " labels)
  file(APPEND ${TANDEM_NOT_RUN_FILE} "${folder} ${labels}\t${which}: needs ${needs}\n")
endfunction()

# tandem_name_refusal(VARIABLE WHAT REFUSAL): what a test needs that a program refused, in the program's words.
execute_process(COMMAND id -u OUTPUT_VARIABLE tandem_user OUTPUT_STRIP_TRAILING_WHITESPACE)
function(tandem_name_refusal variable what refusal)
  string(REGEX REPLACE "\n.*" "" refusal "${refusal}")
  set(cure " (run as root)")
  if(tandem_user STREQUAL 0)
    set(cure "")
  endif()
  set(${variable} "permission to make ${what}${cure}; here: ${refusal}" PARENT_SCOPE)
endfunction()

# The command line that starts a program on a number of ranks; of another processor's, an emulator of that one for each.
function(tandem_mpirun_command variable ranks)
  tandem_mpirun(mpirun)
  set(${variable} ${mpirun} ${MPIEXEC_NUMPROC_FLAG} ${ranks} ${CMAKE_CROSSCOMPILING_EMULATOR} PARENT_SCOPE)
endfunction()

function(tandem_add_test_program name)
  cmake_parse_arguments(ARG "WITH_TORCH" "" "SOURCES;LINKS;RANKS" ${ARGN})
  add_executable(${name} ${ARG_SOURCES})
  target_include_directories(${name} PRIVATE ${PROJECT_SOURCE_DIR}/tests)
  target_compile_definitions(${name} PRIVATE TANDEM_TESTS_FOLDER="${PROJECT_SOURCE_DIR}/tests")
  target_link_libraries(${name} PUBLIC tandem_flags ${ARG_LINKS} GTest::gtest)
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/tests)
  if(ARG_WITH_TORCH)
    tandem_use_torch(${name})
  else()
    # Otherwise half of the build time goes to the templates of GoogleTest and nlohmann-json in tests.
    target_compile_options(${name} PRIVATE -O1)
    set_target_properties(${name} PROPERTIES UNITY_BUILD ${TANDEM_UNITY} UNITY_BUILD_BATCH_SIZE 8)
  endif()
endfunction()

function(tandem_add_unit_test name)
  cmake_parse_arguments(ARG "WITH_TORCH" "" "SOURCES;LINKS" ${ARGN})
  tandem_add_test_program(${name} ${ARGN})
  target_link_libraries(${name} PUBLIC GTest::gtest_main)
  if(ARG_WITH_TORCH)
    add_test(NAME unit.${name} COMMAND ${name})
    set_tests_properties(unit.${name} PROPERTIES
      LABELS "unit;libtorch" TIMEOUT ${TANDEM_TEST_SECONDS} ENVIRONMENT "${TANDEM_TEST_ENVIRONMENT}")
  else()
    string(REPLACE ";" "\\;" environment "${TANDEM_TEST_ENVIRONMENT}")
    gtest_discover_tests(${name} TEST_PREFIX unit. DISCOVERY_TIMEOUT 60 PROPERTIES
      LABELS unit TIMEOUT ${TANDEM_TEST_SECONDS} ENVIRONMENT "${environment}")
  endif()
endfunction()

function(tandem_add_mpi_test name)
  cmake_parse_arguments(ARG "WITH_TORCH" "" "SOURCES;LINKS;RANKS;ONLY" ${ARGN})
  set(torch "")
  set(labels mpi)
  if(ARG_WITH_TORCH)
    set(torch WITH_TORCH)
    list(APPEND labels libtorch)
  endif()
  tandem_add_test_program(${name} ${torch} SOURCES ${ARG_SOURCES} LINKS ${ARG_LINKS})
  target_link_libraries(${name} PUBLIC tandem_mpi_main)
  foreach(ranks ${ARG_RANKS})
    # SUITE=12: the suite runs only at 1 and at 2 ranks.
    set(left_out ${ARG_ONLY})
    list(FILTER left_out EXCLUDE REGEX "=.*${ranks}")
    list(TRANSFORM left_out REPLACE "=.*" ".*")
    list(APPEND left_out ${TANDEM_MPI_CASES_LEFT_OUT})
    list(JOIN left_out ":" left_out)
    tandem_mpirun_command(mpirun ${ranks})
    set(test mpi.${name}.np${ranks})
    add_test(NAME ${test} COMMAND ${mpirun} $<TARGET_FILE:${name}> --gtest_filter=-${left_out})
    set_tests_properties(${test} PROPERTIES
      LABELS "${labels}" PROCESSORS ${ranks} TIMEOUT ${TANDEM_TEST_SECONDS} ENVIRONMENT "${TANDEM_TEST_ENVIRONMENT}")
  endforeach()
endfunction()

# At most four, as many as the tests without GPUs have ranks.
file(GLOB tandem_gpus /dev/nvidia[0-9])
list(LENGTH tandem_gpus TANDEM_GPUS)
if(TANDEM_GPUS GREATER 4)
  set(TANDEM_GPUS 4)
endif()

function(tandem_add_gpu_test name)
  if(TANDEM_GPUS EQUAL 0)
    tandem_tests_not_run("gpu.${name}" "a GPU" gpu)
    return()
  endif()
  foreach(ranks RANGE 1 ${TANDEM_GPUS})
    tandem_mpirun_command(mpirun ${ranks})
    set(test gpu.${name}.np${ranks})
    add_test(NAME ${test} COMMAND ${mpirun} $<TARGET_FILE:${name}>)
    set_tests_properties(${test} PROPERTIES
      LABELS gpu PROCESSORS ${ranks} RESOURCE_LOCK gpu TIMEOUT ${TANDEM_TEST_SECONDS}
      ENVIRONMENT "${TANDEM_TEST_ENVIRONMENT};TANDEM_TEST_GPU=real"
      ENVIRONMENT_MODIFICATION CUDA_VISIBLE_DEVICES=unset:)
  endforeach()
endfunction()

# The small data set that all of these use; a fixture of ctest.
set(TANDEM_PROGRAM_DATA ${PROJECT_BINARY_DIR}/tests/synthetic.h5)
# ctest starts tests of a higher COST first, also where it has never run them: long ones at the end leave processors idle.
function(tandem_add_program_test label name)
  cmake_parse_arguments(ARG "WITH_TORCH" "PYTHON" "" ${ARGN})
  if(NOT ARG_PYTHON)
    set(ARG_PYTHON ${Python3_EXECUTABLE})
  endif()
  set(labels ${label})
  if(ARG_WITH_TORCH)
    list(APPEND labels libtorch)
  endif()
  tandem_mpirun(mpirun)
  string(JOIN " " mpirun ${mpirun})
  string(JOIN " " unshare ${TANDEM_UNSHARE})
  add_test(NAME ${label}.${name} COMMAND ${ARG_PYTHON} -B ${CMAKE_CURRENT_SOURCE_DIR}/${name}_test.py)
  set_tests_properties(${label}.${name} PROPERTIES
    LABELS "${labels}" TIMEOUT 400 FIXTURES_REQUIRED program_data COST 10
    ENVIRONMENT "${TANDEM_TEST_ENVIRONMENT};PYTHONPATH=${PROJECT_SOURCE_DIR}/tests/support;TANDEM_TEST_PROGRAM=$<TARGET_FILE:tandem>;TANDEM_TEST_KEPT_RANKS=$<TARGET_FILE:kept_ranks>;TANDEM_TEST_MPIRUN=${mpirun};TANDEM_TEST_DATA=${TANDEM_PROGRAM_DATA};TANDEM_TEST_UNSHARE=${unshare}")
endfunction()

# Hosts of our own making, with another name, other mounts, another /dev/shm: the command that gives a program namespaces
# of its own; empty where that is not allowed. Root may have these; others may in a user namespace.
set(TANDEM_UNSHARE unshare --mount --uts)
execute_process(COMMAND ${TANDEM_UNSHARE} true RESULT_VARIABLE tandem_cannot_unshare ERROR_VARIABLE tandem_refusal)
if(tandem_cannot_unshare)
  set(TANDEM_UNSHARE unshare --map-root-user --mount --uts)
  execute_process(COMMAND ${TANDEM_UNSHARE} true RESULT_VARIABLE tandem_cannot_unshare ERROR_VARIABLE tandem_refusal)
endif()
if(tandem_cannot_unshare)
  set(TANDEM_UNSHARE "")
  tandem_name_refusal(TANDEM_NAMESPACES_NEED namespaces "${tandem_refusal}")
endif()
