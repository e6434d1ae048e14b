#pragma once

#include "backend/layout/matrix.h"

/// The algebra of layouts. Above each operation stands its law, which holds for every layout that
/// the operation takes; tests/unit/layout/algebra_test.cpp asks for it over whole domains.
///
/// In the laws, f(x) is f.apply(x), on packed numbers.
namespace imbrex::layout {

/// Every y is f(x) for some x.
bool isSurjective(const LinearLayout &layout);
bool isBijective(const LinearLayout &layout);

/// compose(f, g)(x) = f(g(x)), by the names of dimensions: f's inputs are g's outputs, in any order
LinearLayout compose(const LinearLayout &outer, const LinearLayout &inner);

/// inverse(f)(f(x)) = x and f(inverse(f)(y)) = y, for bijections.
///
/// The dimensions turn round, so that this holds of packed numbers, and inverse(inverse(f)) = f.
LinearLayout inverse(const LinearLayout &layout);

} // namespace imbrex::layout
