#include "runtime/gpu/driver.h"

#include "backend/support/environment.h"

#include <dlfcn.h>

namespace imbrex::gpu {

std::vector<std::string> driverPaths(const Vendor &vendor) {
  if (const std::string &path = environment().*vendor.path; !path.empty()) return {path};
  return {vendor.libraries.begin(), vendor.libraries.end()};
}

std::string Ordinal::name() const {
  return std::string(vendor->device) + ":" + std::to_string(number);
}

namespace {

/// What was looked for, and what is wrong with it unless it is just not there.
std::string problemOf(const std::string &path, const std::string &said) {
  const bool isMissing =
      said == path + ": cannot open shared object file: No such file or directory";
  return isMissing ? path : said;
}

} // namespace

Result<Library> Library::open(llvm::ArrayRef<std::string> paths, const Ordinal &device) {
  Library library;
  std::string problems;
  for (const std::string &path : paths) {
    library.path_ = path;
    library.handle_ = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (library.handle_ != nullptr) return library;
    problems += (problems.empty() ? "" : ", ") + problemOf(path, dlerror());
  }
  return fail(Diag::NoDriver, {}, device.name(), device.vendor->driver, problems,
              nameOf(device.vendor->path));
}

void *Library::address(const char *symbol) const { return dlsym(handle_, symbol); }

Failure<Diagnostic> Library::lacksFunction(const Ordinal &device) const {
  return fail(Diag::DriverLacksFunction, {}, device.name(), device.vendor->driver, path_, missing_);
}

std::string describeError(const Driver &driver, int error) {
  const char *name = nullptr, *text = nullptr;
  const bool isNamed = driver.errorName(error, &name) == 0 && name != nullptr;
  const bool isKnown = driver.errorText(error, &text) == 0 && text != nullptr;
  return (isNamed ? std::string(name) : "error " + std::to_string(error)) +
         (isKnown ? ", " + std::string(text) : "");
}

namespace {

/// An error names the function that is missing.
Result<Driver> findFunctions(Library &library, const Ordinal &device) {
  Driver driver;
  const DriverNames &names = device.vendor->names;
#define IMBREX_DRIVER(member, ...)                                                                 \
  if (!library.find(names.member, driver.member)) return library.lacksFunction(device);
#include "runtime/gpu/driver.def"
  return driver;
}

Result<void> startDriver(const Driver &driver, const Ordinal &device) {
  int count = 0;
  int error = driver.init(0);
  if (error == 0) error = driver.deviceCount(&count);
  if (error != 0)
    return fail(Diag::NoGpu, {}, device.name(), device.vendor->driver,
                "nothing (" + describeError(driver, error) + ")");
  if (device.number < count) return {};
  return fail(Diag::NoGpu, {}, device.name(), device.vendor->driver,
              count == 1 ? "1 device" : std::to_string(count) + " devices");
}

} // namespace

Result<OpenDriver> openDriver(llvm::ArrayRef<std::string> paths, const Ordinal &device) {
  auto library = Library::open(paths, device);
  if (!library) return library.failure();
  auto functions = findFunctions(*library, device);
  if (!functions) return functions.failure();
  if (const auto started = startDriver(*functions, device); !started) return started.failure();
  return OpenDriver{.library = std::move(*library), .functions = *functions};
}

} // namespace imbrex::gpu
