#include "backend/target/nvptx/assembler.h"

namespace imbrex::target::nvptx {

Result<ObjectCode> assemble(const std::string &ptx, const machine::Machine &machine) {
  if (auto made = assembleByProgram(ptx, machine)) return std::move(*made);
  if (auto made = assembleInProcess(ptx, machine)) return std::move(*made);
  return fail(Diag::NoAssembler, {}, machine.name, "ptxas", "libnvJitLink.so.13", "CUDA 13");
}

} // namespace imbrex::target::nvptx
