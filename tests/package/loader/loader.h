#pragma once

#include "backend/package/member.h"
#include "backend/support/result.h"

#include <string>

/// An example: a package of several machines' code, loaded on whatever device there is. The driver
/// is opened at run time, so that the program also starts where there is none.
namespace loader {

/// What was loaded where.
struct Loaded {
  std::string device;             ///< As the driver names it.
  imbrex::package::Member member; ///< What was chosen of the package.
  void *module = nullptr;         ///< The driver's handle.
};

/// Load the member of a fat binary or an offload bundle that the first device of a driver takes.
/// The driver is the path of a library, "libcuda.so.1" or "libamdhip64.so". The error says what is
/// missing.
imbrex::Result<Loaded, std::string> loadPackage(const std::string &driver, llvm::StringRef package);

} // namespace loader
