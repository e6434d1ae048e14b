# imbrex_llvm: what a target links to use LLVM 22. Headers are SYSTEM, so that our warnings stay ours.
find_package(LLVM 22.1 REQUIRED CONFIG HINTS /usr/lib/llvm-22)
message(STATUS "LLVM ${LLVM_PACKAGE_VERSION} in ${LLVM_DIR}, linked ${IMBREX_LLVM_LINK}")

add_library(imbrex_llvm INTERFACE)
target_include_directories(imbrex_llvm SYSTEM INTERFACE "$<BUILD_INTERFACE:${LLVM_INCLUDE_DIRS}>")

# The processors that it has code for, besides GPUs: where it is linked statically, only this one.
set(IMBREX_LLVM_PROCESSORS ${LLVM_TARGETS_TO_BUILD})
if(IMBREX_LLVM_LINK STREQUAL "static")
  set(IMBREX_LLVM_PROCESSORS ${LLVM_NATIVE_ARCH})
endif()
list(FILTER IMBREX_LLVM_PROCESSORS INCLUDE REGEX "^(X86|AArch64)$")

# A class of ours that derives from one of LLVM's needs the typeinfo that an LLVM without RTTI lacks.
# Debian's LLVM has RTTI, so that this line is for others.
if(NOT LLVM_ENABLE_RTTI)
  target_compile_options(imbrex_llvm INTERFACE "$<BUILD_INTERFACE:-fno-rtti>")
endif()

if(IMBREX_LLVM_LINK STREQUAL "shared")
  target_link_libraries(imbrex_llvm INTERFACE LLVM)
elseif(IMBREX_LLVM_LINK STREQUAL "static")
  set(components core support analysis passes orcjit native targetparser object debuginfodwarf)
  if(IMBREX_ENABLE_NVPTX)
    list(APPEND components NVPTX)
  endif()
  if(IMBREX_ENABLE_AMDGPU)
    list(APPEND components ${LLVM_TARGETS_TO_BUILD} lto dtlto option) # all but AMDGPU for lld
  endif()
  llvm_map_components_to_libnames(imbrex_llvm_components ${components})
  target_link_libraries(imbrex_llvm INTERFACE ${imbrex_llvm_components})
else()
  message(FATAL_ERROR "IMBREX_LLVM_LINK is '${IMBREX_LLVM_LINK}', but must be shared or static")
endif()

# imbrex_lld: the linker as a library, which AMD's code objects need. It is static; what it wants of
# LLVM comes from imbrex_llvm, however that is linked.
if(IMBREX_ENABLE_AMDGPU)
  find_package(ZLIB REQUIRED)
  find_package(LLD REQUIRED CONFIG HINTS ${LLVM_INSTALL_PREFIX})
  if(IMBREX_LLVM_LINK STREQUAL "static")
    # What they use comes behind them, on a linker's command line.
    set_target_properties(lldCommon PROPERTIES INTERFACE_LINK_LIBRARIES imbrex_llvm)
    set_target_properties(lldELF PROPERTIES INTERFACE_LINK_LIBRARIES "lldCommon;ZLIB::ZLIB;zstd::libzstd_shared")
    # lld brings LLVM's LTO along, and that LLVM's extensions.
    if(TARGET Polly AND NOT EXISTS ${LLVM_LIBRARY_DIR}/libPolly.a)
      message(FATAL_ERROR "to link LLVM with lld statically, install libPolly.a (on Debian libpolly-22-dev), "
                          "or leave AMD's GPUs out by IMBREX_ENABLE_AMDGPU=OFF")
    endif()
  endif()
  add_library(imbrex_lld INTERFACE)
  target_include_directories(imbrex_lld SYSTEM INTERFACE "$<BUILD_INTERFACE:${LLD_INCLUDE_DIRS}>")
  target_link_libraries(imbrex_lld INTERFACE lldELF lldCommon imbrex_llvm)
endif()
