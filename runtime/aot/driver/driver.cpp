#include "runtime/aot/driver/driver.h"

#include <dlfcn.h>

namespace imbrex::driver {
namespace {

/// What was looked for, and what is wrong with it unless it is just not there.
std::string problemOf(const std::string &path, const std::string &said) {
  const bool isMissing =
      said == path + ": cannot open shared object file: No such file or directory";
  return isMissing ? path : said;
}

} // namespace

std::string nameOf(const Vendor &vendor, std::int32_t number) {
  return std::string(vendor.device) + ":" + std::to_string(number);
}

bool DriverLibrary::open(std::span<const std::string> paths, Problem &problem) {
  std::string problems;
  for (const std::string &path : paths) {
    path_ = path;
    handle_ = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (handle_ != nullptr) return true;
    problems += (problems.empty() ? "" : ", ") + problemOf(path, dlerror());
  }
  problem = {.kind = Problem::Kind::NoLibrary, .text = std::move(problems)};
  return false;
}

void *DriverLibrary::address(const char *symbol) const { return dlsym(handle_, symbol); }

Problem DriverLibrary::lacksFunction() const {
  return {.kind = Problem::Kind::LacksFunction, .text = path_, .function = missing_};
}

std::string describeError(const Driver &driver, int error) {
  const char *name = nullptr, *text = nullptr;
  const bool isNamed = driver.errorName(error, &name) == 0 && name != nullptr;
  const bool isKnown = driver.errorText(error, &text) == 0 && text != nullptr;
  return (isNamed ? std::string(name) : "error " + std::to_string(error)) +
         (isKnown ? ", " + std::string(text) : "");
}

namespace {

bool findFunctions(OpenDriver &opened, Problem &problem) {
  const DriverNames &names = opened.vendor->names;
#define IMBREX_DRIVER(member, ...)                                                                 \
  if (!opened.library.find(names.member, opened.functions.member))                                 \
    return problem = opened.library.lacksFunction(), false;
#include "runtime/aot/driver/driver.def"
  return true;
}

bool start(const OpenDriver &opened, Problem &problem) {
  const Driver &driver = opened.functions;
  int count = 0;
  int error = driver.init(0);
  if (error == 0) error = driver.deviceCount(&count);
  if (error == 0 && opened.number < count) return true;
  problem = {.kind = Problem::Kind::NoDevice,
             .text = error != 0   ? "nothing (" + describeError(driver, error) + ")"
                     : count == 1 ? "1 device"
                                  : std::to_string(count) + " devices"};
  return false;
}

} // namespace

bool openDriver(std::span<const std::string> paths, OpenDriver &opened, Problem &problem) {
  return opened.library.open(paths, problem) && findFunctions(opened, problem) &&
         start(opened, problem);
}

} // namespace imbrex::driver
