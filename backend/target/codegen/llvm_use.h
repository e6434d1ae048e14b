#pragma once

#include "backend/machine/machine.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"

#include <string_view>

namespace imbrex::target {

/// One stands around each compilation by LLVM, for the code generators of these families.
///
/// LLVM makes statics of its own when it first needs them, and at the end of the process they are
/// destroyed before what was made earlier: a launch from the destructor of such an object comes too
/// late to compile, though not to run what is compiled. Which statics those are is LLVM's affair;
/// what is known is when they go: behind the functions of atexit that are registered after them.
class LlvmUse {
public:
  explicit LlvmUse(llvm::ArrayRef<machine::Family> families) : families_(families) {}
  ~LlvmUse();
  LlvmUse(const LlvmUse &) = delete;
  LlvmUse &operator=(const LlvmUse &) = delete;

  /// False, and an error reported, where it comes too late.
  bool isPossible(std::string_view kernel, Diagnostics &diagnostics) const;

private:
  llvm::SmallVector<machine::Family, 2> families_;
};

} // namespace imbrex::target
