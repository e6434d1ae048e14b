#include "backend/lower/memory/exchange.h"

#include "backend/layout/bank_conflicts.h"
#include "backend/lower/memory/global_access.h"

namespace imbrex::lower {

using layout::Bits;
using layout::Dim;
using llvm::Value;

namespace {

/// One exchange: rounds over windows of the tile that fit into shared memory.
class Exchange {
public:
  Exchange(Emitter &emitter, const RegisterTile &tile)
      : e_(emitter), tile_(tile), memory_(e_.memoryType(tile.type)),
        bytes_(e_.bytesInMemory(memory_)) {
    const std::int64_t capacity = e_.scratchBytes() / bytes_;
    window_ =
        std::min(tile.layout.outputBits(),
                 static_cast<std::int32_t>(llvm::Log2_64(static_cast<std::uint64_t>(capacity))));
  }

  Registers run(llvm::ArrayRef<Value *> indices) {
    Registers found(indices.size(), llvm::Constant::getNullValue(e_.laneType(tile_.type)));
    const std::int64_t rounds = std::int64_t{1} << (tile_.layout.outputBits() - window_);
    for (std::int64_t round = 0; round < rounds; ++round) {
      Value *const region = e_.beginExchange(bytes_ << window_);
      write(region, round);
      e_.meet();
      for (std::size_t i = 0; i < indices.size(); ++i)
        found[i] =
            e_.where(isIn(indices[i], round), found[i], [&] { return read(region, indices[i]); });
      e_.shared.end();
    }
    return found;
  }

private:
  /// Whether an index lies in a round's window; null where all do.
  Value *isIn(Value *index, std::int64_t round) {
    if (window_ == tile_.layout.outputBits()) return nullptr;
    return e_.b.CreateICmpEQ(e_.b.CreateLShr(index, static_cast<std::uint64_t>(window_)),
                             e_.i32(round));
  }

  Value *address(Value *base, Value *index) {
    Value *inWindow = window_ == tile_.layout.outputBits()
                          ? index
                          : e_.b.CreateAnd(index, e_.i32((std::int64_t{1} << window_) - 1));
    return e_.b.CreateGEP(memory_, base, inWindow);
  }

  void write(Value *base, std::int64_t round) {
    for (std::size_t r = 0; r < tile_.registers.size(); ++r) {
      Value *index = packedIndex(e_, tile_.layout, r);
      e_.where(e_.allOf({owner(), isIn(index, round)}), [&] {
        e_.b.CreateAlignedStore(toMemory(e_, tile_.registers[r]), address(base, index),
                                llvm::Align(static_cast<std::uint64_t>(bytes_)));
      });
    }
  }

  Value *read(Value *base, Value *index) {
    Value *stored = e_.b.CreateAlignedLoad(memory_, address(base, index),
                                           llvm::Align(static_cast<std::uint64_t>(bytes_)));
    return fromMemory(e_, tile_.type, stored);
  }

  Value *owner() { return e_.isOwner(tile_.layout); }

