#include "backend/analysis/movement.h"
#include "backend/lower/memory/exchange.h"
#include "backend/lower/ops/emit_ops.h"
#include "backend/support/check.h"

/// Ops that only move elements. Where a thread has what it wants, nothing is emitted.
namespace imbrex::lower {

using analysis::Movement;
using analysis::movementOf;
using ir::OpKind;
using ir::ValueId;
using layout::Dim;
using llvm::Value;

namespace {

RegisterTile held(Emitter &e, ValueId tile) {
  return {e.type(tile), e.layoutOf(tile), e.registers(tile)};
}

/// Which register of a tile differs from register 0 by these coordinates in every thread; nothing
/// where that is another thread's.
std::optional<std::size_t> registerOf(const layout::LinearLayout &layout,
                                      layout::Bits coordinates) {
  std::size_t found = 0;
  const auto columns = layout.columns(Dim::Register);
  for (std::size_t bit = 0; bit < columns.size(); ++bit)
    if ((coordinates & columns[bit]) != 0) {
      found |= std::size_t{1} << bit;
      coordinates ^= columns[bit];
    }
  return coordinates == 0 ? std::optional(found) : std::nullopt;
}

/// The elements that are `offset` (xor) from those that a layout wants.
Registers convertBeside(Emitter &e, RegisterTile tile, const layout::LinearLayout &wanted,
                        layout::Bits offset) {
  if (const auto beside = registerOf(tile.layout, offset)) {
    Registers renamed;
    for (std::size_t r = 0; r < tile.registers.size(); ++r)
      renamed.push_back(tile.registers[r ^ *beside]);
    tile.registers = std::move(renamed);
    return convert(e, tile, wanted);
  }
  return exchange(e, tile, wanted, offset);
}

/// By a movement that has an offset.
Registers moved(Emitter &e, const Movement &movement, ValueId source, ValueId result) {
  if (!e.kernel.layoutOf(source).valid()) // a scalar
    return Registers(e.registerCount(result), e.scalar(source));
  const RegisterTile tile = held(e, source);
  const layout::Bits offset = *movement.offset;
  if (e.kernel.layoutOf(result).valid())
    return convertBeside(e, tile, wantedLayout(movement, e.layoutOf(result)), offset);
  if (const auto beside = registerOf(tile.layout, offset); beside && tile.layout.outputBits() == 0)
    return {tile.registers[*beside]};
  Value *first = e.i32(static_cast<std::int64_t>(offset));
  return exchange(e, tile, first);
}

// --- by arithmetic on coordinates ---

using Coordinates = llvm::SmallVector<Value *, 5>; // i32

Coordinates coordinatesOf(Emitter &e, ValueId tile, std::size_t r) {
  Coordinates coordinates;
  for (std::int32_t axis = 0; axis < e.type(tile).rank(); ++axis)
    coordinates.push_back(e.coordinate(e.layoutOf(tile), r, axis));
  return coordinates;
}

Value *packed(Emitter &e, const layout::LinearLayout &layout, llvm::ArrayRef<Value *> coordinates) {
  Value *index = e.i32(0);
  for (std::size_t axis = 0; axis < coordinates.size(); ++axis) {
    const auto shift = static_cast<std::uint64_t>(
        layout.outputShift(layout::axisDim(static_cast<std::int32_t>(axis))));
    index = e.b.CreateOr(index, e.b.CreateShl(coordinates[axis], shift));
  }
  return index;
}

/// The source's coordinates of an element of the result; for padding: of any element.
Coordinates sliced(Emitter &e, const ir::Op &op, Coordinates at) {
  const auto &attrs = op.attrs<ir::SliceAttrs>();
  for (std::size_t axis = 0; axis < at.size(); ++axis)
    at[axis] = e.b.CreateAdd(e.b.CreateMul(at[axis], e.i32(attrs.strides[axis])),
                             e.i32(attrs.offsets[axis]));
  return at;
}

Coordinates flipped(Emitter &e, const ir::Op &op, Coordinates at) {
  const std::int32_t axis = op.attrs<ir::AxisAttrs>().axis;
  Value *&index = at[static_cast<std::size_t>(axis)];
  index = e.b.CreateSub(e.i32(e.type(op.result()).shape()[axis] - 1), index);
  return at;
}

/// Through the row-major index.
Coordinates reshaped(Emitter &e, const ir::Op &op, const Coordinates &at) {
  const ir::Shape &from = e.type(op.operand(0)).shape(), &to = e.type(op.result()).shape();
  Value *index = e.i32(0);
  for (std::int32_t axis = 0; axis < to.rank(); ++axis)
    index =
        e.b.CreateAdd(e.b.CreateMul(index, e.i32(to[axis])), at[static_cast<std::size_t>(axis)]);
  Coordinates source(static_cast<std::size_t>(from.rank()));
  for (std::int32_t axis = from.rank(); axis-- > 0;) {
    source[static_cast<std::size_t>(axis)] = e.b.CreateURem(index, e.i32(from[axis]));
    index = e.b.CreateUDiv(index, e.i32(from[axis]));
  }
  return source;
}

/// Padding asks for coordinates that may lie beyond the source: any in range will do.
Value *inRange(Emitter &e, const layout::LinearLayout &source, Value *index) {
  const std::int64_t last = (std::int64_t{1} << source.outputBits()) - 1;
  return e.b.CreateAnd(index, e.i32(last));
}

template <class Source>
Registers moveByArithmetic(Emitter &e, ValueId from, ValueId to, Source source) {
  const layout::LinearLayout &layout = e.layoutOf(from);
  llvm::SmallVector<Value *, 8> indices;
  for (std::size_t r = 0; r < e.registerCount(to); ++r)
    indices.push_back(inRange(e, layout, packed(e, layout, source(coordinatesOf(e, to, r)))));
  return exchange(e, held(e, from), indices);
}

/// Each element from the first or the second operand, at coordinates that differ.
template <class IsSecond, class Source>
Registers chosen(Emitter &e, const ir::Op &op, IsSecond isSecond, Source source) {
  Registers parts[2];
  for (const std::size_t operand : {0, 1}) {
    const ValueId from = op.operand(operand);
    if (!e.kernel.layoutOf(from).valid())
      parts[operand] = Registers(e.registerCount(op.result()), e.scalar(from));
    else
      parts[operand] = moveByArithmetic(e, from, op.result(),
                                        [&](const Coordinates &at) { return source(at, operand); });
  }
  Registers results;
  for (std::size_t r = 0; r < parts[0].size(); ++r) {
    Value *second = isSecond(coordinatesOf(e, op.result(), r));
    results.push_back(e.b.CreateSelect(second, parts[1][r], parts[0][r]));
  }
  return results;
}

/// The new last axis, of extent 2, says which operand.
Registers joined(Emitter &e, const ir::Op &op) {
  const Movement movement = *movementOf(e.kernel, op, 0, 0);
  const Registers first = moved(e, movement, op.operand(0), op.result());
  const Registers second = moved(e, movement, op.operand(1), op.result());
  Registers results;
  for (std::size_t r = 0; r < first.size(); ++r) {
    Value *index = packedIndex(e, e.layoutOf(op.result()), r);
    Value *isSecond = e.b.CreateTrunc(index, e.b.getInt1Ty());
    results.push_back(e.b.CreateSelect(isSecond, second[r], first[r]));
  }
  return results;
}

Registers concatenated(Emitter &e, const ir::Op &op) {
  const auto axis = static_cast<std::size_t>(op.attrs<ir::AxisAttrs>().axis);
  Value *border = e.i32(e.type(op.operand(0)).shape()[static_cast<std::int32_t>(axis)]);
  return chosen(
      e, op, [&](const Coordinates &at) { return e.b.CreateICmpUGE(at[axis], border); },
      [&](Coordinates at, std::size_t operand) {
        if (operand == 1) at[axis] = e.b.CreateSub(at[axis], border);
        return at;
      });
}

/// 0 where an index is out of range.
Registers gathered(Emitter &e, const ir::Op &op) {
  const auto axis = static_cast<std::size_t>(op.attrs<ir::AxisAttrs>().axis);
  const ValueId source = op.operand(0), indices = op.operand(1);
  const ir::ElementKind kind = e.type(indices).element();
  const layout::LinearLayout &layout = e.layoutOf(source);
  const std::int64_t extent = e.type(source).shape()[static_cast<std::int32_t>(axis)];
  llvm::SmallVector<Value *, 8> places, areInside;
  for (std::size_t r = 0; r < e.registerCount(op.result()); ++r) {
    Coordinates at = coordinatesOf(e, op.result(), r);
    Value *wide = emitCast(e.b, kind, ir::ElementKind::I64, {}, e.registers(indices)[r], e.natives);
    areInside.push_back(e.b.CreateICmpULT(wide, e.i64(extent)));
    at[axis] =
        e.b.CreateTrunc(e.b.CreateSelect(areInside.back(), wide, e.i64(0)), e.b.getInt32Ty());
    places.push_back(inRange(e, layout, packed(e, layout, at)));
  }
  Registers results = exchange(e, held(e, source), places);
  for (std::size_t r = 0; r < results.size(); ++r)
    results[r] = e.b.CreateSelect(areInside[r], results[r],
                                  llvm::Constant::getNullValue(results[r]->getType()));
  return results;
}

/// Halves of bytes.
Registers unpacked(Emitter &e, const ir::Op &op, const Movement &movement) {
  Registers results = moved(e, movement, op.operand(0), op.result());
  for (std::size_t r = 0; r < results.size(); ++r) {
    Value *odd = e.b.CreateTrunc(packedIndex(e, e.layoutOf(op.result()), r), e.b.getInt1Ty());
    Value *high = e.b.CreateLShr(results[r], 4), *low = e.b.CreateAnd(results[r], 15);
    results[r] = e.b.CreateSelect(odd, high, low);
  }
  return results;
}

/// Bytes of their halves.
Registers packedPairs(Emitter &e, const ir::Op &op, Movement movement) {
  const Registers low = moved(e, movement, op.operand(0), op.result());
  movement.offset = 1;
  const Registers high = moved(e, movement, op.operand(0), op.result());
  Registers results;
  for (std::size_t r = 0; r < low.size(); ++r)
    results.push_back(e.b.CreateOr(e.b.CreateAnd(low[r], 15), e.b.CreateShl(high[r], 4)));
  return results;
}

} // namespace

void emitMovement(Emitter &e, const ir::Op &op) {
  if (e.type(op.operand(0)).isShared()) // it lies where it lay
    return e.define(op.result(), e.registers(op.operand(0)));
  if (op.kind == OpKind::Join) return e.define(op.result(), joined(e, op));
  if (op.kind == OpKind::Concat) return e.define(op.result(), concatenated(e, op));
  if (op.kind == OpKind::Gather) return e.define(op.result(), gathered(e, op));
  for (std::size_t i = 0; i < op.results.size(); ++i) {
    const ValueId source = op.operand(0), result = op.result(i);
    const auto movement = movementOf(e.kernel, op, 0, i);
    if (movement && movement->offset) {
      e.define(result, moved(e, *movement, source, result));
      continue;
    }
    e.define(result, moveByArithmetic(e, source, result, [&](const Coordinates &at) {
               if (op.kind == OpKind::Slice) return sliced(e, op, at);
               return op.kind == OpKind::Flip ? flipped(e, op, at) : reshaped(e, op, at);
             }));
  }
}

/// The same bits under another type; a byte is two f4e2m1 along the last axis.
void emitBitcast(Emitter &e, const ir::Op &op) {
  const ir::Type &to = e.type(op.result());
  const auto movement = movementOf(e.kernel, op, 0, 0);
  if (movement && to.element() == ir::ElementKind::F4E2M1)
    return e.define(op.result(), unpacked(e, op, *movement));
  if (movement) return e.define(op.result(), packedPairs(e, op, *movement));
  Registers results;
  for (Value *x : e.registers(op.operand(0)))
    results.push_back(e.b.CreateBitCast(x, e.laneType(to)));
  e.define(op.result(), std::move(results));
}

} // namespace imbrex::lower
