#include "backend/ir/verify.h"

#include "backend/ir/verify_rules.h"
#include "backend/support/text.h"

#include <algorithm>
#include <set>

namespace imbrex::ir {
namespace {

using rules::OpCheck;

std::string bodies(std::int64_t count) {
  return count == 0 ? "no body" : count == 1 ? "1 body" : std::to_string(count) + " bodies";
}

/// "2 operands", "1 to 3 operands", "at least 1 operand".
std::string arity(const OpInfo &row) {
  if (row.fewestOperands == row.mostOperands) return counted(row.fewestOperands, "operand");
  if (row.mostOperands == kMany) return "at least " + counted(row.fewestOperands, "operand");
  return std::to_string(row.fewestOperands) + " to " + counted(row.mostOperands, "operand");
}

/// What a domain's elements are called, and the hint for a float that is too narrow for it.
std::string_view wordsFor(Domain domain) {
  switch (domain) {
  case Domain::Any: return "tiles";
  case Domain::Plain: return "bools, integers, f16, bf16, f32 or f64";
  case Domain::Number: return "integers, f16, bf16, f32 or f64";
  case Domain::Floating: return "f16, bf16, f32 or f64";
  case Domain::Integer: return "integers";
  case Domain::Bits: return "bools or integers";
  }
  return "";
}

/// Whether values of the type can be. What a type is made of is in range by construction, but a
/// shape can be too large, a view can have no axes, and an f4e2m1 has no address of its own.
bool isPossible(const Type &type) {
  if (type.isView()) return type.rank() >= 1 && type.rank() <= Shape::kMaxRank;
  if (!isPossible(type.shape())) return false;
  const bool isPointer =
      type.isPointerTile() || type.isTable() || type.form() == Type::Form::PointerVariable;
  return !isPointer || type.element() != ElementKind::F4E2M1;
}

/// The rule that an op's row names.
bool checkTypes(const OpCheck &check) {
  switch (info(check.op().kind).typeRule) {
#define IMBREX_TYPE_RULE(Rule)                                                                     \
  case TypeRule::Rule: return rules::check##Rule(check);
#include "backend/ir/type_rules.def"
  }
  return false;
}

bool checkRules(const OpCheck &check) {
  return checkTypes(check) && (!check.kernel().hasLayouts() || rules::checkLayouts(check));
}

/// Walks a kernel in the order in which it runs, so that "defined above" is what has been seen.
class Verifier {
public:
  Verifier(const Kernel &kernel, Diagnostics &diagnostics)
      : kernel_(kernel), diagnostics_(diagnostics), states_(kernel.valueCount()) {}

  bool run() {
    isRight_ =
        rules::checkDemands(kernel_, diagnostics_) && rules::checkThreads(kernel_, diagnostics_);
    if (!isRight_) return false;
    checkParameters();
    checkOps(kernel_.body());
    return isRight_;
  }

private:
  // Spoilt: its definition was reported, so that its uses are not.
  enum class State : std::uint8_t { Undefined, Visible, Hidden, Spoilt };

  template <class... Args>
  bool report(Diag kind, Location where, const Args &...arguments) {
    diagnostics_.report(kind, where, arguments...);
    return isRight_ = false;
  }

  template <class... Args>
  bool report(Diag kind, const Op &op, const Args &...arguments) {
    return report(kind, op.where, info(op.kind).mnemonic, arguments...);
  }

  // --- values ---

  bool areKnown(llvm::ArrayRef<ValueId> values) const {
    return std::ranges::all_of(
        values, [&](ValueId value) { return value.valid() && value.index() < states_.size(); });
  }

  /// Whether the kernel has all the values that an op names; else nothing about the op, nor about
  /// what is inside, can be looked up.
  bool namesAreKnown(const Op &op) {
    bool areAllKnown = areKnown(op.operands) && areKnown(op.results);
    for (const Block &body : op.regions) areAllKnown &= areKnown(body.arguments);
    return areAllKnown || report(Diag::VerifyNoValue, op);
  }

