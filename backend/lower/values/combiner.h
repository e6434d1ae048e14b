#pragma once

#include "backend/lower/emitter.h"
#include "backend/lower/values/combine.h"

namespace imbrex::lower {

/// What is combined along an axis: a value for each operand; with argmin and argmax the value and
/// its index.
using Combined = llvm::SmallVector<llvm::Value *, 2>;

/// How a reduction or a scan makes two neighbours one.
class Combiner {
public:
  /// Whether sums and products of halves may be kept in f32 until the end.
  enum class Rounding : std::uint8_t { AtTheEnd, EachTime };
  /// `combine`: the op's; its region, if it has one, and the operands' elements are the op's too.
  Combiner(Emitter &emitter, const ir::Op &op, ir::Combine combine, std::size_t operands,
           Rounding rounding = Rounding::AtTheEnd);

  /// Whether the order of the two, and of the pairs, may be any.
  bool isCommutative() const { return combine_ != ir::Combine::Region; }

  /// The operands' elements in a register, as they are accumulated. `index`: along the axis.
  Combined load(std::size_t r, llvm::Value *index);
  /// What changes nothing; not of a region.
  Combined identity();
  /// What an exclusive scan begins with; not of a region.
  llvm::Value *start(std::size_t operand);
  Combined combine(const Combined &left, const Combined &right);
  /// Whether the machine combines two and two at once, as vectors of two each.
  bool hasPairs() const;
  Combined select(llvm::Value *condition, const Combined &yes, const Combined &no);
  /// As the op's result.
  llvm::Value *result(std::size_t i, const Combined &combined);

private:
  ir::ElementKind element(std::size_t operand) const {
    return e_.type(op_.operand(operand)).element();
  }

  /// The element in which those of this kind are combined.
  ir::ElementKind accumulator(ir::ElementKind kind) const {
    return rounding_ == Rounding::EachTime ? kind : accumulatorOf(combine_, kind);
  }

  Emitter &e_;
  const ir::Op &op_;
  ir::Combine combine_;
  std::size_t operands_;
  Rounding rounding_;
};

/// Where an axis's bits are held, lowest first.
struct AxisBit {
  layout::Dim dim;
  std::uint32_t mask; // one bit of the register's, lane's or warp's number
};
llvm::SmallVector<AxisBit, 16> axisBits(const layout::LinearLayout &layout, std::int32_t axis);

} // namespace imbrex::lower
