# cmake -Dsource=DIR -Dconfig=FILE -P components_test.cmake: who asks find_package for a component that
# there is not is told which there are, before anything else is looked for.
set(folder ${CMAKE_CURRENT_BINARY_DIR}/components_test)
file(REMOVE_RECURSE ${folder})
file(COPY ${config} ${source}/cmake/ImbrexCompiler.cmake DESTINATION ${folder})

set(CMAKE_CXX_COMPILER_ID GNU)
set(CMAKE_CXX_COMPILER_VERSION 12.2.0)
set(CMAKE_FIND_PACKAGE_NAME imbrex)
set(imbrex_FIND_COMPONENTS aot runtime)
set(imbrex_FIND_REQUIRED_aot TRUE)
set(imbrex_FIND_REQUIRED_runtime TRUE)
include(${folder}/imbrexConfig.cmake)
set(wanted "imbrex has no component 'runtime'; there are aot, generator, jit")
if(imbrex_FOUND OR NOT imbrex_NOT_FOUND_MESSAGE STREQUAL wanted)
  message(FATAL_ERROR "find_package does not say what components there are: '${imbrex_NOT_FOUND_MESSAGE}'")
endif()
