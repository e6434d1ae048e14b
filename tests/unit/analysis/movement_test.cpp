#include "backend/analysis/movement.h"
#include "backend/interpret/interpret.h"
#include "backend/ir/builder.h"
#include "backend/ir/text.h"
#include "backend/ir/verify.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <map>
#include <random>

using namespace imbrex;
using namespace imbrex::ir;
using analysis::Movement;
using analysis::movementOf;
using layout::Bits;

namespace {

/// One op that moves the row-major numbers of its operands' elements, each result stored where its
/// own parameter points.
class NumberedMove {
public:
  explicit NumberedMove(std::uint32_t seed)
      : rng_(seed), kernel_("move"), build_(kernel_, kernel_.body()) {
    kernel_.setStage(Stage::Tiles);
    add();
    for (const ValueId result : op_->results) store(result);
  }

  const Kernel &kernel() const { return kernel_; }
  const Op &op() const { return *op_; }

  /// The second operand's elements are numbered from here on.
  static constexpr std::int64_t kSecond = 100'000;

  /// Each result's elements, in row-major order.
  std::vector<std::vector<std::int32_t>> run() const {
    std::vector<std::vector<std::int32_t>> results;
    std::vector<Argument> arguments;
    for (const ValueId result : op_->results)
      results.emplace_back(static_cast<size_t>(kernel_.type(result).shape().elements()));
    for (auto &result : results)
      arguments.push_back({.data = reinterpret_cast<std::byte *>(result.data())});
    Diagnostics diagnostics;
    REQUIRE_MESSAGE(ir::verify(kernel_, diagnostics), diagnostics.render());
    REQUIRE_MESSAGE(interpret::run(kernel_, {}, arguments, diagnostics), diagnostics.render());
    return results;
  }

private:
  static Type tileOf(const Shape &shape) { return Type::tile(ElementKind::I32, shape); }

  std::int64_t extent() {
    constexpr std::array<std::int64_t, 10> kExtents{1, 2, 4, 8, 2, 4, 3, 5, 6, 12};
    return kExtents.at(rng_() % kExtents.size());
  }
  Shape shape() {
    llvm::SmallVector<std::int64_t, 5> extents;
    for (std::uint32_t axis = 0; axis < 1 + rng_() % 3; ++axis) extents.push_back(extent());
    return Shape(extents);
  }

  ValueId numbers(const Shape &shape, std::int64_t first = 0) {
    Op &op = build_.create(OpKind::Arange, {}, tileOf({shape.elements()}));
    op.attrs<ArangeAttrs>() = {.start = first, .step = 1};
    return build_.reshape(op.result(), shape);
  }

  void add() {
    const Shape of = shape();
    switch (rng_() % 6) {
    case 0: return permute(of);
    case 1: return reshape(of);
    case 2: return broadcast(of);
    case 3: return flip(of);
    case 4:
      op_ = &build_.create(OpKind::Join, {numbers(of), numbers(of, kSecond)},
                           tileOf(of.withAppended(2)));
      return;
    default:
      op_ = &build_.create(OpKind::Split, numbers(of.withAppended(2)), {tileOf(of), tileOf(of)});
    }
  }

  void permute(const Shape &of) {
    PermuteAttrs attrs;
    llvm::SmallVector<std::int64_t, 5> extents;
    for (std::int64_t axis = 0; axis < of.rank(); ++axis) attrs.order.push_back(axis);
    std::ranges::shuffle(attrs.order, rng_);
    for (const std::int64_t axis : attrs.order)
      extents.push_back(of[static_cast<std::int32_t>(axis)]);
    op_ = &build_.create(OpKind::Permute, numbers(of), tileOf(Shape(extents)), attrs);
  }

  void reshape(const Shape &of) {
    const std::int64_t n = of.elements();
    llvm::SmallVector<std::int64_t, 5> extents{n};
    for (const std::int64_t inner : {12, 8, 6, 5, 4, 3, 2})
      if (extents[0] % inner == 0 && rng_() % 3 == 0) {
        extents[0] /= inner;
        extents.insert(extents.begin() + 1, inner);
      }
    op_ = &build_.create(OpKind::Reshape, numbers(of), tileOf(Shape(extents)));
  }

  void broadcast(const Shape &of) {
    llvm::SmallVector<std::int64_t, 5> extents(of.extents());
    for (std::int64_t &to : extents)
      if (to == 1) to = extent();
    op_ = &build_.create(OpKind::Broadcast, numbers(of), tileOf(Shape(extents)));
  }

