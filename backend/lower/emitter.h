#pragma once

#include "backend/analysis/axis_info.h"
#include "backend/analysis/non_negative.h"
#include "backend/analysis/staged_tiles.h"
#include "backend/analysis/whole_trips.h"
#include "backend/ir/kernel.h"
#include "backend/layout/vector_width.h"
#include "backend/lower/kernel_interface.h"
#include "backend/lower/memory/memory_order.h"
#include "backend/lower/memory/shared_memory.h"
#include "backend/lower/memory/shared_ring.h"
#include "backend/lower/memory/unseen_padding.h"
#include "backend/lower/memory/view_values.h"
#include "backend/lower/ops/phis.h"
#include "backend/lower/source_lines.h"
#include "backend/lower/values/arithmetic.h"
#include "backend/lower/vocabulary.h"
#include "llvm/IR/Module.h"

#include <array>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <vector>

/// The code of one thread. A tile of rank 1 or more is as many LLVM values as its layout has
/// registers; a scalar is one value, which every thread of the block computes alike. Loops and
/// branches of the kernel are those of every thread, since their conditions are scalars.
namespace imbrex::lower {

/// The product of a matrix's columns (layout::LinearLayout) with an i32.
llvm::Value *applyColumns(llvm::IRBuilder<> &builder, llvm::ArrayRef<layout::Bits> columns,
                          llvm::Value *index);

struct RingTurn;
class WholeCopies;

class Emitter {
public:
  /// `regions`: of shared memory.
  Emitter(llvm::Module &module, const ir::Kernel &kernel, const Vocabulary &words,
          const analysis::Assumptions &assumptions, std::size_t regions);

  /// What launches pass, and to how many threads; the rest `run` finds.
  KernelInterface signature();
  KernelInterface run();
  /// The op that made shared memory as large as it is.
  Location largestUse() const { return largestUse_; }

  // --- what the parts share ---
  llvm::LLVMContext &context;
  llvm::Module &module;
  llvm::IRBuilder<> b;
  const ir::Kernel &kernel;
  const Vocabulary &words;
  const NativeInstructions natives;
  const analysis::Assumptions &assumptions;
  SharedMemory shared;
  MemoryOrder order;
  const UnseenPadding unseenPadding;
  const analysis::NonNegative nonNegative;
  const std::set<ir::ValueId> stagedTiles;

  // --- values ---
  const ir::Type &type(ir::ValueId value) const { return kernel.type(value); }
  /// An element in a register; of a tile of pointers: a pointer to global memory.
  llvm::Type *laneType(const ir::Type &type);
  /// As an element lies in memory: a bool takes a byte.
  llvm::Type *memoryType(llvm::Type *lane) { return lane->isIntegerTy(1) ? b.getInt8Ty() : lane; }
  llvm::Type *memoryType(const ir::Type &type) { return memoryType(laneType(type)); }
  std::int64_t bytesInMemory(llvm::Type *lane) {
    const llvm::TypeSize bytes = module.getDataLayout().getTypeAllocSize(memoryType(lane));
    return static_cast<std::int64_t>(bytes.getFixedValue());
  }
  const Registers &registers(ir::ValueId value) const { return values_[value.index()]; }
  llvm::Value *scalar(ir::ValueId value) const { return values_[value.index()][0]; }
  void define(ir::ValueId value, Registers registers);
  /// How often a value is an operand.
  std::int32_t uses(ir::ValueId value) const { return uses_[value.index()]; }
  const ViewValues &view(ir::ValueId value) const { return views_.at(value); }

  // --- threads and elements ---
  /// Of a tile of rank 1 or more.
  const layout::LinearLayout &layoutOf(ir::ValueId value) const {
    return kernel.layout(kernel.layoutOf(value));
  }
  /// 1 for a scalar.
  std::size_t registerCount(ir::ValueId value) const;
  llvm::Value *thread() { return thread_; } ///< i32: in the block.
  llvm::Value *lane() { return lane_; }
  llvm::Value *warp() { return warp_; }
  llvm::Value *blockIndex(std::int32_t axis) { return blockIndex_[static_cast<std::size_t>(axis)]; }
  /// The part of an element's packed coordinates that the thread decides, i32; the other part is
  /// layout.apply(Dim::Register, r). In bytes, say, if `unit` is those of an element, a
  /// power of two.
  llvm::Value *threadPart(const layout::LinearLayout &layout, std::int64_t unit = 1);
  /// The same for an address in a slot. Where a trip has no registers to spare, what an address
  /// makes of it does not stay in one from trip to trip.
  llvm::Value *slotPart(const layout::LinearLayout &layout, std::int64_t unit);
  /// An element's index along an axis, i32.
  llvm::Value *coordinate(const layout::LinearLayout &layout, std::size_t r, std::int32_t axis);
  /// The index as the thread's part (null: 0) and the register's, whose sum it is.
  struct SplitCoordinate {
    llvm::Value *thread;
    std::int64_t constant;
  };
  SplitCoordinate splitCoordinate(const layout::LinearLayout &layout, std::size_t r,
                                  std::int32_t axis);
  /// Whether a register holds an element of the tile and not padding; null where it always does.
  llvm::Value *isInside(const layout::LinearLayout &layout, const ir::Shape &shape, std::size_t r);
  /// Whether this thread is the one that holds an element first; null where all threads are. Of a
  /// scalar: thread 0.
  llvm::Value *isOwner(ir::ValueId tile);
  llvm::Value *isOwner(const layout::LinearLayout &layout);
  /// All of the conditions that are there; null where none is.
  llvm::Value *allOf(llvm::ArrayRef<llvm::Value *> conditions);

