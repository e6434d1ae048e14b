#include "backend/lower/memory/exchange.h"
#include "backend/lower/ops/emit_ops.h"
#include "backend/lower/values/combiner.h"

#include <algorithm>

/// A bitonic network. Its comparators join elements whose indices differ in one bit, so that each
/// step stays in a thread, is a shuffle, or goes through shared memory, as the bit is held.
/// Elements carry their index: no two are equal, and the result is that of a stable sort. Where
/// equal elements are the same and nothing follows them, they need none.
namespace imbrex::lower {

using ir::ElementKind;
using layout::Dim;
using llvm::Value;

namespace {

/// Keys of an element kind: numbers, i32 or i64, that order unsigned as the elements do, each of
/// another element, so that what is sorted need not be carried along.
///
/// A float's bits become a code that orders as the numbers do, NaNs without a sign above the
/// highest number and those with one below the lowest. Counted from the first number on, in
/// either direction, and around, all NaNs come behind the last one:
///
///   codes       0 … NaN … | lowest … number … highest | … NaN …
///   ascending             0 …                  numbers-1, NaNs →
///   descending  ← NaNs, numbers-1 …                   0
class SortKeys {
public:
  SortKeys(Emitter &emitter, ElementKind kind, bool isDescending)
      : e_(emitter), kind_(kind), isDescending_(isDescending),
        bits_(static_cast<unsigned>(ir::info(kind).bits)), mask_(~std::uint64_t{0} >> (64 - bits_)),
        sign_(mask_ ^ mask_ >> 1), isFloat_(ir::isFloat(kind)) {}

  llvm::IntegerType *type() const { return bits_ > 32 ? e_.b.getInt64Ty() : e_.b.getInt32Ty(); }

  Value *of(Value *x) const {
    Value *narrow = e_.b.CreateBitCast(x, e_.b.getIntNTy(x->getType()->getScalarSizeInBits()));
    Value *key = e_.b.CreateZExtOrTrunc(narrow, type());
    if (ir::isSigned(kind_)) key = e_.b.CreateXor(key, number(sign_));
    // Negative numbers order against their bits.
    if (isFloat_) key = e_.b.CreateXor(key, signIsSet(key, number(mask_), number(sign_)));
    if (isFloat_)
      key = e_.b.CreateAnd(isDescending_ ? e_.b.CreateSub(number(highest()), key)
                                         : e_.b.CreateSub(key, number(lowest())),
                           number(mask_));
    else if (isDescending_)
      key = e_.b.CreateXor(key, number(mask_));
    return key;
  }

  /// The element of a key, as `like` is held.
  Value *elementOf(Value *key, llvm::Type *like) const {
    Value *bits = key;
    if (isFloat_)
      bits = e_.b.CreateAnd(isDescending_ ? e_.b.CreateSub(number(highest()), key)
                                          : e_.b.CreateAdd(key, number(lowest())),
                            number(mask_));
    else if (isDescending_)
      bits = e_.b.CreateXor(bits, number(mask_));
    if (isFloat_) bits = e_.b.CreateXor(bits, signIsSet(bits, number(sign_), number(mask_)));
    if (ir::isSigned(kind_)) bits = e_.b.CreateXor(bits, number(sign_));
    Value *narrow = e_.b.CreateZExtOrTrunc(bits, e_.b.getIntNTy(like->getScalarSizeInBits()));
    return e_.b.CreateBitCast(narrow, like);
  }

  /// Whether elements may be equal that differ.
  bool haveTies() const { return isFloat_; }
  /// What a key counts as: all NaNs are equal.
  Value *rank(Value *key) const {
    if (!isFloat_) return key;
    const std::uint64_t numbers = highest() - lowest() + 1;
    return e_.b.CreateBinaryIntrinsic(llvm::Intrinsic::umin, key, number(numbers));
  }

  /// No element comes behind it.
  Value *last() const { return llvm::Constant::getAllOnesValue(type()); }

private:
  llvm::Constant *number(std::uint64_t value) const {
    return llvm::ConstantInt::get(type(), value);
  }
  Value *signIsSet(Value *x, Value *yes, Value *no) const {
    return e_.b.CreateSelect(e_.b.CreateICmpNE(e_.b.CreateAnd(x, number(sign_)), number(0)), yes,
                             no);
  }
  /// The codes of the numbers at either end, which are infinite.
  std::uint64_t highest() const {
    const auto infinity = llvm::APFloat::getInf(ir::floatFormat(kind_));
    return sign_ | infinity.bitcastToAPInt().getZExtValue();
  }
  std::uint64_t lowest() const { return mask_ ^ highest(); }

