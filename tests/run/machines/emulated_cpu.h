#pragma once

#include "backend/ir/argument.h"
#include "backend/ir/kernel.h"
#include "backend/support/diagnostics.h"
#include "backend/target/host/compiler.h"
#include "tests/run/machines/guest_process.h"

#include <map>
#include <string>

namespace imbrex::testing {

/// An AArch64 processor, emulated: runs what the host target makes for it.
class EmulatedCpu {
public:
  /// The processor's name to LLVM, for which code is made, and to the emulator, which executes it.
  EmulatedCpu(const std::string &emulator, const std::string &llvmName,
              const std::string &emulatorName);

  /// As interpret::run. What the code touches is copied to where the guest is, and back.
  bool run(const ir::Kernel &kernel, const ir::Grid &grid, llvm::ArrayRef<ir::Argument> arguments,
           Diagnostics &diagnostics);

  host::Compiler &compiler() { return compiler_; }

private:
  host::Compiler compiler_;
  GuestProcess guest_;
  std::map<std::string, std::uint64_t> symbols_; // what code may call
};

} // namespace imbrex::testing
