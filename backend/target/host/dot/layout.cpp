#include "backend/target/host/dot/layout.h"

#include "backend/support/check.h"
#include "backend/target/host/nest/control_flow.h"
#include "llvm/Support/MathExtras.h"

#include <algorithm>

namespace imbrex::host {

using ir::ElementKind;
using llvm::Value;

namespace {

/// The parts that a precision multiplies. Where there are two sweeps, the first gathers the small
/// products; its NaNs (of infinities minus themselves) become 0 before the second.
std::vector<Sweep> sweepsOf(ir::Precision precision) {
  switch (precision) {
  case ir::Precision::Ieee: return {{{DotPart::Whole, DotPart::Whole}}};
  case ir::Precision::Tf32: return {{{DotPart::Tf32, DotPart::Tf32}}};
  case ir::Precision::Tf32x3:
    return {{{DotPart::Tf32Rest, DotPart::Tf32}, {DotPart::Tf32, DotPart::Tf32Rest}},
            {{DotPart::Tf32, DotPart::Tf32}}};
  case ir::Precision::Bf16x3:
    return {{{DotPart::Bf16Rest, DotPart::Bf16}, {DotPart::Bf16, DotPart::Bf16Rest}},
            {{DotPart::Bf16, DotPart::Bf16}}};
  }
  IMBREX_UNREACHABLE("a precision that is none");
}

std::int64_t roundUp(std::int64_t value, std::int64_t unit) {
  return (value + unit - 1) / unit * unit;
}

/// How many words of k are multiplied at once.
std::int64_t wordsAtOnce(WordProduct product) {
  return WordProducts::isOnAmx(product) ? kAmxRows : 1;
}

/// Rows of a micro-tile beside whose sums there is room for a row of b and a broadcast element of
/// a. Twelve hide the latency of a multiply-add, however few vectors they have.
std::int64_t mostRows(const VectorUnit &unit, std::int64_t vectors) {
  constexpr std::int64_t kMostRows = 12;
  return std::min((unit.registers - vectors - 1) / vectors, kMostRows);
}

/// A count in as many parts as it takes, about equally large.
std::int64_t evenPart(std::int64_t count, std::int64_t most) {
  return llvm::divideCeilSigned(count, llvm::divideCeilSigned(count, most));
}

/// Rows that are a multiple of 4 KiB apart lie in one set of the first-level cache, which has eight
/// lines on Zen 2 to 5: six rows of a stay there beside b's. Where there are registers for four
/// vectors of them, a step takes ten loads for the fourteen of twelve rows of two.
void blockPanels(DotPlan &plan, std::int64_t rows, std::int64_t vectors, const VectorUnit &unit) {
  constexpr std::int64_t kRows = 6;
  plan.vectors = evenPart(vectors, (unit.registers - 1) / (kRows + 1));
  plan.rows =
      plan.rowsTogether * // few rows wait for their own sums
      evenPart(llvm::divideCeilSigned(rows, plan.rowsTogether), mostRows(unit, plan.vectors));
}

/// A tile of sums has a vector's columns.
void blockTiles(DotPlan &plan, std::int64_t rows, std::int64_t vectors) {
  plan.vectors = std::min(vectors, kAmxAcross);
  plan.rows = std::min(rows, kAmxAcross * kAmxRows);
}

/// Of b where it is: the wider, the more of one of its rows lies side by side. Where registers have
/// less than four lines of it, a few rows are read line by line beside each other, so that memory
/// is read in order; the sums lie in the first-level cache meanwhile.
void blockRows(DotPlan &plan, std::int64_t rows, std::int64_t vectors, const VectorUnit &unit) {
  constexpr std::int64_t kMostVectors = 16, kLine = 64, kSlice = 8;
  plan.rows = rows;
  plan.vectors = std::clamp<std::int64_t>((unit.registers - 2) / (rows + 1), 1,
                                          std::min(kMostVectors, vectors));
  const std::int64_t vectorBytes = unit.bits / 8;
  if (plan.vectors == vectors || plan.vectors * vectorBytes >= 4 * kLine) return;
  if (plan.wantsRows || plan.depth % kSlice != 0) return;
  plan.slice = kSlice;
  plan.vectors = std::min(plan.vectors, kLine / vectorBytes);
}

/// A micro-tile's multiply-adds each wait for one of the step before: so many go by meanwhile on
/// two units with four cycles each. Where the last micro-tile has fewer, and takes as long as if it
/// had them, the last two share their rows.
std::int64_t rowsInHalves(const DotPlan &plan, std::int64_t rows) {
  constexpr std::int64_t kLatency = 8;
  const std::int64_t rest = rows % plan.rows, both = plan.rows + rest;
  const bool isWaiting = rest > 0 && rest * plan.vectors < kLatency;
  return isWaiting && both < rows && both % 2 == 0 ? both : 0;
}

} // namespace

DotPlan planDot(const DotShape &shape, const VectorUnit &unit) {
  DotPlan plan;
  plan.sweeps = sweepsOf(shape.precision);
  for (const Sweep &sweep : plan.sweeps)
    for (const auto &[a, b] : sweep) {
      if (!llvm::is_contained(plan.partsA, a)) plan.partsA.push_back(a);
      if (!llvm::is_contained(plan.partsB, b)) plan.partsB.push_back(b);
    }
  const WordProduct product = WordProducts::kindFor(shape, unit);
  plan.together = WordProducts::together(product);
  plan.word = WordProducts::wordFor(product, shape);
  plan.copied = WordProducts::copiedFor(product, shape);
  const std::int64_t atOnce = plan.together * wordsAtOnce(product);
  plan.depth = roundUp(shape.k, atOnce) / plan.together;
  plan.wantsRows = shape.precision != ir::Precision::Ieee ||
                   !WordProducts::takesA(product, shape) || shape.k % atOnce != 0;
  plan.slice = plan.depth;
  plan.lanes = unit.lanes(ir::info(plan.word).bits);
  plan.rowsTogether = WordProducts::isOnMatrices(product) ? 2 : 1;
  const std::int64_t vectors = llvm::divideCeilSigned(shape.n, plan.lanes); // of a row
  plan.wantsPanels = shape.isTransposedB || shape.b != shape.sum ||
                     shape.precision != ir::Precision::Ieee ||
                     shape.m > mostRows(unit, std::min<std::int64_t>(vectors, 2));
  if (WordProducts::isOnAmx(product))
    blockTiles(plan, shape.m, vectors);
  else if (plan.wantsPanels)
    blockPanels(plan, shape.m, vectors, unit);
  else
    blockRows(plan, shape.m, vectors, unit);
  const bool hasHalves = !WordProducts::isOnAmx(product) && plan.rowsTogether == 1;
  plan.rowsInHalves = hasHalves ? rowsInHalves(plan, shape.m) : 0;
  plan.bytesA = roundUp(shape.m * plan.depth * plan.wordBytes(), 64);
  const std::int64_t bytesRow = roundUp(shape.n, plan.lanes) * plan.wordBytes();
  plan.bytesB = roundUp(bytesRow * plan.depth, 64);
  plan.bytesCorrection = product == WordProduct::UnsignedSigned ? roundUp(bytesRow, 64) : 0;
  return plan;
}

bool wantsRows(const DotShape &shape, const VectorUnit &unit) {
  return planDot(shape, unit).wantsRows;
}

std::int64_t stepsTogether(const DotShape &shape, const VectorUnit &unit) {
  return isOnAmx(shape, unit) ? 1 : planDot(shape, unit).together;
}

std::int64_t dotEndBytes(const DotShape &shape, const VectorUnit &unit) {
  return isOnAmx(shape, unit) ? shape.m * kAmxRowBytes : 0;
}

bool isOnAmx(const DotShape &shape, const VectorUnit &unit) {
  return WordProducts::isOnAmx(WordProducts::kindFor(shape, unit));
}

bool wantsPanels(const DotShape &shape, const VectorUnit &unit) {
  return planDot(shape, unit).wantsPanels;
}

bool takesPanelsInPlace(const DotShape &shape, const VectorUnit &unit) {
  // Four lines of the caches. Of narrower parts of rows more would meet in a set.
  constexpr std::int64_t kLeastBytes = 256;
  const DotPlan plan = planDot(shape, unit);
  return plan.wantsPanels && !shape.isTransposedB && shape.b == shape.sum &&
         shape.precision == ir::Precision::Ieee && plan.together == 1 &&
         shape.n % plan.panelColumns() == 0 &&
         plan.panelColumns() * plan.wordBytes() >= kLeastBytes;
}

std::int64_t dotPanelBytes(const DotShape &shape, const VectorUnit &unit) {
  return shape.batch * planDot(shape, unit).bytesPanels();
}

std::int64_t dotRowBytes(const DotShape &shape, const VectorUnit &unit) {
  return shape.batch * planDot(shape, unit).bytesRows();
}

DotOperand dotPanelsAt(llvm::IRBuilder<> &builder, const DotShape &shape, const VectorUnit &unit,
                       Value *panels) {
  return DotLayout(builder, shape, unit).panelsAt(panels);
}

DotOperand dotRowsAt(llvm::IRBuilder<> &builder, const DotShape &shape, const VectorUnit &unit,
                     Value *rows) {
  return DotLayout(builder, shape, unit).rowsAt(rows);
}

bool canHavePieces(const DotShape &shape, const VectorUnit &unit) {
  const DotPlan plan = planDot(shape, unit);
  return plan.wantsPanels && plan.sweeps.size() == 1;
}

DotLayout::DotLayout(llvm::IRBuilder<> &builder, const DotShape &shape, const VectorUnit &unit)
    : b_(builder), shape_(shape), plan_(planDot(shape, unit)), words_(builder, shape, unit) {}

DotOperand DotLayout::rowsAt(Value *rows) {
  return {rows, i64(plan_.depth * plan_.together), i64(plan_.bytesRows() / copiedBytes())};
}

DotOperand DotLayout::panelsAt(Value *panels) {
  return {.data = panels,
          .rowStride = i64(plan_.panelColumns()),
          .batchStride = i64(plan_.bytesPanels() / plan_.wordBytes()),
          .columnStride = i64(plan_.depth)};
}

void DotLayout::forEachMatrix(llvm::function_ref<void(Value *batch)> each) {
  emitCountedLoop(b_, i64(shape_.batch), 1, {}, [&](Value *batch, auto) {
    each(batch);
    return Carried{};
  });
}

void DotLayout::forEachPanel(
    llvm::function_ref<void(Value *firstColumn, std::int64_t columns)> each) {
  forEachUnit(0, shape_.n, plan_.panelColumns(), nullptr, each);
}

void DotLayout::forEachUnit(std::int64_t begin, std::int64_t end, std::int64_t unit, Value *wanted,
                            llvm::function_ref<void(Value *first, std::int64_t count)> each) {
  const std::int64_t rest = (end - begin) % unit;
  Value *whole = i64(end - rest);
  if (begin + rest < end) {
    Value *last = wanted ? b_.CreateBinaryIntrinsic(llvm::Intrinsic::umin, wanted, whole) : whole;
    emitLoopFrom(b_, i64(begin), last, unit, {}, [&](Value *first, auto) {
      each(first, unit);
      return Carried{};
    });
  }
  if (rest == 0) return;
  if (!wanted) return each(whole, rest);
  emitUnless(b_, b_.CreateICmpULE(wanted, whole), [&] { each(whole, rest); });
}

std::int64_t DotLayout::widthOf(std::int64_t columns) const {
  return roundUp(columns, plan_.lanes);
}

Value *DotLayout::rowOfPanel(Value *panel, Value *k, std::int64_t columns) {
  return at(panel, b_.CreateMul(k, i64(widthOf(columns))), plan_.word);
}

DotOperand DotLayout::atBatch(const DotOperand &operand, Value *batch, ElementKind kind) {
  Value *elements = b_.CreateMul(batch, operand.batchStride);
  return {.data = at(operand.data, elements, kind),
          .rowStride = operand.rowStride,
          .batchStride = nullptr,
          .columnStride = operand.columnStride,
          .next = operand.next ? at(operand.next, elements, kind) : nullptr};
}

Value *DotLayout::at(Value *base, Value *elements, ElementKind kind) {
  return b_.CreateGEP(scratchElementType(b_.getContext(), kind), base, elements);
}

Value *DotLayout::bytesInto(Value *memory, Value *bytes) {
  return b_.CreateGEP(b_.getInt8Ty(), memory, bytes);
}

Value *DotLayout::partOfA(Value *rows, DotPart part) {
  const auto found = std::ranges::find(plan_.partsA, part);
  return bytesInto(rows, i64((found - plan_.partsA.begin()) * plan_.bytesA));
}

Value *DotLayout::partOfB(Value *panels, DotPart part) {
  const auto found = std::ranges::find(plan_.partsB, part);
  return bytesInto(panels, i64((found - plan_.partsB.begin()) * plan_.bytesB));
}

Value *DotLayout::panelOf(Value *panels, DotPart part, Value *firstColumn) {
  return at(partOfB(panels, part), b_.CreateMul(firstColumn, i64(plan_.depth)), plan_.word);
}

Value *DotLayout::correctionsOf(Value *panels, Value *firstColumn) {
  return at(bytesInto(panels, i64(std::ssize(plan_.partsB) * plan_.bytesB)), firstColumn,
            shape_.sum);
}

llvm::Type *DotLayout::vectorType() {
  return llvm::FixedVectorType::get(scratchElementType(b_.getContext(), plan_.word),
                                    static_cast<unsigned>(plan_.lanes));
}

} // namespace imbrex::host