  /// The registers of a tile that an op moves to or from memory, in vectors that are one access
  /// each. `tile`: what the accesses are laid out by.
  layout::RegisterVectors accessVectors(const ir::Op &op, ir::ValueId tile);
  /// What an op's accesses to memory are laid out by: who holds the tile, or what lanes name.
  const layout::LinearLayout &accessLayout(const ir::Op &op, ir::ValueId tile);
  /// Of a load by columns, what lanes name for them (layout/column_loads.h); null of others.
  const layout::LinearLayout *namedForColumns(const ir::Op &op);

  // --- code ---
  llvm::BasicBlock *newBlock(const llvm::Twine &name);
  llvm::ConstantInt *i64(std::int64_t value) {
    return b.getInt64(static_cast<std::uint64_t>(value));
  }
  llvm::ConstantInt *i32(std::int64_t value) {
    return b.getInt32(static_cast<std::uint32_t>(value));
  }
  /// Of an i32 that 31 bits hold: the same as i64.
  llvm::Value *widened(llvm::Value *small) {
    constexpr bool kIsNotNegative = true;
    return b.CreateZExt(small, b.getInt64Ty(), "", kIsNotNegative);
  }
  /// Emit `body` so that it runs where the condition (null: always) holds.
  void where(llvm::Value *condition, const std::function<void()> &body);
  /// The same with a result, `otherwise` where the condition does not hold.
  llvm::Value *where(llvm::Value *condition, llvm::Value *otherwise,
                     const std::function<llvm::Value *()> &body);
  /// What exchanges may take of shared memory, beside rings: no more than a block has without
  /// asking, for what one block takes keeps others from the core; behind rings what slots had, or a
  /// little more.
  std::int64_t scratchBytes() const;
  SharedRing &ring(ir::ValueId value) { return rings_.at(value); }
  Barriers &barriers(ir::ValueId value) { return barriers_.at(value); }
  /// The map by which a box is loaded.
  llvm::Value *boxMap(const ir::Op &load) { return mapArguments_[mapOf_.at(&load)]; }
  /// Whether this thread is the one that loads boxes for its role; null where no other runs the
  /// code.
  llvm::Value *isLoader();
  /// A meeting of the block, or of the role, for accesses to shared memory; and for all, unless the
  /// machine counts copies or the kernel stores what it loads into slots.
  void meet();
  /// The same, or where half of the warps come alone: they meet the others at a meeting of theirs.
  void meet(ir::Half whose);
  /// The same for all accesses on any machine.
  void meetForAll();
  /// Shared memory for an exchange of so many bytes, which nobody reads any more. Behind its writes
  /// comes a meeting in any case.
  llvm::Value *beginExchange(std::int64_t bytes);
  /// So many zeros in global memory.
  llvm::Constant *zeros(std::int64_t bytes);
  /// Close a group of the thread's copies, and wait until so many groups are left; nothing where
  /// copies are done at once.
  void commitCopies();
  void drainCopies(std::int32_t left);
  /// What this thread has loaded from global memory is wanted at once. Copies that are counted
  /// among the loads would be waited for, too.
  void awaitLoads() {
    if (words.machine().asyncCopies.leastBytes == 0) words.awaitLoads(b);
  }
  /// A constant expression of the element's bits.
  llvm::Constant *constantOf(const ir::Type &type, std::uint64_t bits);

  void emitBlock(const ir::Block &block);
  /// A block through which all code behind its ops goes, too.
  void emitTrunk(const ir::Block &block);
  void emitOp(const ir::Op &op);
  /// While code is emitted in which no copy or load of a loop is left out; else null.
  WholeCopies *whole() { return whole_; }
  /// Leave the kernel if a condition, the same for all threads, holds.
  void endBlockIf(llvm::Value *condition);
  /// A condition on which all lanes of a warp agree, in a way that the machine can see.
  llvm::Value *agreed(llvm::Value *condition);
  /// Where it is there and does not hold, loads of this place in the code read zeros.
  llvm::Value *loadsIf() { return loadsIf_; }
  std::uint32_t addSite(const ir::Op &op);
  /// A number for the author's own instructions, from 1.
  std::uint64_t nextAssembly() { return ++assemblies_; }
  llvm::Value *observations() { return observations_; }

private:
  /// Whether there are copies that are waited for by their number.
  bool countsCopies() const;
  /// Whether meetings for shared memory had better not wait for loads from global memory.
  bool letsLoadsFly() const;
  void collectRings();
  void addMap(const ir::Op &load);
  void makeBarriers();
  bool isOnlyRead(std::size_t parameter) const;
  void declareFunction(KernelInterface &interface);
  void decodeParameters(const KernelInterface &interface);
  void emitCode(const ir::Op &op);

