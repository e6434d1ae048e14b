#include "backend/layout/algebra.h"
#include "backend/layout/conversion.h"
#include "backend/layout/matrix_stores.h"
#include "backend/layout/shared_conversion.h"
#include "backend/lower/memory/exchange.h"
#include "backend/lower/memory/global_access.h"
#include "backend/lower/memory/slot_address.h"
#include "backend/lower/values/arithmetic.h"
#include "backend/support/check.h"

/// Carries out the plans of backend/layout: how a tile gets from the threads that hold it to those
/// that want it.
namespace imbrex::lower {

using layout::Bits;
using layout::Dim;
using llvm::Value;

namespace {

Value *registerAt(const Registers &registers, std::int32_t i) {
  return registers[static_cast<std::size_t>(i)];
}

class StepEmitter {
public:
  explicit StepEmitter(Emitter &emitter) : e_(emitter) {}

  Registers operator()(const layout::RenameStep &step, const Registers &registers) {
    Registers renamed;
    for (const std::int32_t source : step.sources) renamed.push_back(registerAt(registers, source));
    return renamed;
  }

  Registers operator()(const layout::SelectStep &step, const Registers &registers) {
    Value *bits = e_.b.CreateAnd(e_.thread(), e_.i32(static_cast<std::int64_t>(step.threadMask)));
    Value *ones = e_.b.CreateUnaryIntrinsic(llvm::Intrinsic::ctpop, bits);
    Value *isOdd = e_.b.CreateTrunc(ones, e_.b.getInt1Ty());
    Registers selected;
    for (std::size_t i = 0; i < step.sources.size(); ++i)
      selected.push_back(e_.b.CreateSelect(isOdd, registerAt(registers, step.others[i]),
                                           registerAt(registers, step.sources[i])));
    return selected;
  }

