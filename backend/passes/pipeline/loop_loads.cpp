#include "backend/passes/pipeline/loop_loads.h"

#include "backend/analysis/effects.h"
#include "backend/layout/bank_conflicts.h"
#include "backend/layout/box_layout.h"
#include "backend/layout/vector_width.h"
#include "backend/passes/pipeline/read_in_place.h"
#include "backend/passes/rewriting.h"
#include "llvm/ADT/STLExtras.h"

#include <algorithm>
#include <array>
#include <map>
#include <optional>

namespace imbrex::passes::pipeline {
namespace {

using namespace ir;

bool isLoad(const Op &op) { return op.kind == OpKind::Load || op.kind == OpKind::ViewLoad; }

/// The first op of a loop's body that can end the trip that it is in, or the block of the grid.
const Op *whatLeaves(const Block &body, bool isOwnLoop = true) {
  for (const auto &op : body.ops) {
    if (op->kind == OpKind::ExitIf || (isOwnLoop && op->kind == OpKind::BreakIf)) return op.get();
    for (const Block &region : op->regions)
      if (const Op *inner = whatLeaves(region, isOwnLoop && !isLoop(*op))) return inner;
  }
  return nullptr;
}

/// "'break_if' at kernel.cpp:12"
std::string named(const Op &op) {
  return "'" + std::string(info(op.kind).mnemonic) + "' at " + toText(op.where);
}

class Study {
public:
  Study(const Kernel &kernel, const Op &loop, const analysis::AxisAnalysis &facts,
        const PassContext &context, llvm::ArrayRef<Way> ways)
      : kernel_(kernel), loop_(loop), body_(loop.regions[0]), facts_(facts), context_(context),
        ways_(ways) {
    for (const auto &op : body_.ops)
      for (const ValueId result : op->results) made_[result] = op.get();
    walk(body_, [&](const Op &op) { hasAssertions_ |= op.kind == OpKind::Assert; });
  }

  LoopLoads run() {
    if (const auto why = whyNone()) {
      found_.leftAlone.push_back({loop_.where, *why});
      return std::move(found_);
    }
    for (const auto &op : body_.ops)
      if (isLoad(*op)) consider(*op);
    return std::move(found_);
  }

private:
  /// Why no load of the loop can run ahead.
  std::optional<std::string> whyNone() const {
    if (const Op *op = whatLeaves(body_))
      return named(*op) + " may leave it in the middle of a trip";
    const Op *atomic = nullptr;
    walk(body_, [&](const Op &op) {
      if (!atomic && info(op.kind).effect == Effect::Atomic) atomic = &op;
    });
    if (atomic) return named(*atomic) + " orders other accesses";
    return std::nullopt;
  }

  void consider(const Op &op) {
    AheadLoad load{.op = &op};
    Needs needs;
    auto why = choose(load);
    for (size_t i = 0; i < op.operands.size() && !why; ++i) why = need(op.operand(i), needs, false);
    for (size_t i = 0; i < needs.carried.size() && !why; ++i)
      why = need(yielded(needs.carried[i]), needs, true);
    if (why) {
      found_.leftAlone.push_back({op.where, *why});
      return;
    }
    found_.loads.push_back(load);
    found_.addresses.insert(needs.addresses.begin(), needs.addresses.end());
    found_.steps.insert(needs.steps.begin(), needs.steps.end());
    found_.carried.insert(needs.carried.begin(), needs.carried.end());
    if (load.way == Way::Registers) return;
    if (auto names = namesInProducts(kernel_, op.result())) found_.inPlace.merge(*names);
  }

  // --- what the machine can do ---

  /// The first way that can bring it; why none can.
  std::optional<std::string> choose(AheadLoad &load) const {
    const Op &op = *load.op;
    if (mayBeWritten(op.operand(0), body_)) return "the loop may write what it reads";
    // A view's edge holds whatever an assertion finds; a pointer may be good only where it holds.
    if (hasAssertions_ && op.kind == OpKind::Load)
      return "it goes through pointers, and an assertion of an earlier trip may have to stop it";
    std::optional<std::string> why;
    for (const Way way : ways_) {
      load.way = way;
      why = whyNot(op, way);
      if (!why) break;
      if (way == Way::Boxes) load.whyNoBox = *why;
    }
    if (!why && load.way == Way::Copies) load.width = static_cast<std::int32_t>(widthOf(op));
    return why;
  }

  std::optional<std::string> whyNot(const Op &op, Way way) const {
    switch (way) {
    case Way::Registers: return std::nullopt;
    case Way::Copies: return whyNoCopy(op);
    case Way::Boxes: return whyNoBox(op);
    }
    return std::nullopt;
  }

  std::optional<std::string> whyNoBox(const Op &op) const {
    if (op.kind != OpKind::ViewLoad)
      return "it goes through pointers, and the engine loads boxes of views";
    if (auto why = whyNoSlot(op, "its view")) return why;
    if (!context_.assumptions.of(kernel_, op.operand(0)).hasBoxes)
      return "its view may have strides or an address that the engine does not take";
    const Type &type = kernel_.type(op.result());
    if (!layout::planBoxes(type.shape().extents(), storageBits(type.element()) / 8))
      return "its box is none that the engine takes";
    if (!type.shape().hasPowersOfTwo() && !namesInProducts(kernel_, op.result()))
      return "the engine would bring more than its extents, which are no powers of two, and not "
             "products alone read it";
    if (mayBeWritten(op.operand(0), kernel_.body())) return "the kernel may write what it reads";
    return std::nullopt;
  }

