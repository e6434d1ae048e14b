#pragma once

#include "backend/machine/machine.h"
#include "backend/support/diagnostics.h"
#include "llvm/ADT/ArrayRef.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace imbrex::package {

enum class Product : std::uint8_t { BlockIr, LlvmIr, Assembly, Image, Package, Report };

/// A row of formats.def.
struct Format {
  std::string_view name;
  Product product;
  std::optional<machine::Family> family; ///< That it is for; none: any GPU.
  std::string_view meaning;
};

llvm::ArrayRef<Format> allFormats();

/// The format of this name, if it can be made for the machine; else null and an error.
const Format *formatNamed(std::string_view name, const machine::Machine &machine,
                          Diagnostics &diagnostics);

/// What several targets of a family can be made into, for people.
std::string packageNamesFor(machine::Family family);

} // namespace imbrex::package
