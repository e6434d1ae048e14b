#include "backend/target/host/host_emitter.h"

#include "backend/support/check.h"
#include "backend/target/host/dot/dot.h"
#include "backend/target/host/nest/body.h"
#include "backend/target/host/nest/control_flow.h"

#include <algorithm>

namespace imbrex::host {

using ir::ElementKind;
using llvm::Value;

namespace {

// A tile of so few bytes may live in registers: LLVM breaks up an alloca of its own accord.
constexpr std::int64_t kRegisterBytes = 256;
constexpr std::uint64_t kScratchAlignment = 64;

} // namespace

HostEmitter::HostEmitter(llvm::Module &into, const ir::Kernel &theKernel, const LoopPlan &thePlan,
                         const LaunchTraits &theTraits, const HostMachine &machine)
    : context(into.getContext()), module(into), builder(into.getContext()), kernel(theKernel),
      plan(thePlan), traits(theTraits), unit(machine.vectors), natives(nativesOf(machine)),
      i1(llvm::Type::getInt1Ty(context)), i8(llvm::Type::getInt8Ty(context)),
      i16(llvm::Type::getInt16Ty(context)), i32(llvm::Type::getInt32Ty(context)),
      i64(llvm::Type::getInt64Ty(context)), f32(llvm::Type::getFloatTy(context)),
      f64(llvm::Type::getDoubleTy(context)), pointer(llvm::PointerType::get(context, 0)),
      scalars_(kernel.valueCount()), views_(kernel.valueCount()), ready_(kernel.valueCount()),
      buffers_(plan.buffers.size()), scratchBytes_(plan.scratchBytes) {}

llvm::Type *HostEmitter::laneType(const ir::Type &type) { return lower::laneType(context, type); }

llvm::Type *HostEmitter::memoryType(const ir::Type &type) {
  llvm::Type *lane = laneType(type);
  return lane == i1 ? i8 : lane;
}

Value *HostEmitter::scalar(ir::ValueId value) { return scalars_[value.index()]; }

llvm::AllocaInst *HostEmitter::newVariable(llvm::Type *type, const llvm::Twine &name) {
  llvm::IRBuilder<> entry(variables_);
  return entry.CreateAlloca(type, nullptr, name);
}

void HostEmitter::storeAroundCaches(Value *data, Value *address, std::int64_t alignment) {
  const llvm::Align aligned(static_cast<std::uint64_t>(alignment));
  llvm::StoreInst *store = builder.CreateAlignedStore(data, address, aligned);
  store->setMetadata(
      llvm::LLVMContext::MD_nontemporal,
      llvm::MDNode::get(context, llvm::ConstantAsMetadata::get(builder.getInt32(1))));
  storesAroundCaches_ = true;
}

void HostEmitter::useAmx() {
  if (usesAmx_) return;
  llvm::IRBuilder<> entry(variables_);
  emitAmxStart(entry);
  usesAmx_ = true;
}

llvm::BasicBlock *HostEmitter::newBlock(const llvm::Twine &name) {
  return llvm::BasicBlock::Create(context, name, function_);
}

Value *HostEmitter::bufferAddress(BufferId buffer) {
  Value *&address = buffers_[buffer.index()];
  if (address) return address;
  const ScratchTile &planned = plan.buffers[buffer.index()];
  llvm::IRBuilder<> entry(variables_);
  if (planned.bytes <= kRegisterBytes) {
    auto *variable = entry.CreateAlloca(
        llvm::ArrayType::get(i8, static_cast<std::uint64_t>(planned.bytes)), nullptr, "small");
    variable->setAlignment(llvm::Align(kScratchAlignment));
    address = variable;
  } else {
    address = entry.CreateConstGEP1_64(i8, scratch_, static_cast<std::uint64_t>(planned.offset));
  }
  return address;
}

std::uint64_t HostEmitter::takeScratch(std::int64_t bytes) {
  const std::int64_t offset = scratchBytes_;
  scratchBytes_ += static_cast<std::int64_t>(
      llvm::alignTo<kScratchAlignment>(static_cast<std::uint64_t>(bytes)));
  return static_cast<std::uint64_t>(offset);
}

Value *HostEmitter::scratch(std::int64_t bytes) {
  return builder.CreateConstGEP1_64(i8, scratch_, takeScratch(bytes));
}

Value *HostEmitter::placesPerRange(std::int64_t count) {
  constexpr std::int64_t kAtOnce = 8;
  const std::int64_t parts = (count + kAtOnce - 1) / kAtOnce;
  llvm::IRBuilder<> entry(variables_);
  Value *words = entry.CreateConstGEP1_64(
      i8, scratch_, takeScratch(parts * kAtOnce * std::int64_t{sizeof(std::int64_t)}));
  llvm::Constant *most =
      llvm::ConstantVector::getSplat(llvm::ElementCount::getFixed(kAtOnce), index(kNoPlace));
  for (std::int64_t part = 0; part < parts; ++part) {
    Value *to = entry.CreateConstGEP1_64(most->getType(), words, static_cast<std::uint64_t>(part));
    entry.CreateAlignedStore(most, to, llvm::Align(kScratchAlignment));
  }
  return words;
}

llvm::AllocaInst *HostEmitter::newCounter() {
  llvm::AllocaInst *counter = newVariable(i64);
  llvm::IRBuilder<>(variables_).CreateStore(index(0), counter);
  return counter;
}

llvm::FunctionCallee HostEmitter::runtimeFunction(llvm::StringRef name, llvm::Type *result,
                                                  llvm::ArrayRef<llvm::Type *> parameters) {
  return module.getOrInsertFunction(name, llvm::FunctionType::get(result, parameters, false));
}

Value *HostEmitter::site(const ir::Op &op) {
  lower::ObservationSite site{&op, {}};
  for (const ir::ValueId operand : op.operands) site.types.push_back(type(operand));
  sites_.push_back(std::move(site));
  return llvm::ConstantInt::get(i32, sites_.size() - 1);
}

void HostEmitter::emitLoop(std::int64_t trips, const std::function<void(Value *)> &body) {
  if (trips == 1) return body(index(0));
  emitCountedLoop(builder, index(trips), 1, {}, [&](Value *i, auto) {
    body(i);
    return Carried();
  });
}

/// Write one element everywhere.
void HostEmitter::emitFill(BufferId buffer, llvm::Constant *element) {
  const ScratchTile &planned = plan.buffers[buffer.index()];
  Value *address = bufferAddress(buffer);
  llvm::Constant *stored = element;
  if (element->getType() == i1) stored = llvm::ConstantInt::get(i8, element->isOneValue() ? 1 : 0);
  const std::int64_t bytes = scratchElementBytes(planned.type);
  const std::int64_t lanes = std::max<std::int64_t>(1, unit.bits / 8 / bytes);
  const std::int64_t elements = planned.bytes / bytes;
  const auto at = [&](Value *i) { return builder.CreateGEP(stored->getType(), address, i); };
  const llvm::Align alignment(static_cast<std::uint64_t>(bytes));
  if (elements >= lanes) {
    auto *vector = llvm::ConstantVector::getSplat(
        llvm::ElementCount::getFixed(static_cast<unsigned>(lanes)), stored);
    emitLoop(elements / lanes, [&](Value *i) {
      builder.CreateAlignedStore(vector, at(builder.CreateMul(i, index(lanes))), alignment);
    });
  }
  if (elements % lanes != 0)
    emitLoop(elements % lanes, [&](Value *i) {
      Value *element_ = builder.CreateAdd(i, index(elements / lanes * lanes));
      builder.CreateAlignedStore(stored, at(element_), alignment);
    });
}

// --- the function ---

void HostEmitter::decodeArguments() {
  Value *words = function_->getArg(0);
  std::size_t next = 0;
  const auto word = [&] {
    return builder.CreateLoad(i64, builder.CreateConstGEP1_64(i64, words, next++));
  };
  for (size_t i = 0; i < kernel.parameterCount(); ++i) {
    const ir::ValueId parameter = kernel.body().arguments[i];
    const ir::Type &parameterType = type(parameter);
    if (parameterType.hasExtents()) {
      ViewValues &view = views_[parameter.index()];
      view.data = word();
      for (std::int32_t axis = 0; axis < parameterType.rank(); ++axis)
        view.extents.push_back(word());
      if (parameterType.isTable()) continue;
      for (std::int32_t axis = 0; axis < parameterType.rank(); ++axis)
        view.strides.push_back(word());
      if (traits.hasUnitStride(i)) view.strides.back() = index(1);
      continue;
    }
    Value *bits = word();
    llvm::Type *lane = laneType(parameterType);
    if (lane != i64)
      bits =
          builder.CreateTrunc(bits, llvm::IntegerType::get(context, lane->getScalarSizeInBits()));
    scalars_[parameter.index()] = builder.CreateBitCast(bits, lane);
  }
  ir::walk(kernel.body(), [&](const ir::Op &op) {
    if (op.kind == ir::OpKind::ViewBytes)
      views_[op.result().index()] = lower::viewOfBytes(builder, view(op.operand(0)));
  });
}

/// for block = first … last: its indices along x, y and z, then the kernel's body.
void HostEmitter::emitEntry(const std::string &name) {
  auto *functionType = llvm::FunctionType::get(
      llvm::Type::getVoidTy(context), {pointer, pointer, i64, i64, pointer, pointer}, false);
  function_ = llvm::Function::Create(functionType, llvm::Function::ExternalLinkage, name, module);
  function_->addFnAttr(llvm::Attribute::NoUnwind);
  scratch_ = function_->getArg(4);
  launch_ = function_->getArg(5);
  llvm::BasicBlock *entry = newBlock("entry"), *start = newBlock("start");
  builder.SetInsertPoint(entry);
  variables_ = builder.CreateBr(start);
  builder.SetInsertPoint(start);
  decodeArguments();
  for (size_t axis = 0; axis < 3; ++axis)
    gridExtent_[axis] =
        builder.CreateLoad(i32, builder.CreateConstGEP1_64(i32, function_->getArg(1), axis));
  emitBlockLoop();
}

void HostEmitter::emitBlockLoop() {
  llvm::BasicBlock *before = builder.GetInsertBlock(), *loop = newBlock("block");
  nextBlock_ = newBlock("block.next");
  stopBlock_ = newBlock("done");
  builder.CreateBr(loop);
  builder.SetInsertPoint(loop);
  llvm::PHINode *block = builder.CreatePHI(i64, 2);
  block->addIncoming(function_->getArg(2), before);
  Value *width = builder.CreateZExt(gridExtent_[0], i64);
  Value *height = builder.CreateZExt(gridExtent_[1], i64);
  Value *row = builder.CreateUDiv(block, width);
  const auto narrow = [&](Value *x) { return builder.CreateTrunc(x, i32); };
  programId_[0] = narrow(builder.CreateURem(block, width));
  programId_[1] = narrow(builder.CreateURem(row, height));
  programId_[2] = narrow(builder.CreateUDiv(row, height));
  emitBlock(kernel.body());
  builder.CreateBr(nextBlock_);

  builder.SetInsertPoint(nextBlock_);
  Value *next = builder.CreateNUWAdd(block, index(1));
  block->addIncoming(next, nextBlock_);
  builder.CreateCondBr(builder.CreateICmpULT(next, function_->getArg(3)), loop, stopBlock_);
  builder.SetInsertPoint(stopBlock_);
  if (usesAmx_) emitAmxEnd(builder);
  // Such stores are not in order with the others by which a thread says that it is done.
  if (storesAroundCaches_) builder.CreateFence(llvm::AtomicOrdering::SequentiallyConsistent);
  builder.CreateRetVoid();
}

void HostEmitter::emitBlock(const ir::Block &block) { emitSteps(plan.steps.at(&block)); }

void HostEmitter::emitSteps(llvm::ArrayRef<Step> steps) {
  for (const Step &step : steps) {
    switch (step.kind) {
    case Step::Kind::Scalar: emitScalar(*step.op); break;
    case Step::Kind::Nest: step.storedBy ? emitUnlessStored(step) : emitNest(step.nest); break;
    case Step::Kind::Whole: emitWhole(step); break;
    case Step::Kind::Control: emitControl(step); break;
    }
  }
}

/// A scalar op is a body with no loop around it and one lane.
void HostEmitter::emitScalar(const ir::Op &op) {
  Body body(*this, 1);
  const PointId nowhere = body.intern({});
  if (op.kind == ir::OpKind::Store) return body.prepareStore(op, nowhere)();
  for (const ir::ValueId result : op.results)
    if (type(result).rank() == 0) setScalar(result, body.read(result, nowhere).value);
}

} // namespace imbrex::host
