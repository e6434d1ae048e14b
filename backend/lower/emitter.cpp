#include "backend/lower/emitter.h"

#include "backend/analysis/behind_rings.h"
#include "backend/analysis/column_loads.h"
#include "backend/analysis/rings_in_step.h"
#include "backend/ir/ring_bytes.h"
#include "backend/layout/bank_conflicts.h"
#include "backend/layout/column_loads.h"
#include "backend/lower/values/natives.h"
#include "backend/support/check.h"

#include <algorithm>

namespace imbrex::lower {

using layout::Bits;
using layout::Dim;
using llvm::Value;

Emitter::Emitter(llvm::Module &intoModule, const ir::Kernel &ofKernel, const Vocabulary &vocabulary,
                 const analysis::Assumptions &assumed, std::size_t regions)
    : context(intoModule.getContext()), module(intoModule), b(context), kernel(ofKernel),
      words(vocabulary), natives(nativesOf(vocabulary)), assumptions(assumed),
      shared(module, words.sharedSpace(), regions), order(kernel, assumptions),
      unseenPadding(kernel, assumptions), nonNegative(kernel, assumptions),
      stagedTiles(analysis::stagedTiles(kernel)), values_(kernel.valueCount()),
      uses_(ir::countUses(kernel)), facts_(kernel, assumed),
      lastUseOfRings_(analysis::lastUseOfRings(kernel)) {
  IMBREX_CHECK(kernel.stage() == ir::Stage::Scheduled, "only scheduled kernels are lowered");
  collectRings();
}

void Emitter::collectRings() {
  ir::walk(kernel.body(), [&](const ir::Op &op) {
    if (op.kind != ir::OpKind::RingNew) return;
    rings_.emplace(op.result(), SharedRing(*this, op));
    largestUse_ = op.where;
  });
  for (const auto &[ring, leader] : analysis::ringsInStep(kernel))
    rings_.at(ring).follow(rings_.at(leader));
  // Behind the rings, whose slots begin at larger multiples.
  ir::walk(kernel.body(), [&](const ir::Op &op) {
    if (op.kind == ir::OpKind::BarrierNew) barriers_.emplace(op.result(), Barriers(*this, op));
  });
  ir::walk(kernel.body(), [&](const ir::Op &op) {
    if (op.kind == ir::OpKind::RingLoadBox) addMap(op);
  });
  if (countsCopies()) copiesOfGroup_ = analysis::leastCopiesOfGroup(kernel, words.machine());
}

/// Loads of equal boxes of a view share a map.
void Emitter::addMap(const ir::Op &load) {
  const layout::BoxLayout &boxes = rings_.at(load.operand(0)).boxes();
  const BoxMap map{.parameter = static_cast<std::int32_t>(kernel.parameterNumber(load.operand(2))),
                   .box = boxes.box,
                   .elementBytes = ir::storageBits(type(load.operand(2)).element()) / 8,
                   .span = boxes.span};
  const auto found = llvm::find(maps_, map);
  mapOf_[&load] = static_cast<std::size_t>(found - maps_.begin());
  if (found == maps_.end()) maps_.push_back(map);
}

namespace {

/// The part of bits `first` … `end` - 1, whose columns are single neighbouring bits; or of one bit
/// with any column.
Value *applyRun(llvm::IRBuilder<> &b, llvm::ArrayRef<Bits> run, std::size_t first, Value *index) {
  const auto shift = static_cast<std::uint64_t>(first);
  if (!llvm::has_single_bit(run[0])) {
    Value *const shifted = shift == 0 ? index : b.CreateLShr(index, shift);
    Value *bit = b.CreateAnd(shifted, b.getInt32(1));
    return b.CreateMul(bit, b.getInt32(static_cast<std::uint32_t>(run[0])));
  }
  const Bits mask = ((Bits{1} << run.size()) - 1) << first;
  Value *bits = b.CreateAnd(index, b.getInt32(static_cast<std::uint32_t>(mask)));
  const auto to = static_cast<std::uint64_t>(llvm::countr_zero(run[0]));
  return to >= shift ? b.CreateShl(bits, to - shift) : b.CreateLShr(bits, shift - to);
}

} // namespace

/// Neighbouring bits that go to neighbouring bits move together.
Value *applyColumns(llvm::IRBuilder<> &b, llvm::ArrayRef<Bits> columns, Value *index) {
  Value *sum = nullptr;
  for (std::size_t i = 0; i < columns.size();) {
    std::size_t end = i + 1;
    const bool isSingle = llvm::has_single_bit(columns[i]);
    while (isSingle && end < columns.size() && columns[end] == columns[end - 1] << 1) ++end;
    if (columns[i] != 0) {
      Value *part = applyRun(b, columns.slice(i, end - i), i, index);
      sum = sum ? b.CreateXor(sum, part) : part;
    }
    i = end;
  }
  return sum ? sum : b.getInt32(0);
}

// --- values ---

llvm::Type *Emitter::laneType(const ir::Type &type) {
  if (type.isPointerTile()) return llvm::PointerType::get(context, words.globalSpace());
  return lower::laneType(context, type);
}

void Emitter::define(ir::ValueId value, Registers registers) {
  IMBREX_CHECK(registers.size() == registerCount(value), "a value has {0} registers and got {1}",
               registerCount(value), registers.size());
  values_[value.index()] = std::move(registers);
}

std::size_t Emitter::registerCount(ir::ValueId value) const {
  if (!kernel.layoutOf(value).valid()) return 1;
  return static_cast<std::size_t>(layout::registerCount(layoutOf(value)));
}

llvm::Constant *Emitter::constantOf(const ir::Type &type, std::uint64_t bits) {
  return splatBits(laneType(type), bits);
}

// --- threads and elements ---

Value *Emitter::threadPart(const layout::LinearLayout &layout, std::int64_t unit) {
  IMBREX_CHECK(llvm::has_single_bit(static_cast<Bits>(unit)), "a unit of {0}", unit);
  std::vector<Bits> columns = layout.columns(Dim::Lane).vec();
  llvm::append_range(columns, layout.columns(Dim::Warp));
  for (Bits &column : columns) column *= static_cast<Bits>(unit);
  const auto [found, isNew] = threadParts_.try_emplace(std::move(columns));
  if (!isNew) return found->second;
  const llvm::IRBuilderBase::InsertPointGuard guard(b);
  b.SetInsertPoint(entryEnd_);
  b.SetCurrentDebugLocation(entryEnd_->getDebugLoc());
  const auto all = llvm::ArrayRef(found->first);
  const std::size_t lanes = layout.columns(Dim::Lane).size();
  return found->second = b.CreateXor(applyColumns(b, all.take_front(lanes), lane_),
                                     applyColumns(b, all.drop_front(lanes), warp_));
}

Emitter::SplitCoordinate Emitter::splitCoordinate(const layout::LinearLayout &layout, std::size_t r,
                                                  std::int32_t axis) {
  const Dim dim = layout::axisDim(axis);
  const Bits ofRegister = layout.outputPart(layout.apply(Dim::Register, r), dim);
  const auto shift = static_cast<std::uint64_t>(layout.outputShift(dim));
  const Bits mask = (Bits{1} << layout.outputBits(dim)) - 1;
  Value *const ofThread = threadPart(layout);
  Value *const shifted = shift == 0 ? ofThread : b.CreateLShr(ofThread, shift);
  return {b.CreateAnd(shifted, b.getInt32(static_cast<std::uint32_t>(mask))),
          static_cast<std::int64_t>(ofRegister)};
}

Value *Emitter::coordinate(const layout::LinearLayout &layout, std::size_t r, std::int32_t axis) {
  const SplitCoordinate split = splitCoordinate(layout, r, axis);
  if (split.constant == 0) return split.thread;
  return b.CreateOr(split.thread, i32(split.constant), "", /*IsDisjoint=*/true);
}

Value *Emitter::isInside(const layout::LinearLayout &layout, const ir::Shape &shape,
                         std::size_t r) {
  llvm::SmallVector<Value *, 5> conditions;
  for (std::int32_t axis = 0; axis < shape.rank(); ++axis)
    if (!llvm::has_single_bit(static_cast<std::uint64_t>(shape[axis])))
      conditions.push_back(b.CreateICmpULT(coordinate(layout, r, axis), i32(shape[axis])));
  return allOf(conditions);
}

Value *Emitter::isOwner(ir::ValueId tile) {
  if (!kernel.layoutOf(tile).valid()) return b.CreateICmpEQ(thread_, b.getInt32(0));
  return isOwner(layoutOf(tile));
}

Value *Emitter::isOwner(const layout::LinearLayout &layout) {
  llvm::SmallVector<Value *, 2> conditions;
  const auto isFirst = [&](Value *index, Bits copies) {
    if (copies == 0) return;
    Value *bits = b.CreateAnd(index, b.getInt32(static_cast<std::uint32_t>(copies)));
    conditions.push_back(b.CreateICmpEQ(bits, b.getInt32(0)));
  };
  isFirst(lane_, copyBits(layout, Dim::Lane));
  isFirst(warp_, copyBits(layout, Dim::Warp));
  return allOf(conditions);
}

Value *Emitter::allOf(llvm::ArrayRef<Value *> conditions) {
  Value *all = nullptr;
  for (Value *condition : conditions)
    if (condition) all = all ? b.CreateAnd(all, condition) : condition;
  return all;
}

// --- code ---

llvm::BasicBlock *Emitter::newBlock(const llvm::Twine &name) {
  return llvm::BasicBlock::Create(context, name, function_);
}

void Emitter::where(Value *condition, const std::function<void()> &body) {
  if (!condition) return body();
  llvm::BasicBlock *holds = newBlock("holds"), *after = newBlock("after");
  b.CreateCondBr(condition, holds, after);
  b.SetInsertPoint(holds);
  body();
  b.CreateBr(after);
  b.SetInsertPoint(after);
}

Value *Emitter::where(Value *condition, Value *otherwise, const std::function<Value *()> &body) {
  if (!condition) return body();
  llvm::BasicBlock *const before = b.GetInsertBlock();
  Value *value = nullptr;
  llvm::BasicBlock *end = nullptr;
  where(condition, [&] {
    value = body();
    end = b.GetInsertBlock();
  });
  llvm::PHINode *chosen = b.CreatePHI(otherwise->getType(), 2);
  chosen->addIncoming(otherwise, before);
  chosen->addIncoming(value, end);
  return chosen;
}

bool Emitter::mayLoadColumns(const ir::Op &op) const {
  return analysis::mayLoadColumns(kernel, op, words.machine()) &&
         kernel.layoutOf(op.result()).valid() &&
         analysis::accessWidth(kernel, op, type(op.result()).rank() - 1, facts_, assumptions) >=
             layout::kElementsOfColumn;
}

const layout::LinearLayout *Emitter::namedForColumns(const ir::Op &op) {
  const auto [known, isNew] = namedByLanes_.try_emplace(&op);
  std::optional<layout::LinearLayout> &named = known->second;
  if (isNew && mayLoadColumns(op))
    named = layout::namedForColumns(layoutOf(op.result()),
                                    ir::storageBits(type(op.result()).element()));
  return named ? &*named : nullptr;
}

const layout::LinearLayout &Emitter::accessLayout(const ir::Op &op, ir::ValueId tile) {
  const layout::LinearLayout *named = namedForColumns(op);
  return named ? *named : layoutOf(tile);
}

layout::RegisterVectors Emitter::accessVectors(const ir::Op &op, ir::ValueId tile) {
  constexpr std::int64_t kScalar = 1;
  if (!kernel.layoutOf(tile).valid()) return {kScalar, {0}};
  const layout::LinearLayout &of = accessLayout(op, tile);
  const std::int32_t axis = layout::axisOfNeighbours(of, type(tile).rank());
  const std::int64_t bits = ir::storageBits(type(op.operand(0)).element());
  std::int64_t width = analysis::accessWidth(kernel, op, axis, facts_, assumptions);
  width = std::min(width, namedForColumns(op) ? layout::kElementsOfColumn
                                              : layout::kMaxAccessBytes * 8 / bits);
  return layout::contiguousRegisters(of, layout::axisDim(axis), width);
}

bool Emitter::letsLoadsFly() const {
  return countsCopies() ||
         llvm::any_of(rings_, [](const auto &ring) { return ring.second.copies().areStores; });
}

bool Emitter::countsCopies() const {
  return llvm::any_of(rings_, [](const auto &ring) { return ring.second.copies().areInLaneOrder; });
}

Value *Emitter::isLoader() {
  return role_ == Role::Loads ? nullptr : b.CreateICmpEQ(thread_, b.getInt32(0));
}

// A meeting that orders all memory would wait for all copies that are counted, and for all loads
// whose tiles are stored into slots a trip later.
void Emitter::meet() {
  if (!letsLoadsFly() || role_ == Role::Computes) return meetForAll();
  words.meetForShared(b);
  shared.onMeeting();
}

void Emitter::meet(ir::Half whose) {
  if (whose == ir::Half::Both) return meet();
  function_->addFnAttr(kMeetsAnywhere);
  llvm::BasicBlock *const meeting = newBlock("meeting"), *const behind = newBlock("behind");
  // That it is the same for the lanes of a warp must be plain: they all come, or none.
  Value *const isSecond = b.CreateICmpUGE(
      words.uniform(b, warp_), b.getInt32(static_cast<std::uint32_t>(kernel.threads().warps / 2)));
  const bool comesSecond = whose == ir::Half::Second;
  b.CreateCondBr(isSecond, comesSecond ? meeting : behind, comesSecond ? behind : meeting);
  b.SetInsertPoint(meeting);
  letsLoadsFly() ? words.meetForShared(b) : words.meetAll(b);
  b.CreateBr(behind);
  b.SetInsertPoint(behind);
}

void Emitter::meetForAll() {
  IMBREX_CHECK(role_ != Role::Loads, "one thread waits for a block");
  if (role_ == Role::Computes)
    words.meet(b, kernel.threads().count());
  else
    words.meetAll(b);
  shared.onMeeting();
  order.onMeeting();
}

llvm::Constant *Emitter::zeros(std::int64_t bytes) {
  if (zeros_ != nullptr) return zeros_;
  IMBREX_CHECK(bytes <= layout::kMaxAccessBytes, "no access is of {0} bytes", bytes);
  auto *type = llvm::ArrayType::get(b.getInt8Ty(), layout::kMaxAccessBytes);
  constexpr bool kConstant = true;
  zeros_ = new llvm::GlobalVariable(module, type, kConstant, llvm::GlobalValue::InternalLinkage,
                                    llvm::ConstantAggregateZero::get(type), "zeros", nullptr,
                                    llvm::GlobalValue::NotThreadLocal, words.globalSpace());
  zeros_->setAlignment(llvm::Align(layout::kMaxAccessBytes));
  return zeros_;
}

void Emitter::commitCopies() {
  if (words.machine().asyncCopies.areGrouped) words.commitCopies(b);
}

void Emitter::drainCopies(std::int32_t left) {
  const machine::AsyncCopies &copies = words.machine().asyncCopies;
  if (copies.leastBytes == 0) return;
  const std::int64_t most = copies.areGrouped ? left : left * copiesOfGroup_;
  words.drainCopies(b, static_cast<std::int32_t>(std::min<std::int64_t>(most, copies.capacity)));
}

std::int64_t Emitter::scratchBytes() const {
  // Where rings leave less, the kernel takes too much.
  const std::int64_t least = ir::leastExchangeBytes(kernel);
  // What slots had is enough for what comes behind them: so more blocks fit on a core.
  constexpr std::int64_t kEnough = 16384;
  if (shared.arePassed()) return std::max({least, shared.reservedBytes(), kEnough});
  const machine::Machine &machine = words.machine();
  return std::clamp<std::int64_t>(machine.sharedMemoryBytes - shared.reservedBytes(), least,
                                  machine.staticSharedMemoryBytes);
}

std::uint32_t Emitter::addSite(const ir::Op &op) {
  std::vector<ir::Type> types;
  for (const ir::ValueId operand : op.operands) types.push_back(type(operand));
  sites_.push_back({&op, std::move(types)});
  return static_cast<std::uint32_t>(sites_.size() - 1);
}

} // namespace imbrex::lower
