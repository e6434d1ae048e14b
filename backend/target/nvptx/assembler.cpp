#include "backend/target/nvptx/assembler.h"

namespace imbrex::target::nvptx {

namespace {

/// nvJitLink 13 launches such a kernel with as few registers as its code needs, whatever `.maxnreg`
/// says: who takes the rest would wait for ever. ptxas does as it is told.
bool handsRegistersOver(const std::string &ptx) {
  return ptx.find("setmaxnreg.inc") != std::string::npos;
}

} // namespace

Result<ObjectCode> assemble(const std::string &ptx, const machine::Machine &machine) {
  if (auto made = assembleByProgram(ptx, machine)) return std::move(*made);
  if (!handsRegistersOver(ptx))
    if (auto made = assembleInProcess(ptx, machine)) return std::move(*made);
  return fail(Diag::NoAssembler, {}, machine.name, "ptxas", "libnvJitLink.so.13", "CUDA 13");
}

} // namespace imbrex::target::nvptx
