#include "backend/lower/lower.h"

#include "backend/analysis/effects.h"
#include "backend/analysis/full_registers.h"
#include "backend/analysis/ring_copies.h"
#include "backend/ir/products.h"
#include "backend/lower/demand_order.h"
#include "backend/lower/emitter.h"
#include "backend/lower/memory/whole_copies.h"
#include "backend/support/check.h"
#include "llvm/IR/InlineAsm.h"

#include <cctype>

namespace imbrex::lower {

using analysis::isRingCopy;
using ir::OpKind;
using llvm::Value;

namespace {

bool observes(const ir::Kernel &kernel) {
  bool found = false;
  ir::walk(kernel.body(), [&](const ir::Op &op) {
    found |= op.kind == OpKind::Print || op.kind == OpKind::Assert;
  });
  return found;
}

std::int32_t bytesOf(const llvm::Type *type) {
  return static_cast<std::int32_t>(type->getPrimitiveSizeInBits().getFixedValue() / 8);
}

/// Every parameter of the kernel as the words that stand for it.
std::vector<Word> wordsOf(Emitter &emitter) {
  std::vector<Word> words;
  const ir::Kernel &kernel = emitter.kernel;
  for (std::int32_t i = 0; i < static_cast<std::int32_t>(kernel.parameterCount()); ++i) {
    const ir::Type &type = kernel.parameterType(static_cast<std::size_t>(i));
    if (type.isTile()) {
      words.push_back({WordKind::Scalar, i, 0, bytesOf(emitter.memoryType(type))});
      continue;
    }
    words.push_back({type.isTable() ? WordKind::Table : WordKind::Pointer, i});
    const std::int32_t extents = type.hasExtents() ? type.rank() : 0;
    const std::int32_t strides = type.isView() ? type.rank() : 0;
    for (std::int32_t axis = 0; axis < extents; ++axis)
      words.push_back({WordKind::Extent, i, axis});
    for (std::int32_t axis = 0; axis < strides; ++axis)
      words.push_back({WordKind::Stride, i, axis});
  }
  if (observes(kernel)) words.push_back({WordKind::Observations});
  return words;
}

std::vector<std::string> parameterNames(const ir::Kernel &kernel) {
  std::vector<std::string> names;
  for (std::size_t i = 0; i < kernel.parameterCount(); ++i)
    names.emplace_back(kernel.parameterName(i));
  return names;
}

/// Letters, digits and underscores, as every assembler takes them: a lone underscore is no name.
std::string symbolOf(const std::string &name) {
  std::string symbol =
      name.empty() || std::isdigit(static_cast<unsigned char>(name[0])) != 0 ? "_" : "";
  for (const char c : name) symbol += std::isalnum(static_cast<unsigned char>(c)) != 0 ? c : '_';
  return symbol == "_" ? "_kernel" : symbol;
}

/// Whether a block may learn that another, or another launch, has written something: no more is
/// known of an author's own instructions.
bool mayHearOfWrites(const ir::Kernel &kernel) {
  bool may = false;
  ir::walk(kernel.body(), [&](const ir::Op &op) {
    const ir::Effect effect = ir::info(op.kind).effect;
    may |= effect == ir::Effect::Atomic || op.kind == ir::OpKind::InlineAsm;
  });
  return may;
}

} // namespace

KernelInterface Emitter::signature() {
  KernelInterface interface{.name = symbolOf(kernel.name()),
                            .parameters = parameterNames(kernel),
                            .words = wordsOf(*this),
                            .maps = maps_,
                            .threads = ir::threadsInAll(kernel).count(),
                            .where = kernel.where(),
                            .asked = kernel.attributes()};
  for (std::size_t i = 0; i < maps_.size(); ++i)
    interface.words.push_back(
        {WordKind::BoxMap, maps_[i].parameter, static_cast<std::int32_t>(i), BoxMap::kBytes});
  return interface;
}

KernelInterface Emitter::run() {
  KernelInterface interface = signature();
  declareFunction(interface);
  decodeParameters(interface);
  makeBarriers();
  if (kernel.attributes().programmatic) {
    words.awaitLaunchBefore(b); // before global memory is touched
    words.letNextLaunchStart(b);
  }
  emitTrunk(kernel.body());
  b.CreateBr(finish_);
  b.SetInsertPoint(finish_);
  if (countsCopies()) drainCopies(0); // of those that were not wanted
  if (waitBehindRings_ != nullptr && !shared.isUsedBehindRings())
    waitBehindRings_->eraseFromParent();
  b.CreateRetVoid();
  lines_->finish();
  interface.bytesAtLaunch = static_cast<std::int32_t>(
      shared.finish(words.machine().staticSharedMemoryBytes, words.machine().sharedMemoryBytes));
  orderByDemand(*function_);
  interface.sharedMemoryBytes =
      std::max(static_cast<std::int32_t>(shared.bytes()), interface.bytesAtLaunch);
  interface.sites = std::move(sites_);
  if (interface.sharedMemoryBytes > 0 && kernel.attributes().registers == 0) {
    const machine::Machine &machine = words.machine();
    const std::int32_t blocks =
        std::max(machine.sharedMemoryPerCore / interface.sharedMemoryBytes, 1);
    const std::int64_t warps = blocks * interface.threads / kernel.threads().lanes;
    words.expectWarps(*function_, llvm::divideCeilSigned(warps, machine.partitionsPerCore));
  }
  return interface;
}

/// Nobody may arrive or wait before the barriers are there.
void Emitter::makeBarriers() {
  if (barriers_.empty()) return;
  where(b.CreateICmpEQ(thread_, b.getInt32(0)), [&] {
    for (const auto &[value, barriers] : barriers_) barriers.make(*this);
    words.showBarriers(b);
  });
  meet();
}

/// Whether nobody writes a parameter's memory while the kernel runs. Of what the kernel writes,
/// LLVM must not be told that others do not: the block's other threads do. Before a programmatic
/// launch has waited, the one in front of it may.
bool Emitter::isOnlyRead(std::size_t parameter) const {
  return assumptions.areDisjoint && !kernel.attributes().programmatic &&
         (type(kernel.body().arguments[parameter]).isConst() ||
          !analysis::mayBeWritten(kernel, parameter, kernel.body()));
}

void Emitter::declareFunction(KernelInterface &interface) {
  llvm::Type *const global = llvm::PointerType::get(context, words.globalSpace());
  std::vector<llvm::Type *> types;
  for (const Word &word : interface.words) {
    const auto ofParameter = [&] {
      return memoryType(type(kernel.body().arguments[static_cast<std::size_t>(word.parameter)]));
    };
    const bool isPointer = word.kind == WordKind::Pointer || word.kind == WordKind::Table ||
                           word.kind == WordKind::Observations;
    types.push_back(isPointer                       ? global
                    : word.kind == WordKind::BoxMap ? llvm::PointerType::get(context, 0)
                    : word.kind == WordKind::Scalar ? ofParameter()
                                                    : b.getInt64Ty());
  }
  function_ = llvm::Function::Create(llvm::FunctionType::get(b.getVoidTy(), types, false),
                                     llvm::Function::ExternalLinkage, interface.name, module);
  function_->addFnAttr(llvm::Attribute::NoUnwind);
  words.declareKernel(*function_, interface.threads);
  if (const std::int32_t registers = kernel.attributes().registers; registers > 0)
    words.limitRegisters(*function_, registers);
  if (kernel.attributes().clusterBlocks() > 1)
    words.formClusters(*function_, kernel.attributes().cluster);
  if (const ir::Op *roles = ir::rolesOf(kernel))
    if (const std::int32_t blocks = roles->attrs<ir::RolesAttrs>().blocks; blocks > 0)
      words.fitBlocks(*function_, blocks);
  const bool mayHear = mayHearOfWrites(kernel);
  for (std::size_t i = 0; i < interface.words.size(); ++i) {
    const Word &word = interface.words[i];
    const auto number = static_cast<unsigned>(i);
    if (word.kind == WordKind::Observations) continue;
    function_->getArg(number)->setName(
        kernel.parameterName(static_cast<std::size_t>(word.parameter)));
    if (word.kind == WordKind::BoxMap)
      words.passByValue(*function_->getArg(number), BoxMap::kBytes, BoxMap::kAlignment);
    if (word.kind != WordKind::Pointer || !isOnlyRead(static_cast<std::size_t>(word.parameter)))
      continue;
    function_->addParamAttr(number, llvm::Attribute::NoAlias);
    // Of both, a code generator makes loads that no fence and no acquire reaches.
    if (!mayHear) function_->addParamAttr(number, llvm::Attribute::ReadOnly);
  }
}

void Emitter::decodeParameters(const KernelInterface &interface) {
  const auto extentFrom = [&](ir::ValueId view, Value *argument) -> Value * {
    constexpr bool kIsNotNegative = true;
    if (!assumptions.of(kernel, view).hasSmallExtents) return argument;
    Value *low = b.CreateTrunc(argument, b.getInt32Ty());
    return b.CreateZExt(low, b.getInt64Ty(), "", kIsNotNegative);
  };
  const auto extentOf = [&](analysis::ExtentOf which) -> Value *& {
    const auto parameter = static_cast<std::size_t>(which.parameter);
    ViewValues &view = views_.at(kernel.body().arguments[parameter]);
    return view.extents[static_cast<std::size_t>(which.axis)];
  };
  llvm::BasicBlock *const entry = newBlock("entry"), *const start = newBlock("start");
  finish_ = newBlock("finish");
  lines_.emplace(module, *function_, kernel.where());
  b.SetInsertPoint(entry);
  b.SetCurrentDebugLocation(lines_->at(kernel.where()));
  setThread(words.threadIndex(b));
  for (std::int32_t axis = 0; axis < 3; ++axis)
    blockIndex_[static_cast<std::size_t>(axis)] = words.blockIndex(b, axis);
  entryEnd_ = b.CreateBr(start);
  b.SetInsertPoint(entryEnd_);
  for (std::size_t i = 0; i < interface.words.size(); ++i) {
    const Word &word = interface.words[i];
    Value *const argument = function_->getArg(static_cast<unsigned>(i));
    if (word.kind == WordKind::Observations) {
      observations_ = argument;
      continue;
    }
    if (word.kind == WordKind::BoxMap) {
      mapArguments_.push_back(argument);
      continue;
    }
    const ir::ValueId parameter = kernel.body().arguments[static_cast<std::size_t>(word.parameter)];
    const ir::Type &of = type(parameter);
    if (word.kind == WordKind::Extent)
      views_[parameter].extents.push_back(extentFrom(parameter, argument));
    if (word.kind == WordKind::Stride) views_[parameter].strides.push_back(argument);
    if (word.kind == WordKind::Table) views_[parameter].data = argument;
    if (word.kind == WordKind::Pointer && of.isView()) views_[parameter].data = argument;
    if (word.kind == WordKind::Pointer && !of.isView()) define(parameter, {argument});
    if (word.kind == WordKind::Scalar && of.element() == ir::ElementKind::Bool)
      define(parameter, {b.CreateICmpNE(argument, b.getInt8(0))});
    else if (word.kind == WordKind::Scalar)
      define(parameter, {argument});
  }
  for (auto &[value, ring] : rings_) ring.start(*this);
  for (auto &[value, barriers] : barriers_) barriers.start(*this);
  for (const auto &[extent, first] : assumptions.equalExtents) extentOf(extent) = extentOf(first);
  b.SetInsertPoint(start);
}

namespace {

/// With how many ops a block goes on, up to its next effect of another kind, that copy into slots
/// or are in front of such a one.
std::size_t copiesAtHead(llvm::ArrayRef<std::unique_ptr<ir::Op>> ops) {
  std::size_t count = 0;
  for (std::size_t i = 0; i < ops.size(); ++i) {
    if (isRingCopy(*ops[i]))
      count = i + 1;
    else if (info(ops[i]->kind).effect != ir::Effect::Pure)
      break;
  }
  return count;
}

/// What of a block only its copies of boxes ask for: coordinates, and conditions. Copies through
/// pointers want their pointers where there are no masks, too.
std::set<const ir::Op *> madeForCopies(const ir::Block &block) {
  std::set<const ir::Op *> found;
  std::set<ir::ValueId> others; // what others ask for
  for (const auto &op : llvm::reverse(block.ops)) {
    if (op->kind == OpKind::RingCopyBox) continue;
    const bool isPure = info(op->kind).effect == ir::Effect::Pure && op->regions.empty();
    const auto isAsked = [&](ir::ValueId result) { return others.contains(result); };
    if (isPure && llvm::none_of(op->results, isAsked)) {
      found.insert(op.get());
      continue;
    }
    const auto ask = [&](const ir::Op &each) {
      others.insert(each.operands.begin(), each.operands.end());
    };
    ask(*op);
    for (const ir::Block &inner : op->regions) ir::walk(inner, ask);
  }
  return found;
}

} // namespace

void Emitter::setThread(Value *index) {
  thread_ = index;
  const auto lanes = static_cast<std::uint32_t>(kernel.threads().lanes);
  lane_ = b.CreateAnd(thread_, b.getInt32(lanes - 1));
  warp_ = b.CreateLShr(thread_, llvm::Log2_32(lanes));
  // Copies in lane order are told where the warp's begin: so that is computed once for all lanes.
  if (words.machine().asyncCopies.areInLaneOrder) warp_ = words.uniform(b, warp_);
}

/// To LLVM an assembly of nothing makes another number, i32, of which nothing is known.
llvm::CallInst *Emitter::renewed(Value *number) {
  constexpr bool kHasSideEffects = false;
  auto *type = llvm::FunctionType::get(b.getInt32Ty(), {b.getInt32Ty()}, false);
  const std::string constraints = ("=" + words.threadRegister() + ",0").str();
  return b.CreateCall(llvm::InlineAsm::get(type, "", constraints, kHasSideEffects), {number});
}

void Emitter::renewThread() {
  llvm::CallInst *again = renewed(thread_);
  const auto threads = static_cast<std::uint64_t>(ir::threadsInAll(kernel).count());
  constexpr unsigned kBits = 32;
  again->addRangeRetAttr({llvm::APInt(kBits, 0), llvm::APInt(kBits, threads)});
  setThread(again);
  threadParts_.clear();
  llvm::BasicBlock *const behind = newBlock("behind");
  entryEnd_ = b.CreateBr(behind);
  b.SetInsertPoint(behind);
}

/// What is made of it is made in each trip again. Only the outermost loop is looked at.
Value *Emitter::slotPart(const layout::LinearLayout &layout, std::int64_t unit) {
  Value *const part = threadPart(layout, unit);
  if (loops_.empty() || loops_.front().crowdedTrip == nullptr) return part;
  LoopFrame &crowded = loops_.front();
  const auto [found, isNew] = crowded.parts.try_emplace(part);
  if (!isNew) return found->second;
  const llvm::IRBuilderBase::InsertPointGuard guard(b);
  b.SetInsertPoint(crowded.crowdedTrip, crowded.crowdedTrip->getFirstInsertionPt());
  return found->second = renewed(part);
}

/// A loop's index for code that is hardly run: LLVM would keep numbers in step with it for that.
Value *Emitter::renewedIndex(Value *index) {
  if (auto *wide = llvm::dyn_cast<llvm::ZExtInst>(index); wide && wide->getSrcTy()->isIntegerTy(32))
    return widened(renewed(wide->getOperand(0)));
  return index->getType()->isIntegerTy(32) ? renewed(index) : index;
}

/// What only the code in front of a loop and behind it have in common, mostly of addresses, is not
/// kept in registers where these are few: some of it was spilled, or took room from other warps.
Emitter::Renewal Emitter::renewalOf(const ir::Op &loop) const {
  const machine::Machine &machine = words.machine();
  if (analysis::multipliesSums(kernel, loop) ||
      analysis::computesFromRegisters(kernel, loop, machine))
    return Renewal::BetweenAndBehind;
  return analysis::transposesBesideSums(kernel, loop, machine) ? Renewal::Behind : Renewal::Nowhere;
}

void Emitter::emitTrunk(const ir::Block &block) {
  for (const auto &op : block.ops) {
    if (op->kind == OpKind::Yield) break;
    renewal_ = op->kind == OpKind::For ? renewalOf(*op) : Renewal::Nowhere;
    emitInBlock(*op);
  }
}

void Emitter::emitBlock(const ir::Block &block) {
  llvm::ArrayRef ops(block.ops);
  const bool mayMask = whole_ && whole_->isWhole();
  const OpSet forCopies = mayMask ? madeForCopies(block) : OpSet();
  while (!ops.empty() && ops.front()->kind != OpKind::Yield) {
    const std::size_t copies = mayMask ? copiesAtHead(ops) : 0;
    ops = ops.drop_front(std::max<std::size_t>(copies, 1));
    const auto passed = llvm::ArrayRef(block.ops).drop_back(ops.size());
    if (copies > 0)
      emitCopies(passed, copies, forCopies);
    else if (!forCopies.contains(passed.back().get()))
      emitInBlock(*passed.back());
  }
}

/// The last ops of those from a trip's first on, which are copies and what they need: with one
/// branch for all of them to where they have no masks. What is made for copies alone is made where
/// there are masks.
void Emitter::emitCopies(llvm::ArrayRef<std::unique_ptr<ir::Op>> passed, std::size_t count,
                         const OpSet &forCopies) {
  const auto here = passed.take_back(count);
  const auto emitAll = [&] {
    for (const auto &op : here)
      if (isRingCopy(*op)) emitInBlock(*op);
  };
  const auto emitMasked = [&] {
    WholeCopies *const whole = std::exchange(whole_, nullptr);
    const ir::ValueId index = whole->index();
    const Registers now = registers(index);
    define(index, {renewedIndex(now[0])});
    for (const auto &op : passed)
      if (forCopies.contains(op.get())) emitInBlock(*op);
    emitAll();
    define(index, now);
    whole_ = whole;
  };
  for (const auto &op : here)
    if (!isRingCopy(*op) && !forCopies.contains(op.get())) emitInBlock(*op);
  branch(whole_->isWhole(), emitAll, emitMasked);
}

void Emitter::emitInBlock(const ir::Op &op) {
  b.SetCurrentDebugLocation(lines_->at(op.where));
  const std::int64_t before = shared.bytes();
  emitOp(op);
  if (shared.bytes() > before && op.regions.empty()) largestUse_ = op.where;
  if (&op != lastUseOfRings_) return;
  if (countsCopies()) {
    drainCopies(0); // of those that were not wanted
    waitBehindRings_ = &b.GetInsertBlock()->back();
  }
  shared.passRings();
}

Result<LoweredKernel> lowerKernel(const ir::Kernel &kernel, const Vocabulary &words,
                                  const analysis::Assumptions &assumptions,
                                  llvm::function_ref<std::unique_ptr<llvm::Module>()> newModule) {
  const machine::Machine &machine = words.machine();
  const std::int64_t limit = machine.sharedMemoryBytes, free = machine.staticSharedMemoryBytes;
  for (std::size_t turns = 2;; --turns) { // exchanges take turns in regions of shared memory
    LoweredKernel lowered{.module = newModule(), .interface = {}};
    Emitter emitter(*lowered.module, kernel, words, assumptions, turns);
    const auto overflow = [&](std::int64_t bytes) {
      return fail(Diag::SharedMemoryOverflow, emitter.largestUse(), bytes, machine.name, limit);
    };
    const std::int64_t passed = placesOf(emitter.signature().words).back();
    if (passed > machine.parameterBytes)
      return fail(Diag::ParametersOverflow, kernel.where(), kernel.name(), passed, machine.name,
                  machine.parameterBytes);
    if (emitter.shared.reservedBytes() > limit) return overflow(emitter.shared.reservedBytes());
    lowered.interface = emitter.run();
    const std::int64_t bytes = lowered.interface.sharedMemoryBytes;
    const bool isFreeWithOne = emitter.shared.leastBytes() <= free;
    if (turns > 1 && (bytes > limit || (bytes > free && isFreeWithOne))) continue;
    if (bytes > limit) return overflow(bytes);
    return lowered;
  }
}

} // namespace imbrex::lower
