# imbrex_compiler_problem(<variable>): why the project's compiler cannot read our headers, or nothing.
# The same versions as in dsl/include/imbrex/detail/compiler.hpp.
function(imbrex_compiler_problem variable)
  set(problem "")
  if((CMAKE_CXX_COMPILER_ID STREQUAL "Clang" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 16)
     OR (CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 12))
    string(CONCAT problem "imbrex needs g++ 12 or later, or clang++ 16 or later (tested with 22), but the compiler is "
                          "${CMAKE_CXX_COMPILER_ID} ${CMAKE_CXX_COMPILER_VERSION}: configure in a new folder with "
                          "-DCMAKE_CXX_COMPILER=g++ or clang++-22")
  endif()
  set(${variable} "${problem}" PARENT_SCOPE)
endfunction()
