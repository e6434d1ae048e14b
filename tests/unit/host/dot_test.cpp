#include "backend/launching/amx_permission.h"
#include "backend/target/host/dot/dot.h"
#include "backend/target/host/dot/layout.h"
#include "backend/target/host/dot/operands.h"
#include "llvm/ADT/APFloat.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ExecutionEngine/Orc/LLJIT.h"
#include "llvm/IR/Verifier.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/Support/raw_ostream.h"
#include "llvm/TargetParser/Host.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <random>
#include <set>
#include <span>
#include <vector>

using namespace imbrex;
using namespace imbrex::host;
using ir::ElementKind;

namespace {

constexpr VectorUnit kUnits[] = {{128, 32}, {256, 16}, {512, 32}};

/// What a product has prefetched since it was emptied.
std::vector<const std::byte *> prefetched;
void notePrefetch(const std::byte *address) { prefetched.push_back(address); }

using DotFunction = void (*)(const void *a, const void *b, void *sum, void *scratch,
                             std::int64_t strideA, std::int64_t strideB, std::int64_t strideSum);

/// A dot alone in a function, compiled for this CPU.
class CompiledDot {
public:
  CompiledDot(const DotShape &shape, const VectorUnit &unit) {
    llvm::InitializeNativeTarget();
    llvm::InitializeNativeTargetAsmPrinter();
    jit_ = llvm::cantFail(llvm::orc::LLJITBuilder().create());
    auto context = std::make_unique<llvm::LLVMContext>();
    auto module = std::make_unique<llvm::Module>("dot", *context);
    module->setDataLayout(jit_->getDataLayout());
    emitFunction(*module, shape, unit);
    notePrefetches(*module);
    REQUIRE_FALSE(llvm::verifyModule(*module, &llvm::errs()));
    llvm::cantFail(jit_->addIRModule({std::move(module), std::move(context)}));
    function_ = llvm::cantFail(jit_->lookup("dot")).toPtr<DotFunction>();
  }
  DotFunction function() const { return function_; }

private:
  static void emitFunction(llvm::Module &module, const DotShape &shape, const VectorUnit &unit) {
    llvm::IRBuilder<> b(module.getContext());
    llvm::Type *pointer = b.getPtrTy();
    llvm::Type *stride = b.getInt64Ty();
    auto *type = llvm::FunctionType::get(
        b.getVoidTy(), {pointer, pointer, pointer, pointer, stride, stride, stride}, false);
    auto *dot = llvm::Function::Create(type, llvm::Function::ExternalLinkage, "dot", module);
    b.SetInsertPoint(llvm::BasicBlock::Create(module.getContext(), "entry", dot));
    const auto operand = [&](unsigned index, std::int64_t rows) {
      llvm::Value *rowStride = dot->getArg(index + 4);
      llvm::Value *batchStride =
          b.CreateMul(rowStride, b.getInt64(static_cast<std::uint64_t>(rows)));
      return DotOperand{dot->getArg(index), rowStride, batchStride};
    };
    llvm::Value *panels = dot->getArg(3);
    llvm::Value *rows = b.CreateConstGEP1_64(
        b.getInt8Ty(), panels, static_cast<std::uint64_t>(dotPanelBytes(shape, unit)));
    DotOperand left = operand(0, shape.m),
               right = operand(1, shape.isTransposedB ? shape.n : shape.k);
    if (wantsRows(shape, unit)) left = emitDotRows(b, shape, unit, left, rows);
    if (wantsPanels(shape, unit)) right = emitDotPanels(b, shape, unit, right, panels);
    right.next = panels;
    const DotOperand sums = operand(2, shape.m);
    if (isOnAmx(shape, unit)) emitAmxStart(b);
    emitDot(b, shape, unit, left, right, DotSums{.at = sums, .to = sums});
    if (isOnAmx(shape, unit)) emitAmxEnd(b);
    b.CreateRetVoid();
  }

