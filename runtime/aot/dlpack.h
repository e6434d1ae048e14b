#pragma once

#include "backend/package/choice/tables.h"
#include "imbrex/aot.h"

#include <array>

/// DLPack's tensors in the place of arrays of our own.
namespace imbrex::aot {

class TensorArguments {
public:
  /// Take a launch's arguments, of which those with memory are tensors; each is checked against its
  /// parameter and the stream. An imbrex_status.
  int take(const KernelRow &kernel, const imbrex_stream &on, const void *const *arguments);
  /// The same, with arrays of our own. Good as long as this.
  const void *const *list() const { return list_.data(); }

private:
  union Room {
    imbrex_array array;
    imbrex_memory memory;
  };
  std::array<Room, kMostParameters> rooms_;
  std::array<const void *, kMostParameters> list_;
};

} // namespace imbrex::aot
