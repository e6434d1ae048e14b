#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>

/// GPUs behind their vendors' drivers. Programs link this whose kernels were compiled before, so
/// that nothing of the compiler is in it, and an error is the driver's number.
namespace imbrex::driver {

class Gpu;
struct OpenDriver;

/// What the functions of driver.def are called.
struct DriverNames {
#define IMBREX_DRIVER(member, ...) const char *member = nullptr;
#include "runtime/aot/driver/driver.def"
};

/// The functions of driver.def, found.
struct Driver {
#define IMBREX_DRIVER(member, ...) int(*member) __VA_ARGS__ = nullptr;
#include "runtime/aot/driver/driver.def"
};

/// Why a device can't be used.
struct Problem {
  enum class Kind : std::uint8_t {
    NoLibrary,     ///< `text`: what was looked for.
    LacksFunction, ///< `text`: the driver's path.
    NoDevice,      ///< `text`: what the driver finds instead: "1 device", "nothing (CUDA_ERROR_…)".
    Refused,       ///< `text`: the driver's words.
  };
  Kind kind = Kind::NoLibrary;
  std::string text = {};
  std::string function = {}; ///< Of LacksFunction: the first that is missing.
  std::string device = {};   ///< Of Refused: the device's description.
};

/// What tells one vendor's driver from the other's.
struct Vendor {
  const char *device;                     ///< "cuda": its devices are cuda:0, cuda:1, …
  const char *driver;                     ///< For people: "NVIDIA's driver".
  const char *variable;                   ///< Of the environment: says where the driver is.
  std::span<const char *const> libraries; ///< Where it may be else, best first.
  DriverNames names;
  /// The word that ends the list in which a launch passes the buffer of its arguments.
  std::uintptr_t endOfLaunch;
  /// The options of loadModule that give it room for the assembler's errors, and say how much; both
  /// 0 where the driver assembles nothing.
  int logOption, logSizeOption;
  /// The last step of `open` (gpu.h): the device of a driver that has it.
  std::unique_ptr<Gpu> (*make)(OpenDriver &opened, Problem &problem);
};

/// NVIDIA's GPUs, through the driver alone. Code and memory go into a device's primary context,
/// which CUDA's runtime and all that is built on it share.
const Vendor &cuda();
/// AMD's GPUs, through HIP.
const Vendor &hip();

/// "cuda:0"
std::string nameOf(const Vendor &vendor, std::int32_t number);

/// A driver's library, open. It is never closed: what it has started can't be stopped.
class DriverLibrary {
public:
  /// Opens the first of the paths that can be; false, and `problem` says why, where none can.
  bool open(std::span<const std::string> paths, Problem &problem);

  /// False, and `lacksFunction` names it, where the library has no such function.
  template <class F>
  bool find(const char *symbol, F *&function) {
    function = reinterpret_cast<F *>(address(symbol));
    if (function == nullptr) missing_ = symbol;
    return function != nullptr;
  }
  Problem lacksFunction() const;

private:
  void *address(const char *symbol) const;

  void *handle_ = nullptr;
  std::string path_;
  std::string missing_;
};

/// A driver that has been started, and has the device.
struct OpenDriver {
  const Vendor *vendor;
  std::int32_t number; ///< The driver's, of the device.
  DriverLibrary library = {};
  Driver functions = {};
};

/// False, and `problem` says why, where no driver is at one of the paths, or it lacks a function or
/// the device.
bool openDriver(std::span<const std::string> paths, OpenDriver &opened, Problem &problem);

/// What an error's number means, in the driver's words: "CUDA_ERROR_INVALID_VALUE, invalid
/// argument".
std::string describeError(const Driver &driver, int error);

} // namespace imbrex::driver