  void checkParameters() {
    const auto &values = kernel_.body().arguments;
    if (!areKnown(values)) return void(report(Diag::VerifyNoValue, kernel_.where(), "kernel"));
    if (values.size() != kernel_.parameterCount())
      report(Diag::VerifyParameterCount, kernel_.where(), values.size(), kernel_.parameterCount());
    std::set<std::string_view> names;
    for (size_t i = 0; i < std::min(values.size(), kernel_.parameterCount()); ++i) {
      const std::string &name = kernel_.parameterName(i);
      if (!names.insert(name).second) report(Diag::VerifyParameterName, kernel_.where(), name);
      if (!define(values[i], nullptr, kernel_.where(), "kernel")) continue;
      const Type &type = kernel_.type(values[i]);
      const bool isScalar = type.isTileOrPointers() && type.rank() == 0;
      if (!isScalar && !type.hasExtents())
        report(Diag::VerifyParameter, kernel_.where(), name, type);
    }
  }

  /// A value begins, as a result of `by` or as an argument (of no op): nothing else defines it, and
  /// its type can be.
  bool define(ValueId value, const Op *by, Location where, std::string_view what) {
    State &state = states_[value.index()];
    if (state != State::Undefined || kernel_.definition(value) != by)
      return report(Diag::VerifyDefinedTwice, where, what);
    state = State::Spoilt;
    const Type &type = kernel_.type(value);
    if (!isPossible(type)) return report(Diag::VerifyImpossibleType, where, type);
    if (!rules::checkLayoutOf(kernel_, value, {where, what}, diagnostics_)) return isRight_ = false;
    state = State::Visible;
    return true;
  }

  void hide(llvm::ArrayRef<ValueId> values) {
    for (const ValueId value : values) states_[value.index()] = State::Hidden;
  }

  bool operandsAreVisible(const Op &op) {
    bool areVisible = true;
    for (size_t i = 0; i < op.operands.size(); ++i) {
      const State state = states_[op.operand(i).index()];
      if (state == State::Undefined || state == State::Hidden)
        report(Diag::VerifyNotVisible, op, i + 1);
      areVisible &= state == State::Visible;
    }
    return areVisible;
  }

  // --- ops ---

  void checkOps(const Block &block) {
    for (const auto &op : block.ops) {
      checkOp(*op);
      const bool isEnd = info(op->kind).effect == Effect::End;
      if (isEnd && !parents_.empty() && op != block.ops.back()) report(Diag::VerifyYieldPlace, *op);
    }
  }

  void checkOp(const Op &op) {
    if (!namesAreKnown(op)) return;
    const bool areVisible = operandsAreVisible(op);
    if (areVisible && isWhole(op) && isAllowed(op))
      isRight_ &= checkRules(OpCheck(kernel_, op, parents_, diagnostics_));
    parents_.push_back(&op);
    for (const Block &body : op.regions) checkBody(op, body);
    parents_.pop_back();
    // Behind the bodies, because no body sees what its own op gives.
    for (const ValueId result : op.results) define(result, &op, op.where, info(op.kind).mnemonic);
  }

  void checkBody(const Op &op, const Block &body) {
    for (const ValueId argument : body.arguments)
      define(argument, nullptr, op.where, info(op.kind).mnemonic);
    checkOps(body);
    if (body.ops.empty() || info(body.ops.back()->kind).effect != Effect::End)
      report(Diag::VerifyYieldMissing, op);
    hide(body.arguments);
    for (const auto &inner : body.ops)
      if (areKnown(inner->results)) hide(inner->results);
  }

  /// What the type rules take for granted: the row's counts, the row's attributes, and values with
  /// types that can be.
  bool isWhole(const Op &op) {
    const OpInfo &row = info(op.kind);
    const auto operands = std::ssize(op.operands), results = std::ssize(op.results);
    if (operands < row.fewestOperands || operands > row.mostOperands)
      return report(Diag::VerifyOperandCount, op, arity(row), operands);
    if (row.results != kMany && results != row.results)
      return report(Diag::VerifyResultCount, op, counted(row.results, "result"), results);
    if (std::ssize(op.regions) > row.regions)
      return report(Diag::VerifyBodyCount, op, bodies(row.regions), op.regions.size());
    if (op.attributes.index() != defaultAttributes(op.kind).index())
      return report(Diag::VerifyAttributesKind, op);
    const auto isUsable = [&](ValueId value) { return isPossible(kernel_.type(value)); };
    return std::ranges::all_of(op.results, isUsable) &&
           std::ranges::all_of(op.regions, [&](const Block &body) {
             return std::ranges::all_of(body.arguments, isUsable);
           });
  }

