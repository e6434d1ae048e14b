#include "backend/ir/ring_bytes.h"
#include "backend/ir/verify_rules.h"
#include "backend/layout/box_layout.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/bit.h"

namespace imbrex::ir::rules {
namespace {

bool slotsAreRight(const OpCheck &check, std::int32_t slots) {
  return check.attributeIs("slots", slots >= 1 && slots <= kMostSlots,
                           "a number from 1 to " + std::to_string(kMostSlots));
}

bool hasRing(const OpCheck &check) {
  return check.operandIs(0, "the first operand", check.operand(0).isRing(), "a ring");
}

bool widthIsRight(const OpCheck &check, std::int32_t width) {
  return check.attributeIs("width",
                           width >= 1 && llvm::has_single_bit(static_cast<std::uint32_t>(width)),
                           "a power of two");
}

/// A view and a coordinate for each of its axes.
bool boxIsRight(const OpCheck &check) {
  const Type held = check.operand(0).held(), &view = check.operand(2);
  constexpr size_t kFirst = 3;
  const bool isRight =
      view.isView() && view.element() == held.element() && view.rank() == held.rank();
  return check.operandIs(2, "the third operand", isRight,
                         "a view with boxes of " + toString(held)) &&
         check.operandCountIs(kFirst + static_cast<size_t>(view.rank())) &&
         coordinatesAreRight(check, 2, kFirst);
}

constexpr std::int32_t kMostArrivals = (1 << 20) - 1; // that a phase can count

/// Whether the op's ring is filled so.
bool isFilledBy(const OpCheck &check, Ahead by) {
  const Op *made = check.kernel().definition(check.op().operand(0));
  return (made && made->attrs<RingAttrs>().by == by) || check.fail(Diag::VerifyRingFilled);
}

} // namespace

bool checkRingNew(const OpCheck &check) {
  if (!check.parents().empty()) return check.fail(Diag::VerifyRingPlace);
  const Type &ring = check.result();
  const bool holdsTiles = ring.isRing() && ring.rank() > 0 && ring.element() != ElementKind::F4E2M1;
  if (!holdsTiles) return check.fail(Diag::VerifyRingType, ring);
  const auto &attrs = check.op().attrs<RingAttrs>();
  const bool canBeLoaded =
      attrs.by != Ahead::Boxes ||
      layout::planBoxes(ring.shape().extents(), storageBits(ring.element()) / 8).has_value();
  const bool isFilled =
      attrs.by == Ahead::Copies || attrs.by == Ahead::Boxes || attrs.by == Ahead::Stores;
  return check.attributeIs("by", isFilled, "copies, boxes or stores") &&
         (canBeLoaded || check.fail(Diag::VerifyRingBoxes, ring)) &&
         slotsAreRight(check, attrs.slots);
}

bool checkRingCopy(const OpCheck &check) {
  if (!hasRing(check) || !isFilledBy(check, Ahead::Copies) || !check.conditionIs(1)) return false;
  const Type held = check.operand(0).held(), &pointers = check.operand(2);
  const bool isRight = pointers.isPointerTile() && pointers.element() == held.element() &&
                       pointers.shape() == held.shape();
  return check.operandIs(2, "the third operand", isRight, "pointers to " + toString(held)) &&
         (check.operandCount() < 4 ||
          check.operandIs(3, "the mask", Type::tile(ElementKind::Bool, held.shape()))) &&
         widthIsRight(check, check.op().attrs<RingCopyAttrs>().width);
}

bool checkRingCopyBox(const OpCheck &check) {
  return hasRing(check) && isFilledBy(check, Ahead::Copies) && check.conditionIs(1) &&
         boxIsRight(check) && widthIsRight(check, check.op().attrs<RingCopyBoxAttrs>().width);
}

bool checkRingStore(const OpCheck &check) {
  return hasRing(check) && isFilledBy(check, Ahead::Stores) &&
         check.operandIs(1, "the second operand", check.operand(0).held());
}

bool checkRingLoadBox(const OpCheck &check) {
  return hasRing(check) && isFilledBy(check, Ahead::Boxes) &&
         check.operandIs(1, "the second operand", Type::barrier()) && boxIsRight(check);
}

bool checkBarrierNew(const OpCheck &check) {
  if (!check.parents().empty()) return check.fail(Diag::VerifyRingPlace);
  const auto &attrs = check.op().attrs<BarrierAttrs>();
  return check.resultIs(Type::barrier()) && slotsAreRight(check, attrs.slots) &&
         check.attributeIs("arrivals", attrs.arrivals >= 1 && attrs.arrivals <= kMostArrivals,
                           "a number from 1 to " + std::to_string(kMostArrivals));
}

bool checkBarrierUse(const OpCheck &check) {
  if (!check.operandIs(0, "the first operand", Type::barrier())) return false;
  if (check.op().kind != OpKind::BarrierExpect) return true;
  constexpr std::int64_t kMostBytes = (std::int64_t{1} << 20) - 1; // that a phase can count
  const std::int64_t bytes = check.op().attrs<BytesAttrs>().bytes;
  return check.attributeIs("bytes", bytes >= 1 && bytes <= kMostBytes,
                           "a number from 1 to 2^20 - 1");
}

namespace {

/// The first body has no tiles, and does nothing that is seen but loading boxes.
bool isForLoading(const Kernel &kernel, const Block &body) {
  return llvm::all_of(body.ops, [&](const auto &op) {
    const auto isScalar = [&](ValueId value) { return kernel.type(value).isScalar(); };
    const OpInfo &row = info(op->kind);
    const bool isAllowed = row.effect == Effect::Pure || row.effect == Effect::End ||
                           op->kind == OpKind::For || op->kind == OpKind::If ||
                           op->kind == OpKind::RingLoadBox || row.typeRule == TypeRule::BarrierUse;
    return isAllowed && op->kind != OpKind::BarrierArrive && llvm::all_of(op->results, isScalar) &&
           llvm::all_of(op->regions,
                        [&](const Block &inner) { return isForLoading(kernel, inner); });
  });
}

} // namespace

bool checkRoles(const OpCheck &check) {
  const Op &op = check.op();
  if (!check.bodyCountIs(2)) return false;
  const Kernel &kernel = check.kernel();
  const auto isForBoth = [&](const std::unique_ptr<Op> &one) {
    const bool isMade = one->kind == OpKind::RingNew || one->kind == OpKind::BarrierNew;
    const bool isScalar =
        info(one->kind).effect == Effect::Pure &&
        llvm::all_of(one->results, [&](ValueId value) { return kernel.type(value).isScalar(); });
    return isMade || isScalar || one.get() == &op;
  };
  if (!check.parents().empty() || kernel.body().ops.back().get() != &op ||
      !llvm::all_of(kernel.body().ops, isForBoth))
    return check.fail(Diag::VerifyRolesPlace);
  for (const Block &role : op.regions)
    if (!role.arguments.empty())
      return check.fail(Diag::VerifyBodyArguments, listed({}),
                        listed(typesOf(check.kernel(), role.arguments)));
  const auto &attrs = op.attrs<RolesAttrs>();
  constexpr std::int32_t kMostWarps = 32; // that any block has
  return check.attributeIs("warps", attrs.warps >= 1 && attrs.warps <= kMostWarps,
                           "a number from 1 to 32") &&
         check.attributeIs("blocks", attrs.blocks >= 0, "a number of blocks") &&
         check.attributeIs("releases", attrs.releases >= 0, "a number of registers") &&
         check.attributeIs("takes", attrs.takes >= 0, "a number of registers") &&
         (isForLoading(check.kernel(), op.regions[0]) || check.fail(Diag::VerifyRolesBody));
}

bool checkRingDrain(const OpCheck &check) {
  return check.attributeIs("count", check.op().attrs<CountAttrs>().count >= 0, "a number from 0");
}

bool checkMeet(const OpCheck &check) {
  const bool isOfAll = check.op().attrs<MeetAttrs>().half == Half::Both;
  const bool mayBeOfHalf = check.parents().empty() && check.kernel().threads().warps % 2 == 0;
  return check.attributeIs("half", isOfAll || mayBeOfHalf,
                           "both, in bodies and where the warps make no two halves");
}

bool checkRingSlot(const OpCheck &check) {
  return hasRing(check) && check.resultIs(Type::shared(check.operand(0).held()));
}

bool checkSharedLoad(const OpCheck &check) {
  return check.operandIs(0, "the operand", check.operand(0).isShared(), "a shared tile") &&
         check.resultIs(check.operand(0).held());
}

bool checkBare(const OpCheck & /*check*/) { return true; } // the row says it all

} // namespace imbrex::ir::rules
