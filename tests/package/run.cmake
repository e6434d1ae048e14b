# cmake -Dconsumer=DIR -Dbuild=DIR [-Dinstall_from=DIR | -Dsource_dir=DIR] … -P run.cmake
function(run)
  execute_process(COMMAND ${ARGV} COMMAND_ERROR_IS_FATAL ANY OUTPUT_VARIABLE said ECHO_OUTPUT_VARIABLE)
  set(said "${said}" PARENT_SCOPE)
endfunction()

set(ENV{IMBREX_CACHE_DIR} off)
file(REMOVE_RECURSE ${build})
if(install_from)
  # Installed to one place and used at another: no path of the first may be left in the package.
  run(${CMAKE_COMMAND} --install ${install_from} --prefix ${build}/installed)
  file(RENAME ${build}/installed ${build}/moved)
  set(imbrex -Dimbrex_ROOT=${build}/moved)
else()
  set(imbrex -DIMBREX_SOURCE_DIR=${source_dir} -DIMBREX_WARNINGS_AS_ERRORS=${errors})
endif()

string(REPLACE "|" "\\;" launcher "${launcher}")
file(COPY ${consumer}/ DESTINATION ${build}/sources) # of which one is changed below
run(${CMAKE_COMMAND} -S ${build}/sources -B ${build} -G ${generator} ${imbrex}
  -DCMAKE_CXX_COMPILER=${compiler}
  "-DCMAKE_CXX_COMPILER_LAUNCHER=${launcher}"
  -DCMAKE_BUILD_TYPE=${build_type}
  -DCMAKE_CXX_FLAGS=${flags}
  -DCMAKE_UNITY_BUILD=${unity}
  -DCMAKE_CXX_FLAGS_RELWITHDEBINFO=${fast_flags})
# What LLVM would like to have is nothing that a consumer lacks.
if(install_from AND said MATCHES "Could NOT find")
  message(FATAL_ERROR "find_package(imbrex) tells what it does not need")
endif()
run(${CMAKE_COMMAND} --build ${build} --target consumer -j 2)
run(${build}/consumer)
# Nothing has changed: no kernel is compiled again.
run(${CMAKE_COMMAND} --build ${build} --target consumer)
if(generator STREQUAL "Ninja" AND NOT said MATCHES "no work to do")
  message(FATAL_ERROR "a build with nothing changed does something")
endif()
# A kernel has: its library is made again, and what launches it is linked again, but not compiled.
file(READ ${build}/sources/kernels.cpp kernels)
string(REPLACE "box<64>" "box<128>" kernels "${kernels}")
file(WRITE ${build}/sources/kernels.cpp "${kernels}")
run(${CMAKE_COMMAND} --build ${build} --target consumer)
if(NOT said MATCHES "Compiling the kernels of twice" OR NOT said MATCHES "Linking CXX executable ahead" OR
   said MATCHES "Building CXX object [^\n]*(ahead|consumer)\\.dir")
  message(FATAL_ERROR "a changed kernel is not compiled again, or something else is")
endif()
if(install_from)
  run(${CMAKE_COMMAND} -S ${consumer}/../without_compiler -B ${build}/without_compiler -G ${generator} ${imbrex}
    -DKERNELS=${build}/twice_kernels -DCMAKE_CXX_COMPILER=${compiler} -DCMAKE_CXX_FLAGS=${flags}
    -DCMAKE_DISABLE_FIND_PACKAGE_LLVM=ON -DCMAKE_DISABLE_FIND_PACKAGE_Boost=ON)
  run(${CMAKE_COMMAND} --build ${build}/without_compiler)
  run(${build}/without_compiler/ahead)
endif()
file(REMOVE_RECURSE ${build})
