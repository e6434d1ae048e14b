#include "backend/target/host/program.h"

// The host device has no compiler yet: a kernel for it is refused. Goes when program.cpp comes.
namespace imbrex::host {

struct Program::Implementation {};
Program::Program() = default;
Program::~Program() = default;

std::unique_ptr<Program> Program::compile(const ir::Kernel &kernel, Diagnostics &diagnostics) {
  diagnostics.report(Diag::UnknownDevice, {}, "host", "interpreter (" + kernel.name() + ")");
  return nullptr;
}

bool Program::run(const ir::Grid &, llvm::ArrayRef<ir::Argument>, Diagnostics &) const {
  return implementation_ != nullptr;
}

} // namespace imbrex::host
