#pragma once

#include "backend/target/host/vector_unit.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/CodeGen.h"

#include <memory>
#include <string>

/// The compiler behind every program of the process: one target machine for the CPU found, one ORC
/// session, one dylib per program.
namespace imbrex::host {

/// What code for this machine may use; found once.
struct Machine {
  VectorUnit vectors;
  bool hasRange = false; // AVX-512's vrange: minimum and maximum with a defined order of zeros
  std::string name;      // as inline_asm names its target: "host-x86_64", "host-aarch64"
};
const Machine &machine();

/// Set the triple and the data layout that code for this machine needs.
void prepareModule(llvm::Module &module);

/// Machine code of one module; unloaded when it dies.
class LoadedCode {
public:
  virtual ~LoadedCode() = default;
  virtual void *address(const std::string &symbol) const = 0;
};

/// Optimise the module, generate code with so much effort and load it. With IMBREX_DUMP, writes
/// NAME.ll and NAME.s. Aborts on what LLVM refuses: that module was ours.
std::unique_ptr<LoadedCode>
compileAndLoad(std::unique_ptr<llvm::Module> module,
               llvm::CodeGenOptLevel effort = llvm::CodeGenOptLevel::Default);

/// Generate code and throw it away; what LLVM refuses goes to the diagnostic handler of the
/// module's context.
void compileForTrial(llvm::Module &module);

} // namespace imbrex::host
