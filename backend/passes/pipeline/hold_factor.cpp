#include "backend/passes/pipeline/hold_factor.h"

#include "backend/ir/products.h"
#include "backend/layout/vector_width.h"
#include "backend/passes/layouts/fragments.h"
#include "llvm/ADT/STLExtras.h"

#include <optional>

namespace imbrex::passes::pipeline {
namespace {

using namespace ir;
using layout::LinearLayout;

/// How those who read a tile want it.
struct Wanted {
  std::optional<LinearLayout> layout = {}; ///< Some product's on a unit, if there is one.
  bool isByAll = true;                     ///< Whether all readers are such, and want it so.
};

std::int64_t elementsOfAccess(const Type &tile) {
  return layout::kMaxAccessBytes * 8 / storageBits(tile.element());
}

/// As the instruction wants an operand, with 16 bytes of a thread side by side where that is free.
LinearLayout placesOf(const Kernel &kernel, const Op &product, std::size_t operand,
                      const machine::Machine &machine) {
  const layouts::Fragments fragments = layouts::fragmentsOf(
      kernel, product, operand, machine, kernel.layout(kernel.layoutOf(product.result())));
  const std::int64_t elements = elementsOfAccess(kernel.type(product.operand(operand)));
  return layouts::placesSideBySide(fragments, layout::bitsFor(elements));
}

Wanted wantedIn(const Kernel &kernel, const Block &block, ValueId tile,
                const machine::Machine &machine) {
  Wanted wanted;
  walk(block, [&](const Op &op) {
    for (const auto [i, operand] : llvm::enumerate(op.operands)) {
      if (operand != tile) continue;
      if (!isProduct(op) || !isOnUnit(op) || i > 1) {
        wanted.isByAll = false;
        continue;
      }
      LinearLayout places = placesOf(kernel, op, i, machine);
      wanted.isByAll &= !wanted.layout || *wanted.layout == places;
      wanted.layout = std::move(places);
    }
  });
  return wanted;
}

/// Whether a tile can be loaded by a layout as wide as by the one that it has.
bool isLoadedAsWide(const Kernel &kernel, ValueId tile, const LinearLayout &by) {
  const Op *const made = kernel.definition(tile);
  if (made == nullptr || made->kind != OpKind::ViewLoad) return false;
  const auto row = layout::axisDim(kernel.type(tile).rank() - 1);
  const std::int64_t most = elementsOfAccess(kernel.type(tile));
  return llvm::all_of(llvm::ArrayRef{&kernel.layout(kernel.layoutOf(tile)), &by},
                      [&](const LinearLayout *one) {
                        return layout::contiguousRegisters(*one, row, most).width == most;
                      });
}

} // namespace

std::optional<LinearLayout> heldLayout(const Kernel &kernel, const Op &loop, ValueId tile,
                                       const machine::Machine &machine) {
  Wanted wanted = wantedIn(kernel, loop.regions[0], tile, machine);
  const LinearLayout &now = kernel.layout(kernel.layoutOf(tile));
  if (!wanted.isByAll || !wanted.layout ||
      layout::registerCount(*wanted.layout) > layout::registerCount(now))
    return std::nullopt;
  return std::move(wanted.layout);
}

ValueId holdFactor(Kernel &kernel, ValueId tile, const LinearLayout &layout,
                   const machine::Machine &machine, Builder &to) {
  const bool isByAll = wantedIn(kernel, kernel.body(), tile, machine).isByAll;
  const ValueId held = isByAll && isLoadedAsWide(kernel, tile, layout)
                           ? tile
                           : to.create(OpKind::ConvertLayout, {tile}, {kernel.type(tile)}).result();
  kernel.setLayout(held, kernel.addLayout(layout));
  return held;
}

} // namespace imbrex::passes::pipeline
