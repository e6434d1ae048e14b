#include "backend/passes/pipeline/register_loads.h"

#include "backend/ir/products.h"
#include "backend/passes/rewriting.h"
#include "llvm/ADT/STLExtras.h"

#include <map>

namespace imbrex::passes::pipeline {

using namespace ir;

namespace {

/// Whether it reads global memory, itself or in its bodies, and has no other effect.
bool onlyLoads(const Op &op) {
  if (op.kind != OpKind::If) return info(op.kind).effect == Effect::Read;
  bool loads = false, hasOthers = false;
  for (const Block &region : op.regions)
    walk(region, [&](const Op &inner) {
      const Effect effect = info(inner.kind).effect;
      loads |= effect == Effect::Read;
      hasOthers |= effect != Effect::Read && effect != Effect::Pure && effect != Effect::End;
    });
  return loads && !hasOthers;
}

} // namespace

std::set<const Op *> loadsAheadInRegisters(const Op &loop) {
  const Block &body = loop.regions[0];
  std::map<ValueId, const Op *> loading;
  std::set<const Op *> ahead;
  for (const auto &op : body.ops) {
    if (!onlyLoads(*op)) continue;
    ahead.insert(op.get());
    for (const ValueId result : op->results) loading.emplace(result, op.get());
  }
  walk(body, [&](const Op &op) {
    if (&op == body.ops.back().get()) return; // which hands them to the next trip
    for (const ValueId operand : op.operands)
      if (const auto of = loading.find(operand); of != loading.end()) ahead.erase(of->second);
  });
  return ahead;
}

std::set<const Op *> carriedFragments(const Kernel &kernel, const Op &loop) {
  const Block &body = loop.regions[0];
  const auto arguments = llvm::ArrayRef(body.arguments).drop_front(firstCarriedArgument(loop));
  std::set<const Op *> found;
  for (const auto [argument, next] : llvm::zip_equal(arguments, body.ops.back()->operands)) {
    const Op *const load = kernel.definition(next);
    if (load == nullptr || load->kind != OpKind::SharedLoad) continue;
    found.insert(load);
    for (const auto &op : body.ops)
      if (isProduct(*op) && llvm::is_contained(op->operands, argument)) found.insert(op.get());
  }
  return found;
}

} // namespace imbrex::passes::pipeline
