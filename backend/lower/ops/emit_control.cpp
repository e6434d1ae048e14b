#include "backend/analysis/full_registers.h"
#include "backend/analysis/loads_if.h"
#include "backend/lower/emitter.h"
#include "backend/lower/memory/ring_turn.h"
#include "backend/lower/memory/whole_copies.h"
#include "backend/support/check.h"
#include "llvm/ADT/STLExtras.h"

#include <utility>

/// Loops and branches, which all threads of a block go through together.
namespace imbrex::lower {

using ir::ValueId;
using llvm::Value;

namespace {

llvm::ArrayRef<ValueId> yielded(const ir::Block &body) { return body.ops.back()->operands; }

} // namespace

/// From here on the code runs again and again: whatever the body does may have been done before.
void Emitter::enterLoop(const ir::Op &op) {
  const SharedMemory::AllReaders before = shared.readers();
  loops_.push_back({.exit = newBlock("exit"),
                    .leaving = {},
                    .pending = order.pending(),
                    .before = before,
                    .after = before});
  order.enterLoop(op.regions[0]);
  shared.addReaders(SharedMemory::everywhere(SharedMemory::Readers::Assumed));
}

/// What was assumed at the head of the innermost loop is known at its end: meetings for readers
/// that there are not had better go, if the loop around brings none either.
void Emitter::settleReaders() {
  using Readers = SharedMemory::Readers;
  LoopFrame &loop = loops_.back();
  const SharedMemory::AllReaders atEnd = shared.readers();
  SharedMemory::AllReaders after = SharedMemory::either(atEnd, loop.after);
  for (const AssumedMeeting &meeting : loop.assumed) {
    if (atEnd[meeting.region] == Readers::Some) continue;
    if (loop.before[meeting.region] == Readers::Assumed)
      loops_[loops_.size() - 2].assumed.push_back(meeting);
    else
      for (llvm::Instruction *instruction : meeting.instructions) instruction->eraseFromParent();
  }
  for (std::size_t region = 0; region < after.size(); ++region)
    if (after[region] == Readers::Assumed) after[region] = loop.before[region];
  shared.setReaders(after);
}

void Emitter::noteReaders() {
  loops_.back().after = SharedMemory::either(loops_.back().after, shared.readers());
}

Value *Emitter::beginExchange(std::int64_t bytes) {
  const SharedMemory::Use use = shared.begin(bytes);
  if (use.readers == SharedMemory::Readers::None) return use.base;
  llvm::BasicBlock &block = *b.GetInsertBlock();
  const std::size_t before = block.size();
  meet();
  if (use.readers == SharedMemory::Readers::Assumed) {
    AssumedMeeting &assumed = loops_.back().assumed.emplace_back();
    assumed.region = use.region;
    for (llvm::Instruction &instruction : llvm::drop_begin(block, before))
      assumed.instructions.push_back(&instruction);
  }
  return use.base;
}

void Emitter::leaveLoop(const ir::Op &op) {
  settleReaders();
  const LoopFrame frame = std::move(loops_.back());
  loops_.pop_back();
  b.SetInsertPoint(frame.exit);
  const Phis results = newPhis(*this, op.results);
  for (const Incoming &incoming : frame.leaving) addIncoming(results, incoming);
  definePhis(*this, op.results, results);
  order.addPending(frame.pending);
  order.enterLoop(op.regions[0]);
}

/// Whether an index of 64 bits may as well be counted in 32.
bool Emitter::countsIn32Bits(const ir::Op &loop) const {
  return info(type(loop.operand(0)).element()).bits == 64 &&
         llvm::all_of(llvm::ArrayRef(loop.operands).take_front(3),
                      [&](ValueId value) { return nonNegative.isSmall(value); });
}

/// Where a loop begins, where it ends, and its step, as it counts.
Value *Emitter::bound(const ir::Op &loop, std::size_t i) {
  Value *value = scalar(loop.operand(i));
  return countsIn32Bits(loop) ? b.CreateTrunc(value, b.getInt32Ty()) : value;
}

Value *Emitter::tripCount(const ir::Op &op) {
  return emitTripCount(b, bound(op, 0), bound(op, 1), bound(op, 2),
                       ir::isSigned(type(op.operand(0)).element()));
}

void Emitter::emitFor(const ir::Op &op) {
  const Renewal renewal = std::exchange(renewal_, Renewal::Nowhere);
  Value *const trips = tripCount(op);
  Value *first = llvm::Constant::getNullValue(trips->getType());
  std::vector<Registers> values;
  for (const ValueId initial : llvm::ArrayRef(op.operands).drop_front(3))
    values.push_back(registers(initial));
  auto whole = analysis::wholeTrips(kernel, op, words.hasBuffers());
  const RingTurn turn = loops_.empty() ? ringTurn(kernel, op, words.machine()) : RingTurn();
  if (whole && turn.trips == 1 && branchesAroundMasks(*whole)) {
    constexpr bool kHasOneBody = true;
    WholeCopies copies(*this, op, *std::move(whole), kHasOneBody);
    copies.isWholeBefore(words.uniform(b, copies.count(trips)));
    whole_ = &copies;
    emitTrips(op, {.first = first, .end = trips}, values);
    whole_ = nullptr;
    if (renewal != Renewal::Nowhere) renewThread();
    return;
  }
  // A trip of a loop around that has none of this one's does what a trip does that forgot to wait,
  // if there are two slots or loads alone: what the assembly lacks would not be found
  // (validate/ring_order.h).
  Value *areNone = nullptr;
  if (whole && (loops_.empty() || whole->slots > 2)) {
    // Some are behind the whole ones, if the loop has any. Of a loop whose trips are known a way
    // around all of them would be none that was proven.
    if (whole->behind > 0)
      areNone = b.CreateICmpEQ(trips, llvm::Constant::getNullValue(trips->getType()));
    first = b.CreateZExtOrTrunc(emitWholeTrips(op, *std::move(whole), turn, trips, values),
                                trips->getType());
    values.clear();
    for (const ValueId result : op.results) values.push_back(registers(result));
    if (renewal == Renewal::BetweenAndBehind) renewThread();
  }
  emitTrips(op, {.first = first, .end = trips, .areNone = areNone}, values);
  if (renewal != Renewal::Nowhere) renewThread();
}

/// Whether a loop's code is there once, with a branch around masked copies in each trip: code of
/// its own for the whole trips (emitWholeTrips) saves the branch. It takes as long to compile
/// again, and where loads may be masked without a branch their results would meet behind this one.
bool Emitter::branchesAroundMasks(const analysis::WholeTrips &trips) const {
  constexpr std::int64_t kMuch = 256; // steps of a thread: beside them a branch is nothing
  return trips.steps > kMuch && !words.hasBuffers();
}

/// The trips from the first on in which no copy is left out, by code of their own. How many, is the
/// result: i32.
Value *Emitter::emitWholeTrips(const ir::Op &op, analysis::WholeTrips trips, const RingTurn &turn,
                               Value *all, llvm::ArrayRef<Registers> values) {
  WholeCopies copies(*this, op, std::move(trips), turn.trips == 1);
  Value *count = copies.count(all);
  for (const ValueId value : turn.rings) {
    // As the loop begins for the first time, all but one of the slots are being filled.
    const std::int64_t filled = turn.trips - 1, taken = 0;
    count = b.CreateSelect(ring(value).isAt(*this, filled, taken), count, i32(0));
    ring(value).know(filled, taken);
  }
  count = b.CreateSub(count, b.CreateURem(count, i32(turn.trips)));
  whole_ = &copies;
  emitTrips(op, {.first = i32(0), .end = count, .together = turn.trips}, values);
  whole_ = nullptr;
  for (const ValueId value : turn.rings) ring(value).forget();
  return count;
}

/// Some of a loop's trips, as many together as the code has a body for each.
void Emitter::emitTrips(const ir::Op &op, const Trips &trips, llvm::ArrayRef<Registers> values) {
  const ir::Block &body = op.regions[0];
  const auto carriedArguments = llvm::ArrayRef(body.arguments).drop_front();
  Value *const step = bound(op, 2);
  llvm::Type *const counted = trips.end->getType(), *const indexed = step->getType();
  Value *const passed = b.CreateMul(b.CreateZExtOrTrunc(trips.first, indexed), step);
  Value *const low = b.CreateAdd(bound(op, 0), passed);
  enterLoop(op);
  llvm::BasicBlock *const runs = newBlock("runs"), *const loop = newBlock("for");
  loops_.back().leaving.push_back({.from = b.GetInsertBlock(), .values = values.vec()});
  Value *const areNone = trips.areNone ? trips.areNone : b.CreateICmpEQ(trips.first, trips.end);
  b.CreateCondBr(areNone, loops_.back().exit, runs);
  b.SetInsertPoint(runs);
  if (whole_) whole_->begin();
  llvm::BasicBlock *const before = b.GetInsertBlock();
  b.CreateBr(loop);
  b.SetInsertPoint(loop);
  llvm::PHINode *trip = b.CreatePHI(counted, 2), *index = b.CreatePHI(indexed, 2);
  trip->addIncoming(trips.first, before);
  index->addIncoming(low, before);
  const Phis carried = newPhis(*this, carriedArguments);
  addIncoming(carried, {.from = before, .values = values.vec()});
  if (whole_) whole_->enter(before, trip);
  definePhis(*this, carriedArguments, carried);
  if (loops_.size() == 1 && analysis::computesFromRegisters(kernel, op, words.machine()))
    loops_.back().crowdedTrip = loop;
  Value *now = index;
  for (std::int64_t i = 0; i < trips.together; ++i) {
    define(body.arguments[0], {countsIn32Bits(op) ? widened(now) : now});
    emitBlock(body);
    now = b.CreateAdd(now, step);
    if (whole_) whole_->advance();
    if (i + 1 < trips.together) passOn(body);
  }
  Value *next = b.CreateNUWAdd(
      trip, llvm::ConstantInt::get(counted, static_cast<std::uint64_t>(trips.together)));
  llvm::BasicBlock *const end = b.GetInsertBlock();
  trip->addIncoming(next, end);
  index->addIncoming(now, end);
  addIncoming(carried, incomingFrom(*this, end, yielded(body)));
  if (whole_) whole_->repeat();
  loops_.back().leaving.push_back(incomingFrom(*this, end, yielded(body)));
  b.CreateCondBr(b.CreateICmpULT(next, trips.end), loop, loops_.back().exit);
  leaveLoop(op);
}

/// What a trip yields is what the next one, right behind it, begins with.
void Emitter::passOn(const ir::Block &body) {
  std::vector<Registers> values;
  for (const ValueId value : yielded(body)) values.push_back(registers(value));
  for (std::size_t i = 0; i < values.size(); ++i)
    define(body.arguments[i + 1], std::move(values[i]));
}

void Emitter::emitWhile(const ir::Op &op) {
  const ir::Block &body = op.regions[0];
  enterLoop(op);
  llvm::BasicBlock *const before = b.GetInsertBlock(), *const loop = newBlock("while");
  b.CreateBr(loop);
  b.SetInsertPoint(loop);
  const Phis carried = newPhis(*this, body.arguments);
  addIncoming(carried, incomingFrom(*this, before, op.operands));
  definePhis(*this, body.arguments, carried);
  emitBlock(body);
  addIncoming(carried, incomingFrom(*this, b.GetInsertBlock(), yielded(body)));
  b.CreateBr(loop);
  leaveLoop(op);
}

/// For lanes that might part the machine would keep account of each, and of those that have left.
Value *Emitter::agreed(Value *condition) {
  Value *const bit = b.CreateZExt(condition, b.getInt32Ty());
  return b.CreateICmpNE(words.uniform(b, bit), b.getInt32(0));
}

void Emitter::emitBreakIf(const ir::Op &op) {
  llvm::BasicBlock *const stays = newBlock("stays");
  LoopFrame &loop = loops_.back();
  loop.leaving.push_back(
      incomingFrom(*this, b.GetInsertBlock(), llvm::ArrayRef(op.operands).drop_front()));
  noteReaders();
  b.CreateCondBr(agreed(scalar(op.operand(0))), loop.exit, stays);
  b.SetInsertPoint(stays);
}

void Emitter::endBlockIf(Value *condition) {
  llvm::BasicBlock *const stays = newBlock("stays");
  b.CreateCondBr(agreed(condition), finish_, stays);
  b.SetInsertPoint(stays);
}

// --- branches ---

void Emitter::emitLoadsIf(const ir::Op &op) {
  Value *const holds = whole_ ? nullptr : scalar(op.operand(0)); // in whole trips it does
  Value *const around = std::exchange(loadsIf_, allOf({loadsIf_, holds}));
  emitBlock(op.regions[0]);
  loadsIf_ = around;
  for (const auto [result, value] : llvm::zip_equal(op.results, yielded(op.regions[0])))
    define(result, registers(value));
}

void Emitter::emitIf(const ir::Op &op) {
  if (words.hasBuffers() && analysis::isOfLoads(kernel, op)) return emitLoadsIf(op);
  std::vector<Incoming> ends;
  const auto emitArm = [&](std::size_t i) {
    const bool isThere = i < op.regions.size() && !op.regions[i].ops.empty();
    if (isThere) emitBlock(op.regions[i]);
    ends.push_back(incomingFrom(*this, b.GetInsertBlock(),
                                isThere ? yielded(op.regions[i]) : llvm::ArrayRef<ValueId>()));
  };
  branch(scalar(op.operand(0)), [&] { emitArm(0); }, [&] { emitArm(1); });
  const Phis results = newPhis(*this, op.results);
  for (const Incoming &end : ends) addIncoming(results, end);
  definePhis(*this, op.results, results);
}

/// Where the condition holds, which is the same for all threads, the first, else the second.
void Emitter::branch(Value *condition, llvm::function_ref<void()> emitFirst,
                     llvm::function_ref<void()> emitSecond) {
  llvm::BasicBlock *const arms[] = {newBlock("then"), newBlock("else")};
  llvm::BasicBlock *const after = newBlock("endif");
  b.CreateCondBr(condition, arms[0], arms[1]);
  const MemoryOrder::Pending pending = order.pending();
  const SharedMemory::AllReaders readers = shared.readers();
  MemoryOrder::Pending pendingAfter;
  SharedMemory::AllReaders readersAfter{};
  for (const std::size_t i : {0, 1}) {
    b.SetInsertPoint(arms[i]);
    order.setPending(pending);
    shared.setReaders(readers);
    i == 0 ? emitFirst() : emitSecond();
    b.CreateBr(after);
    order.addPending(pendingAfter);
    pendingAfter = order.pending();
    shared.addReaders(readersAfter);
    readersAfter = shared.readers();
  }
  b.SetInsertPoint(after);
}

// --- roles ---

/// The warps of the first body come behind the kernel's own; one thread of theirs runs it.
void Emitter::emitRoles(const ir::Op &op) {
  const auto &attrs = op.attrs<ir::RolesAttrs>();
  llvm::BasicBlock *const loads = newBlock("loads"), *const computes = newBlock("computes");
  const auto own = static_cast<std::uint32_t>(kernel.threads().count());
  b.CreateCondBr(b.CreateICmpUGE(thread_, b.getInt32(own)), loads, computes);
  b.SetInsertPoint(loads);
  role_ = Role::Loads;
  if (attrs.releases > 0) words.releaseRegisters(b, attrs.releases);
  where(b.CreateICmpEQ(thread_, b.getInt32(own)), [&] { emitBlock(op.regions[0]); });
  b.CreateBr(finish_);
  b.SetInsertPoint(computes);
  role_ = Role::Computes;
  if (attrs.takes > 0) words.takeRegisters(b, attrs.takes);
  emitTrunk(op.regions[1]);
}

void forbidUnrolling(llvm::Instruction &end) {
  llvm::LLVMContext &context = end.getContext();
  llvm::MDNode *const forbid =
      llvm::MDNode::get(context, llvm::MDString::get(context, "llvm.loop.unroll.disable"));
  llvm::MDNode *const id = llvm::MDNode::getDistinct(context, {nullptr, forbid});
  id->replaceOperandWith(0, id);
  end.setMetadata(llvm::LLVMContext::MD_loop, id);
}

} // namespace imbrex::lower
