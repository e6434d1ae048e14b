#pragma once

#include "backend/target/host/plan/loop_plan.h"
#include "backend/target/host/plan/pulled_points.h"

#include <map>
#include <set>
#include <vector>

namespace imbrex::host {

/// A tile, not a scalar or a view.
bool isTile(const ir::Kernel &kernel, ir::ValueId value);
/// Whether the op reads this operand as a whole tile in memory.
bool takesBuffer(const ir::Kernel &kernel, const ir::Op &op, size_t operand);

/// Makes a plan: first the steps of a block in order (loop_plan.cpp), then what of the values
/// between them is kept (place_inline.cpp), then the bodies inside.
class Planner {
public:
  Planner(const ir::Kernel &kernel, const LaunchTraits &traits)
      : kernel_(kernel), traits_(traits), uses_(countUses(kernel)), points_(kernel) {
    plan_.bufferOf.resize(kernel.valueCount());
    level_.resize(kernel.valueCount(), 0);
    depth_.resize(kernel.valueCount(), 0);
  }

  LoopPlan run() {
    planBlock(kernel_.body(), {});
    assignOffsets();
    return std::move(plan_);
  }

private:
  /// The steps of one block while they are made. Steps are numbered from 1; a value's level is the
  /// last step that must be over before it can be computed.
  struct BlockState {
    std::vector<Step> steps;
    std::vector<std::size_t> written; // by step: the order of the last op that writes, or 0
    std::int32_t open = 0;            // the number of the nest that roots may join; 0: none
    std::int32_t lastStore = 0;       // the last step that stores
    std::map<std::int32_t, std::vector<Step>> before; // steps to put in front of a step
  };

  void planBlock(const ir::Block &block, llvm::ArrayRef<ir::ValueId> targets);
  void planOp(const ir::Op &op);
  void planReduce(const ir::Op &op);
  void planStore(const ir::Op &op);
  void planWhole(const ir::Op &op);
  void planAccumulator(const ir::Op &op);
  void planLoopEntry(const ir::Op &op);
  void planRegions(const ir::Op &op);
  std::vector<Step> transfer(llvm::ArrayRef<ir::ValueId> values,
                             llvm::ArrayRef<ir::ValueId> targets);
  bool readsKept(const ir::Op &op) const;
  void transferInto(llvm::ArrayRef<ir::ValueId> values, llvm::ArrayRef<ir::ValueId> targets);

  void addRoot(const ir::Shape &space, Root root, std::int32_t level);
  void addStep(Step step);
  void close() { state_->open = 0; }
  std::int32_t stepCount() const { return static_cast<std::int32_t>(state_->steps.size()); }
  std::int32_t levelOf(llvm::ArrayRef<ir::ValueId> values) const;
  void giveBuffer(ir::ValueId value) {
    if (isTile(kernel_, value) && !plan_.isKept(value))
      plan_.bufferOf[value.index()] = plan_.newBuffer(kernel_.type(value));
  }
  bool conflictsInNest(const Nest &nest, const ir::Op &store) const;
  void planLoad(const ir::Op &op);

  void placeInline(const ir::Block &block);
  void noteUses(const Step &step, std::int32_t number);
  void noteUse(ir::ValueId value, std::int32_t step, bool needsBuffer = false);
  void noteOperands(const ir::Op &op, std::int32_t step);
  void measureDepth(const ir::Op &op);
  std::pair<Nest *, NestNumber> nestToJoin(ir::ValueId value, std::int32_t first);
  void place(const ir::Op &op, size_t order);
  bool isDear(ir::ValueId value, bool isCaptured) const;
  bool isRepeated(ir::ValueId value) const;
  bool isMoved(const ir::Op &load, ir::ValueId value) const;
  bool isMovedIn(const Nest &nest, const ir::Op &load) const;
  std::int32_t firstWriteAfter(const ir::Op &op, size_t order,
                               const std::set<std::int32_t> &uses) const;
  Nest nestKeeping(ir::ValueId value);
  NestNumber noteKept(ir::ValueId value, std::int32_t step);
  NestNumber keepBefore(ir::ValueId value, std::int32_t step);
  bool isReadByProduct(const ir::Op &op, std::int32_t step) const;
  void readByProduct(ir::ValueId box, std::int32_t step);
  void keepFor(const ir::Op &op, ir::ValueId result, std::int32_t first);
  void computeInline(const ir::Op &op, ir::ValueId result, const std::set<std::int32_t> &uses);
  void keepInPart(const ir::Op &op, ir::ValueId result, std::int32_t step);
  void assignOffsets();

  const ir::Kernel &kernel_;
  const LaunchTraits &traits_;
  std::vector<std::int32_t> uses_;
  std::vector<std::int32_t> level_;
  std::vector<std::int32_t> depth_; // of a value: ops on the longest inline chain that ends in it
  std::map<const ir::Op *, size_t> order_;
  std::map<ir::ValueId, std::set<std::int32_t>> usedBy_; // steps of the block being planned
  std::set<ir::ValueId> needBuffer_; // read by an op that takes whole tiles from memory
  std::set<ir::ValueId> captured_;   // used inside a body
  std::set<ir::ValueId> endChain_;   // kept so that no inline chain is longer
  /// The nest in front of a step that computes a chain: its place from the end of those there.
  struct Part {
    std::int32_t step;
    std::size_t fromEnd;
    NestNumber number;
  };
  std::vector<Part> parts_;                                 // numbered from 1; 0: the step itself
  std::map<ir::ValueId, std::set<std::size_t>> partsUsing_; // of the block being planned
  PulledPoints points_;        // of the block being planned; nests are numbered as steps are
  NestNumber nestsBefore_ = 0; // in front of steps; their numbers come after those
  std::vector<const ir::Op *> loops_;
  std::set<ir::ValueId> local_; // defined in the block being planned, or its arguments
  LoopPlan plan_;
  BlockState *state_ = nullptr;
};

} // namespace imbrex::host
