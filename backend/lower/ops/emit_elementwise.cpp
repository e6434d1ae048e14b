#include "backend/lower/emitter.h"
#include "backend/lower/ops/emit_ops.h"
#include "backend/lower/values/quotients.h"

/// Ops that compute each element from the elements at the same place: register by register.
namespace imbrex::lower {

using ir::ElementKind;
using llvm::Value;

namespace {

/// Whether the op was left for the machine's own instruction.
bool isFast(const ir::Op &op) {
  const auto *math = std::get_if<ir::MathAttrs>(&op.attributes);
  return math && math->accuracy == ir::Accuracy::Fast;
}

} // namespace

void emitElementwiseOp(Emitter &e, const ir::Op &op) {
  const ElementKind element = e.type(op.operands.back()).element();
  const bool isNative = isFast(op) && element == ElementKind::F32 && e.words.hasFast(op.kind);
  if (op.kind == ir::OpKind::Div && element == ElementKind::F32 && !isNative) {
    e.define(op.result(), emitQuotients(e, e.registers(op.operand(0)), e.registers(op.operand(1))));
    return;
  }
  Registers results;
  for (std::size_t r = 0; r < e.registerCount(op.result()); ++r) {
    llvm::SmallVector<Value *, 3> operands;
    for (const ir::ValueId operand : op.operands) {
      const Registers &registers = e.registers(operand);
      operands.push_back(registers[registers.size() == 1 ? 0 : r]);
    }
    results.push_back(isNative ? e.words.fast(e.b, op.kind, operands)
                               : emitElementwise(e.b, op.kind, element, operands, e.natives));
  }
  e.define(op.result(), std::move(results));
}

void emitConstant(Emitter &e, const ir::Op &op) {
  llvm::Constant *value =
      e.constantOf(e.type(op.result()).withShape({}), op.attrs<ir::ConstantAttrs>().bits);
  e.define(op.result(), Registers(e.registerCount(op.result()), value));
}

void emitArange(Emitter &e, const ir::Op &op) {
  const auto &attrs = op.attrs<ir::ArangeAttrs>();
  const layout::LinearLayout &layout = e.layoutOf(op.result());
  llvm::Type *lane = e.laneType(e.type(op.result()));
  Registers results;
  for (std::size_t r = 0; r < e.registerCount(op.result()); ++r) {
    const auto [thread, constant] = e.splitCoordinate(layout, r, 0);
    Value *wide = e.b.CreateZExtOrTrunc(thread, lane);
    Value *scaled = e.b.CreateMul(wide, llvm::ConstantInt::getSigned(lane, attrs.step, true));
    const std::int64_t first = attrs.start + constant * attrs.step;
    results.push_back(e.b.CreateAdd(scaled, llvm::ConstantInt::getSigned(lane, first, true)));
  }
  e.define(op.result(), std::move(results));
}

void emitCastOp(Emitter &e, const ir::Op &op) {
  const ElementKind from = e.type(op.operand(0)).element(), to = e.type(op.result()).element();
  const ir::Rounding rounding = op.attrs<ir::CastAttrs>().rounding;
  Registers results;
  for (Value *x : e.registers(op.operand(0)))
    results.push_back(emitCast(e.b, from, to, rounding, x, e.natives));
  e.define(op.result(), std::move(results));
}

void emitPointerAdd(Emitter &e, const ir::Op &op) {
  const ElementKind offset = e.type(op.operand(1)).element();
  llvm::Type *element = e.memoryType(ir::Type::tile(e.type(op.result()).element()));
  Registers results;
  for (std::size_t r = 0; r < e.registerCount(op.result()); ++r) {
    Value *wide =
        emitCast(e.b, offset, ElementKind::I64, {}, e.registers(op.operand(1))[r], e.natives);
    results.push_back(e.b.CreateGEP(element, e.registers(op.operand(0))[r], wide));
  }
  e.define(op.result(), std::move(results));
}

} // namespace imbrex::lower
