#pragma once

#include "llvm/ADT/ArrayRef.h"

/// The C++ functions that compiled code calls by name.
namespace imbrex::host {

struct RuntimeCall {
  const char *name;
  void *address;
};

llvm::ArrayRef<RuntimeCall> runtimeCalls();

} // namespace imbrex::host
