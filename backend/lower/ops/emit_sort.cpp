#include "backend/lower/memory/exchange.h"
#include "backend/lower/ops/emit_ops.h"
#include "backend/lower/values/combiner.h"
#include "llvm/ADT/MapVector.h"

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

// The key; the index, if there is one; elements of operands that are neither.
using Item = llvm::SmallVector<Value *, 4>;
constexpr std::size_t kKey = 0, kIndex = 1;

/// A thread's items, part by part; of two of them the indices may be one number.
class Items {
public:
  Items(llvm::IRBuilder<> &b, bool hasIndexPairs) : b_(&b), hasIndexPairs_(hasIndexPairs) {}

  static constexpr std::size_t kPairedIndexBits = 16;

  void push(const Item &item) {
    parts_.resize(item.size());
    for (std::size_t part = 0; part < item.size(); ++part)
      if (!isPaired(part) || count_ % 2 == 0)
        parts_[part].push_back(item[part]);
      else
        parts_[part].back() = pair(parts_[part].back(), item[part]);
    ++count_;
  }
  Item operator[](std::size_t r) const {
    Item item;
    for (std::size_t part = 0; part < parts_.size(); ++part)
      if (!isPaired(part))
        item.push_back(parts_[part][r]);
      else if (r % 2 == 0)
        item.push_back(b_->CreateAnd(parts_[part][r / 2], kLow));
      else
        item.push_back(b_->CreateLShr(parts_[part][r / 2], kPairedIndexBits));
    return item;
  }
  void set(std::size_t r, const Item &item) {
    for (std::size_t part = 0; part < parts_.size(); ++part) {
      Value *&value = parts_[part][isPaired(part) ? r / 2 : r];
      if (!isPaired(part))
        value = item[part];
      else if (r % 2 == 0)
        value = b_->CreateOr(b_->CreateAnd(value, ~kLow), item[part]);
      else
        value = pair(b_->CreateAnd(value, kLow), item[part]);
    }
  }
  std::size_t count() const { return count_; }
  /// Those from an even place on.
  Items slice(std::size_t first, std::size_t end) const {
    Items some(*b_, hasIndexPairs_);
    some.count_ = end - first;
    for (std::size_t part = 0; part < parts_.size(); ++part) {
      const std::size_t each = isPaired(part) ? 2 : 1;
      some.parts_.emplace_back(parts_[part].begin() + first / each,
                               parts_[part].begin() + llvm::divideCeil(end, each));
    }
    return some;
  }
  std::vector<Registers> &parts() { return parts_; }

private:
  static constexpr std::uint64_t kLow = (1 << kPairedIndexBits) - 1;

  bool isPaired(std::size_t part) const { return part == kIndex && hasIndexPairs_; }
  Value *pair(Value *low, Value *high) const {
    return b_->CreateOr(b_->CreateShl(high, kPairedIndexBits), low);
  }

  llvm::IRBuilder<> *b_;
  bool hasIndexPairs_;
  std::size_t count_ = 0;
  std::vector<Registers> parts_;
};

