#include "backend/lower/combiner.h"
#include "backend/lower/emit_ops.h"
#include "backend/lower/exchange.h"

/// A bitonic network. Its comparators join elements whose indices differ in one bit, so that each
/// step stays in a thread, is a shuffle, or goes through shared memory, as the bit is held.
/// Elements carry their index: no two are equal, and the result is that of a stable sort.
namespace imbrex::lower {

using ir::ElementKind;
using layout::Dim;
using llvm::Value;

namespace {

/// Whether the bits are those of a NaN; null where the format has none.
Value *isNan(Emitter &e, ElementKind kind, Value *bits) {
  if (!ir::isFloat(kind) && !ir::isNarrowFloat(kind)) return nullptr;
  const auto number = [&](std::uint64_t x) { return llvm::ConstantInt::get(bits->getType(), x); };
  const llvm::fltSemantics &format = ir::floatFormat(kind);
  if (!llvm::APFloat::semanticsHasNaN(format)) return nullptr;
  const auto bitsOf = [](const llvm::APFloat &x) { return x.bitcastToAPInt().getZExtValue(); };
  const bool isOneCode = kind == ElementKind::F8E4M3FNUZ || kind == ElementKind::F8E5M2FNUZ ||
                         kind == ElementKind::E8M0;
  if (isOneCode) return e.b.CreateICmpEQ(bits, number(bitsOf(llvm::APFloat::getNaN(format))));
  const std::uint64_t last =
      bitsOf(llvm::APFloat::semanticsHasInf(format) ? llvm::APFloat::getInf(format)
                                                    : llvm::APFloat::getLargest(format));
  const std::uint64_t sign = std::uint64_t{1} << (ir::info(kind).bits - 1);
  return e.b.CreateICmpUGT(e.b.CreateAnd(bits, number(sign - 1)), number(last));
}

/// A number, i32 or i64, that orders unsigned as the elements order; NaNs come last.
Value *sortKey(Emitter &e, ElementKind kind, bool isDescending, Value *x) {
  const auto bits = static_cast<unsigned>(ir::info(kind).bits);
  Value *narrow = e.b.CreateBitCast(x, e.b.getIntNTy(x->getType()->getScalarSizeInBits()));
  Value *key = e.b.CreateZExtOrTrunc(narrow, bits > 32 ? e.b.getInt64Ty() : e.b.getInt32Ty());
  const auto number = [&](std::uint64_t value) {
    return llvm::ConstantInt::get(key->getType(), value);
  };
  const std::uint64_t mask = ~std::uint64_t{0} >> (64 - bits), sign = mask ^ mask >> 1;
  Value *const nan = isNan(e, kind, key);
  const bool isFloat = ir::isFloat(kind) || ir::isNarrowFloat(kind);
  if (ir::isSigned(kind)) key = e.b.CreateXor(key, number(sign));
  if (isFloat && kind != ElementKind::E8M0) {
    // Negative numbers order against their bits.
    Value *isNegative = e.b.CreateICmpNE(e.b.CreateAnd(key, number(sign)), number(0));
    key = e.b.CreateXor(key, e.b.CreateSelect(isNegative, number(mask), number(sign)));
  }
  if (isDescending) key = e.b.CreateXor(key, number(mask));
  if (nan) key = e.b.CreateSelect(nan, llvm::Constant::getAllOnesValue(key->getType()), key);
  return key;
}

class Sorting {
public:
  Sorting(Emitter &emitter, const ir::Op &op)
      : e_(emitter), op_(op), attrs_(op.attrs<ir::SortAttrs>()),
        layout_(emitter.layoutOf(op.operand(0))), bits_(axisBits(layout_, attrs_.axis)) {}

  void run() {
    load();
    const std::size_t steps = bits_.size() * (bits_.size() + 1) / 2;
    if (steps * items_.size() > kMostComparators)
      mergeInLoop();
    else
      for (std::size_t merged = 1; merged <= bits_.size(); ++merged)
        for (std::size_t bit = merged; bit-- > 0;)
          compareAcross(bit, e_.i32(static_cast<std::int64_t>(merged)));
    for (std::size_t i = 0; i < op_.results.size(); ++i) {
      Registers results;
      for (const Item &item : items_) results.push_back(item[kFirstValue + i]);
      e_.define(op_.result(i), std::move(results));
    }
  }

private:
  using Item = llvm::SmallVector<Value *, 4>; // key, index, the operands' elements
  static constexpr std::size_t kKey = 0, kIndex = 1, kFirstValue = 2;
  // Of a thread, written one after the other: LLVM takes a tenth of a second for so many, and
  // longer than in proportion for more.
  static constexpr std::size_t kMostComparators = 512;

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
    if (bit == 0) return compareAcross(bit, merged);
    llvm::IRBuilder<> &b = e_.b;
    llvm::BasicBlock *const before = b.GetInsertBlock(), *const step = e_.newBlock("step"),
                            *const after = e_.newBlock("stepped");
    b.CreateCondBr(b.CreateICmpUGT(merged, e_.i32(static_cast<std::int64_t>(bit))), step, after);
    const std::vector<Item> unchanged = items_;
    const SharedMemory::AllReaders readers = e_.shared.readers();
    b.SetInsertPoint(step);
    compareAcross(bit, merged);
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
    const ElementKind kind = e_.type(op_.operand(0)).element();
    const std::int64_t extent = e_.type(op_.operand(0)).shape()[attrs_.axis];
    for (std::size_t r = 0; r < e_.registerCount(op_.operand(0)); ++r) {
      Value *key = sortKey(e_, kind, attrs_.descending, e_.registers(op_.operand(0))[r]);
      Value *index = e_.coordinate(layout_, r, attrs_.axis);
      // Padding comes after all that has the highest key too: its indices are beyond.
      if (!llvm::has_single_bit(static_cast<std::uint64_t>(extent)))
        key = e_.b.CreateSelect(e_.b.CreateICmpULT(index, e_.i32(extent)), key,
                                llvm::Constant::getAllOnesValue(key->getType()));
      Item &item = items_.emplace_back(Item{key, index});
      for (const ir::ValueId operand : op_.operands) item.push_back(e_.registers(operand)[r]);
    }
  }

