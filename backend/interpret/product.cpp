#include "backend/interpret/block_run.h"
#include "backend/interpret/scalar.h"
#include "backend/ir/products.h"

#include <bit>
#include <cmath>

// Matrix products. Sums run along k from 0 up, in f64, and are rounded to the accumulator's element
// at the end, once: products of two elements of at most 24 bits are exact in f64.
namespace imbrex::interpret {
namespace {

using ir::ElementKind;
using ir::Precision;

/// Row m of a, column n of b, within one of the leading (batch) indices.
struct DotOperands {
  const Value &a;
  const Value &b;
  Index target; // in the result

  std::int64_t depth() const { return a.shape[a.shape.rank() - 1]; }
  std::uint64_t left(std::int64_t k) const {
    Index index = target;
    index.back() = k;
    return a.at(positionOf(a.shape, index));
  }
  std::uint64_t right(std::int64_t k) const {
    Index index = target;
    index[index.size() - 2] = k;
    return b.at(positionOf(b.shape, index));
  }
};

/// The sum of f(k) over k = 0, 1, ...; it begins with −0, which changes nothing: where c and all
/// products are −0, so is the result, as it is where sums begin with c.
template <class Term>
double sum(std::int64_t depth, const Term &term) {
  double total = -0.0;
  for (std::int64_t k = 0; k < depth; ++k) total += term(k);
  return total;
}

// ---- f32 operands in pieces

/// f32 with 10 bits of mantissa, half way away from zero.
double toTf32(double value) {
  if (!std::isfinite(value)) return value;
  const auto bits = std::bit_cast<std::uint32_t>(static_cast<float>(value));
  constexpr std::uint32_t kHalf = 1u << 12, kDropped = (1u << 13) - 1;
  return std::bit_cast<float>((bits + kHalf) & ~kDropped);
}

double toBf16(double value) {
  return toDouble(fromDouble(value, ElementKind::BF16), ElementKind::BF16);
}

/// The product of sums of two pieces, the small terms first. What an infinity leaves as its small
/// piece is NaN; such a sum of small terms counts as 0.
template <class Piece>
double threeProducts(const DotOperands &pair, const Piece &piece) {
  const auto big = [&](std::uint64_t bits) { return piece(toDouble(bits, ElementKind::F32)); };
  const auto small = [&](std::uint64_t bits) {
    const double value = toDouble(bits, ElementKind::F32);
    return piece(value - piece(value));
  };
  const double smallTerms = sum(pair.depth(), [&](std::int64_t k) {
    return small(pair.left(k)) * big(pair.right(k)) + big(pair.left(k)) * small(pair.right(k));
  });
  const double bigTerms =
      sum(pair.depth(), [&](std::int64_t k) { return big(pair.left(k)) * big(pair.right(k)); });
  return bigTerms + (std::isnan(smallTerms) ? 0 : smallTerms);
}

double f32Product(const DotOperands &pair, Precision precision) {
  switch (precision) {
  case Precision::Tf32x3: return threeProducts(pair, toTf32);
  case Precision::Bf16x3: return threeProducts(pair, toBf16);
  case Precision::Tf32:
    return sum(pair.depth(), [&](std::int64_t k) {
      return toTf32(toDouble(pair.left(k), ElementKind::F32)) *
             toTf32(toDouble(pair.right(k), ElementKind::F32));
    });
  case Precision::Ieee: break;
  }
  return sum(pair.depth(), [&](std::int64_t k) {
    return toDouble(pair.left(k), ElementKind::F32) * toDouble(pair.right(k), ElementKind::F32);
  });
}

// ---- All pairs of operand elements

std::uint64_t integerProduct(const DotOperands &pair, ElementKind a, ElementKind b) {
  std::uint64_t total = 0;
  for (std::int64_t k = 0; k < pair.depth(); ++k)
    total += static_cast<std::uint64_t>(extended(pair.left(k), a)) *
             static_cast<std::uint64_t>(extended(pair.right(k), b));
  return total;
}

/// f64 products are not exact in f64: each is fused onto the sum, which starts at c.
double wideProduct(const DotOperands &pair, double c) {
  for (std::int64_t k = 0; k < pair.depth(); ++k)
    c = std::fma(toDouble(pair.left(k), ElementKind::F64),
                 toDouble(pair.right(k), ElementKind::F64), c);
  return c;
}

struct DotElements {
  ElementKind a, b, c;
};

std::uint64_t accumulated(const DotOperands &pair, const DotElements &elements,
                          const ir::DotAttrs &attrs, std::uint64_t c) {
  if (ir::isInteger(elements.c))
    return wrapped(static_cast<std::uint64_t>(extended(c, elements.c)) +
                       integerProduct(pair, elements.a, elements.b),
                   elements.c);
  const double start = toDouble(c, elements.c);
  if (elements.a == ElementKind::F64) return fromDouble(wideProduct(pair, start), elements.c);
  if (elements.a == ElementKind::F32)
    return fromDouble(start + f32Product(pair, attrs.precision), elements.c);
  return fromDouble(start + sum(pair.depth(),
                                [&](std::int64_t k) {
                                  return toDouble(pair.left(k), elements.a) *
                                         toDouble(pair.right(k), elements.b);
                                }),
                    elements.c);
}

/// One scale for some neighbours along k: row `row` of the scale's last two axes.
class Scale {
public:
  Scale(const Value *scale, ElementKind element) : scale_(scale), element_(element) {}

