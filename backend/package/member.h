#pragma once

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"

#include <string>
#include <string_view>
#include <vector>

namespace imbrex::package {

/// One machine's code in a package of several.
struct Member {
  std::string machine;      ///< As in targets.def: "sm_90a", "gfx942".
  bool isAssembly = false;  ///< PTX, which the driver assembles for its own machine.
  std::string content = {}; ///< An ELF image, or the text.

  friend bool operator==(const Member &, const Member &) = default;
};

/// The member that a device loads; null where none fits. A device is named as its driver names it:
/// "sm_90" (from the compute capability 9.0), "gfx942:sramecc+:xnack-".
///
///   NVIDIA   its own image; an image of the same generation and an older machine, neither of which
///            is a Tegra; the newest assembly that is no newer than the device. What is made for
///            "sm_90a" runs on an sm_90 and on nothing else (CUDA C++ Programming Guide, "Binary
///            Compatibility", "Architecture- Specific Features").
///   AMD      its own image; an image for the generic machine that it belongs to (LLVM,
///   AMDGPUUsage,
///            "Generic Processor Code Object Versioning").
const Member *memberFor(llvm::ArrayRef<Member> members, std::string_view device);

/// "sm_90a, assembly of sm_75": what there is, for people.
std::string describe(llvm::ArrayRef<Member> members);

} // namespace imbrex::package
