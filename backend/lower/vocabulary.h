#pragma once

#include "backend/ir/attributes.h"
#include "backend/ir/op.h"
#include "backend/machine/mma.h"
#include "llvm/IR/Function.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/LLVMContext.h"

#include <cstdint>
#include <string_view>

namespace imbrex::lower {

/// The words in which lowering speaks to a machine; each vendor's folder in target/ says them in
/// its own way. Everything else that lower/ emits is plain LLVM IR.
///
/// All but the first group are for code in which every thread of the warp, or of the block, takes
/// part; lowering sees to that.
class Vocabulary {
public:
  using Builder = llvm::IRBuilder<>;
  using Value = llvm::Value;

  explicit Vocabulary(const machine::Machine &machine) : machine_(machine) {}
  virtual ~Vocabulary() = default;
  const machine::Machine &machine() const { return machine_; }

  // --- the kernel ---

  /// Make `function` a kernel for blocks of so many threads: calling convention, attributes.
  virtual void declareKernel(llvm::Function &function, std::int32_t threads) const = 0;
  /// Let its code use so many registers of a thread at most.
  virtual void limitRegisters(llvm::Function &function, std::int32_t registers) const = 0;
  /// No more warps than so many will share a partition's registers, as there is no shared memory
  /// for more blocks. Not of a function that `limitRegisters` is for, which may get more by it.
  virtual void expectWarps(llvm::Function &, std::int64_t /*perPartition*/) const {}
  /// Let its blocks come in clusters of so many along x, y, z.
  virtual void formClusters(llvm::Function &, llvm::ArrayRef<std::int64_t> /*extents*/) const {
    lacks("has no clusters");
  }
  /// Of a kernel that may start before the launch in front of it has ended: wait until all of that
  /// one's memory is as it left it.
  virtual void awaitLaunchBefore(Builder &) const { lacks(kNoProgrammatic); }
  /// The launch behind may start, and waits in the same way.
  virtual void letNextLaunchStart(Builder &) const { lacks(kNoProgrammatic); }
  /// i32: this thread's number in its block, lanes first.
  virtual Value *threadIndex(Builder &b) const = 0;
  /// LLVM's constraint, in an assembly, for a register that each thread has of its own.
  virtual llvm::StringRef threadRegister() const { return "r"; }
  /// i32: this block's index in the grid along x, y, z.
  virtual Value *blockIndex(Builder &b, std::int32_t axis) const = 0;
  /// i32: the grid's extent along x, y, z.
  virtual Value *gridExtent(Builder &b, std::int32_t axis) const = 0;

  // --- the block ---

  /// Wait for every thread of the block; what they wrote before, to any memory, is seen after.
  virtual void meetAll(Builder &b) const = 0;

  /// What touches memory stays on its side of this place, so that registers which one side reads
  /// can be those that the other loads.
  virtual void keepOrder(Builder &) const {}
  /// What this thread has loaded from global memory is wanted all at once: one wait serves for each
  /// load's own.
  virtual void awaitLoads(Builder &) const {}

  // --- the warp; `x` is an i32 ---

  /// The value of the lane whose number differs by `mask`, a constant.
  virtual Value *shuffleXor(Builder &b, Value *x, std::uint32_t mask) const = 0;
  /// The mask by which a value is fetched most cheaply that is alike in lanes which differ in the
  /// bits of `alike` only: `mask`, or `mask` with some of these bits.
  virtual std::uint32_t cheapestMask(std::uint32_t mask, std::uint32_t /*alike*/) const {
    return mask;
  }
  /// The value of another lane; `lane` is an i32 below the warp's size.
  virtual Value *shuffle(Builder &b, Value *x, Value *lane) const = 0;
  /// Whether an i1 holds in any lane.
  virtual Value *any(Builder &b, Value *condition) const = 0;

  // --- memory ---

  /// The address spaces of global and of shared memory.
  virtual unsigned globalSpace() const = 0;
  virtual unsigned sharedSpace() const = 0;
  /// LLVM's name of a scope, for atomics and fences.
  virtual llvm::SyncScope::ID syncScope(llvm::LLVMContext &context, ir::Scope scope) const = 0;
  /// Mark a load or a store with the hints of an op, as far as the machine knows them.
  virtual void applyHints(llvm::Instruction &access, ir::Cache cache,
                          ir::Eviction eviction) const = 0;

