find_package(doctest REQUIRED)
find_package(Python3 REQUIRED COMPONENTS Interpreter)

option(IMBREX_LIBFUZZER "Link the fuzz tests with libFuzzer (needs the compiler flag fuzzer-no-link)" OFF)

# doctest's main, compiled once for all test programs. A precompiled header would save 0.1 s a file; assertions
# that leave it to the test case to catch what is thrown save a tenth of a file's time.
add_library(imbrex_test_main OBJECT EXCLUDE_FROM_ALL ${PROJECT_SOURCE_DIR}/tests/support/main.cpp)
target_link_libraries(imbrex_test_main PUBLIC doctest::doctest)
target_compile_definitions(imbrex_test_main PUBLIC DOCTEST_CONFIG_SUPER_FAST_ASSERTS)
target_compile_features(imbrex_test_main PUBLIC cxx_std_20)

set(IMBREX_REPORTED_FILE ${PROJECT_BINARY_DIR}/reported.txt)
set_property(GLOBAL PROPERTY IMBREX_TESTS "")

# The GPU vendor's toolkit is not on every machine, so that tests do without: to them there is none
# (docs/environment.md). What depends on one runs once more with what the machine has: TOOLKIT below.
set(IMBREX_NO_TOOLKIT /nowhere)

# imbrex_add_command_test(<name> COMMAND … [WORKING_DIRECTORY …])
#
# add_test, without a toolkit, and the diagnostics that the command reports are recorded
# (tests/CMakeLists.txt says what for).
function(imbrex_add_command_test name)
  add_test(NAME ${name} ${ARGN})
  set_tests_properties(${name} PROPERTIES
    ENVIRONMENT "IMBREX_REPORTED=${IMBREX_REPORTED_FILE};IMBREX_TOOLKIT=${IMBREX_NO_TOOLKIT};IMBREX_CACHE_DIR=off"
    FIXTURES_REQUIRED reported)
  set_property(GLOBAL APPEND PROPERTY IMBREX_TESTS ${name})
endfunction()

# What every program of tests has in common.
function(imbrex_test_program name)
  target_include_directories(${name} PRIVATE ${PROJECT_SOURCE_DIR})
  imbrex_warnings(${name})
  set_target_properties(${name} PROPERTIES CXX_EXTENSIONS OFF CXX_VISIBILITY_PRESET hidden
                                           VISIBILITY_INLINES_HIDDEN ON)
  # doctest makes names with __COUNTER__, which clang 22 reports under -Wpedantic.
  target_compile_options(${name} PRIVATE
    $<$<AND:$<CXX_COMPILER_ID:Clang>,$<VERSION_GREATER_EQUAL:$<CXX_COMPILER_VERSION>,22>>:-Wno-c2y-extensions>)
endfunction()

# imbrex_add_test(<name> SOURCES … [LINK …] [PARTS …] [TOOLKIT | TOOLKIT_ONCE])
#
# One doctest program and one ctest entry, both called <name>: one per test folder. The working
# directory is the test's source folder, so that data files have short names. A program that takes
# minutes has PARTS: an entry <name>_<part> for each, with the cases whose names have the word.
#
# Cases whose result depends on a toolkit (tests/support/assembler.h) are in the test suite "toolkit";
# a program that has some says TOOLKIT, and gets an entry <name>_toolkit, which runs them with the
# toolkit of this machine. Where that lacks something, ctest's summary says that the entry is skipped.
# A program that takes minutes, and from whose cases only steps at their end fall away, says
# TOOLKIT_ONCE: its only entry has the machine's toolkit.
function(imbrex_add_test name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "TOOLKIT;TOOLKIT_ONCE" "" "SOURCES;LINK;PARTS")
  if(NOT arg_SOURCES)
    return()
  endif()
  add_executable(${name} ${arg_SOURCES})
  imbrex_test_program(${name})
  target_link_libraries(${name} PRIVATE imbrex_test_main ${arg_LINK})
  foreach(part IN LISTS arg_PARTS)
    imbrex_add_command_test(${name}_${part} COMMAND ${name} "--test-case=*${part}*"
                            WORKING_DIRECTORY ${CMAKE_CURRENT_SOURCE_DIR})
  endforeach()
  if(NOT arg_PARTS AND NOT arg_TOOLKIT_ONCE)
    imbrex_add_command_test(${name} COMMAND ${name} WORKING_DIRECTORY ${CMAKE_CURRENT_SOURCE_DIR})
  endif()
  if(arg_TOOLKIT_ONCE OR (arg_TOOLKIT AND IMBREX_ENABLE_NVPTX))
    add_test(NAME ${name}_toolkit WORKING_DIRECTORY ${CMAKE_CURRENT_SOURCE_DIR}
             COMMAND ${name} $<$<NOT:$<BOOL:${arg_TOOLKIT_ONCE}>>:--test-suite=toolkit> --skip-status=77
             COMMAND_EXPAND_LISTS)
    set_tests_properties(${name}_toolkit PROPERTIES SKIP_RETURN_CODE 77)
  endif()
endfunction()

# imbrex_add_fuzz_test(<name> SOURCES … [LINK …] CORPUS <folder>)
#
# A program with LLVMFuzzerTestOneInput, run for some seconds by ctest on mutations of the corpus.
# Without libFuzzer, tests/support/fuzz_main.cpp makes the mutations: blind, but the same everywhere.
function(imbrex_add_fuzz_test name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "CORPUS" "SOURCES;LINK")
  add_executable(${name} ${arg_SOURCES})
  imbrex_test_program(${name})
  target_compile_features(${name} PRIVATE cxx_std_20)
  target_link_libraries(${name} PRIVATE ${arg_LINK})
  if(IMBREX_LIBFUZZER)
    target_link_options(${name} PRIVATE -fsanitize=fuzzer)
  else()
    target_sources(${name} PRIVATE ${PROJECT_SOURCE_DIR}/tests/support/fuzz_main.cpp)
  endif()
  cmake_path(ABSOLUTE_PATH arg_CORPUS)
  # The first folder is where libFuzzer adds what it finds, so that it is not the one in the tree.
  set(found ${CMAKE_CURRENT_BINARY_DIR}/${name}_found)
  file(MAKE_DIRECTORY ${found})
  imbrex_add_command_test(${name} COMMAND ${name} -max_total_time=5 ${found} ${arg_CORPUS})
endfunction()
