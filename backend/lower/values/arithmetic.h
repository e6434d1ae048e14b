#pragma once

#include "backend/ir/op.h"
#include "llvm/IR/IRBuilder.h"

#include <array>
#include <string_view>

/// The meaning of one op on elements in registers, scalars or vectors of them, without loops:
/// totals instead of LLVM's poison, one rounding per op, no flag that would let LLVM change a
/// result. Every target computes with these.
namespace imbrex::lower {

/// An element in a register: floats of 32 and 64 bits and integers as themselves, a bool as an i1,
/// everything else as its bits; a pointer as an i64.
llvm::Type *laneType(llvm::LLVMContext &context, const ir::Type &type);

/// What a machine does better than the sequences that suit all.
struct NativeInstructions {
  /// min or max (a NaN loses, -0 < +0) of f32 or f64; null where there is no instruction for this
  /// type. `firstIsQuiet`: the first operand is no signalling NaN.
  llvm::Value *(*extremum)(llvm::IRBuilder<> &builder, bool isMax, bool firstIsQuiet,
                           llvm::ArrayRef<llvm::Value *> operands) = nullptr;
  /// Also where one operand is a number that is known; else a comparison and a select do as well.
  bool takesConstants = false;
  /// LLVM's `minimum` and `maximum` of f32, which keep a NaN, are instructions.
  bool keepsNaN = false;
  /// The ops, by mnemonic and between spaces, whose results the machine itself rounds to f16 and to
  /// bf16, once; others are computed in f32. "cast" is that of an f32, which all round to f16.
  std::string_view f16Ops = {}, bf16Ops = {};
  /// Whether an op on f16 or bf16 is one of these.
  bool rounds(ir::ElementKind element, std::string_view mnemonic) const;
};

/// Rules SameAsOperands, Comparison and Select but for what passes expand.
llvm::Value *emitElementwise(llvm::IRBuilder<> &builder, ir::OpKind kind, ir::ElementKind element,
                             llvm::ArrayRef<llvm::Value *> operands,
                             const NativeInstructions &natives);
/// min or max of f32 or f64 where the first operand is a result of such ops, hence no signalling
/// NaN.
llvm::Value *emitAccumulatedExtremum(llvm::IRBuilder<> &builder, bool isMax,
                                     llvm::Value *accumulator, llvm::Value *x,
                                     const NativeInstructions &natives);

/// Floats round once, to integers they saturate, a NaN becomes a NaN, or 0.
llvm::Value *emitCast(llvm::IRBuilder<> &builder, ir::ElementKind from, ir::ElementKind to,
                      ir::Rounding rounding, llvm::Value *x, const NativeInstructions &natives);
/// Whether each of an element's numbers is an integer whose f32 ends with a bf16: a byte.
inline bool isExactInBf16(ir::ElementKind element) {
  constexpr std::int32_t kByte = 8;
  return isInteger(element) && info(element).bits <= kByte;
}
inline bool isHalf(ir::ElementKind element) {
  return element == ir::ElementKind::F16 || element == ir::ElementKind::BF16;
}
/// f16 and bf16, which are kept as their bits, to and from f32. Of a NaN comes some NaN.
llvm::Value *emitWiden(llvm::IRBuilder<> &builder, ir::ElementKind from, llvm::Value *bits);
llvm::Value *emitNarrow(llvm::IRBuilder<> &builder, ir::ElementKind to, llvm::Value *f32,
                        const NativeInstructions &natives);

/// How often a for runs: the distance between the ends over the step, rounded up, as unsigned
/// numbers, so that nothing overflows.
llvm::Value *emitTripCount(llvm::IRBuilder<> &builder, llvm::Value *low, llvm::Value *high,
                           llvm::Value *step, bool isSigned);

/// Constants of the type of `like`: zero, and an integer.
llvm::Value *zeroLike(llvm::Value *like);
llvm::Value *numberLike(llvm::Value *like, std::uint64_t number);

/// The vector whose elements these are, all of them in their order; null if there is none.
llvm::Value *vectorTakenApart(llvm::ArrayRef<llvm::Value *> elements);
/// Values of one type as a vector: of integers, the one that they are taken from, if there is one.
/// Floats would go through branches in pairs then, and take pairs of registers.
llvm::Value *vectorOf(llvm::IRBuilder<> &builder, llvm::ArrayRef<llvm::Value *> elements);
/// The elements of a vector of two.
std::array<llvm::Value *, 2> halvesOf(llvm::IRBuilder<> &builder, llvm::Value *pair);

/// The type with the same lanes as `like` and this element.
llvm::Type *lanesLike(llvm::Type *like, llvm::Type *element);
llvm::Constant *splatBits(llvm::Type *type, std::uint64_t bits);

} // namespace imbrex::lower