  // --- buffers: global memory behind a first element, named by distances of 32 bits ---

  /// Whether loads can name what they read so.
  virtual bool hasBuffers() const { return false; }
  /// In bytes, i32: where the block begins, the same in all threads, and from there where the
  /// thread does. Where that is kOutside or beyond, all elements are zeros, and nothing is read.
  struct BufferPlace {
    static constexpr std::uint32_t kOutside = std::uint32_t{1} << 31;
    Value *first; ///< The address that distances are from.
    Value *ofBlock, *ofThread;
  };
  virtual Value *loadFromBuffer(Builder &, llvm::Type *, const BufferPlace &) const {
    lacks("has no buffers");
  }

  /// On a machine with machine::MatrixLoads::GlobalTransposed8: eight neighbours at each lane's
  /// pointer, of which lanes get columns (layout/column_loads.h); `type`: eight elements of 8 or 16
  /// bits.
  virtual Value *loadGlobalColumns(Builder &, llvm::Type * /*type*/, Value * /*row*/) const {
    lacks("loads no columns of global memory");
  }

  // --- matrix units ---

  /// The code of `function` has this instruction.
  virtual void useMatrixUnit(llvm::Function &, const machine::MmaInstruction &) const {}

  // --- matrices in shared memory, on a machine that loads them (Machine::matrixLoads) ---

  /// As many matrices of 8 rows of 16 bytes as there are registers of the result, 1, 2 or 4: lane
  /// 8 · i + j names row j of the i-th. Each lane gets four bytes of each (i32); `isTransposed`: of
  /// the transposed one, whose elements have 16 bits.
  virtual llvm::SmallVector<Value *, 4>
  loadMatrices(Builder &, Value * /*row*/, std::int32_t /*count*/, bool /*isTransposed*/) const {
    lacks("loads no matrices");
  }
  /// The other way round, on a machine that stores them (Machine::storesMatrices): four bytes of
  /// each lane for each matrix.
  virtual void storeMatrices(Builder &, Value * /*row*/, llvm::ArrayRef<Value *> /*registers*/,
                             bool /*isTransposed*/) const {
    lacks("stores no matrices");
  }
  /// Of rows of which each lane names a piece, as many elements of the lane's column as are in one
  /// (analysis/fragment_access.h): two registers (i32) or four.
  virtual llvm::SmallVector<Value *, 4> loadColumns(Builder &, Value * /*row*/,
                                                    std::int32_t /*elementBits*/) const {
    lacks("loads no columns");
  }

  // --- asynchronous copies, on a machine that has them (Machine::asyncCopies) ---

  /// As `meetAll`, but that it orders accesses to shared memory alone, and waits for no copy.
  virtual void meetForShared(Builder &b) const { meetAll(b); }
  /// What a copy moves, and whether it does: where the condition (null: always) does not hold, it
  /// fills with zeros.
  struct Copy {
    std::int64_t bytes;
    Value *condition;
  };
  /// Start one from global to shared memory, both aligned to its bytes.
  virtual void copyAsync(Builder &, Value * /*to*/, Value * /*from*/, const Copy & /*copy*/) const {
    lacks(kNoCopies);
  }
  /// Start one of each lane, in the machine's lane order; `to` is the first lane's, and the same in
  /// all of them.
  virtual void copyInLaneOrder(Builder &, Value * /*to*/, Value * /*from*/,
                               std::int64_t /*bytes*/) const {
    lacks(kNoCopies);
  }
  /// The same from a buffer, on a machine that has these: what is outside is filled with zeros.
  virtual void copyFromBuffer(Builder &, Value * /*to*/, const BufferPlace & /*from*/,
                              std::int64_t /*bytes*/) const {
    lacks(kNoCopies);
  }
  /// A value (i32) that is the same in all lanes, in a way that the machine can see.
  virtual Value *uniform(Builder &, Value *x) const { return x; }
  /// Close a group of this thread's copies.
  virtual void commitCopies(Builder &) const { lacks(kNoCopies); }
  /// Wait until at most so many of this thread's groups, or copies, are not done.
  virtual void drainCopies(Builder &, std::int32_t /*left*/) const { lacks(kNoCopies); }

  // --- an engine that loads boxes, on a machine that has one (Machine::asyncCopies.haveEngine) ---

