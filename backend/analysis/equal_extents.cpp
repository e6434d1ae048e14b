#include "backend/analysis/equal_extents.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>

namespace imbrex::analysis {
namespace {

using namespace ir;

/// Boxes along an axis: where one begins, in which unit, and how long it is.
struct Cut {
  ValueId coordinate;
  BoxUnit unit;
  std::int64_t length;
};

/// An axis of a parameter with the ways in which it is cut.
struct CutAxis {
  ExtentOf extent;
  std::int32_t fromLast; // 0: neighbours adjoin in memory
  std::vector<Cut> cuts;
};

/// Whether two values are one number, as far as their definitions show.
bool areSame(const Kernel &kernel, ValueId a, ValueId b, std::int32_t depth = 8) {
  if (a == b) return true;
  const Op *opA = kernel.definition(a), *opB = kernel.definition(b);
  const bool isAlike =
      opA && opB && depth > 0 && opA->kind == opB->kind && info(opA->kind).effect == Effect::Pure &&
      opA->regions.empty() && opA->results.size() == 1 && opA->attributes == opB->attributes &&
      kernel.type(a) == kernel.type(b) && opA->operands.size() == opB->operands.size();
  return isAlike && llvm::all_of(llvm::zip(opA->operands, opB->operands), [&](auto operands) {
           return areSame(kernel, std::get<0>(operands), std::get<1>(operands), depth - 1);
         });
}

bool haveCommonCut(const Kernel &kernel, const CutAxis &a, const CutAxis &b) {
  return llvm::any_of(a.cuts, [&](const Cut &one) {
    return llvm::any_of(b.cuts, [&](const Cut &other) {
      return one.unit == other.unit && one.length == other.length &&
             areSame(kernel, one.coordinate, other.coordinate);
    });
  });
}

/// By parameter, then by axis.
std::vector<CutAxis> cutAxes(const Kernel &kernel) {
  std::vector<CutAxis> axes;
  const auto &parameters = kernel.body().arguments;
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    const Type &type = kernel.type(parameters[i]);
    for (std::int32_t axis = 0; type.isView() && axis < type.rank(); ++axis)
      axes.push_back({.extent = {static_cast<std::int32_t>(i), axis},
                      .fromLast = type.rank() - 1 - axis,
                      .cuts = {}});
  }
  walk(kernel.body(), [&](const Op &op) {
    if (op.kind != OpKind::ViewLoad && op.kind != OpKind::ViewStore) return;
    const bool isLoad = op.kind == OpKind::ViewLoad;
    const Shape &box = kernel.type(isLoad ? op.result() : op.operand(1)).shape();
    for (CutAxis &axis : axes)
      if (parameters[static_cast<std::size_t>(axis.extent.parameter)] == op.operand(0)) {
        const auto coordinate = static_cast<std::size_t>(axis.extent.axis + (isLoad ? 1 : 2));
        axis.cuts.push_back({.coordinate = op.operand(coordinate),
                             .unit = op.attrs<ViewAttrs>().unit,
                             .length = box[axis.extent.axis]});
      }
  });
  return axes;
}

/// Of an axis: the parameters' before it with a common cut, best those as far from the last one.
const CutAxis *partnerOf(const Kernel &kernel, const CutAxis &axis,
                         llvm::ArrayRef<CutAxis> before) {
  const CutAxis *found = nullptr;
  for (const CutAxis &other : before) {
    if (other.extent.parameter == axis.extent.parameter) continue;
    const bool isBetter =
        !found || (found->fromLast != axis.fromLast && other.fromLast == axis.fromLast);
    if (isBetter && haveCommonCut(kernel, axis, other)) found = &other;
  }
  return found;
}

} // namespace

std::vector<EqualExtents> likelyEqualExtents(const Kernel &kernel) {
  const std::vector<CutAxis> axes = cutAxes(kernel);
  std::vector<EqualExtents> equal;
  for (std::size_t i = 0; i < axes.size(); ++i) {
    const CutAxis *partner = partnerOf(kernel, axes[i], llvm::ArrayRef(axes).take_front(i));
    if (!partner) continue;
    const auto known = llvm::find_if(
        equal, [&](const EqualExtents &pair) { return pair.extent == partner->extent; });
    equal.push_back({axes[i].extent, known == equal.end() ? partner->extent : known->first});
  }
  return equal;
}

} // namespace imbrex::analysis