  /// Calls in the place of the instructions.
  void notePrefetches(llvm::Module &module) {
    llvm::IRBuilder<> b(module.getContext());
    const llvm::FunctionCallee note =
        module.getOrInsertFunction("notePrefetch", b.getVoidTy(), b.getPtrTy());
    llvm::cantFail(jit_->getMainJITDylib().define(llvm::orc::absoluteSymbols(
        {{jit_->mangleAndIntern("notePrefetch"),
          {llvm::orc::ExecutorAddr::fromPtr(&notePrefetch), llvm::JITSymbolFlags::Callable}}})));
    for (llvm::Function &function : module)
      if (function.getIntrinsicID() == llvm::Intrinsic::prefetch)
        for (llvm::User *user : llvm::make_early_inc_range(function.users())) {
          auto *call = llvm::cast<llvm::CallInst>(user);
          b.SetInsertPoint(call);
          b.CreateCall(note, {call->getArgOperand(0)});
          call->eraseFromParent();
        }
  }

  std::unique_ptr<llvm::orc::LLJIT> jit_;
  DotFunction function_ = nullptr;
};

/// A matrix of random small values, as bytes of an element type and as the doubles that they are.
/// Between rows there are NaNs, where the type has one.
struct Matrix {
  ElementKind kind;
  std::int64_t stride; // a few elements more than the columns
  std::vector<std::byte> bytes;
  std::vector<double> values;
};

std::size_t scratchBytes(ElementKind kind) {
  return static_cast<std::size_t>(std::max(8, ir::info(kind).bits) / 8);
}

/// The bits of `value` in a type, and the value that they stand for.
std::pair<std::uint64_t, double> encode(ElementKind kind, double value) {
  if (ir::isInteger(kind)) {
    const auto integer = static_cast<std::int64_t>(value);
    return {static_cast<std::uint64_t>(integer), static_cast<double>(integer)};
  }
  llvm::APFloat number(value);
  bool inexact = false;
  number.convert(ir::floatFormat(kind), llvm::APFloat::rmNearestTiesToEven, &inexact);
  const std::uint64_t bits = number.bitcastToAPInt().getZExtValue();
  number.convert(llvm::APFloat::IEEEdouble(), llvm::APFloat::rmNearestTiesToEven, &inexact);
  return {bits, number.convertToDouble()};
}

Matrix randomMatrix(std::mt19937 &rng, ElementKind kind, std::int64_t rows, std::int64_t columns) {
  Matrix matrix{kind, columns + 3, {}, {}};
  const auto count = static_cast<std::size_t>(rows * matrix.stride);
  matrix.bytes.resize(count * scratchBytes(kind));
  const bool areBytes = ir::isInteger(kind) && ir::info(kind).bits == 8;
  const bool hasSign = ir::isSigned(kind) || !ir::isInteger(kind);
  const double low = areBytes ? -129 : -4, high = areBytes ? (hasSign ? 128 : 256) : 4;
  std::uniform_real_distribution<double> draw(hasSign ? low : 0, high);
  for (std::size_t i = 0; i < count; ++i) {
    const bool isNobodys = static_cast<std::int64_t>(i) % matrix.stride >= columns;
    const double drawn = draw(rng);
    const auto [bits, value] =
        encode(kind, isNobodys && !ir::isInteger(kind) ? std::nan("") : drawn);
    std::memcpy(&matrix.bytes[i * scratchBytes(kind)], &bits, scratchBytes(kind));
    matrix.values.push_back(value);
  }
  return matrix;
}

double valueAt(const Matrix &matrix, std::int64_t i, std::int64_t j) {
  return matrix.values[static_cast<std::size_t>(i * matrix.stride + j)];
}

double sumAt(const Matrix &matrix, std::int64_t i, std::int64_t j) {
  const std::byte *at =
      &matrix.bytes[static_cast<std::size_t>(i * matrix.stride + j) * scratchBytes(matrix.kind)];
  if (matrix.kind == ElementKind::F64) return *reinterpret_cast<const double *>(at);
  if (matrix.kind == ElementKind::I32) return *reinterpret_cast<const std::int32_t *>(at);
  return static_cast<double>(*reinterpret_cast<const float *>(at));
}

/// Run a dot on random matrices; the largest error against sums of products in double, relative to
/// the sum of the products' magnitudes.
double worstError(const DotShape &shape, const VectorUnit &unit, unsigned seed) {
  std::mt19937 rng(seed);
  const Matrix a = randomMatrix(rng, shape.a, shape.batch * shape.m, shape.k);
  const bool isTransposed = shape.isTransposedB;
  const Matrix b = randomMatrix(rng, shape.b, shape.batch * (isTransposed ? shape.n : shape.k),
                                isTransposed ? shape.k : shape.n);
  const auto ofB = [&](std::int64_t matrix, std::int64_t k, std::int64_t j) {
    return isTransposed ? valueAt(b, matrix * shape.n + j, k) : valueAt(b, matrix * shape.k + k, j);
  };
  Matrix sum = randomMatrix(rng, shape.sum, shape.batch * shape.m, shape.n);
  const std::vector<std::byte> before = sum.bytes;
  const auto bytes =
      static_cast<std::size_t>(dotPanelBytes(shape, unit) + dotRowBytes(shape, unit));
  std::vector<std::byte> scratch(bytes + 128, std::byte{0xa5});
  void *aligned = scratch.data();
  std::size_t space = scratch.size();
  std::align(64, bytes, aligned, space);
  prefetched.clear();
  CompiledDot(shape, unit)
      .function()(a.bytes.data(), b.bytes.data(), sum.bytes.data(), aligned, a.stride, b.stride,
                  sum.stride);
  CHECK(*(static_cast<std::byte *>(aligned) + bytes) == std::byte{0xa5});

  double worst = 0;
  for (std::int64_t row = 0; row < shape.batch * shape.m; ++row) {
    for (std::int64_t j = 0; j < shape.n; ++j) {
      double expected = valueAt(sum, row, j), magnitude = std::abs(expected);
      for (std::int64_t k = 0; k < shape.k; ++k) {
        const double product = valueAt(a, row, k) * ofB(row / shape.m, k, j);
        expected += product;
        magnitude += std::abs(product);
      }
      const double error = std::abs(sumAt(sum, row, j) - expected) / std::max(magnitude, 1e-30);
      worst = std::isnan(error) ? INFINITY : std::max(worst, error);
    }
    const auto gap = static_cast<std::size_t>(row * sum.stride + shape.n) * scratchBytes(shape.sum);
    CHECK(std::memcmp(&sum.bytes[gap], &before[gap], 3 * scratchBytes(shape.sum)) == 0);
  }
  return worst;
}

struct TypePair {
  ElementKind a, b, sum;
  double bound; // relative to the sum of magnitudes
};

constexpr double kF32Bound = 2e-6;
constexpr TypePair kPairs[] = {
    {ElementKind::F32, ElementKind::F32, ElementKind::F32, kF32Bound},
    {ElementKind::F64, ElementKind::F64, ElementKind::F64, 1e-14},
    {ElementKind::F16, ElementKind::F16, ElementKind::F32, kF32Bound},
    {ElementKind::BF16, ElementKind::BF16, ElementKind::F32, kF32Bound},
    {ElementKind::I8, ElementKind::I8, ElementKind::I32, 0},
    {ElementKind::U8, ElementKind::U8, ElementKind::I32, 0},
    {ElementKind::F8E4M3FN, ElementKind::F8E5M2, ElementKind::F32, kF32Bound},
    {ElementKind::F8E4M3FNUZ, ElementKind::F8E5M2FNUZ, ElementKind::F32, kF32Bound},
    {ElementKind::F4E2M1, ElementKind::F8E4M3FN, ElementKind::F32, kF32Bound},
};

} // namespace