  Emitter &e_;
  const RegisterTile &tile_;
  llvm::Type *memory_;
  std::int64_t bytes_;
  std::int32_t window_; // bits of the index within one round
};

} // namespace

Value *packedIndex(Emitter &e, const layout::LinearLayout &layout, std::size_t r) {
  const auto ofRegister = static_cast<std::int64_t>(layout.apply(Dim::Register, r));
  return e.b.CreateOr(e.threadPart(layout), e.i32(ofRegister), "", /*IsDisjoint=*/true);
}

std::vector<Registers> fetchFromThreads(Emitter &e, llvm::ArrayRef<Value *> values,
                                        llvm::ArrayRef<Value *> threads) {
  std::vector<Registers> fetched;
  if (values.empty()) return fetched;
  llvm::Type *const lane = values[0]->getType();
  llvm::Type *const memory = e.memoryType(lane);
  const std::int64_t bytes = e.bytesInMemory(lane);
  const std::int64_t row = bytes * e.kernel.threads().count();
  const auto most = static_cast<std::size_t>(e.scratchBytes() / row);
  const llvm::Align alignment(static_cast<std::uint64_t>(bytes));
  while (!values.empty()) {
    const auto round = values.take_front(most);
    values = values.drop_front(round.size());
    Value *const region = e.beginExchange(row * static_cast<std::int64_t>(round.size()));
    const auto address = [&](std::size_t i, Value *thread) {
      Value *first =
          e.b.CreateConstGEP1_64(e.b.getInt8Ty(), region, static_cast<std::uint64_t>(row) * i);
      return e.b.CreateGEP(memory, first, thread);
    };
    for (std::size_t i = 0; i < round.size(); ++i)
      e.b.CreateAlignedStore(toMemory(e, round[i]), address(i, e.thread()), alignment);
    e.meet();
    for (std::size_t i = 0; i < round.size(); ++i) {
      Registers &ofThreads = fetched.emplace_back();
      for (Value *thread : threads) {
        Value *loaded = e.b.CreateAlignedLoad(memory, address(i, thread), alignment);
        ofThreads.push_back(lane->isIntegerTy(1) ? e.b.CreateTrunc(loaded, lane) : loaded);
      }
    }
    e.shared.end();
  }
  return fetched;
}

namespace {

/// A place in shared memory for each warp's copy of some values.
class WarpSlots {
public:
  /// Warps that differ in `bits` alone lie side by side.
  WarpSlots(Emitter &emitter, llvm::ArrayRef<std::uint32_t> bits)
      : e_(emitter), asked_(std::int64_t{1} << bits.size()) {
    layout::Bits rest = layout::Bits{1} << bits.size();
    llvm::SmallVector<layout::Bits, 8> columns;
    for (std::uint32_t bit = 1; bit < static_cast<std::uint32_t>(warps()); bit *= 2) {
      const auto *const found = llvm::find(bits, bit);
      columns.push_back(found == bits.end() ? rest : layout::Bits{1} << (found - bits.begin()));
      if (found == bits.end()) rest *= 2;
    }
    own_ = applyColumns(e_.b, columns, e_.warp());
    firstAsked_ = e_.b.CreateAnd(own_, e_.i32(-asked_));
  }

  std::int64_t bytesOf(Value *value) const {
    const auto bytes = static_cast<std::uint64_t>(elementBytes(value) * warps());
    return static_cast<std::int64_t>(llvm::alignTo(bytes, layout::kMaxAccessBytes));
  }

  void write(Value *base, Value *value) {
    Value *stored = toMemory(e_, value);
    e_.b.CreateAlignedStore(stored, e_.b.CreateGEP(stored->getType(), base, own_),
                            llvm::Align(static_cast<std::uint64_t>(elementBytes(value))));
  }

  /// In accesses as wide as there are.
  Registers read(Value *base, Value *like) {
    llvm::Type *const lane = like->getType(), *const memory = e_.memoryType(lane);
    const std::int64_t width =
        std::min(asked_, std::int64_t{layout::kMaxAccessBytes} / elementBytes(like));
    llvm::Type *const access = llvm::FixedVectorType::get(memory, static_cast<unsigned>(width));
    const llvm::Align alignment(static_cast<std::uint64_t>(width * elementBytes(like)));
    Registers found;
    for (std::int64_t first = 0; first < asked_; first += width) {
      Value *place = e_.b.CreateGEP(memory, base, e_.b.CreateOr(firstAsked_, e_.i32(first)));
      Value *loaded = e_.b.CreateAlignedLoad(access, place, alignment);
      for (std::int64_t i = 0; i < width; ++i) {
        Value *element = e_.b.CreateExtractElement(loaded, static_cast<std::uint64_t>(i));
        found.push_back(lane->isIntegerTy(1) ? e_.b.CreateTrunc(element, lane) : element);
      }
    }
    return found;
  }

private:
  std::int32_t warps() const { return e_.kernel.threads().warps; }
  std::int64_t elementBytes(Value *value) const { return e_.bytesInMemory(value->getType()); }

