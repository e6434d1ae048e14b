# imbrex_export(<target> <name> [<set>]): the target is installed and found by users as
# imbrex::<name>, as one of a set of exported targets: imbrexTargets unless said.
function(imbrex_export target name)
  set(set imbrexTargets)
  if(ARGC GREATER 2)
    set(set ${ARGV2})
  endif()
  set_target_properties(${target} PROPERTIES EXPORT_NAME ${name})
  if(IMBREX_INSTALL)
    set(headers)
    get_target_property(sets ${target} INTERFACE_HEADER_SETS)
    if(sets)
      set(headers FILE_SET HEADERS DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
    endif()
    install(TARGETS ${target} EXPORT ${set} ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} ${headers})
  endif()
endfunction()

# imbrex_add_library(<imbrex_folder> [STANDALONE] [SOURCES …] [HEADERS …] [DEPENDS …] [PRIVATE_DEPENDS …])
#
# The one library of a folder. HEADERS are the public ones, below the folder's include/; the other
# headers of a folder need no list. Internal code includes from the root of the repository
# ("backend/ir/types.h"), which a target sees that DEPENDS on a backend library; who depends on the
# DSL or the runtime alone sees the public headers alone. A folder without SOURCES yet is an
# INTERFACE library, so that others can link it already. One that is STANDALONE needs neither LLVM nor
# Boost, and can be found without them (COMPONENTS aot).
function(imbrex_add_library target)
  cmake_parse_arguments(PARSE_ARGV 1 arg "STANDALONE" "" "SOURCES;HEADERS;DEPENDS;PRIVATE_DEPENDS")
  if(arg_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "imbrex_add_library(${target}): unknown '${arg_UNPARSED_ARGUMENTS}'")
  endif()
  string(REGEX REPLACE "^imbrex_" "" name ${target})

  if(arg_SOURCES)
    add_library(${target} STATIC ${arg_SOURCES})
    set_property(GLOBAL APPEND PROPERTY IMBREX_LIBRARIES ${target})
    set(public PUBLIC)
    set(private PRIVATE)
    target_include_directories(${target} PRIVATE ${PROJECT_SOURCE_DIR})
    imbrex_warnings(${target})
    # Whoever has it for all of their project gets our results all the same.
    target_compile_options(${target} PRIVATE -fno-fast-math)
    set_target_properties(${target} PROPERTIES
      CXX_EXTENSIONS OFF
      CXX_VISIBILITY_PRESET hidden
      VISIBILITY_INLINES_HIDDEN ON
      POSITION_INDEPENDENT_CODE ON)
  else()
    add_library(${target} INTERFACE)
    set(public INTERFACE)
    set(private INTERFACE)
  endif()
  add_library(imbrex::${name} ALIAS ${target})

  target_compile_features(${target} ${public} cxx_std_20)
  if(NOT EXISTS ${CMAKE_CURRENT_SOURCE_DIR}/include)
    target_include_directories(${target} ${public} $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}>)
  elseif(arg_HEADERS)
    target_sources(${target} ${public} FILE_SET HEADERS BASE_DIRS include FILES ${arg_HEADERS})
  endif()
  target_link_libraries(${target} ${public} ${arg_DEPENDS} ${private} ${arg_PRIVATE_DEPENDS})
  set(set imbrexTargets)
  if(arg_STANDALONE)
    set(set imbrexAotTargets)
  endif()
  imbrex_export(${target} ${name} ${set})
endfunction()

# imbrex_find_own_memory_early(<sources>...): sources of a launch that is made again, which finds the
# thread's own memory by a call that keeps all registers, or by none where the linker knows better.
# AArch64's compilers do so anyway. Vector registers may be lost
# (docs/adr/0026-a-launch-is-compared-as-words.md), so that these sources look there before they use any.
include(CheckCXXCompilerFlag)
check_cxx_compiler_flag(-mtls-dialect=gnu2 IMBREX_HAS_TLS_DESCRIPTORS)
function(imbrex_find_own_memory_early)
  if(IMBREX_HAS_TLS_DESCRIPTORS)
    set_source_files_properties(${ARGN} PROPERTIES COMPILE_OPTIONS -mtls-dialect=gnu2
      SKIP_PRECOMPILE_HEADERS ON)
  endif()
endfunction()
