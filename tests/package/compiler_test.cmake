# cmake -Dsource=DIR -Dconfig=FILE -P compiler_test.cmake: who configures with a compiler that cannot
# read our headers is told so by find_package, in one sentence, and before anything else is looked for.
set(folder ${CMAKE_CURRENT_BINARY_DIR}/compiler_test)
file(REMOVE_RECURSE ${folder})
file(COPY ${config} ${source}/cmake/ImbrexCompiler.cmake DESTINATION ${folder})

set(CMAKE_CXX_COMPILER_ID Clang)
set(CMAKE_CXX_COMPILER_VERSION 14.0.6)
set(CMAKE_FIND_PACKAGE_NAME imbrex)
include(${folder}/imbrexConfig.cmake)
set(wanted "imbrex needs g\\+\\+ 12 or later, or clang\\+\\+ 16 or later.*the compiler is Clang 14.0.6")
if(imbrex_FOUND OR NOT imbrex_NOT_FOUND_MESSAGE MATCHES "^${wanted}")
  message(FATAL_ERROR "find_package does not refuse clang 14: '${imbrex_NOT_FOUND_MESSAGE}'")
endif()

include(${source}/cmake/ImbrexCompiler.cmake)
foreach(right IN ITEMS "Clang;22.1.8" "GNU;12.2.0" "AppleClang;15.0")
  list(GET right 0 CMAKE_CXX_COMPILER_ID)
  list(GET right 1 CMAKE_CXX_COMPILER_VERSION)
  imbrex_compiler_problem(problem)
  if(problem)
    message(FATAL_ERROR "${right} is refused: ${problem}")
  endif()
endforeach()