TEST_CASE("a dot of every type pair is the sum of exact products, on every width of vectors") {
  for (const TypePair &pair : kPairs) {
    for (const VectorUnit &unit : kUnits) {
      CAPTURE(ir::info(pair.a).name);
      CAPTURE(unit.bits);
      for (const bool isTransposed : {false, true}) {
        CAPTURE(isTransposed);
        const DotShape shape{.batch = 2,
                             .m = 13,
                             .n = 37,
                             .k = 19,
                             .a = pair.a,
                             .b = pair.b,
                             .sum = pair.sum,
                             .isTransposedB = isTransposed};
        CHECK(worstError(shape, unit, 1) <= pair.bound);
      }
    }
  }
}

TEST_CASE("a dot of any extents touches its own sums only") {
  unsigned seed = 0;
  for (const std::int64_t m : {1, 5, 12, 25, 32})
    for (const std::int64_t n : {1, 15, 16, 33, 64})
      for (const std::int64_t k : {1, 3, 4, 9}) {
        CAPTURE(m);
        CAPTURE(n);
        CAPTURE(k);
        const DotShape shape{.m = m,
                             .n = n,
                             .k = k,
                             .a = ElementKind::F32,
                             .b = ElementKind::F32,
                             .sum = ElementKind::F32,
                             .isTransposedB = seed % 4 == 3};
        CHECK(worstError(shape, kUnits[seed % 3], seed) <= kF32Bound);
        ++seed;
      }
}

