#include "backend/passes/pipeline/study_loads.h"

#include "backend/analysis/axis_info.h"
#include "backend/analysis/effects.h"
#include "backend/analysis/loads_if.h"
#include "backend/analysis/names_in_products.h"
#include "backend/layout/bank_conflicts.h"
#include "backend/layout/box_layout.h"
#include "backend/layout/vector_width.h"
#include "backend/passes/pipeline/loop_loads.h"
#include "backend/passes/pipeline/read_condition.h"

#include <algorithm>
#include <array>
#include <optional>

namespace imbrex::passes::pipeline {
namespace {

using namespace ir;

/// The ways of a machine, the best first: what nothing else can bring goes through registers.
llvm::ArrayRef<Ahead> waysOf(const machine::AsyncCopies &copies) {
  static constexpr std::array kWays{Ahead::Boxes, Ahead::Copies, Ahead::Registers};
  const std::size_t missing = copies.leastBytes == 0 ? 2 : copies.haveEngine ? 0 : 1;
  return llvm::ArrayRef(kWays).drop_front(missing);
}

class Study {
public:
  Study(Kernel &kernel, Op &loop, const analysis::AxisAnalysis &facts, const PassContext &context)
      : kernel_(kernel), loop_(loop), body_(loop.regions[0]), facts_(facts), context_(context),
        copies_(context.machine.asyncCopies), parts_(loop) {
    walk(body_, [&](const Op &op) { hasAssertions_ |= op.kind == OpKind::Assert; });
  }

  /// Returns why some loads are not brought as the machine does it best, or stay.
  std::string run() {
    if (loop_.attrs<ForAttrs>().pipelined == 1) return ""; // one slot lets nothing overlap
    if (const auto why = whyNone())
      sayStays(toText(loop_.where), *why);
    else
      for (const auto &op : body_.ops)
        if (isLoad(*op)) consider(*op);
    return std::move(reasons_);
  }

private:
  /// Why no load of the loop can run ahead.
  std::optional<std::string> whyNone() const {
    if (const Op *op = whatLeaves(body_))
      return named(*op) + " may leave it in the middle of a trip";
    const auto isAtomic = [](const Op &op) { return info(op.kind).effect == Effect::Atomic; };
    if (const Op *atomic = firstOp(body_, isAtomic))
      return named(*atomic) + " orders other accesses";
    return std::nullopt;
  }

  void consider(Op &load) {
    LoopLoads parts;
    auto why = whyMustStay(load);
    if (!why) why = parts_.add(load, parts);
    if (!why) why = choose(load);
    if (why) sayStays(namedLoad(kernel_, load), *why);
  }

  /// Whatever might bring it.
  std::optional<std::string> whyMustStay(const Op &load) const {
    if (mayBeWritten(load.operand(0), body_)) return "the loop may write what it reads";
    // A view's edge holds whatever an assertion finds; a pointer may be good only where it holds.
    if (hasAssertions_ && load.kind == OpKind::Load)
      return "it goes through pointers, and an assertion of an earlier trip may have to stop it";
    return std::nullopt;
  }

  /// The first way that can bring it; why none can.
  std::optional<std::string> choose(Op &load) {
    std::string others;
    std::optional<std::string> why;
    for (const Ahead way : waysOf(copies_)) {
      why = whyNot(load, way);
      if (why) {
        others += "  " + namedLoad(kernel_, load) + refusal(way) + *why + "\n";
        continue;
      }
      aheadOf(load) = way;
      if (way == Ahead::Copies) widthOf(load) = static_cast<std::int32_t>(neighboursOf(load));
      reasons_ += others;
      return std::nullopt;
    }
    return why;
  }

  static std::string refusal(Ahead way) {
    return way == Ahead::Boxes ? " is not loaded by the engine: " : " is not copied: ";
  }

  std::optional<std::string> whyNot(const Op &load, Ahead way) const {
    switch (way) {
    case Ahead::No:
    case Ahead::Registers:
    case Ahead::Stores: return std::nullopt;
    case Ahead::Copies: return whyNoCopy(load);
    case Ahead::Boxes: return whyNoBox(load);
    }
    return std::nullopt;
  }