  Emitter &e_;
  std::int64_t asked_;       // how many warps a thread asks
  Value *own_, *firstAsked_; // i32: slots
};

} // namespace

std::vector<Registers> fetchFromWarps(Emitter &e, llvm::ArrayRef<Value *> values,
                                      llvm::ArrayRef<std::uint32_t> bits) {
  std::vector<Registers> fetched;
  if (values.empty()) return fetched;
  WarpSlots slots(e, bits);
  const std::int64_t row = slots.bytesOf(values[0]); // all are of one type
  const auto most = static_cast<std::size_t>(e.scratchBytes() / row);
  while (!values.empty()) {
    const auto round = values.take_front(most);
    values = values.drop_front(round.size());
    Value *const region = e.beginExchange(row * static_cast<std::int64_t>(round.size()));
    const auto place = [&](std::size_t i) {
      return e.b.CreateConstGEP1_64(e.b.getInt8Ty(), region, static_cast<std::uint64_t>(row) * i);
    };
    e.where(e.b.CreateIsNull(e.lane()), [&] {
      for (std::size_t i = 0; i < round.size(); ++i) slots.write(place(i), round[i]);
    });
    e.meet();
    for (std::size_t i = 0; i < round.size(); ++i)
      fetched.push_back(slots.read(place(i), round[i]));
    e.shared.end();
  }
  return fetched;
}

namespace {

/// Move a value's bits as 32-bit words.
template <class Move>
Value *moveWords(Emitter &e, Value *value, Move move) {
  llvm::IRBuilder<> &b = e.b;
  llvm::Type *const type = value->getType();
  const auto bits = static_cast<unsigned>(e.module.getDataLayout().getTypeSizeInBits(type));
  llvm::Type *const integer = b.getIntNTy(bits);
  Value *const whole =
      type->isPointerTy() ? b.CreatePtrToInt(value, integer) : b.CreateBitCast(value, integer);
  Value *moved = nullptr;
  if (bits <= 32) {
    moved = b.CreateTrunc(move(b.CreateZExt(whole, b.getInt32Ty())), integer);
  } else {
    constexpr std::uint64_t kWord = 32;
    Value *low = move(b.CreateTrunc(whole, b.getInt32Ty()));
    Value *high = move(b.CreateTrunc(b.CreateLShr(whole, kWord), b.getInt32Ty()));
    moved = b.CreateOr(b.CreateZExt(low, integer), b.CreateShl(b.CreateZExt(high, integer), kWord));
  }
  return type->isPointerTy() ? b.CreateIntToPtr(moved, type) : b.CreateBitCast(moved, type);
}

} // namespace

Value *shuffleXor(Emitter &e, Value *value, std::uint32_t mask) {
  return moveWords(e, value, [&](Value *word) { return e.words.shuffleXor(e.b, word, mask); });
}

Value *shuffle(Emitter &e, Value *value, Value *lane) {
  return moveWords(e, value, [&](Value *word) { return e.words.shuffle(e.b, word, lane); });
}

Value *anyInBlock(Emitter &e, Value *condition) {
  Value *any = e.words.any(e.b, condition);
  if (e.kernel.threads().warps == 1) return any;
  Registers firstLanes;
  for (std::int32_t warp = 0; warp < e.kernel.threads().warps; ++warp)
    firstLanes.push_back(e.i32(std::int64_t{warp} * e.kernel.threads().lanes));
  Value *result = e.b.getFalse();
  const auto ofWarps = fetchFromThreads(e, any, firstLanes);
  for (Value *ofWarp : ofWarps[0]) result = e.b.CreateOr(result, ofWarp);
  return result;
}

Registers exchange(Emitter &e, const RegisterTile &tile, llvm::ArrayRef<Value *> indices) {
  return Exchange(e, tile).run(indices);
}

Registers exchange(Emitter &e, const RegisterTile &tile, const layout::LinearLayout &wanted,
                   layout::Bits offset) {
  llvm::SmallVector<Value *, 8> indices;
  for (std::int64_t r = 0; r < layout::registerCount(wanted); ++r) {
    const layout::Bits ofRegister =
        wanted.apply(layout::Dim::Register, static_cast<layout::Bits>(r));
    Value *constant = e.i32(static_cast<std::int64_t>(ofRegister ^ offset));
    indices.push_back(e.b.CreateXor(e.threadPart(wanted), constant));
  }
  return exchange(e, tile, indices);
}

} // namespace imbrex::lower