TEST_CASE("the last micro-tiles share their rows where one would wait for its own sums") {
  struct Rows {
    VectorUnit unit;
    std::int64_t m, rows, inHalves;
  };
  // Two vectors of eight lanes beside each other, or four of sixteen.
  for (const auto &[unit, m, rows, inHalves] : {Rows{{256, 16}, 128, 6, 8},
                                                {{256, 16}, 32, 6, 8},
                                                {{256, 16}, 64, 6, 0},
                                                {{256, 16}, 8, 4, 0},
                                                {{512, 32}, 128, 6, 0}}) {
    CAPTURE(unit.bits);
    CAPTURE(m);
    const DotShape shape{.m = m,
                         .n = 128,
                         .k = 64,
                         .a = ElementKind::F32,
                         .b = ElementKind::F32,
                         .sum = ElementKind::F32};
    CHECK(planDot(shape, unit).rows == rows);
    CHECK(planDot(shape, unit).rowsInHalves == inHalves);
  }
}

TEST_CASE("matrix instructions of AArch64 have micro-tiles of twice as many rows") {
  const VectorUnit unit{.bits = 128,
                        .registers = 32,
                        .ofBytes = WordProduct::Alike,
                        .hasMatrixBytes = true,
                        .hasMatrixBf16 = true};
  const auto planOf = [&](std::int64_t m, std::int64_t n, ElementKind element, ElementKind sum) {
    return planDot({.m = m, .n = n, .k = 64, .a = element, .b = element, .sum = sum}, unit);
  };
  const DotPlan bytes = planOf(64, 64, ElementKind::U8, ElementKind::I32);
  CHECK(bytes.together == 8);
  CHECK(bytes.rowsTogether == 2);
  CHECK(bytes.rows == 12); // 6 x 4 vectors of sums
  CHECK(bytes.panelColumns() == 8);
  CHECK(planOf(64, 64, ElementKind::F8E5M2, ElementKind::F32).together == 4);
  CHECK(planOf(64, 64, ElementKind::F16, ElementKind::F32).together == 1);
  CHECK(planOf(3, 64, ElementKind::BF16, ElementKind::F32).rows == 4);
  // One row is half of what they multiply.
  CHECK(planOf(1, 64, ElementKind::I8, ElementKind::I32).together == 4);
  CHECK(planOf(1, 64, ElementKind::BF16, ElementKind::F32).together == 1);
}