  void flip(const Shape &of) {
    const auto axis = static_cast<std::int32_t>(rng_() % static_cast<std::uint32_t>(of.rank()));
    op_ = &build_.create(OpKind::Flip, numbers(of), tileOf(of), AxisAttrs{.axis = axis});
  }

  void store(ValueId value) {
    const Shape line{kernel_.type(value).shape().elements()};
    const ValueId base = kernel_.addParameter("out" + std::to_string(value.index()),
                                              Type::pointerTile(ElementKind::I32));
    const Type pointers = kernel_.type(base).withShape(line);
    const ValueId to =
        build_.create(OpKind::PointerAdd, {build_.broadcast(base, line), numbers(line)}, pointers)
            .result();
    build_.create(OpKind::Store, {to, build_.reshape(value, line)}, {});
  }

  std::mt19937 rng_;
  Kernel kernel_;
  Builder build_;
  const Op *op_ = nullptr;
};

/// The packed coordinates of an element.
Bits packed(const Shape &shape, std::int64_t rowMajor) {
  Bits bits = 0;
  std::int32_t shift = 0;
  for (std::int32_t axis = shape.rank(); axis-- > 0;) {
    bits |= static_cast<Bits>(rowMajor % shape[axis]) << shift;
    shift += layout::bitsFor(shape[axis]);
    rowMajor /= shape[axis];
  }
  return bits;
}

Bits source(const Movement &movement, Bits result) {
  Bits operand = *movement.offset;
  for (size_t bit = 0; bit < movement.bits.size(); ++bit)
    if ((result >> bit & 1) != 0 && movement.bits[bit] != Movement::kNone)
      operand ^= Bits{1} << movement.bits[bit];
  return operand;
}

bool isPadded(const Shape &shape) {
  return std::ranges::any_of(shape.extents(),
                             [](std::int64_t extent) { return (extent & (extent - 1)) != 0; });
}

/// Whether the move is one of bits, and each element the one that the interpreter moves.
bool checkMovement(const NumberedMove &move) {
  const Kernel &kernel = move.kernel();
  const auto results = move.run();
  bool isOfBits = true;
  for (size_t result = 0; result < results.size(); ++result) {
    const Shape &to = kernel.type(move.op().result(result)).shape();
    for (size_t i = 0; i < results[result].size(); ++i) {
      const std::int64_t number = results[result][i];
      const size_t operand = number >= NumberedMove::kSecond ? 1 : 0;
      const Shape &from = kernel.type(move.op().operand(operand)).shape();
      const auto movement = movementOf(kernel, move.op(), operand, result);
      isOfBits &= movement && movement->offset;
      if (!isOfBits) return false;
      REQUIRE(source(*movement, packed(to, static_cast<std::int64_t>(i))) ==
              packed(from, number % NumberedMove::kSecond));
    }
  }
  return isOfBits;
}

} // namespace

TEST_CASE("a movement says of every element where the interpreter takes it from") {
  std::map<OpKind, int> padded;
  for (std::uint32_t seed = 0; seed < 3000; ++seed) {
    CAPTURE(seed);
    const NumberedMove move(seed);
    CAPTURE(ir::print(move.kernel()));
    const Kernel &kernel = move.kernel();
    const bool isOfBits = checkMovement(move);
    const bool hasPadding = isPadded(kernel.type(move.op().operand(0)).shape()) ||
                            isPadded(kernel.type(move.op().result()).shape());
    CHECK((isOfBits || hasPadding));
    if (isOfBits && hasPadding) ++padded[move.op().kind];
  }
  for (const OpKind kind : {OpKind::Permute, OpKind::Reshape, OpKind::Broadcast, OpKind::Flip,
                            OpKind::Join, OpKind::Split})
    CHECK_MESSAGE(padded[kind] > 20, info(kind).mnemonic);
}

TEST_CASE("an op that computes moves nothing, nor does a move that mixes bits") {
  Kernel kernel("still");
  Builder build(kernel, kernel.body());
  const Type type = Type::tile(ElementKind::I32, Shape{6});
  const ValueId x = build.create(OpKind::Arange, {}, type).result();
  const Op &sum = build.create(OpKind::Add, {x, x}, type);
  CHECK(!movementOf(kernel, sum, 0, 0));
  const Op &mixed = build.create(OpKind::Reshape, x, type.withShape({2, 3}));
  CHECK(!movementOf(kernel, mixed, 0, 0));
  const Op &flipped = build.create(OpKind::Flip, x, type, AxisAttrs{.axis = 0});
  REQUIRE(movementOf(kernel, flipped, 0, 0));
  CHECK(!movementOf(kernel, flipped, 0, 0)->offset);
}
