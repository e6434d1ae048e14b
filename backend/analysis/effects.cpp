#include "backend/analysis/effects.h"

namespace imbrex::analysis {
namespace {

void addOwn(const ir::Op &op, Effects &effects) {
  switch (ir::info(op.kind).effect) {
  case ir::Effect::Read: effects.reads = true; break;
  case ir::Effect::Write: effects.writes = true; break;
  case ir::Effect::Atomic: effects.reads = effects.writes = true; break;
  case ir::Effect::Observe: effects.observed = true; break;
  case ir::Effect::Leave: effects.exits |= op.kind == ir::OpKind::ExitIf; break;
  case ir::Effect::Structure: effects.mayHang |= op.kind == ir::OpKind::While; break;
  case ir::Effect::Ring: effects.reads = effects.rings = true; break;
  case ir::Effect::Pure:
  case ir::Effect::End:
  case ir::Effect::Variable: break;
  }
}

void addAll(const ir::Op &op, Effects &effects) {
  addOwn(op, effects);
  for (const ir::Block &region : op.regions)
    for (const auto &inner : region.ops) addAll(*inner, effects);
}

} // namespace

Effects effectsOf(const ir::Op &op) {
  Effects effects;
  addAll(op, effects);
  return effects;
}

bool mayBeWritten(const ir::Kernel &kernel, std::optional<std::size_t> parameter,
                  const ir::Block &block) {
  const auto writes = [&](const ir::Op &op) {
    const ir::Effect effect = ir::info(op.kind).effect;
    if (effect != ir::Effect::Write && effect != ir::Effect::Atomic) return false;
    const auto written = ir::rootParameter(kernel, op.operand(0));
    return !parameter || !written || *written == *parameter;
  };
  return ir::firstOp(block, writes) != nullptr;
}

bool isPure(const ir::Op &op) {
  if (ir::info(op.kind).effect != ir::Effect::Pure) return false;
  if (op.regions.empty()) return true;
  const Effects effects = effectsOf(op);
  return effects.removable() && !effects.reads;
}

bool hasCombineRegion(const ir::Op &op) {
  return !op.regions.empty() && ir::info(op.kind).effect == ir::Effect::Pure;
}

} // namespace imbrex::analysis
