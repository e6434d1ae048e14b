#pragma once

#include "backend/ir/argument.h"
#include "backend/lower/kernel_interface.h"
#include "llvm/ADT/ArrayRef.h"
#include "runtime/gpu/gpu.h"

#include <cstddef>
#include <vector>

namespace imbrex::gpu {

/// What a launch passes beside the arguments of the kernel's parameters.
struct HiddenArguments {
  std::uint64_t observations = 0;
  std::vector<BoxMapBytes> maps = {}; ///< By the interface's.
};

struct PackedArguments {
  std::vector<std::byte> bytes;
  /// Where each word is, of a kernel that has maps: those the assembler puts where they are aligned
  /// beside what the driver has in front of all arguments, so that only the driver knows the place.
  std::vector<void *> each = {};
};

/// The bytes in which a kernel finds its arguments, in the places that both vendors' rules give
/// them (PTX: the natural alignment of .param; AMD: that of the kernarg segment). The arguments are
/// those of the kernel's parameters, with addresses of the device.
PackedArguments packArguments(const lower::KernelInterface &interface,
                              llvm::ArrayRef<ir::Argument> arguments, const HiddenArguments &made);

} // namespace imbrex::gpu
