#pragma once

#include "backend/ir/argument.h"
#include "backend/ir/kernel.h"
#include "backend/support/diagnostics.h"

#include <cstdint>
#include <functional>
#include <string>

/// Products in loops, on whole numbers, for which all who execute them are exact: kernels with
/// whatever decides how a product reads its factors, how many trips are one, and where sums go.
namespace imbrex::testing {

/// A product in a loop over k.
struct LoopedProduct {
  std::int64_t batch = 0;   // matrices of a box; 0: of rank 2
  std::int64_t missing = 0; // of which the views have so many fewer
  /// Matrices of which blocks along z take one each: views are 1 x rows x heads x columns, boxes
  /// have one index of the first and the third. 0: none.
  std::int64_t heads = 0;
  std::int64_t rows = 24, columns = 32, depth = 16; // of a block's step
  std::int64_t m = 48, n = 64, k = 64;              // of the views
  std::int64_t moreK = 0, moreM = 0, moreN = 0;     // that b has of k, and c of the others
  std::int64_t padA = 0, padB = 0, padC = 0;        // elements between rows
  std::int64_t apart = 1, apartC = 1;               // from an element of a row to the next
  ir::Grid grid{.extents = {2, 2, 1}};
  std::string element = "f32";
  std::string unit = "tiles"; // of boxes
  std::string unitOfB = {};   // if another one
  std::string padding = {};   // of boxes of a and b; `value` is another one for each row of blocks
  std::string index = "i64";  // of the loop
  std::int64_t low = 0, high = 4, step = 1;
  std::int64_t first = 1;                             // of each sum
  std::string before = {}, between = {}, behind = {}; // further ops of a trip
  std::string coordinate = "%t";
  std::string ofB = {}; // if another one
  std::string rowOf = "%m", columnOf = "%n";
  std::string yielded = "%d";
  bool isTransposed = false;    // b is multiplied as what its boxes are transposed
  bool transposesFirst = false; // before the axes of one index are taken away
  bool isWritable = false;      // a and b
};

std::string textOf(const LoopedProduct &product);
LoopedProduct randomLoopedProduct(std::uint32_t seed);

/// Makes a kernel ready for launches.
using LaunchOf = std::function<bool(const ir::Grid &, llvm::ArrayRef<ir::Argument>, Diagnostics &)>;
using PrepareKernel = std::function<LaunchOf(const ir::Kernel &, Diagnostics &)>;

/// What a product leaves otherwise than on the interpreter; nothing, if that is empty. Launched
/// twice, the second time with other numbers: nothing may be left of the first. Behind each matrix
/// no memory can be touched.
std::string difference(const LoopedProduct &product, const PrepareKernel &prepare);

} // namespace imbrex::testing
