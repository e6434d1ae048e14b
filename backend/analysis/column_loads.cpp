#include "backend/analysis/column_loads.h"

#include "backend/analysis/loads_if.h"

namespace imbrex::analysis {

using namespace ir;

bool mayLoadColumns(const Kernel &kernel, const Op &op, const machine::Machine &machine) {
  if (op.kind != OpKind::ViewLoad) return false;
  const ElementKind element = kernel.type(op.result()).element();
  const auto &attrs = op.attrs<ViewAttrs>();
  return element != ElementKind::Bool && machine::loadsColumns(machine, storageBits(element)) &&
         fillsWithZeros(kernel, op) && attrs.cache == Cache::Default &&
         attrs.eviction == Eviction::Normal;
}

} // namespace imbrex::analysis
