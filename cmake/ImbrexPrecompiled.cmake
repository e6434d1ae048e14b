# imbrex_precompile(<set> <target>…): what the files of these targets include of others' code, compiled
# once. Half of the time of a clean build went into reading LLVM's headers again for each file.
#
#   containers   the standard library's and LLVM's
#   llvm_ir      and LLVM IR
#
# A target of a part that is not built is passed over. Each file still includes what it uses: the
# presets of clang++ build without (CMAKE_DISABLE_PRECOMPILE_HEADERS).
set(IMBREX_PRECOMPILED_containers
  <algorithm> <array> <cstdint> <functional> <map> <memory> <optional> <set> <string> <string_view>
  <unordered_map> <utility> <vector>
  <llvm/ADT/APFloat.h> <llvm/ADT/ArrayRef.h> <llvm/ADT/DenseMap.h> <llvm/ADT/STLExtras.h>
  <llvm/ADT/SmallVector.h> <llvm/ADT/StringRef.h>)
set(IMBREX_PRECOMPILED_llvm_ir
  ${IMBREX_PRECOMPILED_containers}
  <llvm/IR/IRBuilder.h> <llvm/IR/IntrinsicInst.h> <llvm/IR/Module.h>)

# Code for libraries differs from code for programs in that it may lie anywhere, so that there are
# two of each.
function(imbrex_precompile set)
  foreach(target IN LISTS ARGN)
    if(NOT TARGET ${target})
      continue()
    endif()
    get_target_property(isAnywhere ${target} POSITION_INDEPENDENT_CODE)
    set(headers imbrex_${set})
    if(isAnywhere)
      string(APPEND headers _anywhere)
    endif()
    if(NOT TARGET ${headers})
      set(source ${PROJECT_BINARY_DIR}/${headers}.cpp)
      file(CONFIGURE OUTPUT ${source} CONTENT "// Headers alone.\n")
      add_library(${headers} OBJECT EXCLUDE_FROM_ALL ${source})
      target_link_libraries(${headers} PRIVATE imbrex_llvm)
      target_compile_features(${headers} PRIVATE cxx_std_20)
      imbrex_warnings(${headers})
      set_target_properties(${headers} PROPERTIES
        CXX_EXTENSIONS OFF CXX_VISIBILITY_PRESET hidden VISIBILITY_INLINES_HIDDEN ON)
      if(isAnywhere)
        set_target_properties(${headers} PROPERTIES POSITION_INDEPENDENT_CODE ON)
      endif()
      target_precompile_headers(${headers} PRIVATE ${IMBREX_PRECOMPILED_${set}})
    endif()
    target_precompile_headers(${target} REUSE_FROM ${headers})
  endforeach()
endfunction()

imbrex_precompile(containers
  imbrex_analysis imbrex_interpret imbrex_ir imbrex_layout imbrex_machine imbrex_passes imbrex_schedule
  imbrex_random_kernel imbrex_random_schedule imbrex_schedules imbrex_semantics imbrex_kernel_table
  unit_analysis unit_interpret unit_ir unit_layout unit_machine unit_passes unit_schedule
  golden run run_emulated codegen_table)
imbrex_precompile(llvm_ir
  imbrex_amdgpu imbrex_backend imbrex_codegen imbrex_emulate imbrex_gpu imbrex_host imbrex_lower
  imbrex_nvptx imbrex_runtime imbrex_target imbrex_command imbrex_tool
  unit_emulate unit_host unit_lower unit_target
  codegen_async codegen_pipelined codegen_pipelined_emulated codegen_planted codegen_quiet
  codegen_table_gcn codegen_table_ptx imbrex_pipelined_kernels imbrex_table_launch static_quality)
