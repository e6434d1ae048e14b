#include "tests/support/semantics.h"
#include "tests/support/semantics_tiles.h"

#include <numeric>

namespace imbrex::semantics {
namespace {

using ir::ElementKind;
using ir::Shape;

/// 0, 1, 2, … in a shape.
Tile counting(const Shape &shape, ElementKind element = ElementKind::I32) {
  Tile result{element, shape, std::vector<std::uint64_t>(static_cast<size_t>(shape.elements()))};
  std::iota(result.bits.begin(), result.bits.end(), 0);
  return result;
}

void addMovement(std::vector<OpCase> &cases) {
  cases.push_back({"a scalar repeats",
                   "broadcast",
                   "",
                   {scalar(ElementKind::I32, 7)},
                   {ints({2, 2}, {7, 7, 7, 7})}});
  cases.push_back({"extents of 1 repeat",
                   "broadcast",
                   "",
                   {ints({2, 1}, {3, 4})},
                   {ints({2, 3}, {3, 3, 3, 4, 4, 4})}});
  cases.push_back({"an extent of 1 in the middle repeats",
                   "broadcast",
                   "",
                   {ints({2, 1, 2}, {1, 2, 3, 4})},
                   {ints({2, 2, 2}, {1, 2, 1, 2, 3, 4, 3, 4})}});
  cases.push_back(
      {"reshape keeps row-major order", "reshape", "", {counting({2, 3})}, {counting({3, 1, 2})}});
  cases.push_back({"transpose",
                   "permute",
                   "[order = [1, 0]]",
                   {counting({2, 3})},
                   {ints({3, 2}, {0, 3, 1, 4, 2, 5})}});
  cases.push_back({"axis i of the result is axis order[i]",
                   "permute",
                   "[order = [2, 0, 1]]",
                   {counting({2, 3, 2})},
                   {ints({2, 2, 3}, {0, 2, 4, 6, 8, 10, 1, 3, 5, 7, 9, 11})}});
  cases.push_back({"flip along the last axis",
                   "flip",
                   "[axis = 1]",
                   {counting({2, 3})},
                   {ints({2, 3}, {2, 1, 0, 5, 4, 3})}});
  cases.push_back({"flip along the first axis",
                   "flip",
                   "",
                   {counting({3, 2})},
                   {ints({3, 2}, {4, 5, 2, 3, 0, 1})}});
  cases.push_back({"a slice starts at its offsets and steps by its strides",
                   "slice",
                   "[offsets = [1, 0], strides = [1, 2]]",
                   {counting({3, 4})},
                   {ints({2, 2}, {4, 6, 8, 10})}});
}

void addComposition(std::vector<OpCase> &cases) {
  cases.push_back({"join makes a last axis",
                   "join",
                   "",
                   {ints({2}, {1, 2}), ints({2}, {3, 4})},
                   {ints({2, 2}, {1, 3, 2, 4})}});
  cases.push_back({"join of scalars",
                   "join",
                   "",
                   {scalar(ElementKind::F32, 1), scalar(ElementKind::F32, -0.0)},
                   {tile(ElementKind::F32, {2}, {1, -0.0})}});
  cases.push_back({"split takes it apart",
                   "split",
                   "",
                   {ints({2, 2}, {1, 3, 2, 4})},
                   {ints({2}, {1, 2}), ints({2}, {3, 4})}});
  cases.push_back({"concat keeps the order",
                   "concat",
                   "",
                   {ints({2}, {1, 2}), ints({3}, {3, 4, 5})},
                   {ints({5}, {1, 2, 3, 4, 5})}});
  cases.push_back({"concat along the last axis",
                   "concat",
                   "[axis = 1]",
                   {ints({2, 1}, {1, 2}), ints({2, 2}, {3, 4, 5, 6})},
                   {ints({2, 3}, {1, 3, 4, 2, 5, 6})}});
}

void addValues(std::vector<OpCase> &cases) {
  cases.push_back({"arange", "arange", "[start = -1, step = 3]", {}, {ints({4}, {-1, 2, 5, 8})}});
  cases.push_back({"arange downwards",
                   "arange",
                   "[start = 2, step = -1]",
                   {},
                   {tile(ElementKind::I64, {4}, {2, 1, 0, -1})}});
  cases.push_back({"arange of u8 to its last number",
                   "arange",
                   "[start = 253]",
                   {},
                   {tile(ElementKind::U8, {3}, {253, 254, 255})}});
  cases.push_back({"a constant fills its tile", "constant", "-3", {}, {ints({3}, {-3, -3, -3})}});
}

void addBitcasts(std::vector<OpCase> &cases) {
  const auto bits = [](ElementKind element, const Shape &shape, std::vector<std::uint64_t> all) {
    return Tile{element, shape, std::move(all)};
  };
  cases.push_back({"f32 as u32",
                   "bitcast",
                   "",
                   {tile(ElementKind::F32, {2}, {1, -0.0})},
                   {bits(ElementKind::U32, {2}, {0x3f800000, 0x80000000})}});
  cases.push_back({"i8 as f8e4m3fn",
                   "bitcast",
                   "",
                   {bits(ElementKind::I8, {2}, {0x7e, 0x80})},
                   {bits(ElementKind::F8E4M3FN, {2}, {0x7e, 0x80})}});
  cases.push_back({"a byte is two f4e2m1, the low nibble first",
                   "bitcast",
                   "",
                   {bits(ElementKind::U8, {1, 2}, {0x21, 0xf7})},
                   {bits(ElementKind::F4E2M1, {1, 4}, {1, 2, 7, 15})}});
  cases.push_back({"two f4e2m1 are a byte",
                   "bitcast",
                   "",
                   {bits(ElementKind::F4E2M1, {2, 2}, {1, 2, 7, 15})},
                   {bits(ElementKind::U8, {2, 1}, {0x21, 0xf7})}});
}

} // namespace

std::vector<Case> shapeCases() {
  std::vector<OpCase> ops;
  addMovement(ops);
  addComposition(ops);
  addValues(ops);
  addBitcasts(ops);
  return toCases(ops);
}

} // namespace imbrex::semantics