  Emitter &e_;
  ElementKind kind_;
  bool isDescending_;
  unsigned bits_;
  std::uint64_t mask_, sign_;
  bool isFloat_;
};

/// Whether a tile holds at each place the place's index along an axis.
bool isIndex(const ir::Kernel &kernel, ir::ValueId value, std::int32_t axis) {
  const ir::Op *op = kernel.definition(value);
  while (op != nullptr && (op->kind == ir::OpKind::ConvertLayout ||
                           op->kind == ir::OpKind::Broadcast || op->kind == ir::OpKind::Reshape)) {
    const ir::Shape &to = kernel.type(op->result()).shape();
    const ir::Shape &from = kernel.type(op->operand(0)).shape();
    const bool keepsAxis = op->kind == ir::OpKind::Reshape
                               ? from.rank() == 1 && from[0] == to[axis]
                               : from.rank() == to.rank() && from[axis] == to[axis];
    if (!keepsAxis) return false;
    if (op->kind == ir::OpKind::Reshape) axis = 0;
    op = kernel.definition(op->operand(0));
  }
  return op != nullptr && op->kind == ir::OpKind::Arange && axis == 0 &&
         op->attrs<ir::ArangeAttrs>() == ir::ArangeAttrs{} &&
         ir::info(kernel.type(op->result()).element()).bits == 32;
}

class SortEmitter {
public:
  SortEmitter(Emitter &emitter, const ir::Op &op)
      : e_(emitter), op_(op), attrs_(op.attrs<ir::SortAttrs>()),
        keys_(emitter, emitter.type(op.operand(0)).element(), attrs_.descending),
        layout_(emitter.layoutOf(op.operand(0))), bits_(axisBits(layout_, attrs_.axis)) {
    std::size_t next = kIndex + 1;
    hasIndex_ = keys_.haveTies() || op.operands.size() > 1;
    for (const ir::ValueId operand : op.operands)
      part_.push_back(part_.empty()                                   ? kKey
                      : isIndex(emitter.kernel, operand, attrs_.axis) ? kIndex
                                                                      : next++);
  }

  void run() {
    load();
    const std::size_t steps = bits_.size() * (bits_.size() + 1) / 2;
    if (steps * items_.size() > kMostComparators)
      mergeInLoop();
    else
      for (std::size_t merged = 1; merged <= bits_.size(); ++merged) {
        beginMerge(e_.i32(static_cast<std::int64_t>(merged)));
        for (std::size_t bit = merged; bit-- > 0;) compareAcross(bit);
      }
    for (std::size_t i = 0; i < op_.results.size(); ++i) {
      Registers results;
      for (const auto &[item, old] : llvm::zip_equal(items_, e_.registers(op_.operand(i))))
        results.push_back(i == 0 ? keys_.elementOf(item[kKey], old->getType()) : item[part_[i]]);
      e_.define(op_.result(i), std::move(results));
    }
  }

private:
  // The key; the index, if there is one; elements of operands that are neither.
  using Item = llvm::SmallVector<Value *, 4>;
  static constexpr std::size_t kKey = 0, kIndex = 1;
  // Of a thread, written one after the other: LLVM takes a tenth of a second for so many, and
  // longer than in proportion for more.
  static constexpr std::size_t kMostComparators = 512;
  // Of a thread's registers: what is fetched of all at once has no room beside them where they are
  // many, and each exchange through shared memory takes a barrier.
  static constexpr std::size_t kFetchedAtOnce = 8;

