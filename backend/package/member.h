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

/// The member that a device loads, which its driver names so (choice/fit.h); null where none fits.
const Member *memberFor(llvm::ArrayRef<Member> members, std::string_view device);

/// "sm_90a, assembly of sm_75": what there is, for people.
std::string describe(llvm::ArrayRef<Member> members);

} // namespace imbrex::package