class SortEmitter {
public:
  SortEmitter(Emitter &emitter, const ir::Op &op)
      : e_(emitter), op_(op), attrs_(op.attrs<ir::SortAttrs>()),
        keys_(emitter, emitter.type(op.operand(0)).element(), attrs_.descending),
        layout_(emitter.layoutOf(op.operand(0))), bits_(axisBits(layout_, attrs_.axis)),
        items_(emitter.b, false) {
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
    if (steps * items_.count() > kMostComparators)
      mergeInLoop();
    else
      for (std::size_t merged = 1; merged <= bits_.size(); ++merged) {
        beginMerge(e_.i32(static_cast<std::int64_t>(merged)));
        for (std::size_t bit = merged; bit-- > 0;) compareAcross(bit);
      }
    for (std::size_t i = 0; i < op_.results.size(); ++i) {
      Registers results;
      for (std::size_t r = 0; r < items_.count(); ++r) {
        Value *const value = items_[r][part_[i]];
        llvm::Type *const like = e_.registers(op_.operand(i))[r]->getType();
        results.push_back(i == 0 ? keys_.elementOf(value, like) : value);
      }
      e_.define(op_.result(i), std::move(results));
    }
  }

private:
  // Of a thread, written one after the other: LLVM takes a tenth of a second for so many, and
  // longer than in proportion for more.
  static constexpr std::size_t kMostComparators = 512;
  // Of a thread's registers: what is fetched of all at once has no room beside them where they are
  // many, and each exchange through shared memory takes a meeting. 32 keys and indices of a thread
  // leave no register for anything else: the indices are pairs then, and two items are fetched.
  static constexpr std::size_t kManyItems = 32;
  static constexpr std::size_t kFetchedOfFew = 8, kFetchedOfMany = 2;
  static constexpr std::size_t kWordBits = 32;

  /// Every merge by the same code, which is as long as the last one, and leaves out the steps that
  /// smaller blocks do not have.
  void mergeInLoop() {
    llvm::IRBuilder<> &b = e_.b;
    const MemoryOrder::Pending pending = e_.order.pending();
    e_.shared.setReaders(SharedMemory::everywhere(SharedMemory::Readers::Some));
    llvm::BasicBlock *const before = b.GetInsertBlock(), *const loop = e_.newBlock("merge"),
                            *const exit = e_.newBlock("sorted");
    b.CreateBr(loop);
    b.SetInsertPoint(loop);
    llvm::PHINode *merged = b.CreatePHI(b.getInt32Ty(), 2);
    merged->addIncoming(e_.i32(1), before);
    const Phis carried = addPhis(before);
    beginMerge(merged);
    for (std::size_t bit = bits_.size(); bit-- > 0;) stepWhere(bit, merged);
    Value *next = b.CreateNUWAdd(merged, e_.i32(1));
    merged->addIncoming(next, b.GetInsertBlock());
    addIncoming(carried, b.GetInsertBlock(), items_.parts());
    b.CreateCondBr(b.CreateICmpULE(next, e_.i32(static_cast<std::int64_t>(bits_.size()))), loop,
                   exit);
    b.SetInsertPoint(exit);
    e_.shared.setReaders(SharedMemory::everywhere(SharedMemory::Readers::Some));
    e_.order.addPending(pending);
  }

  /// The step across a bit, in merges that have it.
  void stepWhere(std::size_t bit, Value *merged) {
    if (bit == 0) return compareAcross(bit);
    llvm::IRBuilder<> &b = e_.b;
    llvm::BasicBlock *const before = b.GetInsertBlock(), *const step = e_.newBlock("step"),
                            *const after = e_.newBlock("stepped");
    b.CreateCondBr(b.CreateICmpUGT(merged, e_.i32(static_cast<std::int64_t>(bit))), step, after);
    const std::vector<Registers> unchanged = items_.parts();
    const SharedMemory::AllReaders readers = e_.shared.readers();
    b.SetInsertPoint(step);
    compareAcross(bit);
    const std::vector<Registers> changed = items_.parts();
    llvm::BasicBlock *const end = b.GetInsertBlock();
    b.CreateBr(after);
    b.SetInsertPoint(after);
    items_.parts() = unchanged;
    addIncoming(addPhis(before), end, changed);
    e_.shared.addReaders(readers);
  }

  using Phis = std::vector<llvm::PHINode *>;
  /// Let all parts be phis, which get these from `from`.
  Phis addPhis(llvm::BasicBlock *from) {
    Phis phis;
    for (Registers &part : items_.parts())
      for (Value *&value : part) {
        llvm::PHINode *phi = phis.emplace_back(e_.b.CreatePHI(value->getType(), 2));
        phi->addIncoming(value, from);
        value = phi;
      }
    return phis;
  }
  static void addIncoming(const Phis &phis, llvm::BasicBlock *from,
                          const std::vector<Registers> &parts) {
    auto phi = phis.begin();
    for (const Registers &part : parts)
      for (Value *value : part) (*phi++)->addIncoming(value, from);
  }

