#include "backend/ir/shared_tiles.h"
#include "backend/ir/verify_rules.h"
#include "backend/layout/algebra.h"
#include "backend/layout/box_layout.h"
#include "backend/layout/layout_text.h"
#include "backend/support/text.h"
#include "llvm/ADT/bit.h"

namespace imbrex::ir::rules {
namespace {

bool hasThreads(const layout::LinearLayout &layout, layout::Threads threads) {
  return layout.inputBits(layout::Dim::Lane) == layout::bitsFor(threads.lanes) &&
         layout.inputBits(layout::Dim::Warp) == layout::bitsFor(threads.warps);
}

/// Names of a slot's tile lie as that does. What is handed on by bodies is reported elsewhere.
bool hasElements(const Kernel &kernel, ValueId value) {
  const Type &type = kernel.type(value);
  const Op *by = kernel.definition(value);
  if (type.isShared()) return by && by->kind == OpKind::RingSlot;
  return type.isTileOrPointers() || type.isRing();
}

/// From the offset, in elements, to coordinates, one to one.
bool fitsMemory(const layout::LinearLayout &layout, const Shape &shape) {
  return layout.inputs().size() == 1 && layout.inputs()[0].dim == layout::Dim::Offset &&
         layout.outputs() == llvm::ArrayRef(layout::tileSides(shape.extents())) &&
         layout::isBijective(layout);
}

bool fits(const layout::LinearLayout &layout, const Type &type, layout::Threads threads) {
  const Shape &shape = type.shape();
  return (type.isRing() ? layout::isFillingLayout(layout) : layout::isTileLayout(layout)) &&
         hasThreads(layout, threads) &&
         layout.outputs() == llvm::ArrayRef(layout::tileSides(shape.extents()));
}

/// The check of one op. Values without a layout (scalars) agree with every other.
class LayoutCheck {
public:
  explicit LayoutCheck(const OpCheck &check) : check_(check), kernel_(check.kernel()) {}

  bool isOne(llvm::ArrayRef<ValueId> values) {
    return llvm::all_of(values, [&](ValueId value) { return agrees(value); });
  }

  /// All of the op's tiles.
  bool areAllOne() { return isOne(check_.op().operands) && isOne(check_.op().results); }

  /// Position by position.
  bool areSlotsOne(llvm::ArrayRef<ValueId> a, llvm::ArrayRef<ValueId> b) {
    for (std::size_t i = 0; i < std::min(a.size(), b.size()); ++i)
      if (!LayoutCheck(check_).isOne({a[i], b[i]})) return false;
    return true;
  }

  bool resultsLackAxis(std::int32_t axis) {
    if (!isOne(check_.op().operands)) return false;
    const layout::LinearLayout wanted = layout::withoutAxis(*seen_, axis);
    for (const ValueId result : check_.op().results) {
      const layout::LinearLayout *got = layoutOf(result);
      if (got && *got != wanted)
        return check_.fail(Diag::VerifyReduceLayout, layout::toText(wanted), layout::toText(*got));
    }
    return true;
  }

  /// Of a ring.slot.
  bool isOfRing() {
    const Op &op = check_.op();
    const layout::LinearLayout *got = layoutOf(op.result());
    if (!got) return true;
    const auto fail = [&](const std::string &why) {
      return check_.fail(Diag::VerifySlotLayout, layout::toText(*got), why);
    };
    const Type &type = check_.result();
    const Op *ring = kernel_.definition(op.operand(0));
    if (ring && ring->attrs<RingAttrs>().by == Ahead::Boxes) {
      const auto boxes = layout::planBoxes(type.shape().extents(), storageBits(type.element()) / 8);
      if (boxes && boxes->shared != *got)
        return fail("the engine writes " + layout::toText(boxes->shared));
    }
    const Op *other = nullptr;
    walk(kernel_.body(), [&](const Op &one) {
      const bool isSame = one.kind == OpKind::RingSlot && one.operand(0) == op.operand(0);
      if (isSame && kernel_.layoutOf(one.result()) != kernel_.layoutOf(op.result())) other = &one;
    });
    return !other || fail("that at " + toText(other->where) + " says otherwise");
  }

private:
  /// Null where there is none, or a wrong one that is reported where the value is defined.
  const layout::LinearLayout *layoutOf(ValueId value) const {
    const LayoutId id = kernel_.layoutOf(value);
    return id.index() < kernel_.layouts().size() ? &kernel_.layout(id) : nullptr;
  }

  bool agrees(ValueId value) {
    const layout::LinearLayout *layout = layoutOf(value);
    if (!layout) return true;
    if (!seen_) seen_ = layout;
    return *layout == *seen_ ||
           check_.fail(Diag::VerifyLayoutsDiffer, layout::toText(*seen_), layout::toText(*layout));
  }

