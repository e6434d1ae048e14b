// Fragments as the compiler has them (machine::fragmentOf) against the vendors' own formulas, as
// the emulator has them: element by element.

#include "backend/emulate/model/fragments.h"
#include "backend/layout/algebra.h"
#include "llvm/ADT/STLExtras.h"

#include <doctest/doctest.h>

#include <set>
#include <string>

using namespace imbrex;
using emulate::Fragment;
using emulate::MatrixPlace;
using layout::Bits;
using layout::Dim;
using layout::LinearLayout;
using machine::Machine;
using machine::MmaInstruction;
using machine::MmaOperand;

namespace {

MatrixPlace placeOf(const LinearLayout &fragment, int element, int lane) {
  const int registerBits = fragment.inputBits(Dim::Register);
  const Bits at = fragment.apply(static_cast<Bits>(element | lane << registerBits));
  return {static_cast<std::int32_t>(fragment.outputPart(at, Dim::Axis0)),
          static_cast<std::int32_t>(fragment.outputPart(at, Dim::Axis1))};
}

template <class Function>
void forEachProduct(Function &&function) {
  for (const Machine &machine : machine::allMachines())
    for (const MmaInstruction *x : machine::mmaInstructionsOf(machine)) {
      CAPTURE(std::string(machine.name));
      CAPTURE(std::string(x->intrinsic));
      function(machine, *x);
    }
}

} // namespace

TEST_CASE("fragments are those of the PTX ISA and of AMD's calculator and libraries") {
  forEachProduct([](const Machine &machine, const MmaInstruction &x) {
    for (const MmaOperand operand : {MmaOperand::A, MmaOperand::B, MmaOperand::Sums}) {
      CAPTURE(static_cast<int>(operand));
      const Fragment vendors = emulate::vendorFragment(machine, x, operand);
      const LinearLayout ours = machine::fragmentOf(x, operand);
      REQUIRE((1 << ours.inputBits(Dim::Register)) == vendors.elements);
      REQUIRE((1 << ours.inputBits(Dim::Lane)) == machine.warpSize);
      bool isSame = true;
      for (int lane = 0; lane < machine.warpSize; ++lane)
        for (int i = 0; i < vendors.elements; ++i)
          isSame &= placeOf(ours, i, lane) == vendors.at(lane, i);
      CHECK(isSame);
      CHECK(machine::strideBits(x, operand) == vendors.stride);
      CHECK(machine::firstBit(x, operand) == vendors.firstBit);
      CHECK(machine::registersOf(x, operand) == vendors.registers());
    }
  });
}

TEST_CASE("scales lie where the selectors find them") {
  forEachProduct([](const Machine &machine, const MmaInstruction &x) {
    if (!x.isScaled()) return;
    REQUIRE(x.k % x.scale.k == 0);
    for (const MmaOperand operand : {MmaOperand::ScaleA, MmaOperand::ScaleB}) {
      const bool ofA = operand == MmaOperand::ScaleA;
      const LinearLayout ours = machine::fragmentOf(x, operand);
      CHECK(layout::isSurjective(ours));
      for (int outer = 0; outer < (ofA ? x.m : x.n); ++outer)
        for (int block = 0; block < x.k / x.scale.k; ++block) {
          const auto at = emulate::vendorScale(machine, x, operand, {}, outer, block);
          REQUIRE(at.byte < (1 << ours.inputBits(Dim::Register)));
          const auto wanted = ofA ? MatrixPlace{outer, block} : MatrixPlace{block, outer};
          CHECK(placeOf(ours, at.byte, at.lane) == wanted);
        }
    }
  });
}

TEST_CASE("scales of other bytes and lanes are other scales") {
  forEachProduct([](const Machine &machine, const MmaInstruction &x) {
    if (!x.isScaled()) return;
    for (const MmaOperand operand : {MmaOperand::ScaleA, MmaOperand::ScaleB}) {
      const int scales = (operand == MmaOperand::ScaleA ? x.m : x.n) * (x.k / x.scale.k);
      std::set<std::pair<int, int>> places;
      int selectors = 0;
      for (int byte = 0; byte < 8; ++byte)
        for (int lane = 0; lane < 8; ++lane) {
          if (!emulate::hasSelectors(machine, x, operand, {byte, lane})) continue;
          ++selectors;
          for (int i = 0; i < scales; ++i) {
            const int blocks = x.k / x.scale.k;
            const auto at =
                emulate::vendorScale(machine, x, operand, {byte, lane}, i / blocks, i % blocks);
            CHECK(at.lane < machine.warpSize);
            CHECK(places.insert({at.lane, at.byte}).second);
          }
        }
      CHECK(selectors > 0);
      CHECK(emulate::hasSelectors(machine, x, operand, {}));
    }
  });
}
