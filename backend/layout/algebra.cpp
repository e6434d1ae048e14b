#include "backend/layout/algebra.h"

#include "backend/support/check.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/bit.h"

#include <algorithm>

namespace imbrex::layout {
namespace {

Bits lowMask(std::int32_t bits) { return (Bits{1} << bits) - 1; }

Sides turnedRound(llvm::ArrayRef<Side> sides) { return Sides(llvm::reverse(sides)); }

bool has(llvm::ArrayRef<Side> sides, Dim dim) {
  return llvm::any_of(sides, [&](const Side &side) { return side.dim == dim; });
}

/// A column of one layout as a column of another, each part shifted up within its dimension.
Bits moved(const LinearLayout &from, Bits column, const LinearLayout &to,
           const LinearLayout *below) {
  Bits result = 0;
  for (const Side &side : from.outputs()) {
    const std::int32_t shift = below ? below->outputBits(side.dim) : 0;
    result |= from.outputPart(column, side.dim) << shift << to.outputShift(side.dim);
  }
  return result;
}

/// The sides of a product.
Sides stacked(llvm::ArrayRef<Side> low, llvm::ArrayRef<Side> high) {
  Sides sides(low.begin(), low.end());
  for (const Side &side : high) {
    const auto same = llvm::find_if(sides, [&](const Side &s) { return s.dim == side.dim; });
    if (same == sides.end())
      sides.push_back(side);
    else
      same->bits += side.bits;
  }
  return sides;
}

LinearLayout zeros(const Sides &inputs, const Sides &outputs) {
  std::size_t bits = 0;
  for (const Side &side : inputs) bits += static_cast<std::size_t>(side.bits);
  return LinearLayout(inputs, outputs, Vectors(bits, 0));
}

/// One of the sides of a quotient; nothing where the divisor has more bits.
std::optional<Sides> divided(llvm::ArrayRef<Side> sides, llvm::ArrayRef<Side> divisor) {
  Sides result(sides.begin(), sides.end());
  for (const Side &side : divisor) {
    if (side.bits == 0) continue;
    const auto same = llvm::find_if(result, [&](const Side &s) { return s.dim == side.dim; });
    if (same == result.end() || same->bits < side.bits) return std::nullopt;
    same->bits -= side.bits;
  }
  return result;
}

/// Which part of a product a quotient is.
enum class Part : std::uint8_t { Low, High };

/// The part of a product that has these sides, whatever the rest of it is.
LinearLayout part(const LinearLayout &whole, const LinearLayout &shape, Part which) {
  Vectors columns;
  for (const Side &input : shape.inputs()) {
    const auto all = whole.columns(input.dim);
    const auto count = static_cast<std::size_t>(input.bits);
    for (const Bits column : which == Part::Low ? all.take_front(count) : all.take_back(count)) {
      Bits packed = 0;
      for (const Side &output : shape.outputs()) {
        const Bits value = whole.outputPart(column, output.dim);
        const std::int32_t below = whole.outputBits(output.dim) - output.bits;
        packed = packed << output.bits |
                 (which == Part::Low ? value & lowMask(output.bits) : value >> below);
      }
      columns.push_back(packed);
    }
  }
  return LinearLayout(Sides(shape.inputs()), Sides(shape.outputs()), columns);
}

std::optional<LinearLayout> divide(const LinearLayout &layout, const LinearLayout &divisor,
                                   Part which) {
  auto inputs = divided(layout.inputs(), divisor.inputs());
  auto outputs = divided(layout.outputs(), divisor.outputs());
  if (!inputs || !outputs) return std::nullopt;
  LinearLayout rest = part(layout, zeros(*inputs, *outputs), which);
  const LinearLayout again = which == Part::High ? product(divisor, rest) : product(rest, divisor);
  if (!isSameMap(again, layout)) return std::nullopt;
  return rest;
}

} // namespace

LinearLayout identity(Dim from, Dim to, std::int32_t bits) { return strided(from, to, bits, 0); }

LinearLayout strided(Dim from, Dim to, std::int32_t bits, std::int32_t shift) {
  Vectors columns = unitVectors(shift + bits);
  columns.erase(columns.begin(), columns.begin() + shift);
  return LinearLayout({{from, bits}}, {{to, shift + bits}}, columns);
}

LinearLayout broadcast(Dim from, Dim to, std::int32_t bits) {
  return zeros({{from, bits}}, {{to, 0}});
}

std::int32_t rank(const LinearLayout &layout) { return rank(layout.columns()); }
bool isInjective(const LinearLayout &layout) { return rank(layout) == layout.inputBits(); }
bool isSurjective(const LinearLayout &layout) { return rank(layout) == layout.outputBits(); }
bool isBijective(const LinearLayout &layout) { return isInjective(layout) && isSurjective(layout); }

bool isPermutation(const LinearLayout &layout) {
  return isBijective(layout) && llvm::all_of(layout.columns(), llvm::has_single_bit<Bits>);
}

Vectors kernel(const LinearLayout &layout) { return kernel(layout.columns()); }

bool isSameMap(const LinearLayout &a, const LinearLayout &b) {
  if (a.inputBits() != b.inputBits() || a.outputBits() != b.outputBits()) return false;
  for (const Side &side : a.outputs())
    if (b.outputBits(side.dim) != side.bits) return false;
  return llvm::all_of(a.inputs(), [&](const Side &side) {
    return std::ranges::equal(a.columns(side.dim), b.columns(side.dim), {},
                              [&](Bits column) { return moved(a, column, b, nullptr); });
  });
}

bool isSameUpToNames(const LinearLayout &a, const LinearLayout &b) {
  const auto sameBits = [](const Side &x, const Side &y) { return x.bits == y.bits; };
  return std::ranges::equal(a.inputs(), b.inputs(), sameBits) &&
         std::ranges::equal(a.outputs(), b.outputs(), sameBits) && a.columns() == b.columns();
}

LinearLayout compose(const LinearLayout &outer, const LinearLayout &inner) {
  IMBREX_CHECK(outer.inputBits() == inner.outputBits(), "composition of {0} bits after {1}",
               outer.inputBits(), inner.outputBits());
  for (const Side &side : inner.outputs())
    IMBREX_CHECK(outer.inputBits(side.dim) == side.bits, "composition: {0} has {1} bits and {2}",
                 nameOf(side.dim), side.bits, outer.inputBits(side.dim));
  Vectors columns;
  for (const Bits column : inner.columns()) {
    Bits between = 0;
    for (const Side &side : inner.outputs())
      between |= inner.outputPart(column, side.dim) << outer.inputShift(side.dim);
    columns.push_back(outer.apply(between));
  }
  return LinearLayout(Sides(inner.inputs()), Sides(outer.outputs()), columns);
}

LinearLayout inverse(const LinearLayout &layout) {
  IMBREX_CHECK(isBijective(layout), "only a bijection has an inverse");
  return rightInverse(layout);
}

LinearLayout rightInverse(const LinearLayout &layout) {
  const Span image(layout.columns());
  IMBREX_CHECK(image.dimension() == layout.outputBits(), "only a surjection has a right inverse");
  Vectors columns;
  for (const Bits unit : unitVectors(layout.outputBits()))
    columns.push_back(*image.coordinates(unit));
  return LinearLayout(turnedRound(layout.outputs()), turnedRound(layout.inputs()), columns);
}

LinearLayout product(const LinearLayout &low, const LinearLayout &high) {
  const Sides inputs = stacked(low.inputs(), high.inputs());
  const Sides outputs = stacked(low.outputs(), high.outputs());
  const LinearLayout shape = zeros(inputs, outputs);
  Vectors columns;
  for (const Side &side : inputs) {
    for (const Bits column : low.columns(side.dim))
      columns.push_back(moved(low, column, shape, nullptr));
    for (const Bits column : high.columns(side.dim))
      columns.push_back(moved(high, column, shape, &low));
  }
  return LinearLayout(inputs, outputs, columns);
}

std::optional<LinearLayout> divideLeft(const LinearLayout &layout, const LinearLayout &low) {
  return divide(layout, low, Part::High);
}

std::optional<LinearLayout> divideRight(const LinearLayout &layout, const LinearLayout &high) {
  return divide(layout, high, Part::Low);
}

std::optional<LinearLayout> quotient(const LinearLayout &layout, Dim dim) {
  return divideRight(layout, identity(dim, dim, layout.inputBits(dim)));
}

LinearLayout sublayout(const LinearLayout &layout, llvm::ArrayRef<Dim> inputs,
                       llvm::ArrayRef<Dim> outputs) {
  Sides inputSides, outputSides;
  for (const Dim dim : inputs) inputSides.push_back({dim, layout.inputBits(dim)});
  for (const Dim dim : outputs) outputSides.push_back({dim, layout.outputBits(dim)});
  return part(layout, zeros(inputSides, outputSides), Part::Low);
}

LinearLayout renamed(const LinearLayout &layout, Dim from, Dim to) {
  const auto renamedSides = [&](llvm::ArrayRef<Side> sides) {
    IMBREX_CHECK(from == to || !has(sides, from) || !has(sides, to),
                 "renaming {0} makes a second {1}", nameOf(from), nameOf(to));
    Sides result(sides.begin(), sides.end());
    for (Side &side : result)
      if (side.dim == from) side.dim = to;
    return result;
  };
  return LinearLayout(renamedSides(layout.inputs()), renamedSides(layout.outputs()),
                      layout.columns());
}

} // namespace imbrex::layout
