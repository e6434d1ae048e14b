#pragma once

#include "backend/ir/builder.h"
#include "tests/support/random_kernel.h"

#include <functional>
#include <initializer_list>
#include <optional>
#include <random>

namespace imbrex::testing {

/// Writes a random kernel, op by op. It keeps the values that can be seen (the pool); each emitter
/// picks its operands there, makes what it does not find, and puts its results back.
class Generator {
public:
  Generator(std::uint32_t seed, const RandomKernelOptions &options);
  RandomKernel run();

private:
  using ValueId = ir::ValueId;
  using Type = ir::Type;
  using Shape = ir::Shape;
  using ElementKind = ir::ElementKind;
  using OpKind = ir::OpKind;
  using Filter = std::function<bool(const Type &)>;

  // --- dice ---
  std::int64_t number(std::int64_t low, std::int64_t high);
  bool chance(int percent) { return number(1, 100) <= percent; }
  template <class T>
  T one(std::initializer_list<T> choices) {
    return choices.begin()[number(0, std::ssize(choices) - 1)];
  }
  template <class Range>
  auto &oneOf(Range &&range) {
    return range[static_cast<std::size_t>(number(0, std::ssize(range) - 1))];
  }
  template <class Enum>
  Enum any() {
    return static_cast<Enum>(number(0, std::ssize(ir::kNames<Enum>) - 1));
  }
  ElementKind element(ir::Domain domain);
  Shape shape(std::int32_t leastRank = 0, std::int32_t mostRank = Shape::kMaxRank);
  /// Whatever compiler made this: arguments of one call are drawn in the order of its choice.
  Type anyType(ir::Domain domain, std::int32_t leastRank = 0,
               std::int32_t mostRank = Shape::kMaxRank);
  std::int64_t extent();
  std::uint64_t bits(ElementKind kind);

  // --- values (random_values.cpp) ---
  const Type &type(ValueId value) const { return kernel_.type(value); }
  ir::Builder builder() { return {kernel_, *block_}; }
  ValueId keep(ValueId value);
  ir::Op &emit(OpKind kind, llvm::ArrayRef<ValueId> operands, llvm::ArrayRef<Type> results,
               ir::Attributes attributes);
  ir::Op &emit(OpKind kind, llvm::ArrayRef<ValueId> operands, llvm::ArrayRef<Type> results);
  ValueId value(OpKind kind, llvm::ArrayRef<ValueId> operands, const Type &result);
  std::optional<ValueId> find(const Filter &filter);
  ValueId of(const Type &type);    // an old value or a new one
  ValueId fresh(const Type &type); // a new one
  ValueId tile(ir::Domain domain, std::int32_t leastRank = 0,
               std::int32_t mostRank = Shape::kMaxRank);
  ValueId iota(const Type &type);
  ValueId smallNumbers(const Type &type); // 0 … 3, so that sums of products are exact
  ValueId indexBelow(std::int64_t bound, const Shape &shape);
  ValueId integer(ElementKind kind, std::int64_t value);
  ValueId condition();
  ValueId withCanonicalNans(ValueId value);

  // --- emitters ---
  void emitRandom();
  void emitKind(OpKind kind);
  void emitElementwise(OpKind kind);
  void emitConstant();
  void emitArange();
  void emitSelect();
  void emitCast();
  void emitBitcast();

  // random_shape.cpp
  void emitBroadcast();
  void emitReshape();
  void emitPermute();
  void emitJoin();
  void emitSplit();
  void emitConcat();
  void emitSlice();
  void emitFlip();
  Shape reshaped(const Shape &shape);
  ir::PermuteAttrs order(std::int32_t rank);

  // random_axis.cpp
  void emitReduce();
  void emitScan();
  void emitSort();
  void emitHistogram();
  void emitGather();
  Shape batch();
  void emitDot();
  void emitDotScaled();
  void emitPhilox();
  void emitRegionReduce();
  void emitRegionScan();
  std::vector<ElementKind> fillCombine(ir::Block &block);

  // random_memory.cpp
  struct Memory {
    ValueId pointer;
    std::int64_t elements;
  };
  ValueId parameter(std::string_view prefix, ArgumentSpec spec);
  Memory input(ElementKind kind);
  ValueId inputView(ElementKind kind, const Shape &least);
  ValueId inputView(ElementKind kind, std::int32_t rank);
  ValueId pointersInto(const Memory &memory, const Shape &shape);
  ValueId ownPointers(ElementKind kind, const Shape &shape);
  ValueId blockNumber();
  ir::MemoryAttrs memoryAttrs();
  ir::AtomicAttrs atomicAttrs(ir::AtomicKind kind);
  void emitPointerWalk();
  void emitLoad();
  void emitStore(ValueId value);
  void emitViewStore(ValueId value);
  bool fitsView(const Type &type) const;
  void emitAtomicRmw();
  void emitSharedAdd();
  void emitAtomicCas();
  void emitViewLoad();
  void emitViewQuestion(OpKind kind);
  void emitViewData();
  void emitViewBytes();
  void emitTablePointer();

  // random_own.cpp
  struct Own {
    // A pointer, a view of which each block has a slab along axis 0, or a table in which each has a
    // pointer.
    ValueId parameter;
    Shape slab;
  };
  Own newOwn(ElementKind kind, std::int64_t least);
  Own anyOwn(ElementKind kind, std::int64_t least);
  Own renamed(const Own &own);
  void asTable(ArgumentSpec &spec);
  ValueId ownStart(const Own &own);
  ValueId ownBase(const Own &own);
  ValueId ownPointers(const Own &own, const Shape &shape);
  ValueId anyOwnPointers(const Own &own, const Shape &shape);
  ValueId farCoordinate();
  ValueId coordinate();
  std::vector<ValueId> ownBox(const Own &own, const Shape &box, ir::BoxUnit unit);
  void accessOwnBox(const Own &own, bool stores);
  void accessOwn(const Own &own, const Shape &shape, bool stores);
  void emitOwnAccesses();

  // random_control.cpp
  void emitFor();
  void emitWhile();
  void emitIf();
  void emitBreakIf();
  void emitExitIf();
  void emitVarNew();
  void emitVarRead();
  void emitVarWrite();
  void emitPrint();
  void emitAssert();
  void emitRequire();
  void emitInlineAsm();
  /// Run `write` inside a body: what it defines is gone afterwards.
  void inside(ir::Block &block, const std::function<void()> &write);
  void yield(llvm::ArrayRef<Type> types, llvm::ArrayRef<ValueId> arguments = {});
  void fillBody();
  std::vector<Type> carriedTypes();
  void breakWith(ValueId condition);

  RandomKernelOptions options_;
  std::mt19937 rng_;
  ir::Kernel kernel_;
  ir::Block *block_;
  std::vector<ArgumentSpec> arguments_;
  ir::Grid grid_;
  std::vector<Own> own_;
  std::vector<ValueId> pool_;
  std::vector<ValueId> variables_;
  std::vector<std::vector<Type>> loops_; // the result types of the loops around, innermost last
  ValueId block_number_;                 // this block's index in the grid, linear
  std::int32_t depth_ = 0;
  bool isEnding_ = false; // writes what was computed, and computes nothing more
};

} // namespace imbrex::testing
