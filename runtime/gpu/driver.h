#pragma once

#include "backend/machine/machine.h"
#include "backend/support/environment.h"
#include "backend/support/result.h"
#include "llvm/ADT/ArrayRef.h"

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

/// GPUs behind their vendors' drivers, as far as the two are alike.
namespace imbrex::gpu {

/// What the functions of driver.def are called.
struct DriverNames {
#define IMBREX_DRIVER(member, ...) const char *member = nullptr;
#include "runtime/gpu/driver.def"
};

/// The functions of driver.def, found.
struct Driver {
#define IMBREX_DRIVER(member, ...) int(*member) __VA_ARGS__ = nullptr;
#include "runtime/gpu/driver.def"
};

/// What tells one vendor's driver from the other's.
struct Vendor {
  std::string_view device; ///< "cuda": its devices are cuda:0, cuda:1, …
  std::string_view driver; ///< For people: "NVIDIA's driver".
  machine::Family family;
  llvm::ArrayRef<const char *> libraries; ///< Where the driver may be, best first,
  EnvironmentText Environment::*path;     ///< unless this says where.
  DriverNames names;
  /// The word that ends the list in which a launch passes the buffer of its arguments.
  std::uintptr_t endOfLaunch;
  /// The options of loadModule that give it room for the assembler's errors, and say how much; both
  /// 0 where the driver assembles nothing.
  int logOption, logSizeOption;
};

/// Where a vendor's driver may be: where its variable says, if that is set.
std::vector<std::string> driverPaths(const Vendor &vendor);

/// A device by the number that its driver gives it.
struct Ordinal {
  const Vendor *vendor;
  std::int32_t number;

  std::string name() const; ///< "cuda:0"
};

/// A driver's library, open. It is never closed: what it has started can't be stopped.
class Library {
public:
  /// The first of the paths that can be opened. The errors speak of the device that wants it.
  static Result<Library> open(llvm::ArrayRef<std::string> paths, const Ordinal &device);

  /// False, and `missing` names it, where the library has no such function.
  template <class F>
  bool find(const char *symbol, F *&function) {
    function = reinterpret_cast<F *>(address(symbol));
    if (function == nullptr) missing_ = symbol;
    return function != nullptr;
  }
  Failure<Diagnostic> lacksFunction(const Ordinal &device) const;

private:
  void *address(const char *symbol) const;

  void *handle_ = nullptr;
  std::string path_;
  std::string missing_;
};

/// A driver that has been started, and has the device.
struct OpenDriver {
  Library library;
  Driver functions;
};
Result<OpenDriver> openDriver(llvm::ArrayRef<std::string> paths, const Ordinal &device);

/// What an error's number means, in the driver's words: "CUDA_ERROR_INVALID_VALUE, invalid
/// argument".
std::string describeError(const Driver &driver, int error);

} // namespace imbrex::gpu