  /// What the kernel's stage and the body around the op have to say.
  bool isAllowed(const Op &op) {
    const Effect effect = info(op.kind).effect;
    const auto isWrong = [&](Stage wanted) {
      const auto name = [](Stage s) { return kNames<Stage>[static_cast<std::size_t>(s)]; };
      return report(Diag::VerifyStage, op, name(wanted), name(kernel_.stage()));
    };
    if (effect == Effect::Variable && kernel_.stage() != Stage::Traced)
      return isWrong(Stage::Traced);
    if (const Stage first = firstStage(op.kind); kernel_.stage() < first) return isWrong(first);
    if (parents_.empty() || !rules::isCombineBody(*parents_.back())) return true;
    const auto isScalar = [&](ValueId value) { return kernel_.type(value).isScalar(); };
    return ((effect == Effect::Pure || effect == Effect::End) && op.regions.empty() &&
            std::ranges::all_of(op.operands, isScalar) &&
            std::ranges::all_of(op.results, isScalar)) ||
           report(Diag::VerifyCombineBody, op);
  }

  const Kernel &kernel_;
  Diagnostics &diagnostics_;
  std::vector<State> states_; // by value
  llvm::SmallVector<const Op *, 8> parents_;
  bool isRight_ = true;
};

} // namespace

namespace rules {

bool OpCheck::operandIs(size_t i, std::string_view what, bool isRight,
                        std::string_view wanted) const {
  return isRight || fail(Diag::VerifyOperandType, what, wanted, operand(i));
}

bool OpCheck::operandIs(size_t i, std::string_view what, const Type &wanted) const {
  return operandIs(i, what, operand(i) == wanted, toString(wanted));
}

bool OpCheck::resultIs(size_t i, const Type &wanted) const {
  return result(i) == wanted || fail(Diag::VerifyResultType, wanted, result(i));
}

bool OpCheck::attributeIs(std::string_view name, bool isRight, std::string_view wanted) const {
  return isRight || fail(Diag::VerifyAttribute, name, wanted);
}

bool OpCheck::operandsAgree(size_t first) const {
  for (size_t i = first + 1; i < operandCount(); ++i)
    if (operand(i) != operand(first))
      return fail(Diag::VerifyOperandsDiffer, operand(first), operand(i));
  return true;
}

bool OpCheck::isInDomain(const Type &type) const {
  const Domain domain = info(op_.kind).domain;
  if (type.isTile() && contains(domain, type.element())) return true;
  const bool isNarrow = type.isTile() && isNarrowFloat(type.element());
  return fail(Diag::VerifyDomain, wordsFor(domain), type,
              isNarrow ? "cast it to f16 or a wider float first" : "");
}

bool OpCheck::axisIsIn(std::int64_t axis, const Type &type) const {
  return (axis >= 0 && axis < type.rank()) || fail(Diag::VerifyAxis, axis, type);
}

bool OpCheck::operandCountIs(size_t wanted) const {
  return operandCount() == wanted ||
         fail(Diag::VerifyOperandCount, counted(static_cast<std::int64_t>(wanted), "operand"),
              operandCount());
}

bool OpCheck::resultCountIs(size_t wanted) const {
  return op_.results.size() == wanted ||
         fail(Diag::VerifyResultCount, counted(static_cast<std::int64_t>(wanted), "result"),
              op_.results.size());
}

bool OpCheck::bodyCountIs(size_t wanted) const {
  return op_.regions.size() == wanted ||
         fail(Diag::VerifyBodyCount, bodies(static_cast<std::int64_t>(wanted)), op_.regions.size());
}

bool contains(Domain domain, ElementKind element) {
  switch (domain) {
  case Domain::Any: return true;
  case Domain::Plain: return !isNarrowFloat(element);
  case Domain::Number: return isInteger(element) || isFloat(element);
  case Domain::Floating: return isFloat(element);
  case Domain::Integer: return isInteger(element);
  case Domain::Bits: return isInteger(element) || element == ElementKind::Bool;
  }
  return false;
}

std::string listed(llvm::ArrayRef<Type> types) { return types.empty() ? "nothing" : joined(types); }

llvm::SmallVector<Type, 4> typesOf(const Kernel &kernel, llvm::ArrayRef<ValueId> values) {
  llvm::SmallVector<Type, 4> types;
  for (const ValueId value : values) types.push_back(kernel.type(value));
  return types;
}

} // namespace rules

bool verify(const Kernel &kernel, Diagnostics &diagnostics) {
  return Verifier(kernel, diagnostics).run();
}

} // namespace imbrex::ir