TEST_CASE("rows of b are read in slices where registers have less than four lines of one") {
  const auto sliceOf = [](const VectorUnit &unit, std::int64_t m, std::int64_t n, std::int64_t k) {
    return planDot({.m = m,
                    .n = n,
                    .k = k,
                    .a = ElementKind::F32,
                    .b = ElementKind::F32,
                    .sum = ElementKind::F32},
                   unit)
        .slice;
  };
  CHECK(sliceOf({256, 16}, 1, 512, 128) == 8);
  CHECK(sliceOf({256, 16}, 6, 512, 128) == 8);
  CHECK(sliceOf({256, 16}, 1, 512, 100) == 100); // no whole slices
  CHECK(sliceOf({256, 16}, 1, 56, 128) == 128);  // registers have all of a row
  CHECK(sliceOf({256, 16}, 7, 512, 128) == 128); // panels
  CHECK(sliceOf({512, 32}, 1, 512, 128) == 128);
  CHECK(sliceOf({512, 32}, 8, 512, 128) == 8);
}

TEST_CASE("few rows are multiplied by slices of b's rows where registers have little of one") {
  unsigned seed = 0;
  for (const VectorUnit &unit : kUnits)
    for (const std::int64_t m : {1, 2, 5, 6})
      for (const std::int64_t k : {8, 40})
        for (const ElementKind kind : {ElementKind::F32, ElementKind::F64}) {
          ++seed;
          CAPTURE(unit.bits);
          CAPTURE(m);
          CAPTURE(k);
          const DotShape shape{.batch = 1 + seed % 2,
                               .m = m,
                               .n = seed % 3 == 0 ? 200 : 77,
                               .k = k,
                               .a = kind,
                               .b = kind,
                               .sum = kind};
          CHECK(worstError(shape, unit, seed) <= kF32Bound);
        }
}

namespace {

/// Whether this processor can run code that multiplies so.
bool hasProduct(WordProduct product, std::int32_t bits) {
  const llvm::StringMap<bool> features = llvm::sys::getHostCPUFeatures();
  if (product == WordProduct::Single) return true;
  if (product == WordProduct::Bf16)
    return features.lookup("avx512bf16") && features.lookup("avx512vl");
  if (product == WordProduct::UnsignedSigned)
    return features.lookup("avx512vnni") && features.lookup("avx512vl");
  return features.lookup(bits == 512 ? "avx512bw" : bits == 256 ? "avx2" : "sse2");
}

} // namespace

TEST_CASE("bytes are multiplied exactly, however many at a time, of any extents and values") {
  unsigned seed = 0;
  for (const WordProduct product :
       {WordProduct::Single, WordProduct::Pairs, WordProduct::UnsignedSigned}) {
    for (VectorUnit unit : kUnits) {
      if (!hasProduct(product, unit.bits)) {
        MESSAGE("SKIP: this processor has no such product");
        continue;
      }
      unit.ofBytes = product;
      for (const ElementKind kind : {ElementKind::I8, ElementKind::U8})
        for (const std::int64_t k : {1, 2, 3, 5, 8, 19, 64}) {
          ++seed;
          const DotShape shape{.batch = 1 + seed % 2,
                               .m = 1 + seed * 5 % 14,
                               .n = 1 + seed * 7 % 70,
                               .k = k,
                               .a = kind,
                               .b = kind,
                               .sum = ElementKind::I32,
                               .isTransposedB = seed % 3 == 0};
          CAPTURE(static_cast<int>(product));
          CAPTURE(unit.bits);
          CAPTURE(shape.m);
          CAPTURE(shape.n);
          CAPTURE(k);
          CHECK(worstError(shape, unit, seed) == 0);
        }
    }
  }
}

TEST_CASE("two of bf16 at a time are added up as one by one, of any extents") {
  unsigned seed = 0;
  for (VectorUnit unit : kUnits) {
    if (!hasProduct(WordProduct::Bf16, unit.bits)) {
      MESSAGE("SKIP: this processor has no such product");
      continue;
    }
    unit.ofBf16 = WordProduct::Bf16;
    for (const std::int64_t k : {1, 2, 3, 5, 8, 19, 64})
      for (const TypePair &pair : kPairs) {
        if (pair.sum != ElementKind::F32 || ir::info(pair.a).bits > 16) continue;
        ++seed;
        const DotShape shape{.batch = 1 + seed % 2,
                             .m = 1 + seed * 5 % 14,
                             .n = 1 + seed * 7 % 70,
                             .k = k,
                             .a = pair.a,
                             .b = pair.b,
                             .sum = pair.sum,
                             .isTransposedB = seed % 3 == 0};
        CAPTURE(ir::info(pair.a).name);
        CAPTURE(unit.bits);
        CAPTURE(shape.m);
        CAPTURE(shape.n);
        CAPTURE(k);
        CHECK(worstError(shape, unit, seed) <= kF32Bound);
      }
  }
}