  double at(const Index &target, std::int64_t row, std::int64_t k) const {
    if (scale_ == nullptr) return 1;
    Index index = target;
    index[index.size() - 2] = row;
    index.back() = k / ir::elementsPerScale(element_);
    return std::fabs(toDouble(scale_->at(positionOf(scale_->shape, index)), element_));
  }

private:
  const Value *scale_; // null: ones
  ElementKind element_;
};

/// The k-th element of a row or column, by `at`, which may have two of them in a byte.
template <class At>
double scaledElement(const At &at, ElementKind element, bool isPacked, std::int64_t k) {
  if (!isPacked) return toDouble(at(k), element);
  return toDouble(at(k / 2) >> (k % 2 * 4) & 0xf, element);
}

} // namespace

Flow runDot(BlockRun &run, const ir::Op &op) {
  const DotElements elements{run.type(op.operand(0)).element(), run.type(op.operand(1)).element(),
                             run.type(op.operand(2)).element()};
  Value result = run.operand(op, 2);
  for (std::int64_t i = 0; i < result.shape.elements(); ++i) {
    const DotOperands pair{run.operand(op, 0), run.operand(op, 1), indexAt(result.shape, i)};
    std::uint64_t &c = result.bits[static_cast<size_t>(i)];
    c = accumulated(pair, elements, op.attrs<ir::DotAttrs>(), c);
  }
  return run.set(op.result(), std::move(result));
}

Flow runDotScaled(BlockRun &run, const ir::Op &op) {
  const ir::Kernel &kernel = run.kernel();
  const ElementKind a = ir::elementOf(kernel, op, 0), b = ir::elementOf(kernel, op, 1);
  const bool isAPacked = ir::depthOfElement(kernel, op, 0) == 2,
             isBPacked = ir::depthOfElement(kernel, op, 1) == 2;
  const std::int64_t depth = ir::depthOf(kernel, op);
  const auto scaleOf = [&](size_t operand) {
    const auto scale = ir::scaleOf(op, operand);
    if (!scale) return Scale(nullptr, ElementKind::E8M0);
    return Scale(&run.operand(op, *scale), run.type(op.operand(*scale)).element());
  };
  const Scale scaleA = scaleOf(0), scaleB = scaleOf(1);
  const ElementKind element = run.type(op.operand(2)).element();
  Value result = run.operand(op, 2);
  for (std::int64_t i = 0; i < result.shape.elements(); ++i) {
    const DotOperands pair{run.operand(op, 0), run.operand(op, 1), indexAt(result.shape, i)};
    const std::int64_t row = pair.target[pair.target.size() - 2], column = pair.target.back();
    const auto left = [&](std::int64_t at) { return pair.left(at); };
    const auto right = [&](std::int64_t at) { return pair.right(at); };
    const double total = sum(depth, [&](std::int64_t k) {
      return scaledElement(left, a, isAPacked, k) * scaleA.at(pair.target, row, k) *
             (scaledElement(right, b, isBPacked, k) * scaleB.at(pair.target, column, k));
    });
    std::uint64_t &c = result.bits[static_cast<size_t>(i)];
    c = fromDouble(toDouble(c, element) + total, element);
  }
  return run.set(op.result(), std::move(result));
}

} // namespace imbrex::interpret
