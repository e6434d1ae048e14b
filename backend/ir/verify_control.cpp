#include "backend/ir/verify_rules.h"

namespace imbrex::ir::rules {
namespace {

bool isTraced(const OpCheck &check) { return check.kernel().stage() == Stage::Traced; }

/// Before SSA all that changes is a variable, so that nothing is carried and nothing results.
bool carriesAtItsStage(const OpCheck &check) {
  return !isTraced(check) || check.op().results.empty() || check.fail(Diag::VerifyTracedResults);
}

/// The body takes `first`, then what is carried; so do the results, without `first`.
bool loopIsRight(const OpCheck &check, llvm::ArrayRef<Type> first) {
  if (!check.bodyCountIs(1) || !carriesAtItsStage(check)) return false;
  const Op &op = check.op();
  const auto carried =
      typesOf(check.kernel(), llvm::ArrayRef(op.operands).drop_front(first.empty() ? 0 : 3));
  for (const Type &type : carried)
    if (!type.isTileOrPointers()) return check.fail(Diag::VerifyCarried, type);
  const auto results = typesOf(check.kernel(), op.results);
  if (results != carried)
    return check.fail(Diag::VerifyLoopResults, listed(carried), listed(results));
  llvm::SmallVector<Type, 4> wanted(first.begin(), first.end());
  wanted.append(carried.begin(), carried.end());
  const auto got = typesOf(check.kernel(), op.regions[0].arguments);
  return got == wanted || check.fail(Diag::VerifyBodyArguments, listed(wanted), listed(got));
}

/// What the body of `parent` has to yield.
llvm::SmallVector<Type, 4> yieldOf(const Kernel &kernel, const Op &parent) {
  if (!isCombineBody(parent)) return typesOf(kernel, parent.results);
  llvm::SmallVector<Type, 4> scalars;
  for (const ValueId result : parent.results) scalars.push_back(kernel.type(result).withShape({}));
  return scalars;
}

} // namespace

const Op *innermostLoop(llvm::ArrayRef<const Op *> parents) {
  for (; !parents.empty(); parents = parents.drop_back()) {
    const OpKind kind = parents.back()->kind;
    if (kind == OpKind::For || kind == OpKind::While) return parents.back();
    if (kind != OpKind::If) return nullptr;
  }
  return nullptr;
}

bool checkFor(const OpCheck &check) {
  const Type &index = check.operand(0);
  if (!check.operandIs(0, "the lower bound", index.isScalar() && isInteger(index.element()),
                       "an integer scalar") ||
      !check.operandIs(1, "the upper bound", index) || !check.operandIs(2, "the step", index))
    return false;
  const auto &attrs = check.op().attrs<ForAttrs>();
  return check.attributeIs("pipelined", attrs.pipelined >= ForAttrs::kPlannerChooses,
                           "a number of slots from 0, or -1") &&
         check.attributeIs("unroll", attrs.unroll >= 1, "a number from 1") &&
         check.attributeIs("slots", attrs.slots >= 0 && attrs.slots <= ForAttrs::kMostSlots,
                           "a number from 0 to " + std::to_string(ForAttrs::kMostSlots)) &&
         check.attributeIs("refills", attrs.refills >= 0, "a number of loops from 0") &&
         check.attributeIs("turns",
                           attrs.turns >= ForAttrs::kNoTurns && attrs.turns != 1 &&
                               attrs.turns <= ForAttrs::kMostTurns,
                           "a number of parts from 2 to " + std::to_string(ForAttrs::kMostTurns) +
                               ", or 0, or -1") &&
         loopIsRight(check, index);
}

bool checkWhile(const OpCheck &check) { return loopIsRight(check, {}); }

bool checkIf(const OpCheck &check) {
  if (!check.conditionIs(0) || !check.bodyCountIs(2) || !carriesAtItsStage(check)) return false;
  for (const Block &body : check.op().regions)
    if (!body.arguments.empty())
      return check.fail(Diag::VerifyBodyArguments, listed({}),
                        listed(typesOf(check.kernel(), body.arguments)));
  for (const ValueId result : check.op().results)
    if (!check.kernel().type(result).isTileOrPointers())
      return check.fail(Diag::VerifyCarried, check.kernel().type(result));
  return true;
}

bool checkYield(const OpCheck &check) {
  if (check.parents().empty()) return check.fail(Diag::VerifyYieldPlace);
  const Op &parent = *check.parents().back();
  const auto wanted = yieldOf(check.kernel(), parent);
  const auto got = typesOf(check.kernel(), check.op().operands);
  return got == wanted || check.fail(Diag::VerifyYieldTypes, listed(got),
                                     info(parent.kind).mnemonic, listed(wanted));
}

bool checkBreakIf(const OpCheck &check) {
  const Op *loop = innermostLoop(check.parents());
  if (!loop) return check.fail(Diag::VerifyBreakPlace);
  if (!check.conditionIs(0)) return false;
  const auto wanted = typesOf(check.kernel(), loop->results);
  const auto got = typesOf(check.kernel(), llvm::ArrayRef(check.op().operands).drop_front());
  return got == wanted || check.fail(Diag::VerifyBreakTypes, listed(got), listed(wanted));
}

bool checkExitIf(const OpCheck &check) { return check.conditionIs(0); }

bool checkConvertLayout(const OpCheck &check) {
  const Type &tile = check.operand(0);
  return check.operandIs(0, "the operand", tile.isTileOrPointers() && tile.rank() > 0,
                         "a tile of rank 1 or more") &&
         check.resultIs(tile);
}

bool checkVarNew(const OpCheck &check) {
  const Type &first = check.operand(0);
  return check.operandIs(0, "the first value", first.isTileOrPointers(), "a tile") &&
         check.resultIs(Type::variable(first));
}

bool checkVarRead(const OpCheck &check) {
  return check.operandIs(0, "the operand", check.operand(0).isVariable(), "a variable") &&
         check.resultIs(check.operand(0).held());
}

bool checkVarWrite(const OpCheck &check) {
  return check.operandIs(0, "the first operand", check.operand(0).isVariable(), "a variable") &&
         check.operandIs(1, "the value", check.operand(0).held());
}

} // namespace imbrex::ir::rules
