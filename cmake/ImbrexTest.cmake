find_package(doctest REQUIRED)

# doctest's main, compiled once for all test programs.
add_library(imbrex_test_main OBJECT EXCLUDE_FROM_ALL ${PROJECT_SOURCE_DIR}/tests/support/main.cpp)
target_link_libraries(imbrex_test_main PUBLIC doctest::doctest)
target_compile_features(imbrex_test_main PUBLIC cxx_std_20)

# imbrex_add_test(<name> SOURCES … [LINK …])
#
# One doctest program and one ctest entry, both called <name>: one per test folder. The working
# directory is the test's source folder, so that data files have short names.
function(imbrex_add_test name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "SOURCES;LINK")
  if(NOT arg_SOURCES)
    return()
  endif()
  add_executable(${name} ${arg_SOURCES})
  target_include_directories(${name} PRIVATE ${PROJECT_SOURCE_DIR})
  target_link_libraries(${name} PRIVATE imbrex_test_main ${arg_LINK})
  imbrex_warnings(${name})
  # doctest names its cases with __COUNTER__, which clang 22 reports under -Wpedantic.
  target_compile_options(${name} PRIVATE
    $<$<AND:$<CXX_COMPILER_ID:Clang>,$<VERSION_GREATER_EQUAL:$<CXX_COMPILER_VERSION>,22>>:-Wno-c2y-extensions>)
  set_target_properties(${name} PROPERTIES CXX_EXTENSIONS OFF CXX_VISIBILITY_PRESET hidden
                                           VISIBILITY_INLINES_HIDDEN ON)
  add_test(NAME ${name} COMMAND ${name} WORKING_DIRECTORY ${CMAKE_CURRENT_SOURCE_DIR})
endfunction()
