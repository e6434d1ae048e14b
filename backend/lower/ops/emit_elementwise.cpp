#include "backend/lower/emitter.h"
#include "backend/lower/ops/emit_ops.h"
#include "backend/lower/values/quotients.h"
#include "llvm/ADT/STLExtras.h"

#include <array>

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

constexpr std::array kNarrowed{
    ir::OpKind::Add, ir::OpKind::Sub, ir::OpKind::Mul, ir::OpKind::Div, ir::OpKind::CeilDiv,
    ir::OpKind::Rem, ir::OpKind::Min, ir::OpKind::Max, ir::OpKind::And, ir::OpKind::Eq,
    ir::OpKind::Ne,  ir::OpKind::Lt,  ir::OpKind::Le,  ir::OpKind::Gt,  ir::OpKind::Ge};

/// Whether integers of 64 bits may as well be computed in 32: machines count in these.
bool isNarrowed(const Emitter &e, const ir::Op &op) {
  const ir::Type &type = e.type(op.operands.back());
  const auto isSmall = [&](ir::ValueId value) { return e.nonNegative.isSmall(value); };
  return type.isTile() && isInteger(type.element()) && info(type.element()).bits == 64 &&
         llvm::is_contained(kNarrowed, op.kind) && llvm::all_of(op.operands, isSmall) &&
         (e.type(op.result()).element() == ElementKind::Bool || isSmall(op.result()));
}

Value *emitNarrowed(Emitter &e, ir::OpKind kind, llvm::ArrayRef<Value *> operands) {
  llvm::SmallVector<Value *, 3> narrow;
  for (Value *operand : operands) narrow.push_back(e.b.CreateTrunc(operand, e.b.getInt32Ty()));
  Value *result = emitElementwise(e.b, kind, ElementKind::I32, narrow, e.natives);
  return result->getType()->isIntegerTy(1) ? result : e.widened(result);
}

/// Whether two are computed at once: floats where a machine has instructions for two, and bf16,
/// which are computed in f32, where it has none that rounds, so that two are put side by side for
/// what one shift would take.
bool arePaired(const Emitter &e, ElementKind element) {
  const bool isBf16 = element == ElementKind::BF16;
  return e.words.hasFloatPairs() ? isBf16 || element == ElementKind::F32
                                 : isBf16 && !e.natives.rounds(element, "cast");
}

bool isPaired(const Emitter &e, const ir::Op &op) {
  constexpr std::array kPaired{ir::OpKind::Add, ir::OpKind::Sub, ir::OpKind::Mul, ir::OpKind::Fma};
  return llvm::is_contained(kPaired, op.kind) && arePaired(e, e.type(op.result()).element()) &&
         e.registerCount(op.result()) % 2 == 0;
}

/// Of two registers, or of the only one twice.
Value *pairOf(Emitter &e, const Registers &registers, std::size_t first) {
  const bool isOne = registers.size() == 1;
  return vectorOf(e.b, {registers[isOne ? 0 : first], registers[isOne ? 0 : first + 1]});
}

Registers emitPairs(Emitter &e, const ir::Op &op) {
  const ElementKind element = e.type(op.result()).element();
  Registers results;
  for (std::size_t r = 0; r < e.registerCount(op.result()); r += 2) {
    llvm::SmallVector<Value *, 3> pairs;
    for (const ir::ValueId operand : op.operands)
      pairs.push_back(pairOf(e, e.registers(operand), r));
    llvm::append_range(results,
                       halvesOf(e.b, emitElementwise(e.b, op.kind, element, pairs, e.natives)));
  }
  return results;
}

} // namespace

void emitElementwiseOp(Emitter &e, const ir::Op &op) {
  const ElementKind element = e.type(op.operands.back()).element();
  const bool isNative = isFast(op) && element == ElementKind::F32 && e.words.hasFast(op.kind);
  if (op.kind == ir::OpKind::Div && element == ElementKind::F32 && !isNative) {
    e.define(op.result(), emitQuotients(e, e.registers(op.operand(0)), e.registers(op.operand(1))));
    return;
  }
  if (isPaired(e, op)) {
    e.define(op.result(), emitPairs(e, op));
    return;
  }
  const bool isNarrow = isNarrowed(e, op);
  Registers results;
  for (std::size_t r = 0; r < e.registerCount(op.result()); ++r) {
    llvm::SmallVector<Value *, 3> operands;
    for (const ir::ValueId operand : op.operands) {
      const Registers &registers = e.registers(operand);
      operands.push_back(registers[registers.size() == 1 ? 0 : r]);
    }
    results.push_back(isNative   ? e.words.fast(e.b, op.kind, operands)
                      : isNarrow ? emitNarrowed(e, op.kind, operands)
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
  const Registers &registers = e.registers(op.operand(0));
  const auto cast = [&](Value *x) { return emitCast(e.b, from, to, rounding, x, e.natives); };
  Registers results;
  if (to == ElementKind::BF16 && (from == ElementKind::F32 || isExactInBf16(from)) &&
      arePaired(e, to) && registers.size() % 2 == 0)
    for (std::size_t r = 0; r < registers.size(); r += 2)
      llvm::append_range(results, halvesOf(e.b, cast(pairOf(e, registers, r))));
  else
    for (Value *x : registers) results.push_back(cast(x));
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
