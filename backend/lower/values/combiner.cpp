#include "backend/lower/values/combiner.h"

#include "backend/ir/combine.h"

namespace imbrex::lower {

using ir::ElementKind;
using llvm::Value;

Combiner::Combiner(Emitter &emitter, const ir::Op &op, ir::Combine combine, std::size_t operands,
                   Rounding rounding)
    : e_(emitter), op_(op), combine_(combine), operands_(operands), rounding_(rounding) {}

Combined Combiner::load(std::size_t r, Value *index) {
  Combined loaded;
  for (std::size_t i = 0; i < operands_; ++i) {
    Value *x = e_.registers(op_.operand(i))[r];
    const ElementKind kind = e_.type(op_.operand(i)).element();
    const bool isElement = e_.type(op_.operand(i)).isTile();
    loaded.push_back(isElement ? emitCast(e_.b, kind, accumulator(kind), {}, x, e_.natives) : x);
  }
  if (ir::isArg(combine_)) loaded.push_back(index);
  return loaded;
}

Combined Combiner::identity() {
  Combined none;
  for (std::size_t i = 0; i < operands_; ++i) {
    const ElementKind kind = accumulator(element(i));
    none.push_back(identityOf(combine_, kind, e_.laneType(ir::Type::tile(kind))));
  }
  // The last of all indices, which loses against every other.
  if (ir::isArg(combine_)) none.push_back(e_.b.getInt32(0x7fffffff));
  return none;
}

Value *Combiner::start(std::size_t operand) {
  const ElementKind kind = element(operand);
  return startOf(combine_, kind, e_.laneType(ir::Type::tile(kind)));
}

Combined Combiner::combine(const Combined &left, const Combined &right) {
  Combined both;
  if (combine_ == ir::Combine::Region) {
    const ir::Block &body = op_.regions[0];
    for (std::size_t i = 0; i < operands_; ++i) {
      e_.define(body.arguments[i], {left[i]});
      e_.define(body.arguments[operands_ + i], {right[i]});
    }
    e_.emitBlock(body);
    for (const ir::ValueId value : body.ops.back()->operands) both.push_back(e_.scalar(value));
    return both;
  }
  if (ir::isArg(combine_)) {
    const ValueWithIndex best = emitCombineArg(e_.b, combine_, element(0), {left[0], left[1]},
                                               {right[0], right[1]}, e_.natives);
    return {best.value, best.index};
  }
  for (std::size_t i = 0; i < operands_; ++i)
    both.push_back(
        emitCombine(e_.b, combine_, accumulator(element(i)), left[i], right[i], e_.natives));
  return both;
}

bool Combiner::hasPairs() const {
  const bool isPaired = combine_ == ir::Combine::Sum || combine_ == ir::Combine::Prod;
  return isPaired && operands_ == 1 && accumulator(element(0)) == ElementKind::F32 &&
         e_.words.hasFloatPairs();
}

Combined Combiner::select(Value *condition, const Combined &yes, const Combined &no) {
  Combined chosen;
  for (std::size_t i = 0; i < yes.size(); ++i)
    chosen.push_back(e_.b.CreateSelect(condition, yes[i], no[i]));
  return chosen;
}

Value *Combiner::result(std::size_t i, const Combined &combined) {
  if (i >= operands_) { // the index
    const ElementKind kind = e_.type(op_.result(i)).element();
    return emitCast(e_.b, ElementKind::I32, kind, {}, combined[i], e_.natives);
  }
  if (!e_.type(op_.operand(i)).isTile()) return combined[i];
  return emitCast(e_.b, accumulator(element(i)), element(i), {}, combined[i], e_.natives);
}

llvm::SmallVector<AxisBit, 16> axisBits(const layout::LinearLayout &layout, std::int32_t axis) {
  const layout::Dim dim = layout::axisDim(axis);
  llvm::SmallVector<AxisBit, 16> bits(static_cast<std::size_t>(layout.outputBits(dim)));
  for (const layout::Side &input : layout.inputs())
    for (std::size_t i = 0; i < layout.columns(input.dim).size(); ++i) {
      const layout::Bits part = layout.outputPart(layout.columns(input.dim)[i], dim);
      if (part != 0)
        bits[static_cast<std::size_t>(llvm::countr_zero(part))] = {input.dim,
                                                                   std::uint32_t{1} << i};
    }
  return bits;
}

} // namespace imbrex::lower
