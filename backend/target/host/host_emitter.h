#pragma once

#include "backend/ir/kernel.h"
#include "backend/lower/kernel_interface.h"
#include "backend/lower/memory/view_values.h"
#include "backend/support/diagnostics.h"
#include "backend/target/host/arithmetic.h"
#include "backend/target/host/nest/lanes.h"
#include "backend/target/host/plan/loop_plan.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/Module.h"

#include <functional>
#include <limits>
#include <vector>

/// LLVM IR for one kernel: what every part of code generation shares.
namespace imbrex::host {

using lower::ViewValues;

class HostEmitter {
public:
  HostEmitter(llvm::Module &module, const ir::Kernel &kernel, const LoopPlan &plan,
              const LaunchTraits &traits, const HostMachine &machine);

  /// `void entry(const u64 *words, const i32 *grid, i64 first, i64 last, i8 *scratch, i8 *launch)`:
  /// run the blocks with these numbers.
  void emitEntry(const std::string &name);
  std::vector<lower::ObservationSite> takeSites() { return std::move(sites_); }
  std::int64_t totalScratchBytes() const { return scratchBytes_; }

  // --- what the parts share ---
  llvm::LLVMContext &context;
  llvm::Module &module;
  llvm::IRBuilder<> builder;
  const ir::Kernel &kernel;
  const LoopPlan &plan;
  const LaunchTraits &traits;
  const VectorUnit unit;
  const lower::NativeInstructions natives;

  const ir::Type &type(ir::ValueId value) const { return kernel.type(value); }
  llvm::Type *laneType(const ir::Type &type);
  llvm::Type *memoryType(const ir::Type &type);
  llvm::Constant *index(std::int64_t value) { return llvm::ConstantInt::getSigned(i64, value); }

  llvm::Value *scalar(ir::ValueId value);
  void setScalar(ir::ValueId value, llvm::Value *to) { scalars_[value.index()] = to; }
  const ViewValues &view(ir::ValueId value) const { return views_[value.index()]; }
  bool isReady(ir::ValueId value) const { return ready_[value.index()]; }
  void setReady(ir::ValueId value) { ready_[value.index()] = true; }
  llvm::Value *bufferAddress(BufferId buffer);
  llvm::Value *programId(std::int32_t axis) { return programId_[static_cast<size_t>(axis)]; }
  llvm::Value *gridExtent(std::int32_t axis) { return gridExtent_[static_cast<size_t>(axis)]; }
  llvm::Value *launch() { return launch_; }
  /// A block that ends the whole launch, not only this block of the grid.
  llvm::BasicBlock *stopBlock() { return stopBlock_; }

  /// For products in AMX's tiles.
  void useAmx();
  void storeAroundCaches(llvm::Value *data, llvm::Value *address, std::int64_t alignment);
  llvm::AllocaInst *newVariable(llvm::Type *type, const llvm::Twine &name = "");
  llvm::BasicBlock *newBlock(const llvm::Twine &name);
  /// Scratch that only the code being emitted now uses; 64-byte aligned.
  llvm::Value *scratch(std::int64_t bytes);
  /// Such scratch of i64 that are kNoPlace, where no box begins, when a range of blocks begins.
  llvm::Value *placesPerRange(std::int64_t count);
  static constexpr std::int64_t kNoPlace = std::numeric_limits<std::int64_t>::max();
  /// A variable that is 0 when a range of blocks begins.
  llvm::AllocaInst *newCounter();
  /// The innermost loop around the code being emitted: whether it is a `for`, its trip from 0 on.
  bool isInFor() const { return !loops_.empty() && loops_.back().trip != nullptr; }
  llvm::Value *trip() const { return loops_.back().trip; }
  llvm::Value *isLastTrip();
  llvm::FunctionCallee runtimeFunction(llvm::StringRef name, llvm::Type *result,
                                       llvm::ArrayRef<llvm::Type *> parameters);
  llvm::Value *site(const ir::Op &op);

  void emitBlock(const ir::Block &block);
  void emitSteps(llvm::ArrayRef<Step> steps);
  void emitNest(const Nest &nest);
  void emitWhole(const Step &step);   // emit_whole.cpp
  void emitControl(const Step &step); // emit_control.cpp
  void emitScalar(const ir::Op &op);
  /// `for (i = 0; i < trips; ++i) body(i)`, trips a constant from 1.
  void emitLoop(std::int64_t trips, const std::function<void(llvm::Value *)> &body);
  /// Write one element, of the buffer's lane type, to all of a buffer.
  void emitFill(BufferId buffer, llvm::Constant *element);

  llvm::Type *const i1, *const i8, *const i16, *const i32, *const i64, *const f32, *const f64;
  llvm::PointerType *const pointer;

private:
  /// The loop around the code being emitted: where its carried scalars live (null for a tile, which
  /// has a buffer), and where break_if goes.
  struct LoopFrame {
    const ir::Op *op;
    llvm::SmallVector<llvm::AllocaInst *, 4> carried;
    llvm::BasicBlock *exit;
    llvm::Value *trip = nullptr, *trips = nullptr; // of a `for`
  };
  void emitFor(const Step &step);
  void emitWhile(const ir::Op &op);
  void emitIf(const ir::Op &op);
  void emitUnlessStored(const Step &step);
  void emitBreakIf(const ir::Op &op);
  LoopFrame enterLoop(const ir::Op &op, size_t firstInitial, size_t firstArgument);
  void leaveLoop(const ir::Op &op, const LoopFrame &frame);
  void readCarried(const ir::Op &op, const LoopFrame &frame, size_t firstArgument);
  void writeCarried(const LoopFrame &frame, llvm::ArrayRef<ir::ValueId> values);
  llvm::Value *tripCount(const ir::Op &op);

  void decodeArguments();
  void emitBlockLoop();
  std::uint64_t takeScratch(std::int64_t bytes); // where it is from the scratch's start

  std::vector<llvm::Value *> scalars_;
  std::vector<ViewValues> views_;
  std::vector<bool> ready_;
  std::vector<llvm::Value *> buffers_;
  std::vector<lower::ObservationSite> sites_;
  std::int64_t scratchBytes_;
  llvm::Function *function_ = nullptr;
  llvm::Value *programId_[3] = {}, *gridExtent_[3] = {};
  llvm::Value *scratch_ = nullptr, *launch_ = nullptr;
  llvm::Instruction *variables_ = nullptr; // allocas go before it
  llvm::BasicBlock *nextBlock_ = nullptr;  // where exit_if goes
  llvm::BasicBlock *stopBlock_ = nullptr;
  bool storesAroundCaches_ = false;
  bool usesAmx_ = false;
  std::vector<LoopFrame> loops_;
};

} // namespace imbrex::host
