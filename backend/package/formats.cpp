#include "backend/package/formats.h"

#include "backend/support/text.h"
#include "llvm/ADT/STLExtras.h"

#include <array>
#include <string>
#include <vector>

namespace imbrex::package {
namespace {

using Family = machine::Family;
constexpr std::nullopt_t kAny = std::nullopt;
constexpr Family kNvptx = Family::Nvptx;
constexpr Family kAmdgpu = Family::Amdgpu;

constexpr auto kFormats = std::to_array<Format>({
#define IMBREX_FORMAT(name, product, family, meaning) {name, Product::product, k##family, meaning},
#include "backend/package/formats.def"
});

bool isFor(const Format &format, const machine::Machine &machine) {
  return !format.family || *format.family == machine.family;
}

std::string namesFor(const machine::Machine &machine) {
  std::string names;
  for (const Format &format : kFormats)
    if (isFor(format, machine)) names.append(names.empty() ? "" : ", ").append(format.name);
  return names;
}

} // namespace

llvm::ArrayRef<Format> allFormats() { return kFormats; }

const Format *formatNamed(std::string_view name, const machine::Machine &machine,
                          Diagnostics &diagnostics) {
  const Format *found =
      llvm::find_if(kFormats, [&](const Format &format) { return format.name == name; });
  if (found != kFormats.end() && isFor(*found, machine)) return found;
  diagnostics.report(Diag::NoSuchFormat, {}, name, machine.name, namesFor(machine));
  return nullptr;
}

} // namespace imbrex::package
