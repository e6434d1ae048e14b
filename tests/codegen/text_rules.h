#pragma once

#include "llvm/IR/Module.h"

#include <string>
#include <vector>

/// What our semantics rests on in an assembly, whatever the code generator makes of the module:
/// numbers are rounded to nearest and keep subnormals, nothing is approximate and nothing is fused
/// that the module does not have so, and each access names its memory. The order of memory is
/// another matter (backend/validate/access_order.h).
namespace imbrex::testing {

/// The lines that break a rule, with the rule.
std::vector<std::string> brokenInPtx(const llvm::Module &module, llvm::StringRef ptx);
std::vector<std::string> brokenInGcn(const llvm::Module &module, llvm::StringRef assembly);

} // namespace imbrex::testing
