#pragma once

#include "backend/target/host/compiler.h"
#include "llvm/TargetParser/SubtargetFeature.h"

#include <memory>
#include <string>

namespace llvm {
class TargetMachine;
namespace orc {
class JITTargetMachineBuilder;
}
} // namespace llvm

/// What is behind every program of the process: a compiler for the CPU found, one ORC session, one
/// dylib per program.
namespace imbrex::host {

/// For this machine; found once.
Compiler &nativeCompiler();
/// For this machine, but for the features alone of `portableCpu`: what its code computes does not
/// depend on which processor is found.
Compiler &portableCompiler();
const HostMachine &machine();

/// What a processor is found to have, or to lack, other than what LLVM knows of its name: features
/// are what LLVM takes longest over when it makes a TargetMachine, whether they change anything or
/// not. To be used once LLVM knows the target.
llvm::SubtargetFeatures featuresBesides(const llvm::Triple &triple, llvm::StringRef cpu,
                                        const llvm::StringMap<bool> &found);

/// What makes code that ORC loads. It may lie anywhere, near its constants, since ORC keeps an
/// object together: else LLVM takes a JIT's constants to be anywhere too, and has an instruction
/// and a register for the address of each.
std::unique_ptr<llvm::TargetMachine> targetMachineOf(llvm::orc::JITTargetMachineBuilder builder);

/// Machine code of one module; unloaded when it dies.
class LoadedCode {
public:
  virtual ~LoadedCode() = default;
  virtual void *address(const std::string &symbol) const = 0;
};

/// An object file that this machine can execute.
std::unique_ptr<LoadedCode> load(std::unique_ptr<llvm::MemoryBuffer> object);

} // namespace imbrex::host
