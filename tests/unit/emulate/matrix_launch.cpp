#include "tests/unit/emulate/matrix_launch.h"

#include "backend/math/native.h"
#include "backend/math/small_float.h"
#include "tests/unit/emulate/launching.h"
#include "tests/unit/machine/matrix_call.h"

#include <cmath>

namespace imbrex {

using layout::Bits;
using layout::Dim;
using machine::MatrixElement;
using machine::MmaInstruction;
using machine::MmaOperand;

namespace {

/// No operand has more words than the largest A.
constexpr int kWordsOfOperand = 16, kWordsOfLane = 5 * kWordsOfOperand, kWordsOfSums = 16;
constexpr int firstWord(MmaOperand operand) { return kWordsOfOperand * static_cast<int>(operand); }

template <math::SmallFormat format>
std::uint64_t coded(double number) {
  return math::encode<format>(math::bitsOf(static_cast<float>(number)));
}

std::uint64_t codeOf(MatrixElement element, double number) {
  switch (element) {
  case MatrixElement::F16: return coded<math::kF16>(number);
  case MatrixElement::BF16: return coded<math::kBF16>(number);
  case MatrixElement::Tf32: // with something in the bits that the unit drops
    return math::bitsOf(static_cast<float>(number)) | (number == 0 ? 0 : 5);
  case MatrixElement::F32: return math::bitsOf(static_cast<float>(number));
  case MatrixElement::F64: return math::bitsOf(number);
  case MatrixElement::I8:
  case MatrixElement::U8: return static_cast<std::uint64_t>(static_cast<int>(number) & 0xff);
  case MatrixElement::I32: return static_cast<std::uint32_t>(static_cast<int>(number));
  case MatrixElement::F8E4M3FN: return coded<math::kF8E4M3FN>(number);
  case MatrixElement::F8E5M2: return coded<math::kF8E5M2>(number);
  case MatrixElement::F8E4M3FNUZ: return coded<math::kF8E4M3FNUZ>(number);
  case MatrixElement::F8E5M2FNUZ: return coded<math::kF8E5M2FNUZ>(number);
  case MatrixElement::F4E2M1: return coded<math::kF4E2M1>(number);
  case MatrixElement::E8M0: return coded<math::kE8M0>(number);
  }
  return 0;
}

/// The bits of a sum as a number.
double numberOf(MatrixElement element, std::uint64_t bits) {
  const auto word = static_cast<std::uint32_t>(bits);
  if (element == MatrixElement::F16) return math::floatOf(math::decode<math::kF16>(word & 0xffff));
  if (element == MatrixElement::BF16) return math::floatOf((word & 0xffff) << 16);
  if (element == MatrixElement::F64) return math::floatOf(bits);
  if (element == MatrixElement::I32) return static_cast<std::int32_t>(word);
  return math::floatOf(word);
}

double randomScale(std::mt19937 &random) {
  return std::ldexp(1.0, static_cast<int>(random() % 3) - 1);
}

std::string productsText(const machine::Machine &machine,
                         const std::vector<const MmaInstruction *> &rows) {
  const bool isNvidia = machine.family == machine::Family::Nvptx;
  llvm::LLVMContext context;
  llvm::Module module("k", context);
  module.setTargetTriple(llvm::Triple(isNvidia ? "nvptx64-nvidia-cuda" : "amdgcn-amd-amdhsa"));
  llvm::IRBuilder<> b(context);
  llvm::Type *pointer = b.getPtrTy(1);
  auto *function =
      llvm::Function::Create(llvm::FunctionType::get(b.getVoidTy(), {pointer, pointer}, false),
                             llvm::GlobalValue::ExternalLinkage, "k", module);
  function->setCallingConv(isNvidia ? llvm::CallingConv::PTX_Kernel
                                    : llvm::CallingConv::AMDGPU_KERNEL);
  b.SetInsertPoint(llvm::BasicBlock::Create(context, "", function));
  const char *thread = isNvidia ? "llvm.nvvm.read.ptx.sreg.tid.x" : "llvm.amdgcn.workitem.id.x";
  llvm::Value *lane = b.CreateCall(
      llvm::Intrinsic::getOrInsertDeclaration(&module, llvm::Intrinsic::lookupIntrinsicID(thread)));
  const auto at = [&](unsigned argument, std::size_t row, int words, std::int64_t first) {
    llvm::Value *index =
        b.CreateAdd(b.CreateMul(lane, b.getInt32(static_cast<unsigned>(words))),
                    b.getInt32(static_cast<unsigned>(
                        static_cast<std::int64_t>(row) * machine.warpSize * words + first)));
    return b.CreateGEP(b.getInt32Ty(), function->getArg(argument), index);
  };
  for (std::size_t row = 0; row < rows.size(); ++row) {
    const auto load = [&](MmaOperand operand, std::int64_t bit, llvm::Type *type) {
      return b.CreateAlignedLoad(type, at(0, row, kWordsOfLane, firstWord(operand) + bit / 32),
                                 llvm::Align(4));
    };
    llvm::Value *sums = testing::ProductCall(b, *rows[row], load).append();
    b.CreateAlignedStore(sums, at(1, row, kWordsOfSums, 0), llvm::Align(4));
  }
  b.CreateRetVoid();
  std::string text;
  llvm::raw_string_ostream stream(text);
  module.print(stream, nullptr);
  return text;
}

} // namespace

double toElement(MatrixElement element, double number) {
  switch (element) {
  case MatrixElement::F16:
    return math::floatOf(
        math::decode<math::kF16>(static_cast<std::uint32_t>(coded<math::kF16>(number))));
  case MatrixElement::BF16:
    return math::floatOf(
        math::decode<math::kBF16>(static_cast<std::uint32_t>(coded<math::kBF16>(number))));
  case MatrixElement::Tf32:
    return math::floatOf(math::bitsOf(static_cast<float>(number)) & 0xffffe000);
  case MatrixElement::F32: return static_cast<float>(number);
  case MatrixElement::F64: return number;
  case MatrixElement::I8:
  case MatrixElement::U8:
  case MatrixElement::I32: return std::trunc(number);
  case MatrixElement::F8E4M3FN:
  case MatrixElement::F8E5M2:
  case MatrixElement::F8E4M3FNUZ:
  case MatrixElement::F8E5M2FNUZ:
  case MatrixElement::F4E2M1:
  case MatrixElement::E8M0: break;
  }
  // Of two bits, as all small formats have.
  const int exponent = static_cast<int>(std::floor(std::log2(std::fabs(number))));
  return std::ldexp(std::trunc(std::ldexp(number, 1 - exponent)), exponent - 1);
}

double Operands::scaledA(const MmaInstruction &x, int i, int k) const {
  const double plain = a[static_cast<std::size_t>(i * x.k + k)];
  if (!x.isScaled()) return plain;
  return plain * scaleA[static_cast<std::size_t>(i * (x.k / x.scale.k) + k / x.scale.k)];
}

double Operands::scaledB(const MmaInstruction &x, int k, int j) const {
  const double plain = b[static_cast<std::size_t>(k * x.n + j)];
  if (!x.isScaled()) return plain;
  return plain * scaleB[static_cast<std::size_t>(k / x.scale.k * x.n + j)];
}

double smallInteger(std::mt19937 &random, MatrixElement element, bool isSum) {
  if (element == MatrixElement::U8) return static_cast<double>(random() % 4);
  const int most = isSum ? 8 : 2;
  return static_cast<int>(random() % static_cast<unsigned>(2 * most + 1)) - most;
}

double anyNumber(std::mt19937 &random, MatrixElement element, bool isSum) {
  const double number = std::uniform_real_distribution<>(1, 4)(random);
  const double size = element == MatrixElement::I8 || element == MatrixElement::U8 ? 30 : 1;
  const bool isNegative = element != MatrixElement::U8 && (random() & 1) != 0;
  return toElement(element, (isNegative ? -1 : 1) * size * number * (isSum ? 3 : 1));
}

MatrixLaunch::MatrixLaunch(const std::string &machineName, std::uint32_t seed,
                           const NumberOf &number)
    : machine_(machineName) {
  const machine::Machine &machine = *machine::findMachine(machineName);
  const auto rows = machine::mmaInstructionsOf(machine);
  rows_.assign(rows.begin(), rows.end());
  lanes_ = machine.warpSize;
  text_ = productsText(machine, rows_);
  in_.resize(rows_.size() * static_cast<std::size_t>(lanes_ * kWordsOfLane));
  out_.resize(rows_.size() * static_cast<std::size_t>(lanes_ * kWordsOfSums));
  std::mt19937 random(seed);
  for (std::size_t row = 0; row < rows_.size(); ++row) {
    const MmaInstruction &x = *rows_[row];
    Operands &operands = operands_.emplace_back();
    const auto fill = [&](std::vector<double> &numbers, int count, const auto &one) {
      for (int i = 0; i < count; ++i) numbers.push_back(one());
    };
    fill(operands.a, x.m * x.k, [&] { return number(random, x.a, false); });
    fill(operands.b, x.k * x.n, [&] { return number(random, x.b, false); });
    fill(operands.c, x.m * x.n, [&] { return number(random, x.sums, true); });
    layOut(row, MmaOperand::A, operands.a);
    layOut(row, MmaOperand::B, operands.b);
    layOut(row, MmaOperand::Sums, operands.c);
    if (!x.isScaled()) continue;
    fill(operands.scaleA, x.m * (x.k / x.scale.k), [&] { return randomScale(random); });
    fill(operands.scaleB, x.k / x.scale.k * x.n, [&] { return randomScale(random); });
    layOut(row, MmaOperand::ScaleA, operands.scaleA);
    layOut(row, MmaOperand::ScaleB, operands.scaleB);
  }
}

std::uint32_t *MatrixLaunch::wordsOf(std::size_t row, int lane) {
  return &in_[(row * static_cast<std::size_t>(lanes_) + static_cast<std::size_t>(lane)) *
              kWordsOfLane];
}

namespace {

/// By row and then by column, of the element that a lane has of an operand.
std::size_t indexOf(const layout::LinearLayout &fragment, int lane, int element) {
  return static_cast<std::size_t>(
      fragment.apply(static_cast<Bits>(element | lane << fragment.inputBits(Dim::Register))));
}

} // namespace

void MatrixLaunch::layOut(std::size_t row, MmaOperand operand, const std::vector<double> &numbers) {
  const MmaInstruction &x = *rows_[row];
  const layout::LinearLayout fragment = machine::fragmentOf(x, operand);
  const int stride = machine::strideBits(x, operand);
  for (int lane = 0; lane < lanes_; ++lane)
    for (int i = 0; i < 1 << fragment.inputBits(Dim::Register); ++i) {
      const std::uint64_t code =
          codeOf(machine::elementOf(x, operand), numbers[indexOf(fragment, lane, i)]);
      const int bit = i * stride + machine::firstBit(x, operand);
      std::uint32_t *word = wordsOf(row, lane) + firstWord(operand) + bit / 32;
      *word |= static_cast<std::uint32_t>(code << bit % 32);
      if (stride == 64) word[1] = static_cast<std::uint32_t>(code >> 32);
    }
}

void MatrixLaunch::rotateLanes() {
  for (std::size_t row = 0; row < rows_.size(); ++row)
    for (int lane = 1; lane < lanes_; ++lane)
      std::swap_ranges(wordsOf(row, lane) + firstWord(MmaOperand::A),
                       wordsOf(row, lane) + firstWord(MmaOperand::B),
                       wordsOf(row, lane - 1) + firstWord(MmaOperand::A));
}

std::string MatrixLaunch::run(std::uint64_t seed, emulate::Numerics numerics,
                              emulate::Counters *counters) {
  Emulation emulation(machine_, text_);
  emulation.threads(lanes_).array(in_).array(out_).numerics(numerics);
  return emulation.report(seed, counters);
}

std::vector<double> MatrixLaunch::sumsOf(std::size_t row) const {
  const MmaInstruction &x = *rows_[row];
  const layout::LinearLayout fragment = machine::fragmentOf(x, MmaOperand::Sums);
  const int stride = machine::strideBits(x, MmaOperand::Sums);
  std::vector<double> sums(static_cast<std::size_t>(x.m * x.n));
  for (int lane = 0; lane < lanes_; ++lane)
    for (int i = 0; i < 1 << fragment.inputBits(Dim::Register); ++i) {
      const std::uint32_t *word =
          &out_[(row * static_cast<std::size_t>(lanes_) + static_cast<std::size_t>(lane)) *
                    kWordsOfSums +
                static_cast<std::size_t>(i * stride / 32)];
      std::uint64_t bits = *word >> i * stride % 32;
      if (stride == 64) bits |= std::uint64_t{word[1]} << 32;
      sums[indexOf(fragment, lane, i)] = numberOf(x.sums, bits);
    }
  return sums;
}

} // namespace imbrex
