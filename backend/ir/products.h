#pragma once

#include "backend/ir/kernel.h"

#include <cstddef>
#include <cstdint>
#include <optional>

/// What `dot` and `dot_scaled` have in common, and how the operands of a scaled one count k.
namespace imbrex::ir {

/// docs/semantics.md, dot_scaled: as many elements along k have a scale of this element in common;
/// 0: it is none of scales.
constexpr std::int64_t elementsPerScale(ElementKind scale) {
  return scale == ElementKind::E8M0 ? 32 : scale == ElementKind::F8E4M3FN ? 16 : 0;
}

bool isProduct(const Op &op);

/// Of a product: how it runs on a matrix unit.
const UnitAttrs &unitAttrs(const Op &product);
UnitAttrs &unitAttrs(Op &product);
bool isOnUnit(const Op &op);

/// What an operand (0 or 1) of a product is of: a u8 of a scaled one is two f4e2m1 along k.
ElementKind elementOf(const Kernel &kernel, const Op &product, std::size_t operand);
/// How many of k an element of the operand's tile stands for: two of packed f4e2m1, as many as have
/// one of scales (operands from 3 on).
std::int64_t depthOfElement(const Kernel &kernel, const Op &product, std::size_t operand);

/// The axis of a product's operand along which it is summed up; of scales that of the blocks.
std::int32_t depthAxis(const Kernel &kernel, const Op &product, std::size_t operand);
/// k.
std::int64_t depthOf(const Kernel &kernel, const Op &product);

/// The operand that scales the first or second (0 or 1); nothing where it has no scale.
std::optional<std::size_t> scaleOf(const Op &product, std::size_t operand);

} // namespace imbrex::ir