  Registers operator()(const layout::ShuffleStep &step, const Registers &registers) {
    Value *lane = nullptr;
    if (!step.isXor) {
      const llvm::SmallVector<Bits, 12> columns(step.laneColumns.begin(), step.laneColumns.end());
      lane = applyColumns(e_.b, columns, e_.thread());
    }
    Registers shuffled;
    for (std::size_t i = 0; i < step.sources.size(); ++i) {
      Value *value = registerAt(registers, step.sources[i]);
      const std::uint32_t mask = step.laneMasks[i];
      if (!step.isXor)
        shuffled.push_back(shuffle(e_, value, e_.b.CreateXor(lane, e_.b.getInt32(mask))));
      else
        shuffled.push_back(mask == 0 ? value : shuffleXor(e_, value, mask));
    }
    return shuffled;
  }

private:
  Emitter &e_;
};

/// Where two halves of a tile are told apart by one bit of registers alone: the number of a
/// register of one half, from its number within that.
std::size_t withHalf(std::size_t number, std::int32_t bit, std::size_t half) {
  const std::size_t low = number & ((std::size_t{1} << bit) - 1);
  return (number ^ low) << 1 | half << bit | low;
}

Registers carryOut(Emitter &e, llvm::ArrayRef<layout::ConversionStep> steps, Registers registers) {
  for (const layout::ConversionStep &step : steps)
    registers = std::visit([&](const auto &s) { return StepEmitter(e)(s, registers); }, step);
  return registers;
}

/// Which elements cross lanes two in a word: small ones, if registers tell them apart before and
/// behind.
std::optional<layout::CommonRegister> pairOf(const Registers &registers,
                                             const layout::LinearLayout &from,
                                             const layout::LinearLayout &wanted) {
  const unsigned bits = registers[0]->getType()->getScalarSizeInBits();
  return bits == 8 || bits == 16 ? wordRegister(from, wanted) : std::nullopt;
}

Registers crossLanes(Emitter &e, Registers registers, const layout::LinearLayout &from,
                     const layout::LinearLayout &wanted);

/// Two elements in a word of twice their bits.
Registers crossLanesInPairs(Emitter &e, const Registers &registers,
                            const layout::LinearLayout &from, const layout::LinearLayout &wanted,
                            const layout::CommonRegister &pair) {
  llvm::Type *const element = registers[0]->getType();
  llvm::Type *const two = llvm::FixedVectorType::get(element, 2);
  llvm::Type *const word = e.b.getIntNTy(2 * element->getScalarSizeInBits());
  Registers words;
  for (std::size_t r = 0; r < registers.size() / 2; ++r)
    words.push_back(e.b.CreateBitCast(
        vectorOf(e.b, {registers[withHalf(r, pair.from, 0)], registers[withHalf(r, pair.from, 1)]}),
        word));
  const Registers crossed =
      crossLanes(e, std::move(words), withoutCommonRegister(from, pair.output, pair.from),
                 withoutCommonRegister(wanted, pair.output, pair.wanted));
  Registers converted(2 * crossed.size());
  for (std::size_t r = 0; r < crossed.size(); ++r) {
    const auto halves = halvesOf(e.b, e.b.CreateBitCast(crossed[r], two));
    for (const std::size_t half : {0, 1}) converted[withHalf(r, pair.wanted, half)] = halves[half];
  }
  return converted;
}

Registers crossLanes(Emitter &e, Registers registers, const layout::LinearLayout &from,
                     const layout::LinearLayout &wanted) {
  if (const auto pair = pairOf(registers, from, wanted))
    return crossLanesInPairs(e, registers, from, wanted, *pair);
  const auto steps = planWithinWarps(from, wanted);
  IMBREX_CHECK(steps, "a warp lacks a part of what it had all of");
  return carryOut(e, *steps, std::move(registers));
}

/// The vectors of a thread and where each lies, of elements of so many bytes.
template <class Each>
void eachVector(Emitter &e, std::int64_t bytes, const SharedTile &tile, Each each) {
  SlotAddresses addresses(e, tile.base, tile.offsets, bytes);
  for (const llvm::ArrayRef<std::int32_t> vector : tile.vectors.each()) {
    const Bits first = tile.offsets.apply(Dim::Register, static_cast<Bits>(vector[0])) ^ tile.first;
    each(vector, addresses.at(first));
  }
}

} // namespace

Registers readShared(Emitter &e, const ir::Type &type, const SharedTile &tile) {
  const std::int64_t bytes = e.bytesInMemory(e.laneType(type));
  Registers read(tile.vectors.registers.size());
  eachVector(e, bytes, tile, [&](llvm::ArrayRef<std::int32_t> vector, Value *address) {
    const Registers elements =
        emitRead(e, type, {.address = address, .alignment = bytes * std::ssize(vector)},
                 vector.size(), {}, {});
    for (const auto &[r, element] : llvm::zip_equal(vector, elements))
      read[static_cast<std::size_t>(r)] = element;
  });
  return read;
}

namespace {

void writeMatrices(Emitter &e, std::int64_t bytes, const Registers &registers,
                   const SharedTile &tile, const layout::MatrixStores &stores) {
  const std::size_t matrices = std::size_t{1} << stores.matrixBits;
  const auto ofLane = static_cast<std::size_t>(stores.elementsOfLane);
  SlotAddresses addresses(e, tile.base, stores.rows, bytes);
  llvm::ArrayRef<std::int32_t> rest = stores.registers;
  for (Bits store = 0; !rest.empty(); ++store) {
    llvm::SmallVector<Value *, 4> words;
    for (; words.size() < matrices; rest = rest.drop_front(ofLane)) {
      llvm::SmallVector<Value *, 4> elements;
      for (Value *element : picked(registers, rest.take_front(ofLane)))
        elements.push_back(toMemory(e, element));
      words.push_back(e.b.CreateBitCast(vectorOf(e.b, elements), e.b.getInt32Ty()));
    }
    const Bits first =
        stores.rows.apply(Dim::Register, store << stores.elementBitsOfRow) ^ tile.first;
    e.words.storeMatrices(e.b, addresses.at(first), words, stores.areTransposed);
  }
}

} // namespace

void writeShared(Emitter &e, const ir::Type &type, const Registers &registers,
                 const SharedTile &tile) {
  const std::int64_t bytes = e.bytesInMemory(e.laneType(type));
  const auto stores =
      fewerMatrixStores(tile.offsets, tile.vectors, static_cast<std::int32_t>(bytes),
                        sharedMemoryOf(e.words.machine()));
  const bool beginsRows =
      !stores || (tile.first & ((Bits{1} << stores->elementBitsOfRow) - 1)) == 0;
  if (stores && beginsRows) return writeMatrices(e, bytes, registers, tile, *stores);
  eachVector(e, bytes, tile, [&](llvm::ArrayRef<std::int32_t> vector, Value *address) {
    emitWrite(e, type, {.address = address, .alignment = bytes * std::ssize(vector)},
              picked(registers, vector), {});
  });
}

namespace {

/// Through shared memory, each thread moving vectors of elements of so many bytes.
Registers convertShared(Emitter &e, const RegisterTile &tile, const layout::SharedConversion &plan,
                        std::int64_t bytes) {
  Value *const region = e.beginExchange(bytes << plan.shared.inputBits());
  e.where(e.isOwner(tile.layout), [&] {
    writeShared(e, tile.type, tile.registers, {region, plan.writeOffsets, plan.writes});
  });
  e.meet();
  Registers read = readShared(e, tile.type, {region, plan.readOffsets, plan.reads});
  e.shared.end();
  return read;
}

/// One after the other the halves of a tile that registers alone tell apart, before and behind.
Registers convertHalves(Emitter &e, const RegisterTile &tile, const layout::LinearLayout &wanted,
                        const layout::CommonRegister &cut) {
  const layout::LinearLayout from = withoutCommonRegister(tile.layout, cut.output, cut.from),
                             to = withoutCommonRegister(wanted, cut.output, cut.wanted);
  Registers converted(std::size_t{2} << to.inputBits(Dim::Register));
  for (const std::size_t half : {0, 1}) {
    Registers held;
    for (std::size_t r = 0; r < tile.registers.size() / 2; ++r)
      held.push_back(tile.registers[withHalf(r, cut.from, half)]);
    const Registers got = convert(e, {tile.type, from, std::move(held)}, to);
    for (std::size_t r = 0; r < got.size(); ++r) converted[withHalf(r, cut.wanted, half)] = got[r];
  }
  return converted;
}

} // namespace

Registers convert(Emitter &e, const RegisterTile &tile, const layout::LinearLayout &wanted) {
  const layout::ConversionPlan plan = planConversion(tile.layout, wanted);
  if (plan.kind == layout::ConversionKind::Shuffles)
    if (const auto pair = pairOf(tile.registers, tile.layout, wanted))
      return crossLanesInPairs(e, tile.registers, tile.layout, wanted, *pair);
  if (plan.kind != layout::ConversionKind::Shared) return carryOut(e, plan.steps, tile.registers);
  const machine::Machine &machine = e.words.machine();
  const std::int64_t bytes = e.bytesInMemory(e.laneType(tile.type));
  if (!isSurjective(wanted)) return exchange(e, tile, wanted, 0);
  // The plan is for all of a tile that fits.
  if (bytes << tile.layout.outputBits() > e.scratchBytes()) {
    const auto cuts = layout::commonRegisters(tile.layout, wanted);
    return cuts.empty() ? exchange(e, tile, wanted, 0)
                        : convertHalves(e, tile, wanted, cuts.front());
  }
  const layout::SharedConversion shared = planSharedConversion(
      tile.layout, wanted, static_cast<std::int32_t>(bytes), sharedMemoryOf(machine));
  return convertShared(e, tile, shared, bytes);
}

} // namespace imbrex::lower
