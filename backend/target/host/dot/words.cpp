#include "backend/target/host/dot/words.h"

#include "backend/support/check.h"
#include "llvm/IR/IntrinsicsAArch64.h"
#include "llvm/IR/IntrinsicsX86.h"
#include "llvm/Support/MathExtras.h"

#include <array>

namespace imbrex::host {
namespace {

using ir::ElementKind;
using llvm::Value;
using llvm::Intrinsic::ID;

/// By the width of registers: 128, 256 or 512 bits.
using ByWidth = std::array<ID, 3>;
constexpr ByWidth kPairs{llvm::Intrinsic::x86_sse2_pmadd_wd, llvm::Intrinsic::x86_avx2_pmadd_wd,
                         llvm::Intrinsic::x86_avx512_pmaddw_d_512};
constexpr ByWidth kFours{llvm::Intrinsic::x86_avx512_vpdpbusd_128,
                         llvm::Intrinsic::x86_avx512_vpdpbusd_256,
                         llvm::Intrinsic::x86_avx512_vpdpbusd_512};
constexpr ByWidth kBf16{llvm::Intrinsic::x86_avx512bf16_dpbf16ps_128,
                        llvm::Intrinsic::x86_avx512bf16_dpbf16ps_256,
                        llvm::Intrinsic::x86_avx512bf16_dpbf16ps_512};

ID formFor(const ByWidth &forms, std::int32_t lanes) {
  constexpr std::uint64_t kLeastLanes = 4;
  return forms.at(llvm::Log2_64(static_cast<std::uint64_t>(lanes) / kLeastLanes));
}

constexpr std::uint32_t kOnes = 0x01010101;

/// Tiles are loaded, stored and filled up whole: smaller products than one has take as long. So do
/// those of few of its 16 words of k: with two, 512^3 in boxes of 128 x 128 takes 1.4 times as long
/// as on vectors, with one 2.7 times.
bool fillsTiles(const DotShape &shape, WordProduct kind) {
  constexpr std::int64_t kLeast = 16 * 16 * 32, kTooFewWords = 2;
  return shape.m * shape.n * shape.k >= kLeast &&
         shape.k > kTooFewWords * WordProducts::together(kind);
}

} // namespace

WordProduct WordProducts::kindFor(const DotShape &shape, const VectorUnit &unit) {
  const auto areBf16 = [](ElementKind kind) {
    return kind == ElementKind::BF16 || ir::isNarrowFloat(kind);
  };
  const bool hasRowPairs = shape.m > 1; // of one row a matrix instruction does half
  if (shape.sum == ElementKind::I32 && shape.a == shape.b && ir::info(shape.a).bits == 8) {
    if (unit.hasAmxBytes && fillsTiles(shape, WordProduct::AmxBytes)) return WordProduct::AmxBytes;
    return unit.hasMatrixBytes && hasRowPairs ? WordProduct::MatrixBytes : unit.ofBytes;
  }
  if (shape.sum == ElementKind::F32 && areBf16(shape.a) && areBf16(shape.b)) {
    if (unit.hasAmxBf16 && fillsTiles(shape, WordProduct::AmxBf16)) return WordProduct::AmxBf16;
    return unit.hasMatrixBf16 && hasRowPairs ? WordProduct::MatrixBf16 : unit.ofBf16;
  }
  const bool areF16 = shape.a == ElementKind::F16 && shape.b == ElementKind::F16;
  if (unit.hasAmxF16 && shape.sum == ElementKind::F32 && areF16 &&
      fillsTiles(shape, WordProduct::AmxF16))
    return WordProduct::AmxF16;
  return WordProduct::Single;
}

ElementKind WordProducts::wordFor(WordProduct kind, const DotShape &shape) {
  return isOnMatrices(kind) ? ElementKind::I64 : shape.sum;
}

std::int64_t WordProducts::together(WordProduct kind) {
  switch (kind) {
  case WordProduct::Single: return 1;
  case WordProduct::Pairs:
  case WordProduct::Bf16:
  case WordProduct::AmxBf16:
  case WordProduct::AmxF16: return 2;
  case WordProduct::UnsignedSigned:
  case WordProduct::Alike:
  case WordProduct::MatrixBf16:
  case WordProduct::AmxBytes: return 4;
  case WordProduct::MatrixBytes: return 8;
  }
  IMBREX_UNREACHABLE("a product of words that is none");
}

ElementKind WordProducts::copiedFor(WordProduct kind, const DotShape &shape) {
  switch (kind) {
  case WordProduct::Single: return shape.sum;
  case WordProduct::Pairs: return ElementKind::I16;
  case WordProduct::Bf16:
  case WordProduct::MatrixBf16:
  case WordProduct::AmxBf16: return ElementKind::BF16;
  case WordProduct::AmxF16: return ElementKind::F16;
  case WordProduct::UnsignedSigned:
  case WordProduct::Alike:
  case WordProduct::MatrixBytes:
  case WordProduct::AmxBytes: return shape.a;
  }
  IMBREX_UNREACHABLE("a product of words that is none");
}

bool WordProducts::takesA(WordProduct kind, const DotShape &shape) {
  return shape.a == copiedFor(kind, shape) && kind != WordProduct::UnsignedSigned;
}

Value *WordProducts::splat(std::uint32_t word) {
  return b_.CreateVectorSplat(static_cast<unsigned>(lanes_), b_.getInt32(word));
}

Value *WordProducts::pieces(Value *words) {
  const auto *type = llvm::cast<llvm::FixedVectorType>(words->getType());
  const auto steps = static_cast<unsigned>(together(kind_));
  const bool areBf16 = kind_ == WordProduct::Bf16 || kind_ == WordProduct::MatrixBf16;
  llvm::Type *piece = areBf16 ? llvm::Type::getBFloatTy(b_.getContext())
                              : b_.getIntNTy(type->getScalarSizeInBits() / steps);
  return b_.CreateBitCast(words, llvm::FixedVectorType::get(piece, type->getNumElements() * steps));
}

Value *WordProducts::ofA(Value *elements) {
  if (!needsCorrection()) return elements;
  return b_.CreateXor(elements, llvm::ConstantInt::get(elements->getType(), 0x80));
}

Value *WordProducts::interleaved(llvm::ArrayRef<Value *> rows) {
  // Of four rows, 0 with 2 and 1 with 3: interleaving both pairs leaves 0, 1, 2, 3 in each word. So
  // the second half of a power of two goes in between the first.
  const auto pairOf = [&](Value *low, Value *high) {
    const auto lanes =
        static_cast<int>(llvm::cast<llvm::FixedVectorType>(low->getType())->getNumElements());
    llvm::SmallVector<int, 64> mask;
    for (int lane = 0; lane < lanes; ++lane) mask.append({lane, lane + lanes});
    return b_.CreateShuffleVector(low, high, mask);
  };
  llvm::SmallVector<Value *, 8> left(rows);
  for (size_t half = rows.size() / 2; half > 0; half /= 2)
    for (size_t i = 0; i < half; ++i) left[i] = pairOf(left[i], left[i + half]);
  return left[0];
}

Value *WordProducts::multiplyAdd(Value *x, Value *y, Value *sum) {
  if (kind_ == WordProduct::UnsignedSigned)
    return b_.CreateIntrinsic(formFor(kFours, lanes_), {},
                              {sum, pieces(isSigned_ ? x : y), pieces(isSigned_ ? y : x)});
  Value *ofX = pieces(x), *ofY = pieces(y);
  if (kind_ == WordProduct::Bf16)
    return b_.CreateIntrinsic(formFor(kBf16, lanes_), {}, {sum, ofX, ofY});
  if (kind_ == WordProduct::MatrixBf16)
    return b_.CreateIntrinsic(llvm::Intrinsic::aarch64_neon_bfmmla, {}, {sum, ofX, ofY});
  if (kind_ == WordProduct::MatrixBytes)
    return b_.CreateIntrinsic(isSigned_ ? llvm::Intrinsic::aarch64_neon_smmla
                                        : llvm::Intrinsic::aarch64_neon_ummla,
                              {sum->getType(), ofX->getType()}, {sum, ofX, ofY});
  if (kind_ == WordProduct::Alike)
    return b_.CreateIntrinsic(isSigned_ ? llvm::Intrinsic::aarch64_neon_sdot
                                        : llvm::Intrinsic::aarch64_neon_udot,
                              {sum->getType(), ofX->getType()}, {sum, ofX, ofY});
  return b_.CreateAdd(b_.CreateIntrinsic(formFor(kPairs, lanes_), {}, {ofX, ofY}), sum);
}

Value *WordProducts::addColumn(Value *sum, Value *y) { return multiplyAdd(splat(kOnes), y, sum); }

Value *WordProducts::correction(Value *column) {
  Value *moved = b_.CreateShl(column, 7);
  return isSigned_ ? b_.CreateNeg(moved) : moved;
}

} // namespace imbrex::host
