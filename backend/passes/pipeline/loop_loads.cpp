#include "backend/passes/pipeline/loop_loads.h"

#include "backend/analysis/effects.h"
#include "backend/analysis/names_in_products.h"
#include "backend/passes/rewriting.h"

namespace imbrex::passes::pipeline {

using namespace ir;

namespace {

void addLoops(bool (*holds)(const Op &), Block &block, std::vector<Op *> &loops) {
  for (const auto &op : block.ops) {
    for (Block &region : op->regions) addLoops(holds, region, loops);
    if (holds(*op)) loops.push_back(op.get());
  }
}

} // namespace

std::vector<Op *> loopsThat(bool (*holds)(const Op &), Kernel &kernel) {
  std::vector<Op *> loops;
  addLoops(holds, kernel.body(), loops);
  return loops;
}

std::string named(const Op &op) {
  return "'" + std::string(info(op.kind).mnemonic) + "' at " + toText(op.where);
}

std::string namedLoad(const Kernel &kernel, const Op &load) {
  const auto parameter = rootParameter(kernel, load.operand(0));
  if (!parameter) return named(load);
  return "'" + std::string(info(load.kind).mnemonic) + "' of '" + kernel.parameterName(*parameter) +
         "' at " + toText(load.where);
}

Ahead &aheadOf(Op &load) {
  return load.kind == OpKind::Load ? load.attrs<MemoryAttrs>().ahead
                                   : load.attrs<ViewAttrs>().ahead;
}
Ahead aheadOf(const Op &load) {
  return load.kind == OpKind::Load ? load.attrs<MemoryAttrs>().ahead
                                   : load.attrs<ViewAttrs>().ahead;
}
std::int32_t &widthOf(Op &load) {
  return load.kind == OpKind::Load ? load.attrs<MemoryAttrs>().width
                                   : load.attrs<ViewAttrs>().width;
}

AddressParts::AddressParts(const Op &loop) : body_(loop.regions[0]) {
  for (const auto &op : body_.ops)
    for (const ValueId result : op->results) made_[result] = op.get();
}

std::optional<std::string> AddressParts::add(const Op &load, LoopLoads &to) const {
  Parts parts;
  for (const ValueId operand : load.operands)
    if (auto why = addParts(operand, parts, false)) return why;
  for (std::size_t i = 0; i < parts.carried.size(); ++i)
    if (auto why = addParts(yielded(parts.carried[i]), parts, true)) return why;
  to.addresses.merge(parts.addresses);
  to.steps.merge(parts.steps);
  to.carried.insert(parts.carried.begin(), parts.carried.end());
  return std::nullopt;
}

ValueId AddressParts::yielded(std::size_t carried) const {
  return body_.ops.back()->operand(carried);
}

std::optional<std::string> AddressParts::addParts(ValueId value, Parts &parts, bool isStep) const {
  const auto arguments = llvm::ArrayRef(body_.arguments);
  const auto *const argument = llvm::find(arguments, value);
  if (argument != arguments.end()) {
    const auto number = static_cast<std::size_t>(argument - arguments.begin());
    if (number > 0 && !llvm::is_contained(parts.carried, number - 1))
      parts.carried.push_back(number - 1);
    return std::nullopt;
  }
  const auto found = made_.find(value);
  if (found == made_.end()) return std::nullopt; // from before the loop
  const Op &op = *found->second;
  if (!analysis::isPure(op) || !op.regions.empty())
    return "where it reads depends on " + named(op) + ", in the loop";
  std::set<const Op *> &into = isStep ? parts.steps : parts.addresses;
  if (!into.insert(&op).second) return std::nullopt;
  for (const ValueId operand : op.operands)
    if (auto why = addParts(operand, parts, isStep)) return why;
  return std::nullopt;
}

LoopLoads loadsAhead(const Kernel &kernel, const Op &loop, llvm::ArrayRef<Ahead> ways) {
  const AddressParts parts(loop);
  LoopLoads found;
  for (const auto &op : loop.regions[0].ops) {
    if (!isLoad(*op)) continue;
    const Op &load = *op;
    const Ahead by = aheadOf(load);
    if (!llvm::is_contained(ways, by) || parts.add(load, found)) continue;
    found.loads.push_back({.op = &load, .by = by, .width = widthOf(*op)});
    if (by == Ahead::Registers) continue;
    if (auto names = analysis::namesInProducts(kernel, load.result())) found.inPlace.merge(*names);
  }
  return found;
}

} // namespace imbrex::passes::pipeline