  const OpCheck &check_;
  const Kernel &kernel_;
  const layout::LinearLayout *seen_ = nullptr;
};

bool checkLoop(const OpCheck &check) {
  const Op &op = check.op();
  const bool isFor = op.kind == OpKind::For;
  const auto initial = llvm::ArrayRef(op.operands).drop_front(isFor ? 3 : 0);
  const auto carried = llvm::ArrayRef(op.regions[0].arguments).drop_front(isFor ? 1 : 0);
  LayoutCheck layouts(check);
  return layouts.areSlotsOne(initial, carried) && layouts.areSlotsOne(initial, op.results);
}

/// What a body gives has the layouts of the op's results, which the op itself has not got yet.
bool checkYield(const OpCheck &check, const Op &parent) {
  return isCombineBody(parent) ||
         LayoutCheck(check).areSlotsOne(check.op().operands, parent.results);
}

/// None, or three extents.
bool hasCluster(const KernelAttrs &asked) {
  if (asked.cluster.empty()) return true;
  return asked.cluster.size() == 3 &&
         llvm::all_of(asked.cluster,
                      [](std::int64_t extent) {
                        return extent >= 1 && extent <= KernelAttrs::kMostClusterBlocks;
                      }) &&
         asked.clusterBlocks() <= KernelAttrs::kMostClusterBlocks;
}

} // namespace

bool checkDemands(const Kernel &kernel, Diagnostics &diagnostics) {
  const std::int32_t warps = kernel.attributes().warps, registers = kernel.attributes().registers;
  const bool hasWarps = warps == 0 || (warps > 0 && warps <= KernelAttrs::kMostWarps &&
                                       llvm::has_single_bit(unsigned(warps)));
  const bool hasRegisters = registers == 0 || (registers >= KernelAttrs::kLeastRegisters &&
                                               registers <= KernelAttrs::kMostRegisters);
  if (!hasWarps)
    diagnostics.report(Diag::WarpsOfKernel, kernel.where(), kernel.name(), warps,
                       KernelAttrs::kMostWarps);
  if (!hasRegisters)
    diagnostics.report(Diag::RegistersOfKernel, kernel.where(), kernel.name(), registers,
                       KernelAttrs::kLeastRegisters, KernelAttrs::kMostRegisters);
  const bool isCluster = hasCluster(kernel.attributes());
  if (!isCluster)
    diagnostics.report(Diag::ClusterOfKernel, kernel.where(), kernel.name(),
                       joined(kernel.attributes().cluster, " x "), KernelAttrs::kMostClusterBlocks);
  return hasWarps && hasRegisters && isCluster;
}

bool checkThreads(const Kernel &kernel, Diagnostics &diagnostics) {
  constexpr std::int64_t kMost = 1024; // of any machine
  const auto [lanes, warps] = kernel.threads();
  const bool isRight =
      !kernel.hasLayouts() ||
      (lanes > 0 && warps > 0 && llvm::has_single_bit(unsigned(lanes)) &&
       llvm::has_single_bit(unsigned(warps)) && std::int64_t{lanes} * warps <= kMost);
  if (!isRight) diagnostics.report(Diag::VerifyThreads, kernel.where(), warps, lanes);
  return isRight;
}

bool checkLayoutOf(const Kernel &kernel, ValueId value, const DefinedBy &place,
                   Diagnostics &diagnostics) {
  const Type &type = kernel.type(value);
  const LayoutId id = kernel.layoutOf(value);
  const auto report = [&](Diag kind, const auto &...arguments) {
    diagnostics.report(kind, place.where, place.what, type, arguments...);
    return false;
  };
  const bool isWanted = kernel.hasLayouts() && hasElements(kernel, value) && type.rank() > 0;
  if (!isWanted) return !id.valid() || report(Diag::VerifyLayoutNotWanted);
  if (id.index() >= kernel.layouts().size()) return report(Diag::VerifyLayoutMissing);
  const layout::LinearLayout &layout = kernel.layout(id);
  const bool isFit =
      type.isShared() ? fitsMemory(layout, type.shape()) : fits(layout, type, kernel.threads());
  return isFit || report(Diag::VerifyLayoutUnfit, layout::toText(layout));
}

bool checkLayouts(const OpCheck &check) {
  const Op &op = check.op();
  LayoutCheck layouts(check);
  switch (info(op.kind).typeRule) {
#define IMBREX_TYPE_RULE(...)
#define IMBREX_ALIKE(Rule) case TypeRule::Rule:
#include "backend/ir/type_rules.def"
    return layouts.areAllOne();
#define IMBREX_TYPE_RULE(...)
#define IMBREX_APART(Rule) case TypeRule::Rule:
#include "backend/ir/type_rules.def"
    return true;
  case TypeRule::Bitcast:
    return check.operand(0).shape() != check.result().shape() || layouts.areAllOne();
  case TypeRule::RingSlot: return layouts.isOfRing();
  case TypeRule::Reduce: return layouts.resultsLackAxis(op.attrs<ReduceAttrs>().axis);
  case TypeRule::Gather: return layouts.isOne({op.operand(1), op.result()});
  case TypeRule::Dot:
  case TypeRule::DotScaled: return layouts.isOne({op.operand(2), op.result()});
  case TypeRule::Histogram:
    return op.operands.size() < 2 || layouts.isOne({op.operand(0), op.operand(1)});
  case TypeRule::For:
  case TypeRule::While: return checkLoop(check);
  case TypeRule::Yield: return checkYield(check, *check.parents().back());
  case TypeRule::BreakIf:
    return layouts.areSlotsOne(llvm::ArrayRef(op.operands).drop_front(),
                               innermostLoop(check.parents())->results);
  case TypeRule::ViewStore:
  case TypeRule::If: return true; // as what its bodies yield
  }
  return false;
}

} // namespace imbrex::ir::rules
