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
struct DefinedBy {
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

/// Of a view, that is operand `view`: from operand `first` on a coordinate for each of its axes
/// (verify_memory.cpp).
bool coordinatesAreRight(const OpCheck &check, size_t view, size_t first);

// verify_layout.cpp
bool checkDemands(const Kernel &kernel, Diagnostics &diagnostics);
bool checkThreads(const Kernel &kernel, Diagnostics &diagnostics);
/// A value has a layout that fits it, or none, as its type and the kernel's stage want; `what`
/// gives it.
bool checkLayoutOf(const Kernel &kernel, ValueId value, const DefinedBy &what,
                   Diagnostics &diagnostics);
/// What an op whose types are right asks of the layouts of its operands and results.
bool checkLayouts(const OpCheck &check);

#define IMBREX_TYPE_RULE(Rule) bool check##Rule(const OpCheck &check);
#include "backend/ir/type_rules.def"

} // namespace imbrex::ir::rules
