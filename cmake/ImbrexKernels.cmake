# imbrex_add_kernels(<library> SOURCES <file>… TARGETS <target>…
#                    [NAMESPACE <name>] [HEADER <variable>] [MANIFEST <variable>]
#                    [TUNED <file>] [SHARED] [COMPRESS] [NO_ASSUMPTIONS] [LINE_INFO] [PTX_ONLY]
#                    [GENERATOR <program>])
#
# A static library with the kernels that the files name by IMBREX_KERNEL, compiled now for all the
# targets: sm_90a, ptx:sm_80, gfx942, gfx11-generic, host:x86-64-v3, … Whoever links it has its
# headers <library>.hpp and <library>.h, and with them imbrex::aot, which needs neither a compiler
# nor a driver to link. docs/aot.md tells the whole story.
#
# SHARED makes <library>_shared besides, a shared library of the same functions, for what loads one.
# NO_ASSUMPTIONS makes one code for each target, which takes nothing for granted of the launches.
# LINE_INFO lets GPUs' code name the lines of the sources, for profilers.
# TUNED is a table, in JSON, of which configurations of the kernels launches run.
# The variables get the paths of the C++ header and of the manifest. GENERATOR is one that was built
# before, for a build that crosses from one processor to another; else it is made of the SOURCES.
function(imbrex_add_kernels library)
  cmake_parse_arguments(PARSE_ARGV 1 arg
    "SHARED;COMPRESS;NO_ASSUMPTIONS;LINE_INFO;PTX_ONLY" "NAMESPACE;HEADER;MANIFEST;TUNED;GENERATOR" "SOURCES;TARGETS")
  if(arg_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "imbrex_add_kernels(${library}): unknown '${arg_UNPARSED_ARGUMENTS}'")
  endif()
  if(NOT library MATCHES "^[A-Za-z_][A-Za-z0-9_]*$")
    message(FATAL_ERROR "imbrex_add_kernels(${library}): C has no such name; use letters, digits and '_'")
  endif()
  if(NOT arg_TARGETS)
    message(FATAL_ERROR "imbrex_add_kernels(${library}): TARGETS says what to make code for")
  endif()
  if(arg_GENERATOR)
    set(generator ${arg_GENERATOR})
  elseif(arg_SOURCES AND NOT TARGET imbrex::generator)
    message(FATAL_ERROR "imbrex_add_kernels(${library}): the kernels are compiled by imbrex::generator; "
                        "find_package(imbrex COMPONENTS generator aot) finds it")
  elseif(arg_SOURCES)
    set(generator ${library}_generator)
    add_executable(${generator} ${arg_SOURCES})
    target_link_libraries(${generator} PRIVATE imbrex::generator)
  else()
    message(FATAL_ERROR "imbrex_add_kernels(${library}): SOURCES names the kernels, or GENERATOR a program")
  endif()

  set(folder ${CMAKE_CURRENT_BINARY_DIR}/${library}_kernels)
  set(archive ${folder}/lib${library}.a)
  list(JOIN arg_TARGETS "," targets)
  set(options --name ${library} --targets ${targets} --out ${folder})
  if(arg_NAMESPACE)
    list(APPEND options --namespace ${arg_NAMESPACE})
  endif()
  if(arg_COMPRESS)
    list(APPEND options --compress)
  endif()
  if(arg_NO_ASSUMPTIONS)
    list(APPEND options --no-assumptions)
  endif()
  if(arg_LINE_INFO)
    list(APPEND options --line-info)
  endif()
  if(arg_PTX_ONLY)
    list(APPEND options --ptx-only)
  endif()
  if(arg_TUNED)
    cmake_path(ABSOLUTE_PATH arg_TUNED BASE_DIRECTORY ${CMAKE_CURRENT_SOURCE_DIR} NORMALIZE)
    list(APPEND options --tuned ${arg_TUNED})
  endif()
  if(CMAKE_CROSSCOMPILING AND CMAKE_CXX_COMPILER_TARGET)
    list(APPEND options --processor ${CMAKE_CXX_COMPILER_TARGET})
  elseif(CMAKE_CROSSCOMPILING)
    list(APPEND options --processor ${CMAKE_SYSTEM_PROCESSOR}-unknown-linux-gnu)
  endif()

  # The headers keep their time while they stay the same: they are no outputs, which must be new.
  add_custom_command(OUTPUT ${archive}
    BYPRODUCTS ${folder}/${library}.h ${folder}/${library}.hpp ${folder}/${library}.json
    COMMAND ${generator} ${options}
    DEPENDS ${generator} ${arg_TUNED}
    COMMENT "Compiling the kernels of ${library} for ${targets}"
    VERBATIM)
  add_custom_target(${library}_kernels ALL DEPENDS ${archive})
  file(MAKE_DIRECTORY ${folder}) # CMake wants an include folder to be there
  add_library(${library} STATIC IMPORTED GLOBAL)
  set_target_properties(${library} PROPERTIES IMPORTED_LOCATION ${archive})
  target_include_directories(${library} INTERFACE ${folder})
  target_link_libraries(${library} INTERFACE imbrex::aot)
  add_dependencies(${library} ${library}_kernels)
  if(arg_SHARED)
    file(CONFIGURE OUTPUT ${folder}/shared.cpp CONTENT "// all of it is in the archives\n")
    add_library(${library}_shared SHARED ${folder}/shared.cpp)
    target_link_libraries(${library}_shared PRIVATE ${library})
    # All of both archives, though nothing here calls them. The override knows no aliases.
    get_target_property(aot imbrex::aot ALIASED_TARGET)
    if(NOT aot)
      set(aot imbrex::aot)
    endif()
    target_include_directories(${library}_shared INTERFACE ${folder} $<TARGET_PROPERTY:${aot},INTERFACE_INCLUDE_DIRECTORIES>)
    set_target_properties(${library}_shared PROPERTIES OUTPUT_NAME ${library}
      LINK_LIBRARY_OVERRIDE "WHOLE_ARCHIVE,${library},${aot}")
  endif()
  if(arg_HEADER)
    set(${arg_HEADER} ${folder}/${library}.hpp PARENT_SCOPE)
  endif()
  if(arg_MANIFEST)
    set(${arg_MANIFEST} ${folder}/${library}.json PARENT_SCOPE)
  endif()
endfunction()
