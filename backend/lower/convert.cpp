#include "backend/layout/algebra.h"
#include "backend/layout/conversion.h"
#include "backend/layout/shared_conversion.h"
#include "backend/lower/access.h"
#include "backend/lower/exchange.h"

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

class Steps {
public:
  explicit Steps(Emitter &emitter) : e_(emitter) {}

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

/// Through shared memory, each thread moving vectors.
class SharedWay {
public:
  SharedWay(Emitter &emitter, const HeldTile &tile, const layout::SharedConversion &plan)
      : e_(emitter), tile_(tile), plan_(plan), memory_(e_.memoryType(tile.type)),
        bytes_(e_.module.getDataLayout().getTypeAllocSize(memory_).getFixedValue()) {}

  Registers run() {
    const auto size = static_cast<std::int64_t>(bytes_) << plan_.shared.inputBits();
    const SharedMemory::Use use = e_.shared.begin(size);
    if (use.needsBarrier) e_.barrier();
    e_.where(e_.isOwner(tile_.layout), [&] { write(use.base); });
    e_.barrier();
    Registers read = readAll(use.base);
    e_.shared.end();
    return read;
  }

private:
  template <class Each>
  void eachVector(const layout::RegisterVectors &vectors, const layout::LinearLayout &offsets,
                  Value *base, Each each) {
    const auto width = static_cast<std::size_t>(vectors.width);
    for (llvm::ArrayRef<std::int32_t> rest = vectors.registers; !rest.empty();
         rest = rest.drop_front(width)) {
      const auto first = static_cast<std::size_t>(rest[0]);
      const auto ofRegister = static_cast<std::int64_t>(offsets.apply(Dim::Register, first));
      Value *offset = e_.b.CreateXor(e_.threadPart(offsets), e_.i32(ofRegister));
      each(rest.take_front(width), e_.b.CreateGEP(memory_, base, offset));
    }
  }

  llvm::Type *vectorType(std::size_t width) {
    if (width == 1) return memory_;
    return llvm::FixedVectorType::get(memory_, static_cast<unsigned>(width));
  }

  void write(Value *base) {
    eachVector(plan_.writes, plan_.writeOffsets, base,
               [&](llvm::ArrayRef<std::int32_t> registers, Value *address) {
                 Value *stored = llvm::PoisonValue::get(vectorType(registers.size()));
                 for (std::size_t i = 0; i < registers.size(); ++i) {
                   Value *element = toMemory(e_, registerAt(tile_.registers, registers[i]));
                   stored = registers.size() == 1 ? element
                                                  : e_.b.CreateInsertElement(stored, element, i);
                 }
                 e_.b.CreateAlignedStore(stored, address, llvm::Align(bytes_ * registers.size()));
               });
  }

  Registers readAll(Value *base) {
    Registers read(plan_.reads.registers.size());
    eachVector(plan_.reads, plan_.readOffsets, base,
               [&](llvm::ArrayRef<std::int32_t> registers, Value *address) {
                 Value *loaded = e_.b.CreateAlignedLoad(vectorType(registers.size()), address,
                                                        llvm::Align(bytes_ * registers.size()));
                 for (std::size_t i = 0; i < registers.size(); ++i) {
                   Value *element =
                       registers.size() == 1 ? loaded : e_.b.CreateExtractElement(loaded, i);
                   read[static_cast<std::size_t>(registers[i])] =
                       fromMemory(e_, tile_.type, element);
                 }
               });
    return read;
  }

  Emitter &e_;
  const HeldTile &tile_;
  const layout::SharedConversion &plan_;
  llvm::Type *memory_;
  std::uint64_t bytes_;
};

} // namespace

Registers convert(Emitter &e, const HeldTile &tile, const layout::LinearLayout &wanted) {
  const layout::ConversionPlan plan = planConversion(tile.layout, wanted);
  if (plan.kind != layout::ConversionKind::Shared) {
    Registers registers = tile.registers;
    for (const layout::ConversionStep &step : plan.steps)
      registers = std::visit([&](const auto &s) { return Steps(e)(s, registers); }, step);
    return registers;
  }
  const machine::Machine &machine = e.words.machine();
  const auto bytes = static_cast<std::int64_t>(
      e.module.getDataLayout().getTypeAllocSize(e.memoryType(tile.type)).getFixedValue());
  // The plan is for all of a tile that fits.
  const bool fits = bytes << tile.layout.outputBits() <= machine.staticSharedMemoryBytes;
  if (!fits || !isSurjective(wanted)) return exchange(e, tile, wanted, 0);
  const layout::SharedMemory memory{.banks = machine.banks, .lanes = machine.warpSize};
  const layout::SharedConversion shared =
      planSharedConversion(tile.layout, wanted, static_cast<std::int32_t>(bytes), memory);
  return SharedWay(e, tile, shared).run();
}

} // namespace imbrex::lower
