#include "backend/analysis/equal_extents.h"

#include "backend/ir/requirement.h"
#include "llvm/ADT/STLExtras.h"

#include <algorithm>
#include <optional>
#include <utility>

namespace imbrex::analysis {
namespace {

using namespace ir;

/// Boxes along an axis: where one begins, in which unit, and how long it is.
struct BoxAxis {
  ValueId coordinate;
  BoxUnit unit;
  std::int64_t length;
};

/// An axis of a parameter with the ways in which it is cut.
struct TiledAxis {
  ExtentOf extent;
  std::int32_t fromLast; // 0: neighbours adjoin in memory
  std::vector<BoxAxis> cuts;
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

bool haveCommonCut(const Kernel &kernel, const TiledAxis &a, const TiledAxis &b) {
  return llvm::any_of(a.cuts, [&](const BoxAxis &one) {
    return llvm::any_of(b.cuts, [&](const BoxAxis &other) {
      return one.unit == other.unit && one.length == other.length &&
             areSame(kernel, one.coordinate, other.coordinate);
    });
  });
}

/// By parameter, then by axis.
std::vector<TiledAxis> cutAxes(const Kernel &kernel) {
  std::vector<TiledAxis> axes;
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
    for (TiledAxis &axis : axes)
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
const TiledAxis *partnerOf(const Kernel &kernel, const TiledAxis &axis,
                           llvm::ArrayRef<TiledAxis> before) {
  const TiledAxis *found = nullptr;
  for (const TiledAxis &other : before) {
    if (other.extent.parameter == axis.extent.parameter) continue;
    const bool isBetter =
        !found || (found->fromLast != axis.fromLast && other.fromLast == axis.fromLast);
    if (isBetter && haveCommonCut(kernel, axis, other)) found = &other;
  }
  return found;
}

/// Which extent of a parameter a value is, if it is one.
std::optional<ExtentOf> extentIn(const Kernel &kernel, ValueId value) {
  const Op *op = kernel.definition(value);
  if (!op || op->kind != OpKind::ViewExtent) return std::nullopt;
  return ExtentOf{static_cast<std::int32_t>(kernel.parameterNumber(op->operand(0))),
                  op->attrs<AxisAttrs>().axis};
}

/// The pairs of extents that the kernel requires to be equal, by themselves or joined by `and`.
std::vector<std::pair<ExtentOf, ExtentOf>> requiredEqual(const Kernel &kernel) {
  std::vector<std::pair<ExtentOf, ExtentOf>> pairs;
  for (const Op *requirement : requirementsOf(kernel))
    for (const ValueId condition : conjunctsOf(kernel, requirement->operand(0))) {
      const Op *op = kernel.definition(condition);
      if (!op || op->kind != OpKind::Eq) continue;
      const auto a = extentIn(kernel, op->operand(0)), b = extentIn(kernel, op->operand(1));
      if (a && b && a->parameter != b->parameter) pairs.emplace_back(*a, *b);
    }
  return pairs;
}

const TiledAxis *requiredPartnerOf(const TiledAxis &axis, llvm::ArrayRef<TiledAxis> before,
                                   llvm::ArrayRef<std::pair<ExtentOf, ExtentOf>> required) {
  const TiledAxis *const found = llvm::find_if(before, [&](const TiledAxis &other) {
    return llvm::any_of(required, [&](const auto &pair) {
      return (pair.first == axis.extent && pair.second == other.extent) ||
             (pair.second == axis.extent && pair.first == other.extent);
    });
  });
  return found == before.end() ? nullptr : found;
}

} // namespace

EqualExtentsList likelyEqualExtents(const Kernel &kernel) {
  const std::vector<TiledAxis> axes = cutAxes(kernel);
  const auto required = requiredEqual(kernel);
  EqualExtentsList equal;
  for (std::size_t i = 0; i < axes.size(); ++i) {
    const auto before = llvm::ArrayRef(axes).take_front(i);
    const TiledAxis *partner = requiredPartnerOf(axes[i], before, required);
    if (!partner) partner = partnerOf(kernel, axes[i], before);
    if (!partner) continue;
    const auto known = llvm::find_if(
        equal, [&](const EqualExtents &pair) { return pair.extent == partner->extent; });
    equal.push_back({axes[i].extent, known == equal.end() ? partner->extent : known->first});
  }
  return equal;
}

} // namespace imbrex::analysis
