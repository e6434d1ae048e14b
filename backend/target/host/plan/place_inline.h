#pragma once

#include "backend/target/host/launch_traits.h"
#include "backend/target/host/plan/loop_plan.h"
#include "backend/target/host/plan/pulled_points.h"

#include <map>
#include <set>
#include <vector>

namespace imbrex::host {

/// The steps of one block while they are made. Steps are numbered from 1.
struct BlockSteps {
  std::vector<Step> steps;
  std::vector<std::size_t> written; // by step: the order of the last op that writes, or 0
  std::map<std::int32_t, std::vector<Step>> before; // steps to put in front of a step
  std::map<const ir::Op *, std::size_t> order;      // of the block's ops, from 1
  std::set<ir::ValueId> local;                      // defined in the block, or its arguments

  std::int32_t count() const { return static_cast<std::int32_t>(steps.size()); }
  Step &operator[](std::int32_t number) { return steps[static_cast<std::size_t>(number - 1)]; }
};

/// Once a block's nests are known: which inline values are kept after all, in nests that are there
/// or in new ones in front of steps. Blocks come before those inside them.
class InlinePlacement {
public:
  InlinePlacement(const ir::Kernel &kernel, const LaunchTraits &traits,
                  llvm::ArrayRef<std::int32_t> uses, LoopPlan &plan)
      : kernel_(kernel), traits_(traits), uses_(uses), plan_(plan), depth_(kernel.valueCount(), 0),
        points_(kernel) {}

  void placeIn(const ir::Block &block, BlockSteps &steps);

private:
  void noteUses(const Step &step, std::int32_t number);
  void noteUse(ir::ValueId value, std::int32_t step, bool needsBuffer = false);
  void noteOperands(const ir::Op &op, std::int32_t step);
  void measureDepth(const ir::Op &op);
  std::pair<Nest *, NestNumber> nestToJoin(ir::ValueId value, std::int32_t first);
  void place(const ir::Op &op);
  bool isDear(ir::ValueId value, bool isCaptured) const;
  bool isRepeated(ir::ValueId value) const;
  bool isMoved(const ir::Op &load, ir::ValueId value) const;
  bool isMovedIn(const Nest &nest, const ir::Op &load) const;
  std::int32_t firstWriteAfter(const ir::Op &op, const std::set<std::int32_t> &uses) const;
  Nest nestKeeping(ir::ValueId value);
  NestNumber noteKept(ir::ValueId value, std::int32_t step);
  NestNumber keepBefore(ir::ValueId value, std::int32_t step);
  bool isReadByProduct(const MatrixBox &box, std::int32_t step) const;
  bool readByProduct(ir::ValueId factor, std::int32_t step);
  void keepFor(const ir::Op &op, ir::ValueId result, std::int32_t first);
  void computeInline(const ir::Op &op, ir::ValueId result, const std::set<std::int32_t> &uses);
  void keepInPart(const ir::Op &op, ir::ValueId result, std::int32_t step);

  const ir::Kernel &kernel_;
  const LaunchTraits &traits_;
  const llvm::ArrayRef<std::int32_t> uses_; // by value
  LoopPlan &plan_;
  BlockSteps *steps_ = nullptr;     // of the block that is looked at
  std::vector<std::int32_t> depth_; // of a value: ops on the longest inline chain that ends in it
  std::map<ir::ValueId, std::set<std::int32_t>> usedBy_; // steps of the block
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
  std::map<ir::ValueId, std::set<std::size_t>> partsUsing_; // of the block
  PulledPoints points_;        // of the block; nests are numbered as steps are
  NestNumber nestsBefore_ = 0; // in front of steps; their numbers come after those
};

} // namespace imbrex::host