  /// `argument` is a pointer to a map of boxes, which the launch passes by value.
  virtual void passByValue(llvm::Argument &, std::int32_t /*bytes*/,
                           std::int32_t /*alignment*/) const {
    lacks(kNoBoxes);
  }
  /// Make a barrier in shared memory, by one thread.
  virtual void makeBarrier(Builder &, Value * /*barrier*/, std::int32_t /*arrivals*/) const {
    lacks(kNoBoxes);
  }
  /// Behind it, the engine knows of the barriers that this thread has made.
  virtual void showBarriers(Builder &) const { lacks(kNoBoxes); }
  virtual void arrive(Builder &, Value * /*barrier*/) const { lacks(kNoBoxes); }
  /// Arrive, and let the phase last until so many bytes have landed.
  virtual void expect(Builder &, Value * /*barrier*/, std::int64_t /*bytes*/) const {
    lacks(kNoBoxes);
  }
  /// i1: whether the phase of a parity (i32) is over; it may take its time to say no.
  virtual Value *isOver(Builder &, Value * /*barrier*/, Value * /*parity*/) const {
    lacks(kNoBoxes);
  }
  /// A box, by the map of its view; `first`: where it begins, i32, the view's last axis first.
  struct Box {
    Value *map;
    llvm::ArrayRef<Value *> first;
  };
  /// Let the engine start to load one; the bytes that land count at the barrier.
  virtual void loadBox(Builder &, Value * /*to*/, const Box & /*box*/, Value * /*barrier*/) const {
    lacks(kNoBoxes);
  }
  /// Wait for the lanes of the warp; they see what each has done to memory.
  virtual void meetWarp(Builder &) const { lacks(kNoBoxes); }
  /// As `meetAll`, of so many threads alone: always the same, of whole warps.
  virtual void meet(Builder &, std::int32_t /*threads*/) const { lacks(kNoBoxes); }
  /// Hand registers back, or take some: each thread of four warps, which do so together.
  virtual void releaseRegisters(Builder &, std::int32_t /*left*/) const { lacks(kNoBoxes); }
  virtual void takeRegisters(Builder &, std::int32_t /*count*/) const { lacks(kNoBoxes); }
  /// So many blocks are to fit on a core: what a thread's registers at the launch follow from.
  virtual void fitBlocks(llvm::Function &, std::int32_t /*blocks*/) const { lacks(kNoBoxes); }

  // --- arithmetic ---

  /// Whether the machine adds and multiplies two f32 by one instruction.
  virtual bool hasFloatPairs() const { return false; }
  /// Whether there is an instruction for the fast form of an f32 op (expand-math then leaves it).
  bool hasFast(ir::OpKind kind) const {
    return machine::hasFastForm(machine(), ir::info(kind).mnemonic);
  }
  /// The fast form of an op that it has; exp and log by those of exp2 and log2.
  Value *fast(Builder &b, ir::OpKind kind, llvm::ArrayRef<Value *> operands) const;
  /// The reciprocal of an f32 between 2^-24 and 2^24, at most 4 ulp off, or of an f64 that was an
  /// f32, at most a 2^-14th off, also of 0, of infinities and of NaN: an instruction.
  virtual Value *nearReciprocal(Builder &b, Value *x) const = 0;
  /// Whether there are instructions for the minimum and maximum of f32 that keep a NaN.
  virtual bool keepsNaN() const = 0;

protected:
  /// An op whose fast form is one intrinsic.
  struct FastForm {
    ir::OpKind kind;
    llvm::Intrinsic::ID intrinsic;
  };
  /// It must be there.
  static llvm::Intrinsic::ID fastForm(ir::OpKind kind, llvm::ArrayRef<FastForm> forms);
  /// A call of an intrinsic without operands.
  static llvm::CallInst *plain(Builder &b, llvm::Intrinsic::ID id) {
    return b.CreateIntrinsic(id, llvm::ArrayRef<Value *>());
  }

private:
  /// As `fast`, of ops that are not made of others.
  virtual Value *fastAlone(Builder &b, ir::OpKind kind, llvm::ArrayRef<Value *> operands) const = 0;

  static constexpr std::string_view kNoCopies = "has no asynchronous copies";
  static constexpr std::string_view kNoBoxes = "loads no boxes";
  static constexpr std::string_view kNoProgrammatic = "has no programmatic launches";

  /// Nobody asks a machine for what it does not have.
  [[noreturn]] void lacks(std::string_view what) const;

  const machine::Machine &machine_;
};

} // namespace imbrex::lower
