#pragma once

#include "backend/ir/kernel.h"
#include "backend/support/diagnostics.h"

#include <array>
#include <string>
#include <string_view>

/// The checks behind verify.h: one function for each type rule of ops.def, by topic. They run after
/// the counts of operands, results and bodies are known to be right.
namespace imbrex::ir::rules {

/// One op under check: what a rule may ask, and how it says no. Each `…Is` reports and returns
/// false where the op breaks it.
class OpCheck {
public:
  OpCheck(const Kernel &kernel, const Op &op, llvm::ArrayRef<const Op *> parents,
          Diagnostics &diagnostics)
      : kernel_(kernel), op_(op), parents_(parents), diagnostics_(diagnostics) {}

  const Kernel &kernel() const { return kernel_; }
  const Op &op() const { return op_; }
  /// The ops whose bodies hold this one, the outermost first.
  llvm::ArrayRef<const Op *> parents() const { return parents_; }
  const Type &operand(size_t i) const { return kernel_.type(op_.operand(i)); }
  const Type &result(size_t i = 0) const { return kernel_.type(op_.result(i)); }
  size_t operandCount() const { return op_.operands.size(); }

  /// Report at the op; its quoted name is {0}.
  template <class... Args>
  bool fail(Diag kind, const Args &...arguments) const {
    diagnostics_.report(kind, op_.where, info(op_.kind).mnemonic, arguments...);
    return false;
  }

  /// `what` is how the user knows the operand: "the mask".
  bool operandIs(size_t i, std::string_view what, bool isRight, std::string_view wanted) const;
  bool operandIs(size_t i, std::string_view what, const Type &wanted) const;
  bool conditionIs(size_t i) const {
    return operandIs(i, "the condition", Type::tile(ElementKind::Bool));
  }
  bool resultIs(size_t i, const Type &wanted) const;
  bool resultIs(const Type &wanted) const { return resultIs(0, wanted); }
  bool attributeIs(std::string_view name, bool isRight, std::string_view wanted) const;
  /// All operands from `first` on have the same type.
  bool operandsAgree(size_t first = 0) const;
  bool isInDomain(const Type &type) const;
  bool axisIsIn(std::int64_t axis, const Type &type) const;
  bool operandCountIs(size_t wanted) const;
  bool resultCountIs(size_t wanted) const;
  bool bodyCountIs(size_t wanted) const;

private:
  const Kernel &kernel_;
  const Op &op_;
  llvm::ArrayRef<const Op *> parents_;
  Diagnostics &diagnostics_;
};

/// Where a value is defined, and the name of what defines it.
struct Place {
  Location where;
  std::string_view what;
};

/// Whether a tile's elements belong to the domain.
bool contains(Domain domain, ElementKind element);

/// `i32, f32[4]`; "nothing" for none.
std::string listed(llvm::ArrayRef<Type> types);
llvm::SmallVector<Type, 4> typesOf(const Kernel &kernel, llvm::ArrayRef<ValueId> values);

/// The loop that a break_if below these ops leaves: through ifs only. Null where there is none.
const Op *innermostLoop(llvm::ArrayRef<const Op *> parents);
inline bool isCombineBody(const Op &op) {
  return op.kind == OpKind::Reduce || op.kind == OpKind::Scan;
}

// verify_layout.cpp
bool checkDemands(const Kernel &kernel, Diagnostics &diagnostics);
bool checkThreads(const Kernel &kernel, Diagnostics &diagnostics);
/// A value has a layout that fits it, or none, as its type and the kernel's stage want; `what`
/// gives it.
bool checkLayoutOf(const Kernel &kernel, ValueId value, const Place &what,
                   Diagnostics &diagnostics);
/// What an op whose types are right asks of the layouts of its operands and results.
bool checkLayouts(const OpCheck &check);

// verify_values.cpp
bool checkConstant(const OpCheck &check);
bool checkArange(const OpCheck &check);
bool checkGridIndex(const OpCheck &check);
bool checkSameAsOperands(const OpCheck &check);
bool checkComparison(const OpCheck &check);
bool checkSelect(const OpCheck &check);
bool checkCast(const OpCheck &check);
bool checkBitcast(const OpCheck &check);

// verify_shape.cpp
bool checkBroadcast(const OpCheck &check);
bool checkReshape(const OpCheck &check);
bool checkPermute(const OpCheck &check);
bool checkJoin(const OpCheck &check);
bool checkSplit(const OpCheck &check);
bool checkConcat(const OpCheck &check);
bool checkSlice(const OpCheck &check);
bool checkFlip(const OpCheck &check);

// verify_memory.cpp
bool checkPointerAdd(const OpCheck &check);
bool checkLoad(const OpCheck &check);
bool checkStore(const OpCheck &check);
bool checkAtomicRmw(const OpCheck &check);
bool checkAtomicCas(const OpCheck &check);
bool checkViewLoad(const OpCheck &check);
bool checkViewStore(const OpCheck &check);
bool checkViewExtent(const OpCheck &check);
bool checkViewData(const OpCheck &check);
bool checkViewBytes(const OpCheck &check);
bool checkTablePointer(const OpCheck &check);

// verify_rings.cpp
bool checkRingNew(const OpCheck &check);
bool checkRingCopy(const OpCheck &check);
bool checkRingCopyBox(const OpCheck &check);
bool checkRingStore(const OpCheck &check);
bool checkRingDrain(const OpCheck &check);
bool checkRingSlot(const OpCheck &check);
bool checkSharedLoad(const OpCheck &check);
bool checkRingLoadBox(const OpCheck &check);
bool checkBarrierNew(const OpCheck &check);
bool checkBarrierUse(const OpCheck &check);
bool checkRoles(const OpCheck &check);
inline bool checkBare(const OpCheck &) { return true; } // the row says it all

// verify_axis.cpp
bool checkReduce(const OpCheck &check);
bool checkScan(const OpCheck &check);
bool checkSort(const OpCheck &check);
bool checkHistogram(const OpCheck &check);
bool checkGather(const OpCheck &check);

// verify_products.cpp
bool checkDot(const OpCheck &check);
bool checkDotScaled(const OpCheck &check);
bool checkPhilox(const OpCheck &check);
bool checkNoResult(const OpCheck &check);
bool checkAssert(const OpCheck &check);
bool checkRequire(const OpCheck &check);
bool checkInlineAsm(const OpCheck &check);

// verify_control.cpp
bool checkFor(const OpCheck &check);
bool checkWhile(const OpCheck &check);
bool checkIf(const OpCheck &check);
bool checkYield(const OpCheck &check);
bool checkBreakIf(const OpCheck &check);
bool checkExitIf(const OpCheck &check);
bool checkConvertLayout(const OpCheck &check);
bool checkVarNew(const OpCheck &check);
bool checkVarRead(const OpCheck &check);
bool checkVarWrite(const OpCheck &check);

} // namespace imbrex::ir::rules
