#pragma once

#include "llvm/Support/MemoryBufferRef.h"
#include "tests/run/machines/guest_process.h"

#include <map>
#include <string>

namespace imbrex::testing {

/// Put an object file into a guest by JITLink, which the JIT uses on AArch64 as well; the address
/// of a symbol. Aborts where the code needs another symbol than the given ones.
std::uint64_t linkInto(GuestProcess &guest, const std::map<std::string, std::uint64_t> &symbols,
                       llvm::MemoryBufferRef object, const std::string &wanted);

} // namespace imbrex::testing
