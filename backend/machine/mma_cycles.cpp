#include "backend/machine/mma.h"

#include <algorithm>
#include <array>

namespace imbrex::machine {
namespace {

/// A row of mma_rates.def.
struct Rates {
  std::string_view machines; ///< By name and between spaces.
  std::int32_t f64, tf32, f16, f8, i8, f4;
};
constexpr auto kRates = std::to_array<Rates>({
#define IMBREX_MMA_RATE(machines, ...) {machines, __VA_ARGS__},
#include "backend/machine/mma_rates.def"
});

/// 0: not known.
std::int32_t rateOf(const Rates &rates, MatrixElement element) {
  switch (element) {
  case MatrixElement::F64: return rates.f64;
  case MatrixElement::Tf32: return rates.tf32;
  case MatrixElement::F16:
  case MatrixElement::BF16: return rates.f16;
  case MatrixElement::F8E4M3FN:
  case MatrixElement::F8E5M2: return rates.f8;
  case MatrixElement::I8:
  case MatrixElement::U8: return rates.i8;
  case MatrixElement::F4E2M1: return rates.f4;
  case MatrixElement::F32:
  case MatrixElement::I32:
  case MatrixElement::F8E4M3FNUZ:
  case MatrixElement::F8E5M2FNUZ:
  case MatrixElement::E8M0: return 0; // NVIDIA's units do not multiply them
  }
  return 0;
}

std::int32_t rateOf(const Rates &rates, const MmaInstruction &instruction) {
  // An f4 that has a byte is multiplied as one of 8 bits.
  if (instruction.form == FragmentForm::MmaSyncBytes) return rates.f8;
  return std::min(rateOf(rates, instruction.a), rateOf(rates, instruction.b));
}

std::int32_t cyclesAt(std::int64_t rateOfCore, const Machine &machine,
                      const MmaInstruction &instruction) {
  const std::int64_t each = std::max<std::int64_t>(rateOfCore / machine.partitionsPerCore, 1);
  const std::int64_t products = std::int64_t{instruction.m} * instruction.n * instruction.k;
  return static_cast<std::int32_t>(std::max<std::int64_t>(products / each, 1));
}

} // namespace

UnitCycles unitCycles(const Machine &machine, const MmaInstruction &instruction) {
  if (instruction.cycles > 0) return {instruction.cycles, true};
  const std::string name = " " + std::string(machine.name) + " ";
  for (const Rates &rates : kRates)
    if (rates.machines.find(name) != std::string_view::npos)
      if (const std::int32_t rate = rateOf(rates, instruction); rate > 0)
        return {cyclesAt(rate, machine, instruction), true};
  // What A100 does, of which most is known: as many bits of operands in a cycle.
  constexpr std::int64_t kBitsOfCore = 1024 * 16;
  const std::int32_t bits = std::max(bitsOf(instruction.a), bitsOf(instruction.b));
  return {cyclesAt(kBitsOfCore / bits, machine, instruction), false};
}

} // namespace imbrex::machine
