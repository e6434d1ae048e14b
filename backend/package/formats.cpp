#include "backend/package/formats.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/STLFunctionalExtras.h"

#include <array>

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

bool isFor(const Format &format, Family family) {
  return !format.family || *format.family == family;
}

/// "ir, llvm, asm": those of a family's formats that are wanted.
std::string namesFor(Family family, llvm::function_ref<bool(const Format &)> isWanted) {
  std::string names;
  for (const Format &format : kFormats)
    if (isFor(format, family) && isWanted(format))
      names.append(names.empty() ? "" : ", ").append(format.name);
  return names;
}

} // namespace

llvm::ArrayRef<Format> allFormats() { return kFormats; }

const Format *formatNamed(std::string_view name, const machine::Machine &machine,
                          Diagnostics &diagnostics) {
  const Format *found =
      llvm::find_if(kFormats, [&](const Format &format) { return format.name == name; });
  if (found != kFormats.end() && isFor(*found, machine.family)) return found;
  diagnostics.report(Diag::NoSuchFormat, {}, name, machine.name,
                     namesFor(machine.family, [](const Format &) { return true; }));
  return nullptr;
}

std::string packageNamesFor(Family family) {
  return namesFor(family, [](const Format &format) { return format.product == Product::Package; });
}

} // namespace imbrex::package