  /// Every merge by the same code, which is as long as the last one, and leaves out the steps that
  /// smaller blocks do not have.
  void mergeInLoop() {
    llvm::IRBuilder<> &b = e_.b;
    const MemoryOrder::Pending pending = e_.order.pending();
    e_.shared.setReaders(SharedMemory::kAnyReaders);
    llvm::BasicBlock *const before = b.GetInsertBlock(), *const loop = e_.newBlock("merge"),
                            *const exit = e_.newBlock("sorted");
    b.CreateBr(loop);
    b.SetInsertPoint(loop);
    llvm::PHINode *merged = b.CreatePHI(b.getInt32Ty(), 2);
    merged->addIncoming(e_.i32(1), before);
    const std::vector<Phis> carried = addPhis(before);
    beginMerge(merged);
    for (std::size_t bit = bits_.size(); bit-- > 0;) stepWhere(bit, merged);
    Value *next = b.CreateNUWAdd(merged, e_.i32(1));
    merged->addIncoming(next, b.GetInsertBlock());
    addIncoming(carried, b.GetInsertBlock(), items_);
    b.CreateCondBr(b.CreateICmpULE(next, e_.i32(static_cast<std::int64_t>(bits_.size()))), loop,
                   exit);
    b.SetInsertPoint(exit);
    e_.shared.setReaders(SharedMemory::kAnyReaders);
    e_.order.addPending(pending);
  }

  /// The step across a bit, in merges that have it.
  void stepWhere(std::size_t bit, Value *merged) {
    if (bit == 0) return compareAcross(bit);
    llvm::IRBuilder<> &b = e_.b;
    llvm::BasicBlock *const before = b.GetInsertBlock(), *const step = e_.newBlock("step"),
                            *const after = e_.newBlock("stepped");
    b.CreateCondBr(b.CreateICmpUGT(merged, e_.i32(static_cast<std::int64_t>(bit))), step, after);
    const std::vector<Item> unchanged = items_;
    const SharedMemory::AllReaders readers = e_.shared.readers();
    b.SetInsertPoint(step);
    compareAcross(bit);
    const std::vector<Item> changed = items_;
    llvm::BasicBlock *const end = b.GetInsertBlock();
    b.CreateBr(after);
    b.SetInsertPoint(after);
    items_ = unchanged;
    addIncoming(addPhis(before), end, changed);
    e_.shared.addReaders(readers);
  }

  using Phis = llvm::SmallVector<llvm::PHINode *, 4>;
  /// Let the items be phis, which get these from `from`.
  std::vector<Phis> addPhis(llvm::BasicBlock *from) {
    std::vector<Phis> phis(items_.size());
    for (std::size_t r = 0; r < items_.size(); ++r)
      for (Value *&part : items_[r]) {
        llvm::PHINode *phi = phis[r].emplace_back(e_.b.CreatePHI(part->getType(), 2));
        phi->addIncoming(part, from);
        part = phi;
      }
    return phis;
  }
  static void addIncoming(const std::vector<Phis> &phis, llvm::BasicBlock *from,
                          const std::vector<Item> &items) {
    for (std::size_t r = 0; r < items.size(); ++r)
      for (std::size_t part = 0; part < items[r].size(); ++part)
        phis[r][part]->addIncoming(items[r][part], from);
  }

  void load() {
    const std::int64_t extent = e_.type(op_.operand(0)).shape()[attrs_.axis];
    for (std::size_t r = 0; r < e_.registerCount(op_.operand(0)); ++r) {
      Value *key = keys_.of(e_.registers(op_.operand(0))[r]);
      Value *index = e_.coordinate(layout_, r, attrs_.axis);
      // Padding comes after all that has the highest key too: its indices are beyond.
      if (!llvm::has_single_bit(static_cast<std::uint64_t>(extent)))
        key = e_.b.CreateSelect(e_.b.CreateICmpULT(index, e_.i32(extent)), key, keys_.last());
      Item &item = items_.emplace_back(Item{key});
      if (hasIndex_) item.push_back(index);
      for (std::size_t i = 0; i < op_.operands.size(); ++i)
        if (part_[i] > kIndex) item.push_back(e_.registers(op_.operand(i))[r]);
    }
  }

  Value *isBefore(const Item &a, const Item &b) {
    Value *const ofA = keys_.rank(a[kKey]), *const ofB = keys_.rank(b[kKey]);
    Value *less = e_.b.CreateICmpULT(ofA, ofB);
    if (!hasIndex_) return less;
    Value *equal = e_.b.CreateICmpEQ(ofA, ofB);
    Value *earlier = e_.b.CreateICmpULT(a[kIndex], b[kIndex]);
    return e_.b.CreateOr(less, e_.b.CreateAnd(equal, earlier));
  }

