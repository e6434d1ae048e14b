#pragma once

namespace imbrex::lower {

/// What every launch of the code will keep, so that the code may rely on it. Whoever launches
/// checks, and takes other code where one does not hold.
struct Promises {
  bool disjoint = true;    ///< Different parameters' memory does not overlap.
  bool unitStrides = true; ///< Neighbours on a view's last axis adjoin.
};

} // namespace imbrex::lower
