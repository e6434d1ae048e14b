#pragma once

#include "backend/gpu_code.h"
#include "backend/support/diagnostics.h"
#include "backend/target/gpu_target.h"

#include <atomic>

namespace imbrex::runtime {

/// Tells of a kernel on a device, once, that it spills registers; its variants do so alike.
class SpillNotice {
public:
  void tell(const std::string &spills) const;
  /// The text for `tell`; empty where nothing spills.
  static std::string textOf(const std::optional<Diagnostic> &spills);
  /// The same for code that no driver needs as an image, where making one takes no tool. Nothing is
  /// made where nobody would hear of it.
  void tellOf(const GpuCode &code, const target::GpuTarget &target) const;

private:
  mutable std::atomic<bool> isTold_ = false;
};

} // namespace imbrex::runtime
