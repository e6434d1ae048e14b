#pragma once

#include "backend/ir/argument.h"
#include "backend/lower/kernel_interface.h"
#include "llvm/ADT/ArrayRef.h"

#include <cstddef>
#include <vector>

namespace imbrex::gpu {

/// The bytes in which a kernel finds its arguments: each word at the next multiple of its size, as
/// both vendors' rules have it (PTX: the natural alignment of .param; AMD: that of the kernarg
/// segment). The arguments are those of the kernel's parameters, with addresses of the device.
std::vector<std::byte> packArguments(const lower::KernelInterface &interface,
                                     llvm::ArrayRef<ir::Argument> arguments,
                                     std::uint64_t observations);

} // namespace imbrex::gpu
