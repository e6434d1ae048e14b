#pragma once

#include "backend/layout/matrix.h"

/// The algebra of layouts. Above each operation stands its law, which holds for every layout that
/// the operation takes; tests/unit/layout/algebra_test.cpp asks for it over whole domains.
///
/// In the laws, f(x) is f.apply(x), on packed numbers, and f(d: i, …) names the dimensions' parts.
namespace imbrex::layout {

// --- constructors ---

/// f(from: i) = (to: i)
LinearLayout identity(Dim from, Dim to, std::int32_t bits);
/// f(from: i) = (to: i · 2^shift), where `to` has shift + bits bits
LinearLayout strided(Dim from, Dim to, std::int32_t bits, std::int32_t shift);
/// f(from: i) = (to: 0): an input of whose bits none matters
LinearLayout broadcast(Dim from, Dim to, std::int32_t bits);

// --- questions ---

/// The image has 2^rank(f) elements.
std::int32_t rank(const LinearLayout &layout);
/// f(x) = f(y) only for x = y.
bool isInjective(const LinearLayout &layout);
/// Every y is f(x) for some x.
bool isSurjective(const LinearLayout &layout);
bool isBijective(const LinearLayout &layout);
/// A bijection that only moves bits: f(2^i) is a power of two.
bool isPermutation(const LinearLayout &layout);
/// f(x) = f(y) exactly where x ^ y is a sum of these: which places hold the same element.
Vectors kernel(const LinearLayout &layout);
/// Both have the same dimensions, not counting those of no bits, and send equal named parts to
/// equal named parts. The order of the dimensions, which the packing depends on, does not matter.
bool isSameMap(const LinearLayout &a, const LinearLayout &b);
/// The same, whatever the dimensions are called: bits and columns are equal in order.
bool isSameUpToNames(const LinearLayout &a, const LinearLayout &b);

// --- operations ---

/// compose(f, g)(x) = f(g(x)), by the names of dimensions: f's inputs are g's outputs, in any order
LinearLayout compose(const LinearLayout &outer, const LinearLayout &inner);

/// inverse(f)(f(x)) = x and f(inverse(f)(y)) = y, for bijections.
///
/// The dimensions turn round, so that this holds of packed numbers, and inverse(inverse(f)) = f.
LinearLayout inverse(const LinearLayout &layout);

/// f(rightInverse(f)(y)) = y, for surjections, and of all x with f(x) = y it gives the least: the
/// place that has 0 in every bit which depends on lower ones.
LinearLayout rightInverse(const LinearLayout &layout);

/// product(f, g)(d: i + j · 2^(bits of d in f), …) = f(d: i, …) beside g(d: j, …), likewise in the
/// outputs: f where the low bits of each dimension are concerned, g in those above
LinearLayout product(const LinearLayout &low, const LinearLayout &high);

/// product(g, divideLeft(f, g)) is the same map as f; nothing if f is no product of this kind
std::optional<LinearLayout> divideLeft(const LinearLayout &layout, const LinearLayout &low);
/// product(divideRight(f, g), g) is the same map as f; nothing if f is no product of this kind
std::optional<LinearLayout> divideRight(const LinearLayout &layout, const LinearLayout &high);

/// product(quotient(f, d), identity(d, d, bits)) is the same map as f: what is left of a map that
/// keeps a dimension to itself; nothing if f does not
std::optional<LinearLayout> quotient(const LinearLayout &layout, Dim dim);

/// sublayout(f, in, out)(x) = the `out` part of f(in: x, all else 0)
LinearLayout sublayout(const LinearLayout &layout, llvm::ArrayRef<Dim> inputs,
                       llvm::ArrayRef<Dim> outputs);

/// renamed(f, a, b)(b: i, …) = f(a: i, …), and where an output is called a, it is called b
LinearLayout renamed(const LinearLayout &layout, Dim from, Dim to);

} // namespace imbrex::layout
