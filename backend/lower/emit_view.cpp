#include "backend/lower/view_box.h"

/// Boxes of views: read and written.
namespace imbrex::lower {

using ir::ElementKind;
using llvm::Value;

namespace {

Hints hintsOf(const ir::Op &op) {
  const auto &attrs = op.attrs<ir::ViewAttrs>();
  return {attrs.cache, attrs.eviction};
}

/// What stands outside of the view in a register.
Value *paddingOf(Emitter &e, const ir::Op &op, std::size_t r) {
  const ir::Type &type = e.type(op.result());
  llvm::Type *const lane = e.laneType(type);
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
  ViewBox box(e, op, op.result(), 1);
  const std::size_t width = e.accessWidth(op);
  Registers results;
  for (std::size_t r = 0; r < e.registerCount(op.result()); r += width) {
    if (type.element() == ElementKind::F4E2M1) {
      results.push_back(readNibble(e, e.view(op.operand(0)), box, r, paddingOf(e, op, r)));
      continue;
    }
    Registers others;
    for (std::size_t i = 0; i < width; ++i) others.push_back(paddingOf(e, op, r + i));
    results.append(emitRead(e, type, box.at(r, width), width, others, hintsOf(op)));
  }
  e.define(op.result(), std::move(results));
}

void emitViewStore(Emitter &e, const ir::Op &op) {
  const ir::ValueId tile = op.operand(1);
  ViewBox box(e, op, tile, 2);
  Value *const owner = e.isOwner(tile);
  const std::size_t width = e.accessWidth(op);
  for (std::size_t r = 0; r < e.registerCount(tile); r += width) {
    const llvm::ArrayRef<Value *> values = llvm::ArrayRef(e.registers(tile)).slice(r, width);
    if (e.type(tile).element() == ElementKind::F4E2M1) {
      e.where(e.allOf({owner, box.isInside(r)}),
              [&] { writeNibble(e, e.view(op.operand(0)), box.elementAt(r), values[0]); });
      continue;
    }
    Access access = box.at(r, width);
    access.mask = e.allOf({owner, access.mask});
    emitWrite(e, e.type(tile), access, values, hintsOf(op));
  }
}

} // namespace imbrex::lower
