#pragma once

#include "backend/ir/attributes.h"
#include "backend/ir/op.h"
#include "backend/ir/types.h"
#include "llvm/ADT/ArrayRef.h"

#include <cstdint>

/// What the elementwise ops mean for one element (docs/semantics.md). An element is its bits,
/// zero-extended; so are results.
namespace imbrex::interpret {

/// One element of an elementwise op (ir::isElementwise). `element` is that of the operands; of a
/// select: of the two values to choose from.
std::uint64_t evaluate(ir::OpKind kind, ir::ElementKind element,
                       llvm::ArrayRef<std::uint64_t> operands);

/// The same number as another element, always straight from the source value.
std::uint64_t convert(std::uint64_t bits, ir::ElementKind from, ir::ElementKind to,
                      ir::Rounding rounding = ir::Rounding::NearestEven);

/// The canonical NaN of a format: sign 0, the top bit of the mantissa. Formats without a NaN have
/// what a conversion of NaN gives: 6 for f4e2m1.
std::uint64_t nanBits(ir::ElementKind kind);

/// The number that a float or narrow float stands for, exactly.
double toDouble(std::uint64_t bits, ir::ElementKind kind);
/// A number rounded to the nearest f16, bf16, f32 or f64.
std::uint64_t fromDouble(double value, ir::ElementKind kind);

/// The value of a bool or an integer, as its signedness says; a u64 keeps its bits.
std::int64_t extended(std::uint64_t bits, ir::ElementKind kind);
/// The low bits of an integer, as many as the element has.
std::uint64_t wrapped(std::uint64_t value, ir::ElementKind kind);

} // namespace imbrex::interpret
