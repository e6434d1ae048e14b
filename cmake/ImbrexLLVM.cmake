# imbrex_llvm: what a target links to use LLVM 22. Headers are SYSTEM, so that our warnings stay ours.
find_package(LLVM 22.1 REQUIRED CONFIG HINTS /usr/lib/llvm-22)
message(STATUS "LLVM ${LLVM_PACKAGE_VERSION} in ${LLVM_DIR}, linked ${IMBREX_LLVM_LINK}")

add_library(imbrex_llvm INTERFACE)
target_include_directories(imbrex_llvm SYSTEM INTERFACE "$<BUILD_INTERFACE:${LLVM_INCLUDE_DIRS}>")

# A class of ours that derives from one of LLVM's needs the typeinfo that an LLVM without RTTI lacks.
# Debian's LLVM has RTTI, so that this line is for others.
if(NOT LLVM_ENABLE_RTTI)
  target_compile_options(imbrex_llvm INTERFACE "$<BUILD_INTERFACE:-fno-rtti>")
endif()

if(IMBREX_LLVM_LINK STREQUAL "shared")
  target_link_libraries(imbrex_llvm INTERFACE LLVM)
elseif(IMBREX_LLVM_LINK STREQUAL "static")
  llvm_map_components_to_libnames(imbrex_llvm_components
    core support analysis passes orcjit native targetparser)
  target_link_libraries(imbrex_llvm INTERFACE ${imbrex_llvm_components})
else()
  message(FATAL_ERROR "IMBREX_LLVM_LINK is '${IMBREX_LLVM_LINK}', but must be shared or static")
endif()