  std::optional<std::string> whyNoBox(const Op &load) const {
    if (load.kind != OpKind::ViewLoad)
      return "it goes through pointers, and the engine loads boxes of views";
    if (auto why = whyNoSlot(load, "its view")) return why;
    if (!context_.assumptions.of(kernel_, load.operand(0)).hasBoxes)
      return "its view may have strides or an address that the engine does not take";
    const Type &type = kernel_.type(load.result());
    if (!layout::planBoxes(type.shape().extents(), storageBits(type.element()) / 8))
      return "its box is none that the engine takes";
    if (!type.shape().hasPowersOfTwo() && !analysis::namesInProducts(kernel_, load.result()))
      return "the engine would bring more than its extents, which are no powers of two, and not "
             "products alone read it";
    if (mayBeWritten(load.operand(0), kernel_.body())) return "the kernel may write what it reads";
    return std::nullopt;
  }

  std::optional<std::string> whyNoCopy(const Op &load) const {
    if (auto why = whyNoSlot(load, "its mask or view")) return why;
    if (copies_.areInLaneOrder && sharesElements(load.result()))
      return "several threads have one element, and copies of a warp lie side by side";
    const std::int64_t bytes =
        neighboursOf(load) * storageBits(kernel_.type(load.result()).element()) / 8;
    if (bytes < copies_.leastBytes)
      return "a thread has no more than " + std::to_string(bytes) +
             " bytes at once, known to adjoin and to be masked alike, and a copy takes " +
             std::to_string(copies_.leastBytes);
    return std::nullopt;
  }

  /// Whatever fills it.
  std::optional<std::string> whyNoSlot(const Op &load, const std::string &bounds) const {
    const Type &type = kernel_.type(load.result());
    if (type.rank() == 0) return "it is of one element";
    if (sharesByte(type.element())) return "its elements share bytes";
    if (!analysis::fillsWithZeros(kernel_, load))
      return "what it gives outside of " + bounds + " is not zero";
    return std::nullopt;
  }

  bool sharesElements(ValueId tile) const {
    const layout::LinearLayout &layout = kernel_.layout(kernel_.layoutOf(tile));
    return layout::copyBits(layout, layout::Dim::Lane) != 0;
  }

  /// Of a thread, which it can access at once.
  std::int64_t neighboursOf(const Op &load) const {
    const ValueId tile = load.result();
    const layout::LinearLayout &layout = kernel_.layout(kernel_.layoutOf(tile));
    const std::int32_t axis = layout::axisOfNeighbours(layout, kernel_.type(tile).rank());
    const std::int64_t most =
        layout::kMaxAccessBytes * 8 / storageBits(kernel_.type(tile).element());
    const std::int64_t known =
        analysis::accessWidth(kernel_, load, axis, facts_, context_.assumptions);
    return layout::contiguousRegisters(layout, layout::axisDim(axis), std::min(known, most)).width;
  }

  bool mayBeWritten(ValueId memory, const Block &body) const {
    const bool isApart = context_.assumptions.areDisjoint;
    return analysis::mayBeWritten(kernel_, isApart ? rootParameter(kernel_, memory) : std::nullopt,
                                  body);
  }

  void sayStays(const std::string &what, const std::string &why) {
    reasons_ += "  " + what + " does not run ahead: " + why + "\n";
  }

  Kernel &kernel_;
  Op &loop_;
  const Block &body_;
  const analysis::AxisAnalysis &facts_;
  const PassContext &context_;
  const machine::AsyncCopies &copies_;
  const AddressParts parts_;
  bool hasAssertions_ = false;
  std::string reasons_;
};

/// What an earlier passage through the pipeline may have left.
void forgetPlans(Kernel &kernel) {
  walk(kernel.body(), [](Op &op) {
    if (isLoad(op)) aheadOf(op) = Ahead::No, widthOf(op) = 1;
    if (op.kind != OpKind::For || op.attrs<ForAttrs>().slots == 0) return;
    op.attrs<ForAttrs>().slots = 0;
    op.attrs<ForAttrs>().loader = false;
  });
}

} // namespace

void studyLoads(Kernel &kernel, const PassContext &context) {
  forgetPlans(kernel);
  const std::vector<Op *> loops = loopsThat(isPipelined, kernel);
  if (loops.empty()) return;
  const analysis::AxisAnalysis facts(kernel, context.assumptions);
  for (Op *loop : loops) {
    const std::string reasons = Study(kernel, *loop, facts, context).run();
    if (context.explanation && !reasons.empty())
      *context.explanation += "loads of 'for' at " + toText(loop->where) + ":\n" + reasons;
  }
}

} // namespace imbrex::passes::pipeline