TEST_CASE("products in AMX's tiles are those of one element at a time, of any extents") {
  const llvm::StringMap<bool> features = llvm::sys::getHostCPUFeatures();
  if (!features.lookup("amx-bf16") || !features.lookup("amx-int8") || !mayUseAmx()) {
    MESSAGE("SKIP: this processor has no AMX, or its system does not let us use it");
    return;
  }
  VectorUnit unit = kUnits[2];
  unit.hasAmxBytes = unit.hasAmxBf16 = true;
  unit.hasAmxF16 = features.lookup("amx-fp16");
  unsigned seed = 0, inTiles = 0;
  for (const std::int64_t m : {1, 13, 16, 32, 33, 64, 71})
    for (const std::int64_t n : {1, 16, 31, 32, 48, 70})
      for (const std::int64_t k : {1, 9, 32, 63, 64, 130, 192}) {
        const TypePair &pair = kPairs[2 + seed % 7];
        ++seed;
        const DotShape shape{.batch = 1 + seed % 2,
                             .m = m,
                             .n = n,
                             .k = k,
                             .a = pair.a,
                             .b = pair.b,
                             .sum = pair.sum,
                             .isTransposedB = seed % 5 < 2};
        if (!isOnAmx(shape, unit)) continue;
        ++inTiles;
        CAPTURE(ir::info(pair.a).name);
        CAPTURE(shape.isTransposedB);
        CAPTURE(m);
        CAPTURE(n);
        CAPTURE(k);
        CHECK(worstError(shape, unit, seed) <= pair.bound);
      }
  CHECK(inTiles > 150);
}

TEST_CASE("while panels are multiplied each line of the next ones is prefetched") {
  constexpr std::int64_t kLine = 64;
  struct Extents {
    std::int64_t batch, m, n, k;
  };
  for (const auto &[batch, m, n, k] :
       {Extents{1, 64, 256, 128}, {2, 13, 40, 7}, {1, 31, 129, 33}, {1, 13, 16, 64}})
    for (const VectorUnit &unit : kUnits)
      for (const ir::Precision precision : {ir::Precision::Ieee, ir::Precision::Tf32x3}) {
        const DotShape shape{.batch = batch,
                             .m = m,
                             .n = n,
                             .k = k,
                             .a = ElementKind::F32,
                             .b = ElementKind::F32,
                             .sum = ElementKind::F32,
                             .precision = precision};
        if (!wantsPanels(shape, unit)) continue;
        CAPTURE(shape.m);
        CAPTURE(shape.n);
        CAPTURE(unit.bits);
        worstError(shape, unit, 1);
        std::set<std::int64_t> lines;
        const std::byte *first = *std::ranges::min_element(prefetched);
        for (const std::byte *address : prefetched) lines.insert((address - first) / kLine);
        const std::int64_t all = dotPanelBytes(shape, unit) / kLine;
        // A micro-tile's share is of whole bytes for each step of k.
        for (std::int64_t line = 0; line < all; ++line) CHECK(lines.contains(line));
        CHECK(*lines.rbegin() < 2 * all);
      }
}