  std::optional<std::string> whyNoCopy(const Op &op) const {
    if (auto why = whyNoSlot(op, "its mask or view")) return why;
    if (context_.machine.asyncCopies.areInLaneOrder && sharesElements(op.result()))
      return "several threads have one element, and copies of a warp lie side by side";
    const std::int64_t bytes = widthOf(op) * storageBits(kernel_.type(op.result()).element()) / 8;
    const std::int32_t least = context_.machine.asyncCopies.leastBytes;
    if (bytes < least)
      return "a thread has no more than " + std::to_string(bytes) +
             " bytes at once, known to adjoin and to be masked alike, and a copy takes " +
             std::to_string(least);
    return std::nullopt;
  }

  /// Whatever brings the tile there.
  std::optional<std::string> whyNoSlot(const Op &op, const std::string &bounds) const {
    const Type &type = kernel_.type(op.result());
    if (type.rank() == 0) return "it is of one element";
    if (storageBits(type.element()) < 8) return "its elements share bytes";
    if (!fillsWithZeros(op)) return "what it gives outside of " + bounds + " is not zero";
    return std::nullopt;
  }

  bool sharesElements(ValueId tile) const {
    const layout::LinearLayout &layout = kernel_.layout(kernel_.layoutOf(tile));
    return layout::copyBits(layout, layout::Dim::Lane) != 0;
  }

  bool fillsWithZeros(const Op &op) const {
    if (op.kind == OpKind::ViewLoad) return op.attrs<ViewAttrs>().padding == Padding::Zero;
    return op.operands.size() < 3 || constantBits(kernel_, op.operand(2)) == std::uint64_t{0};
  }

  std::int64_t widthOf(const Op &op) const {
    const ValueId tile = op.result();
    const layout::LinearLayout &layout = kernel_.layout(kernel_.layoutOf(tile));
    const std::int32_t axis = layout::axisOfNeighbours(layout, kernel_.type(tile).rank());
    const std::int64_t most =
        layout::kMaxAccessBytes * 8 / storageBits(kernel_.type(tile).element());
    const std::int64_t known =
        analysis::accessWidth(kernel_, op, axis, facts_, context_.assumptions);
    return layout::contiguousRegisters(layout, layout::axisDim(axis), std::min(known, most)).width;
  }

  // --- memory ---

  bool mayBeWritten(ValueId memory, const Block &body) const {
    const bool isApart = context_.assumptions.areDisjoint;
    return analysis::mayBeWritten(kernel_, isApart ? rootParameter(kernel_, memory) : std::nullopt,
                                  body);
  }

  // --- addresses ---

  struct Needs {
    std::set<const Op *> addresses, steps;
    std::vector<size_t> carried; // grows while it is walked
  };

  ValueId yielded(size_t carried) const { return body_.ops.back()->operand(carried); }

  /// Adds what a value is made of in the loop's body; why that cannot be known ahead.
  std::optional<std::string> need(ValueId value, Needs &needs, bool isStep) const {
    const auto arguments = llvm::ArrayRef(body_.arguments);
    const auto *const argument = llvm::find(arguments, value);
    if (argument != arguments.end()) {
      const auto number = static_cast<size_t>(argument - arguments.begin());
      if (number > 0 && !llvm::is_contained(needs.carried, number - 1))
        needs.carried.push_back(number - 1);
      return std::nullopt;
    }
    const auto found = made_.find(value);
    if (found == made_.end()) return std::nullopt; // from before the loop
    const Op &op = *found->second;
    if (!analysis::isPure(op) || !op.regions.empty())
      return "where it reads depends on " + named(op) + ", in the loop";
    std::set<const Op *> &into = isStep ? needs.steps : needs.addresses;
    if (!into.insert(&op).second) return std::nullopt;
    for (const ValueId operand : op.operands)
      if (auto why = need(operand, needs, isStep)) return why;
    return std::nullopt;
  }

  const Kernel &kernel_;
  const Op &loop_;
  const Block &body_;
  const analysis::AxisAnalysis &facts_;
  const PassContext &context_;
  const llvm::ArrayRef<Way> ways_;
  std::map<ValueId, const Op *> made_; // by the body's ops
  bool hasAssertions_ = false;
  LoopLoads found_;
};

} // namespace

llvm::ArrayRef<Way> waysOf(const machine::Machine &machine) {
  static constexpr std::array kByRegisters{Way::Registers};
  static constexpr std::array kByEngine{Way::Boxes, Way::Copies};
  if (!hasCopies(machine)) return kByRegisters;
  return machine.asyncCopies.haveEngine ? kByEngine : llvm::ArrayRef(kByEngine).drop_front();
}

LoopLoads studyLoop(const Kernel &kernel, const Op &loop, const analysis::AxisAnalysis &facts,
                    const PassContext &context, llvm::ArrayRef<Way> ways) {
  return Study(kernel, loop, facts, context, ways).run();
}

} // namespace imbrex::passes::pipeline