  Item select(Value *condition, const Item &yes, const Item &no) {
    Item chosen;
    for (std::size_t i = 0; i < yes.size(); ++i)
      chosen.push_back(e_.b.CreateSelect(condition, yes[i], no[i]));
    return chosen;
  }

  /// Begin to merge blocks of half 2^merged elements. Every other block of 2^merged goes down,
  /// which is as if all bits of its places were the others; the last one goes up. Reckoned once for
  /// a merge: of each bit by itself it would be the same in all merges, and LLVM would keep it for
  /// all bits in front of their loop.
  void beginMerge(Value *merged) {
    places_.clear();
    for (std::size_t r = 0; r < items_.size(); ++r) {
      Value *place = e_.coordinate(layout_, r, attrs_.axis);
      Value *goesDown = e_.b.CreateTrunc(e_.b.CreateLShr(place, merged), e_.b.getInt1Ty());
      places_.push_back(e_.b.CreateXor(place, e_.b.CreateSExt(goesDown, e_.b.getInt32Ty())));
    }
  }

  /// i1: whether the place of register `r` gets the later one of the two that differ in a bit.
  Value *getsLater(std::size_t bit, std::size_t r) {
    Value *isSet = e_.b.CreateAnd(places_[r], e_.i32(std::int64_t{1} << bit));
    return e_.b.CreateICmpNE(isSet, e_.i32(0));
  }

  void compareAcross(std::size_t bit) {
    if (bits_[bit].dim == Dim::Register) return compareInThread(bit);
    for (std::size_t first = 0; first < items_.size(); first += kFetchedAtOnce) {
      const std::size_t end = std::min(first + kFetchedAtOnce, items_.size());
      const std::vector<Item> others = partners(bit, first, end);
      for (std::size_t r = first; r < end; ++r) {
        const Item &other = others[r - first];
        Value *otherIsBefore = isBefore(other, items_[r]);
        items_[r] = select(e_.b.CreateXor(otherIsBefore, getsLater(bit, r)), other, items_[r]);
      }
    }
  }

  void compareInThread(std::size_t bit) {
    const std::size_t mask = bits_[bit].mask;
    for (std::size_t r = 0; r < items_.size(); ++r) {
      if ((r & mask) != 0) continue;
      Value *swaps = e_.b.CreateXor(isBefore(items_[r | mask], items_[r]), getsLater(bit, r));
      const Item low = select(swaps, items_[r | mask], items_[r]);
      items_[r | mask] = select(swaps, items_[r], items_[r | mask]);
      items_[r] = low;
    }
  }

  /// Those of registers `first` to below `end`.
  std::vector<Item> partners(std::size_t bit, std::size_t first, std::size_t end) {
    const llvm::ArrayRef<Item> items = llvm::ArrayRef(items_).slice(first, end - first);
    std::vector<Item> others(items.size());
    const std::uint32_t mask = bits_[bit].mask;
    if (bits_[bit].dim == Dim::Lane) {
      for (std::size_t i = 0; i < items.size(); ++i)
        for (Value *x : items[i]) others[i].push_back(shuffleXor(e_, x, mask));
      return others;
    }
    const auto lanes = static_cast<std::uint32_t>(e_.kernel.threads().lanes);
    Value *thread = e_.b.CreateXor(e_.thread(), e_.b.getInt32(mask * lanes));
    for (std::size_t part = 0; part < items[0].size(); ++part) {
      Registers values;
      for (const Item &item : items) values.push_back(item[part]);
      const auto fetched = fetchFromThreads(e_, values, thread);
      for (std::size_t i = 0; i < items.size(); ++i) others[i].push_back(fetched[i][0]);
    }
    return others;
  }

  Emitter &e_;
  const ir::Op &op_;
  const ir::SortAttrs &attrs_;
  SortKeys keys_;
  bool hasIndex_ = true;
  llvm::SmallVector<std::size_t, 4> part_; // by operand: which of an item it is
  const layout::LinearLayout &layout_;
  llvm::SmallVector<AxisBit, 16> bits_;
  std::vector<Item> items_; // by register
  Registers places_;        // in the merge at hand, by register
};

} // namespace

void emitSort(Emitter &e, const ir::Op &op) { SortEmitter(e, op).run(); }

} // namespace imbrex::lower