  void load() {
    const std::int64_t extent = e_.type(op_.operand(0)).shape()[attrs_.axis];
    const std::size_t count = e_.registerCount(op_.operand(0));
    items_ =
        Items(e_.b, hasIndex_ && count >= kManyItems && bits_.size() <= Items::kPairedIndexBits);
    for (std::size_t r = 0; r < count; ++r) {
      Value *key = keys_.of(e_.registers(op_.operand(0))[r]);
      Value *index = e_.coordinate(layout_, r, attrs_.axis);
      // Padding comes after all that has the highest key too: its indices are beyond.
      if (!llvm::has_single_bit(static_cast<std::uint64_t>(extent)))
        key = e_.b.CreateSelect(e_.b.CreateICmpULT(index, e_.i32(extent)), key, keys_.last());
      Item item{key};
      if (hasIndex_) item.push_back(index);
      for (std::size_t i = 0; i < op_.operands.size(); ++i)
        if (part_[i] > kIndex) item.push_back(e_.registers(op_.operand(i))[r]);
      items_.push(item);
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
  /// which is as if all bits of its places were the others; the last one goes up. A place is a
  /// thread's part and a register's. In a loop the merge is a variable, and a bit for each of the
  /// two says all: of each register by itself, LLVM would keep as many numbers through the merge.
  void beginMerge(Value *merged) {
    places_.clear();
    registersGoDown_.clear();
    threadGoesDown_ = bitOf(threadPlace(), merged);
    if (!llvm::isa<llvm::Constant>(merged)) {
      for (std::size_t first = 0; first < items_.count(); first += kWordBits)
        registersGoDown_.push_back(registersThatGoDown(merged, first));
      return;
    }
    for (std::size_t r = 0; r < items_.count(); ++r) {
      Value *place = e_.coordinate(layout_, r, attrs_.axis);
      Value *goesDown = bitOf(place, merged);
      places_.push_back(e_.b.CreateXor(place, e_.b.CreateSExt(goesDown, e_.b.getInt32Ty())));
    }
  }
  Value *registersThatGoDown(Value *merged, std::size_t first) {
    Value *word = e_.i32(0);
    for (std::size_t bit = 1; bit < bits_.size(); ++bit)
      if (bits_[bit].dim == Dim::Register)
        word = e_.b.CreateSelect(e_.b.CreateICmpEQ(merged, number(bit)), registersWith(bit, first),
                                 word);
    return word;
  }

  /// Which registers' places get the later one of the two that differ in a bit.
  struct GetLater {
    std::size_t bit;
    Registers words; ///< In a loop: a bit of each register.
  };
  GetLater getLater(std::size_t bit) {
    GetLater get{.bit = bit, .words = {}};
    Value *thread = threadGoesDown_;
    if (bits_[bit].dim != Dim::Register)
      thread = e_.b.CreateXor(thread, bitOf(threadPlace(), number(bit)));
    Value *const all = e_.b.CreateSExt(thread, e_.b.getInt32Ty());
    for (std::size_t word = 0; word < registersGoDown_.size(); ++word)
      get.words.push_back(e_.b.CreateXor(
          all, e_.b.CreateXor(registersGoDown_[word], registersWith(bit, word * kWordBits))));
    return get;
  }
  Value *getsLater(const GetLater &get, std::size_t r) {
    return get.words.empty() ? bitOf(places_[r], number(get.bit))
                             : bitOf(get.words[r / kWordBits], number(r % kWordBits));
  }

  Value *threadPlace() { return e_.splitCoordinate(layout_, 0, attrs_.axis).thread; }
  Value *number(std::size_t i) { return e_.i32(static_cast<std::int64_t>(i)); }
  Value *bitOf(Value *word, Value *bit) {
    return e_.b.CreateTrunc(e_.b.CreateLShr(word, bit), e_.b.getInt1Ty());
  }
  /// Of registers from `first` on: which of them have a bit of the place set.
  llvm::ConstantInt *registersWith(std::size_t bit, std::size_t first) {
    std::uint32_t set = 0;
    for (std::size_t r = 0; r < kWordBits && bits_[bit].dim == Dim::Register; ++r)
      if (((first + r) & bits_[bit].mask) != 0) set |= std::uint32_t{1} << r;
    return e_.b.getInt32(set);
  }

  void compareAcross(std::size_t bit) {
    if (bits_[bit].dim == Dim::Register) return compareInThread(bit);
    const GetLater get = getLater(bit);
    const std::size_t atOnce = items_.count() < kManyItems ? kFetchedOfFew : kFetchedOfMany;
    for (std::size_t first = 0; first < items_.count(); first += atOnce) {
      const std::size_t end = std::min(first + atOnce, items_.count());
      const Items others = partners(bit, items_.slice(first, end));
      for (std::size_t r = first; r < end; ++r) {
        const Item own = items_[r], other = others[r - first];
        Value *otherIsBefore = isBefore(other, own);
        items_.set(r, select(e_.b.CreateXor(otherIsBefore, getsLater(get, r)), other, own));
      }
    }
  }

  void compareInThread(std::size_t bit) {
    const std::size_t mask = bits_[bit].mask;
    const GetLater get = getLater(bit);
    for (std::size_t r = 0; r < items_.count(); ++r) {
      if ((r & mask) != 0) continue;
      const Item low = items_[r], high = items_[r | mask];
      Value *swaps = e_.b.CreateXor(isBefore(high, low), getsLater(get, r));
      items_.set(r, select(swaps, high, low));
      items_.set(r | mask, select(swaps, low, high));
    }
  }

  /// What the threads have whose places differ in a bit.
  Items partners(std::size_t bit, Items items) {
    const std::uint32_t mask = bits_[bit].mask;
    if (bits_[bit].dim == Dim::Lane) {
      for (Registers &part : items.parts())
        for (Value *&x : part) x = shuffleXor(e_, x, mask);
      return items;
    }
    const auto lanes = static_cast<std::uint32_t>(e_.kernel.threads().lanes);
    Value *thread = e_.b.CreateXor(e_.thread(), e_.b.getInt32(mask * lanes));
    const auto fetch = [&](llvm::ArrayRef<Value **> places) {
      const Registers values(llvm::make_pointee_range(places));
      const auto fetched = fetchFromThreads(e_, values, thread);
      for (const auto &[place, value] : llvm::zip_equal(places, fetched)) *place = value[0];
    };
    // Of many items few are fetched at once: all parts of a type together. Of few, all parts at
    // once would take more registers than they have of their own.
    llvm::MapVector<llvm::Type *, llvm::SmallVector<Value **, 8>> ofType;
    for (Registers &part : items.parts()) {
      for (Value *&x : part) ofType[x->getType()].push_back(&x);
      if (items_.count() >= kManyItems) continue;
      fetch(ofType.front().second);
      ofType.clear();
    }
    for (const auto &[type, places] : ofType) fetch(places);
    return items;
  }

  Emitter &e_;
  const ir::Op &op_;
  const ir::SortAttrs &attrs_;
  SortKeys keys_;
  bool hasIndex_ = true;
  llvm::SmallVector<std::size_t, 4> part_; // by operand: which of an item it is
  const layout::LinearLayout &layout_;
  llvm::SmallVector<AxisBit, 16> bits_;
  Items items_;
  // Of the merge at hand: places by register; or, in a loop, whether those of a thread go down, i1,
  // and a bit for each register.
  Registers places_, registersGoDown_;
  Value *threadGoesDown_ = nullptr;
};

} // namespace

void emitSort(Emitter &e, const ir::Op &op) { SortEmitter(e, op).run(); }

} // namespace imbrex::lower