  void emitInBlock(const ir::Op &op);
  using OpSet = std::set<const ir::Op *>;
  void emitCopies(llvm::ArrayRef<std::unique_ptr<ir::Op>> passed, std::size_t count,
                  const OpSet &forCopies);

  // emit_control.cpp
  void emitFor(const ir::Op &op);
  /// Of a loop: from one number of trips to another.
  struct Trips {
    llvm::Value *first, *end;
    std::int64_t together = 1;
    llvm::Value *areNone = nullptr; ///< Null: where the first is the end.
  };
  void emitTrips(const ir::Op &op, const Trips &trips, llvm::ArrayRef<Registers> values);
  bool branchesAroundMasks(const analysis::WholeTrips &trips) const;
  llvm::Value *emitWholeTrips(const ir::Op &op, analysis::WholeTrips trips, const RingTurn &turn,
                              llvm::Value *all, llvm::ArrayRef<Registers> values);
  void passOn(const ir::Block &body);
  void emitWhile(const ir::Op &op);
  void emitIf(const ir::Op &op);
  void branch(llvm::Value *condition, llvm::function_ref<void()> emitFirst,
              llvm::function_ref<void()> emitSecond);
  void emitLoadsIf(const ir::Op &op);
  void emitBreakIf(const ir::Op &op);
  void emitRoles(const ir::Op &op);
  void enterLoop(const ir::Op &op);
  void leaveLoop(const ir::Op &op);
  void setThread(llvm::Value *index);
  /// From here on what a thread's index decides is computed anew, and not kept since it was before.
  void renewThread();
  /// Where that is, of a loop: nowhere, behind it, or also between its whole trips and the rest.
  enum class Renewal : std::uint8_t { Nowhere, Behind, BetweenAndBehind };
  Renewal renewalOf(const ir::Op &loop) const;
  llvm::CallInst *renewed(llvm::Value *number);
  llvm::Value *renewedIndex(llvm::Value *index);
  void settleReaders();
  void noteReaders();
  bool mayLoadColumns(const ir::Op &op) const;
  llvm::Value *tripCount(const ir::Op &op);
  bool countsIn32Bits(const ir::Op &loop) const;
  llvm::Value *bound(const ir::Op &loop, std::size_t i);

  std::optional<SourceLines> lines_;
  std::vector<Registers> values_;
  std::vector<std::int32_t> uses_;
  analysis::AxisAnalysis facts_;
  std::map<ir::ValueId, ViewValues> views_;
  std::map<ir::ValueId, SharedRing> rings_;
  std::map<ir::ValueId, Barriers> barriers_;
  std::vector<BoxMap> maps_;
  std::map<const ir::Op *, std::size_t> mapOf_; // by ring.load_box
  std::vector<llvm::Value *> mapArguments_;     // by map
  enum class Role : std::uint8_t { All, Loads, Computes } role_ = Role::All;
  llvm::Value *loadsIf_ = nullptr;
  std::int64_t copiesOfGroup_ = 0; // where copies are counted: the fewest of a group
  llvm::GlobalVariable *zeros_ = nullptr;
  std::map<const ir::Op *, std::optional<layout::LinearLayout>> namedByLanes_; // for columns
  std::vector<ObservationSite> sites_;
  std::uint64_t assemblies_ = 0;
  Location largestUse_;
  /// In front of an exchange's writes, for readers that are assumed at the head of a loop.
  struct AssumedMeeting {
    std::size_t region = 0;
    llvm::SmallVector<llvm::Instruction *, 3> instructions = {};
  };
  struct LoopFrame {
    llvm::BasicBlock *exit;
    std::vector<Incoming> leaving;
    MemoryOrder::Pending pending; // before it
    SharedMemory::AllReaders before, after;
    std::vector<AssumedMeeting> assumed = {};
    llvm::BasicBlock *crowdedTrip = nullptr; // where one begins that has no registers to spare
    std::map<llvm::Value *, llvm::Value *> parts = {}; // of addresses in slots: this trip's
  };
  std::vector<LoopFrame> loops_;
  Renewal renewal_ = Renewal::Nowhere; // of the loop that comes next
  WholeCopies *whole_ = nullptr;
  const ir::Op *const lastUseOfRings_;
  llvm::Instruction *waitBehindRings_ = nullptr; // for copies, for the sake of exchanges behind it
  std::map<std::vector<layout::Bits>, llvm::Value *> threadParts_; // by the threads' columns
  llvm::Function *function_ = nullptr;
  llvm::Instruction *entryEnd_ = nullptr; // what every part of the code may use goes before it
  llvm::BasicBlock *finish_ = nullptr;    // where exit_if goes
  llvm::Value *thread_ = nullptr, *lane_ = nullptr, *warp_ = nullptr, *observations_ = nullptr;
  std::array<llvm::Value *, 3> blockIndex_{};
};

/// Let LLVM leave a loop, which ends with this branch, as it is.
void forbidUnrolling(llvm::Instruction &end);

} // namespace imbrex::lower