  Value *isBefore(const Item &a, const Item &b) {
    Value *less = e_.b.CreateICmpULT(a[kKey], b[kKey]);
    Value *equal = e_.b.CreateICmpEQ(a[kKey], b[kKey]);
    Value *earlier = e_.b.CreateICmpULT(a[kIndex], b[kIndex]);
    return e_.b.CreateOr(less, e_.b.CreateAnd(equal, earlier));
  }

  Item select(Value *condition, const Item &yes, const Item &no) {
    Item chosen;
    for (std::size_t i = 0; i < yes.size(); ++i)
      chosen.push_back(e_.b.CreateSelect(condition, yes[i], no[i]));
    return chosen;
  }

  /// i1: whether a bit of the place of register `r` is set.
  Value *isSet(std::size_t bit, std::size_t r) {
    Value *place = e_.coordinate(layout_, r, attrs_.axis);
    return e_.b.CreateICmpNE(e_.b.CreateAnd(place, e_.i32(std::int64_t{1} << bit)), e_.i32(0));
  }
  /// Whether blocks of 2^merged elements go down at register `r`'s place; the last merge goes up.
  Value *goesDown(Value *merged, std::size_t r) {
    if (const auto *known = llvm::dyn_cast<llvm::ConstantInt>(merged)) {
      const std::size_t bit = known->getZExtValue();
      return bit == bits_.size() ? e_.b.getFalse() : isSet(bit, r);
    }
    Value *place = e_.coordinate(layout_, r, attrs_.axis);
    return e_.b.CreateTrunc(e_.b.CreateLShr(place, merged), e_.b.getInt1Ty());
  }

  void compareAcross(std::size_t bit, Value *merged) {
    if (bits_[bit].dim == Dim::Register) return compareInThread(bit, merged);
    const std::vector<Item> others = partners(bit);
    for (std::size_t r = 0; r < items_.size(); ++r) {
      // The lower place keeps the earlier item, unless the block goes down.
      Value *keepsLater = e_.b.CreateXor(isSet(bit, r), goesDown(merged, r));
      Value *otherIsBefore = isBefore(others[r], items_[r]);
      items_[r] = select(e_.b.CreateXor(otherIsBefore, keepsLater), others[r], items_[r]);
    }
  }

  void compareInThread(std::size_t bit, Value *merged) {
    const std::size_t mask = bits_[bit].mask;
    for (std::size_t r = 0; r < items_.size(); ++r) {
      if ((r & mask) != 0) continue;
      Value *swaps = e_.b.CreateXor(isBefore(items_[r | mask], items_[r]), goesDown(merged, r));
      const Item low = select(swaps, items_[r | mask], items_[r]);
      items_[r | mask] = select(swaps, items_[r], items_[r | mask]);
      items_[r] = low;
    }
  }

  std::vector<Item> partners(std::size_t bit) {
    std::vector<Item> others(items_.size());
    const std::uint32_t mask = bits_[bit].mask;
    if (bits_[bit].dim == Dim::Lane) {
      for (std::size_t r = 0; r < items_.size(); ++r)
        for (Value *x : items_[r]) others[r].push_back(shuffleXor(e_, x, mask));
      return others;
    }
    const auto lanes = static_cast<std::uint32_t>(e_.kernel.threads().lanes);
    Value *thread = e_.b.CreateXor(e_.thread(), e_.b.getInt32(mask * lanes));
    for (std::size_t part = 0; part < items_[0].size(); ++part) {
      Registers values;
      for (const Item &item : items_) values.push_back(item[part]);
      const auto fetched = fetchFromThreads(e_, values, thread);
      for (std::size_t r = 0; r < items_.size(); ++r) others[r].push_back(fetched[r][0]);
    }
    return others;
  }

  Emitter &e_;
  const ir::Op &op_;
  const ir::SortAttrs &attrs_;
  const layout::LinearLayout &layout_;
  llvm::SmallVector<AxisBit, 16> bits_;
  std::vector<Item> items_; // by register
};

} // namespace

void emitSort(Emitter &e, const ir::Op &op) { Sorting(e, op).run(); }

} // namespace imbrex::lower
