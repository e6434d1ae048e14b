#pragma once

#include "backend/target/host/vector_unit.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/CodeGen.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/TargetParser/Triple.h"

#include <memory>
#include <mutex>
#include <string>

namespace llvm {
class TargetMachine;
}

/// LLVM's passes and code generation for one processor: the one found, or any that is named.
namespace imbrex::host {

/// What code for a processor may use.
struct HostMachine {
  VectorUnit vectors;
  /// vrange: minimum and maximum with a defined order of zeros; vscalef: p 2^n, rounded once.
  bool hasAvx512 = false;
  std::string name = {}; // as inline_asm names its target: "host-x86_64", "host-aarch64"
};
HostMachine describe(const llvm::TargetMachine &target);

/// The processor, by LLVM's name, that code is made for which has to give the same bits on whatever
/// executes it; `features` are those found. Newer ones have instructions that do not obey the
/// floating-point state, as AVX512-BF16's conversion flushes subnormals, and LLVM takes them
/// wherever a bfloat passes through a register.
std::string portableCpu(const llvm::Triple &triple, const llvm::StringMap<bool> &features);

/// Any number of threads may use one; their compilations take turns.
class Compiler {
public:
  explicit Compiler(std::unique_ptr<llvm::TargetMachine> target);
  ~Compiler();

  const HostMachine &machine() const { return machine_; }
  /// All of the processor that its code depends on: triple, name and features, as LLVM has them.
  std::string processor() const;

  /// Set the triple and the data layout that code for this machine needs.
  void prepare(llvm::Module &module) const;

  /// Optimise the module and generate code with so much effort: an object file. With IMBREX_DUMP,
  /// writes NAME.ll and NAME.s. Aborts on what LLVM refuses: that module was ours.
  std::unique_ptr<llvm::MemoryBuffer> compile(llvm::Module &module, llvm::CodeGenOptLevel effort);

  /// Generate code and throw it away; what LLVM refuses goes to the diagnostic handler of the
  /// module's context.
  void compileForTrial(llvm::Module &module);

private:
  std::mutex mutex_; // of the target, which serves one compilation at a time
  const std::unique_ptr<llvm::TargetMachine> target_;
  const HostMachine machine_;
};

} // namespace imbrex::host
