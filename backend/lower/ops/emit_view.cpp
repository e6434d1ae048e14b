#include "backend/lower/memory/view_box.h"
#include "backend/lower/memory/whole_copies.h"
#include "backend/lower/ops/emit_ops.h"
#include "llvm/ADT/STLExtras.h"

/// Boxes of views: read and written.
namespace imbrex::lower {

using ir::ElementKind;
using llvm::Value;

namespace {

/// What stands outside of the view in a register.
Value *paddingOf(Emitter &e, const ir::Op &op, std::size_t r) {
  const ir::Type &type = e.type(op.result());
  llvm::Type *const lane = e.laneType(type);
  if (e.loadsIf()) return llvm::Constant::getNullValue(lane); // emitIf looked
  if (e.unseenPadding.contains(op)) return llvm::PoisonValue::get(lane);
  switch (op.attrs<ir::ViewAttrs>().padding) {
  case ir::Padding::Zero: return llvm::Constant::getNullValue(lane);
  case ir::Padding::Nan: {
    const llvm::APFloat nan = llvm::APFloat::getQNaN(floatFormat(type.element()));
    return splatBits(lane, nan.bitcastToAPInt().getZExtValue());
  }
  case ir::Padding::Value: {
    const Registers &values = e.registers(op.operands.back());
    return values[values.size() == 1 ? 0 : r];
  }
  }
  return nullptr;
}

// --- f4e2m1: two elements in a byte, the first in the low nibble ---

struct Nibble {
  Value *address; // of its byte
  Value *shift;   // i8: 0 or 4
};

Nibble nibbleAt(Emitter &e, const ViewValues &view, Value *element) {
  Value *address = e.b.CreateGEP(e.b.getInt8Ty(), view.data, e.b.CreateAShr(element, 1));
  Value *odd = e.b.CreateTrunc(element, e.b.getInt1Ty());
  return {address, e.b.CreateSelect(odd, e.b.getInt8(4), e.b.getInt8(0))};
}

Value *readNibble(Emitter &e, const ViewValues &view, ViewBox &box, std::size_t r,
                  Value *otherwise) {
  const Nibble nibble = nibbleAt(e, view, box.elementAt(r));
  return e.where(box.isInside(r), otherwise, [&]() -> Value * {
    Value *byte = e.b.CreateAlignedLoad(e.b.getInt8Ty(), nibble.address, llvm::Align(1));
    Value *low = e.b.CreateAnd(e.b.CreateLShr(byte, nibble.shift), 15);
    return e.b.CreateTrunc(low, otherwise->getType());
  });
}

/// Two nibbles as their byte.
Value *byteOf(Emitter &e, Value *low, Value *high) {
  return e.b.CreateOr(e.b.CreateAnd(low, 15), e.b.CreateShl(high, 4));
}

/// Each byte's pair of nibbles.
Registers bytesOf(Emitter &e, const Registers &nibbles) {
  Registers bytes;
  for (std::size_t i = 0; i < nibbles.size(); i += 2)
    bytes.push_back(byteOf(e, nibbles[i], nibbles[i + 1]));
  return bytes;
}

Registers nibblesOf(Emitter &e, const Registers &bytes) {
  Registers nibbles;
  for (Value *byte : bytes) {
    nibbles.push_back(e.b.CreateAnd(byte, 15));
    nibbles.push_back(e.b.CreateLShr(byte, 4));
  }
  return nibbles;
}

ir::Type byteType() { return ir::Type::tile(ElementKind::U8); }

/// The byte's other nibble may belong to another thread, so that each half is changed in one step
/// that leaves the other alone.
void writeNibble(Emitter &e, const ViewValues &view, Value *element, Value *value) {
  const Nibble nibble = nibbleAt(e, view, element);
  const llvm::SyncScope::ID scope = e.words.syncScope(e.context, ir::Scope::Device);
  const auto change = [&](llvm::AtomicRMWInst::BinOp op, Value *with) {
    e.b.CreateAtomicRMW(op, nibble.address, with, llvm::Align(1), llvm::AtomicOrdering::Monotonic,
                        scope);
  };
  change(llvm::AtomicRMWInst::And, e.b.CreateNot(e.b.CreateShl(e.b.getInt8(15), nibble.shift)));
  Value *byte = e.b.CreateZExtOrTrunc(value, e.b.getInt8Ty());
  change(llvm::AtomicRMWInst::Or, e.b.CreateShl(e.b.CreateAnd(byte, 15), nibble.shift));
}

} // namespace

void emitViewLoad(Emitter &e, const ir::Op &op) {
  const ir::Type &type = e.type(op.result());
  const bool isNibble = type.element() == ElementKind::F4E2M1;
  const Hints hints = hintsOf(op.attrs<ir::ViewAttrs>());
  const bool isWhole = e.whole() && e.whole()->has(op);
  ViewBox box(e, op, op.result(), 1);
  const auto accessAt = [&](std::size_t r, std::size_t width) {
    return isWhole ? e.whole()->at(op, r, width) : box.at(r, width);
  };
  const layout::RegisterVectors vectors = e.accessVectors(op, op.result());
  const auto width = static_cast<std::size_t>(vectors.width);
  const bool areColumns = e.namedForColumns(op) != nullptr;
  Registers results(e.registerCount(op.result()));
  for (const llvm::ArrayRef<std::int32_t> vector : vectors.each()) {
    const auto first = static_cast<std::size_t>(vector[0]);
    if (isNibble && width == 1) {
      results[first] = readNibble(e, e.view(op.operand(0)), box, first, paddingOf(e, op, first));
      continue;
    }
    if (areColumns) {
      llvm::copy(emitReadColumns(e, type, accessAt(first, width)), results.begin() + vector[0]);
      continue;
    }
    Registers others;
    for (const std::int32_t r : vector)
      others.push_back(paddingOf(e, op, static_cast<std::size_t>(r)));
    const Registers read = isNibble
                               ? nibblesOf(e, emitRead(e, byteType(), accessAt(first, width),
                                                       width / 2, bytesOf(e, others), hints))
                               : emitRead(e, type, accessAt(first, width), width, others, hints);
    for (std::size_t i = 0; i < width; ++i) results[static_cast<std::size_t>(vector[i])] = read[i];
  }
  e.define(op.result(), std::move(results));
}

void emitViewStore(Emitter &e, const ir::Op &op) {
  const ir::ValueId tile = op.operand(1);
  const Registers &registers = e.registers(tile);
  const bool isNibble = e.type(tile).element() == ElementKind::F4E2M1;
  const Hints hints = hintsOf(op.attrs<ir::ViewAttrs>());
  ViewBox box(e, op, tile, 2);
  Value *const owner = e.isOwner(tile);
  const layout::RegisterVectors vectors = e.accessVectors(op, tile);
  for (const llvm::ArrayRef<std::int32_t> vector : vectors.each()) {
    const auto first = static_cast<std::size_t>(vector[0]);
    if (isNibble && vector.size() == 1) {
      e.where(e.allOf({owner, box.isInside(first)}), [&] {
        writeNibble(e, e.view(op.operand(0)), box.elementAt(first), registers[first]);
      });
      continue;
    }
    const Registers values = picked(registers, vector);
    GlobalAccess access = box.at(first, vector.size());
    access.mask = e.allOf({owner, access.mask});
    if (isNibble)
      emitWrite(e, byteType(), access, bytesOf(e, values), hints);
    else
      emitWrite(e, e.type(tile), access, values, hints);
  }
}

} // namespace imbrex::lower
