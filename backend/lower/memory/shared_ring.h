#pragma once

#include "backend/analysis/ring_copies.h"
#include "backend/ir/kernel.h"
#include "backend/layout/box_layout.h"
#include "backend/machine/machine.h"
#include "llvm/IR/Instructions.h"

#include <cstdint>
#include <optional>

namespace imbrex::lower {

class Emitter;

/// A ring in shared memory. Where its next slot is to be filled and its oldest to be read, each
/// thread keeps in a variable, as the distance from the ring's first byte: it lives as long as the
/// kernel, through all loops, and LLVM makes a register of it.
class SharedRing {
public:
  /// Reserves the memory for a `ring.new`, in an emitter that has not begun.
  SharedRing(Emitter &emitter, const ir::Op &op);
  /// Its slots are read right behind those of another one, at the same places
  /// (analysis/rings_in_step.h).
  void follow(const SharedRing &other) { leader_ = &other; }
  /// Emit the variables, where they reach all code.
  void start(Emitter &emitter);

  /// The address of the slot to be filled; the next to be filled is the one behind it.
  llvm::Value *fill(Emitter &emitter);
  /// The same as a distance from `base`, of a slot that is filled only where the condition holds
  /// (null: always).
  llvm::Value *fillIf(Emitter &emitter, llvm::Value *condition);
  /// Where a copy of this warp in lane order goes that is not wanted: one place for all rings.
  llvm::Value *unread(Emitter &emitter) const;
  llvm::Value *base() const { return base_; }
  /// The address of the oldest slot that was not read; the next to be read is the one behind it.
  llvm::Value *take(Emitter &emitter);

  /// Whether the next slot to be filled and the oldest are those of these numbers.
  llvm::Value *isAt(Emitter &emitter, std::int64_t filled, std::int64_t taken);
  /// The same is known of the code that is emitted from here on, which goes around the ring any
  /// number of times, until `forget`. So slots are constants there.
  void know(std::int64_t filled, std::int64_t taken) { known_ = {filled, taken}; }
  void forget() { known_.reset(); }

  /// From register, lane, warp of what fills a slot to the offset in it, in elements.
  const layout::LinearLayout &writeOffsets() const { return writeOffsets_; }
  /// The copies by which the threads fill a slot.
  const analysis::RingCopies &copies() const { return copies_; }
  /// The boxes by which the engine does; of a ring that is made for it.
  const layout::BoxLayout &boxes() const { return *boxes_; }

private:
  layout::LinearLayout unreadSlots(const layout::LinearLayout &write, ir::ElementKind element,
                                   const machine::Machine &machine) const;
  llvm::Value *nextTaken(Emitter &emitter) const;

  std::int64_t slotBytes_, slots_;
  std::int64_t ofWarp_ = 0; // bytes of one copy of a warp, in lane order
  llvm::Value *unread_ = nullptr;
  llvm::Value *base_;
  analysis::RingCopies copies_;
  std::optional<layout::BoxLayout> boxes_;
  layout::LinearLayout writeOffsets_;
  const SharedRing *leader_ = nullptr;
  llvm::AllocaInst *filled_ = nullptr, *taken_ = nullptr;
  llvm::AllocaInst *takenLast_ = nullptr; // to which a follower comes
  struct Places {
    std::int64_t filled, taken;
  };
  std::optional<Places> known_;
};

/// Barriers in shared memory that count phases, one for each slot. Which one is to be arrived at
/// next, and which waited for and by what parity, each thread keeps as a ring does.
class Barriers {
public:
  /// Reserves the memory for a `barrier.new`, in an emitter that has not begun.
  Barriers(Emitter &emitter, const ir::Op &op);
  /// Emit the variables, where they reach all code.
  void start(Emitter &emitter);
  /// Emit the making of all barriers, by one thread.
  void make(Emitter &emitter) const;

  /// The address of the barrier to be arrived at; the next one is that behind it.
  llvm::Value *arriveAt(Emitter &emitter);
  /// The one that was arrived at last.
  llvm::Value *arrivedAt(Emitter &emitter);
  /// Wait for the phase to be waited for, or for the one before it; go on to the next.
  void await(Emitter &emitter, bool isBefore);

private:
  std::int64_t slots_;
  std::int32_t arrivals_;
  llvm::Value *base_;
  llvm::AllocaInst *arrives_ = nullptr, *arrived_ = nullptr, *awaits_ = nullptr, *parity_ = nullptr;
};

} // namespace imbrex::lower
