#pragma once

#include "backend/target/host/compiler.h"

#include <memory>
#include <string>

/// What is behind every program of the process: a compiler for the CPU found, one ORC session, one
/// dylib per program.
namespace imbrex::host {

/// For this machine; found once.
Compiler &nativeCompiler();
/// For this machine, but for the features alone of `portableCpu`: what its code computes does not
/// depend on which processor is found.
Compiler &portableCompiler();
const HostMachine &machine();

/// Machine code of one module; unloaded when it dies.
class LoadedCode {
public:
  virtual ~LoadedCode() = default;
  virtual void *address(const std::string &symbol) const = 0;
};

/// An object file that this machine can execute.
std::unique_ptr<LoadedCode> load(std::unique_ptr<llvm::MemoryBuffer> object);

} // namespace imbrex::host
