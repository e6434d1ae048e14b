#pragma once

#include "backend/ir/kernel.h"

#include <vector>

/// Where a kernel asks that tiles be held alike.
namespace imbrex::passes::layouts {

/// An operand of an op.
struct Use {
  ir::Op *op;
  size_t operand;
  ir::ValueId value() const { return op->operand(operand); }
};

/// One layout to choose: of the tiles that `definitions` bring into being, and wanted of the tiles
/// that `uses` take. An elementwise op is one site, a loop one for each value that it carries, a
/// store one without definitions.
struct LayoutSite {
  ir::Op *op;
  llvm::SmallVector<ir::ValueId, 2> definitions = {};
  llvm::SmallVector<Use, 4> uses = {};
  /// The results of a reduction: held as the site's tiles, without the axis.
  llvm::SmallVector<ir::ValueId, 1> reduced = {};
};

/// Every site of a kernel, in the order of their ops. Each tile of rank 1 or more is a definition
/// of one site, or a reduction of one. What an op takes in any layout is a use of no site.
std::vector<LayoutSite> sitesOf(ir::Kernel &kernel);

/// The shape of a site's tiles.
const ir::Shape &shapeOf(const ir::Kernel &kernel, const LayoutSite &site);

} // namespace imbrex::passes::layouts
