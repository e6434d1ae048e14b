#include "backend/target/host/dot/operands.h"

#include "backend/support/check.h"
#include "llvm/ADT/APFloat.h"
#include "llvm/IR/Constants.h"
#include "llvm/IR/Module.h"

#include <string>

namespace imbrex::host {
namespace {

using ir::ElementKind;

llvm::Type *vectorOf(llvm::Type *element, std::int64_t lanes) {
  return llvm::FixedVectorType::get(element, static_cast<unsigned>(lanes));
}

/// The value of each code of a narrow float as f32, which holds them all exactly.
llvm::GlobalVariable *decodingTable(llvm::Module &module, ElementKind kind) {
  const std::string name = "imbrex.decode." + std::string(ir::info(kind).name);
  if (llvm::GlobalVariable *table = module.getNamedGlobal(name)) return table;
  const unsigned bits = static_cast<unsigned>(ir::info(kind).bits);
  llvm::SmallVector<float, 256> values;
  for (std::uint64_t code = 0; code < 256; ++code) {
    const std::uint64_t low = code & ((std::uint64_t{1} << bits) - 1);
    llvm::APFloat value(ir::floatFormat(kind), llvm::APInt(bits, low));
    bool inexact = false;
    value.convert(llvm::APFloat::IEEEsingle(), llvm::APFloat::rmNearestTiesToEven, &inexact);
    values.push_back(value.convertToFloat());
  }
  llvm::Constant *data = llvm::ConstantDataArray::get(module.getContext(), values);
  return new llvm::GlobalVariable(module, data->getType(), true, llvm::GlobalValue::PrivateLinkage,
                                  data, name);
}

llvm::Value *decodeNarrow(llvm::IRBuilder<> &builder, ElementKind kind, llvm::Value *codes,
                          std::int64_t lanes) {
  llvm::Module &module = *builder.GetInsertBlock()->getModule();
  llvm::Value *index = builder.CreateZExt(codes, vectorOf(builder.getInt64Ty(), lanes));
  llvm::Value *pointers =
      builder.CreateGEP(builder.getFloatTy(), decodingTable(module, kind), index);
  return builder.CreateMaskedGather(vectorOf(builder.getFloatTy(), lanes), pointers,
                                    llvm::Align(4));
}

/// Of f32 that bf16 has, too.
llvm::Value *upperHalf(llvm::IRBuilder<> &builder, llvm::Value *value, std::int64_t lanes) {
  llvm::Value *bits = builder.CreateBitCast(value, vectorOf(builder.getInt32Ty(), lanes));
  llvm::Value *upper =
      builder.CreateTrunc(builder.CreateLShr(bits, 16), vectorOf(builder.getInt16Ty(), lanes));
  return builder.CreateBitCast(upper, vectorOf(builder.getBFloatTy(), lanes));
}

llvm::Value *converted(llvm::IRBuilder<> &builder, ElementKind from, ElementKind to,
                       llvm::Value *value, std::int64_t lanes) {
  if (ir::isNarrowFloat(from)) {
    llvm::Value *decoded = decodeNarrow(builder, from, value, lanes);
    return to == ElementKind::BF16 ? upperHalf(builder, decoded, lanes) : decoded;
  }
  llvm::Type *target = vectorOf(scratchElementType(builder.getContext(), to), lanes);
  if (from == to || value->getType() == target) return value;
  if (from == ElementKind::BF16) {
    llvm::Type *words = vectorOf(builder.getInt32Ty(), lanes);
    llvm::Value *bits = builder.CreateBitCast(value, vectorOf(builder.getInt16Ty(), lanes));
    return builder.CreateBitCast(builder.CreateShl(builder.CreateZExt(bits, words), 16), target);
  }
  if (ir::isFloat(from)) return builder.CreateFPExt(value, target);
  return builder.CreateIntCast(value, target, ir::isSigned(from));
}

enum class Ties : std::uint8_t { Away, Even };

/// An f32 rounded to the nearest without so many bits of its mantissa. The sign stands apart, so
/// that half up is away from zero. Infinities and NaNs stay: their low bits must not carry into it.
llvm::Value *rounded(llvm::IRBuilder<> &builder, llvm::Value *value, std::uint32_t dropped,
                     Ties ties) {
  constexpr std::uint32_t kExponent = 0x7f800000;
  const std::uint32_t half = 1U << (dropped - 1);
  llvm::Type *type = value->getType();
  llvm::Type *words = type->getWithNewType(builder.getInt32Ty());
  const auto word = [&](std::uint32_t bits) { return llvm::ConstantInt::get(words, bits); };
  llvm::Value *bits = builder.CreateBitCast(value, words);
  llvm::Value *carry = word(half);
  if (ties == Ties::Even)
    carry = builder.CreateAdd(builder.CreateAnd(builder.CreateLShr(bits, dropped), word(1)),
                              word(half - 1));
  llvm::Value *kept = builder.CreateAnd(builder.CreateAdd(bits, carry), word(~0U << dropped));
  llvm::Value *special =
      builder.CreateICmpEQ(builder.CreateAnd(bits, word(kExponent)), word(kExponent));
  return builder.CreateBitCast(builder.CreateSelect(special, bits, kept), type);
}

llvm::Value *roundToTf32(llvm::IRBuilder<> &builder, llvm::Value *value) {
  return rounded(builder, value, 13, Ties::Away);
}

llvm::Value *roundToBf16(llvm::IRBuilder<> &builder, llvm::Value *value) {
  return rounded(builder, value, 16, Ties::Even);
}

llvm::Value *takePart(llvm::IRBuilder<> &builder, DotPart part, llvm::Value *value) {
  switch (part) {
  case DotPart::Whole: return value;
  case DotPart::Tf32: return roundToTf32(builder, value);
  case DotPart::Tf32Rest:
    return roundToTf32(builder, builder.CreateFSub(value, roundToTf32(builder, value)));
  case DotPart::Bf16: return roundToBf16(builder, value);
  case DotPart::Bf16Rest:
    return roundToBf16(builder, builder.CreateFSub(value, roundToBf16(builder, value)));
  }
  IMBREX_UNREACHABLE("an operand part that is none");
}

} // namespace

llvm::Type *scratchElementType(llvm::LLVMContext &context, ElementKind kind) {
  if (kind == ElementKind::F16) return llvm::Type::getHalfTy(context);
  if (kind == ElementKind::BF16) return llvm::Type::getBFloatTy(context);
  if (kind == ElementKind::F32) return llvm::Type::getFloatTy(context);
  if (kind == ElementKind::F64) return llvm::Type::getDoubleTy(context);
  if (ir::isInteger(kind))
    return llvm::Type::getIntNTy(context, static_cast<unsigned>(ir::info(kind).bits));
  return llvm::Type::getInt8Ty(context);
}

llvm::Value *loadDotElements(llvm::IRBuilder<> &builder, ElementKind from, ElementKind to,
                             DotPart part, llvm::Value *pointer, std::int64_t lanes) {
  llvm::Type *element = scratchElementType(builder.getContext(), from);
  const llvm::Align align(static_cast<std::uint64_t>(element->getPrimitiveSizeInBits() / 8));
  llvm::Value *loaded = builder.CreateAlignedLoad(vectorOf(element, lanes), pointer, align);
  return takePart(builder, part, converted(builder, from, to, loaded, lanes));
}

} // namespace imbrex::host