TEST_CASE("tf32 rounds operands to 10 bits, and the split precisions win most of the rest back") {
  const auto errorOf = [](ir::Precision precision) {
    const DotShape shape{.m = 8,
                         .n = 32,
                         .k = 40,
                         .a = ElementKind::F32,
                         .b = ElementKind::F32,
                         .sum = ElementKind::F32,
                         .precision = precision};
    return worstError(shape, kUnits[2], 3);
  };
  const double tf32 = errorOf(ir::Precision::Tf32);
  CHECK(tf32 < 1e-3);
  CHECK(tf32 > 1e-6);
  CHECK(errorOf(ir::Precision::Tf32x3) < 3e-6);
  CHECK(errorOf(ir::Precision::Bf16x3) < 5e-5);
  CHECK(errorOf(ir::Precision::Bf16x3) > 1e-6);
}

TEST_CASE("columns of b are taken as panels where each row has four lines of them") {
  const VectorUnit wide{512, 32};
  const DotShape shape{.m = 64,
                       .n = 128,
                       .k = 32,
                       .a = ElementKind::F32,
                       .b = ElementKind::F32,
                       .sum = ElementKind::F32};
  const auto takes = [&](auto change) {
    DotShape changed = shape;
    change(changed);
    return takesPanelsInPlace(changed, wide);
  };
  CHECK(takes([](DotShape &) {}));
  CHECK(takes([](DotShape &s) { s.n = 64; }));
  CHECK_FALSE(takes([](DotShape &s) { s.n = 32; }));
  CHECK_FALSE(takes([](DotShape &s) { s.n = 112; })); // panels of 64 columns, and of 48
  CHECK_FALSE(takes([](DotShape &s) { s.m = 8; }));   // of no panels
  CHECK_FALSE(takes([](DotShape &s) { s.isTransposedB = true; }));
  CHECK_FALSE(takes([](DotShape &s) { s.a = s.b = ElementKind::F16; }));
  CHECK_FALSE(takes([](DotShape &s) { s.precision = ir::Precision::Tf32; }));
  CHECK_FALSE(takesPanelsInPlace(shape, {256, 16}));
}

TEST_CASE("panels have zeros where b's columns do not fill them, whatever was there") {
  for (const VectorUnit &unit : kUnits)
    for (const std::int64_t n : {17, 33, 47}) {
      CAPTURE(unit.bits);
      CAPTURE(n);
      constexpr std::int64_t kRows = 16, kDepth = 5;
      const DotShape shape{.m = kRows,
                           .n = n,
                           .k = kDepth,
                           .a = ElementKind::F32,
                           .b = ElementKind::F32,
                           .sum = ElementKind::F32};
      const std::vector<float> a(kRows * kDepth, 1), b(static_cast<std::size_t>(n) * kDepth, 1);
      std::vector<float> sums(static_cast<std::size_t>(n) * kRows);
      alignas(64) std::array<float, 512> scratch;
      scratch.fill(1e-40F);
      REQUIRE(dotRowBytes(shape, unit) + dotPanelBytes(shape, unit) <= sizeof scratch);
      CompiledDot(shape, unit)
          .function()(a.data(), b.data(), sums.data(), scratch.data(), kDepth, n, n);
      const std::int64_t lanes = unit.lanes(32);
      const auto panels = std::span(scratch).first(
          static_cast<std::size_t>((n + lanes - 1) / lanes * lanes * kDepth));
      CHECK(std::ranges::count(panels, 1.0F) == n * kDepth);
      CHECK(std::ranges::count(panels, 0.0F) == std::ssize(panels) - n * kDepth);
    }
}

TEST_CASE("infinities pass through the split precisions") {
  for (const auto precision : {ir::Precision::Tf32x3, ir::Precision::Bf16x3}) {
    const DotShape shape{.m = 1,
                         .n = 1,
                         .k = 1,
                         .a = ElementKind::F32,
                         .b = ElementKind::F32,
                         .sum = ElementKind::F32,
                         .precision = precision};
    alignas(64) std::byte scratch[4096];
    REQUIRE(dotPanelBytes(shape, kUnits[2]) + dotRowBytes(shape, kUnits[2]) <= 4096);
    const float a = INFINITY, b = 2;
    float sum = 1;
    CompiledDot(shape, kUnits[2]).function()(&a, &b, &sum, scratch, 1, 1, 1);
    CHECK(sum == INFINITY);
  }
}
