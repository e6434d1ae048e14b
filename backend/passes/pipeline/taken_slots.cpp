#include "backend/passes/pipeline/taken_slots.h"

namespace imbrex::passes::pipeline {

using namespace ir;

void TakenSlots::note(const Op &slot) {
  for (auto &[taken, behind] : behind_)
    if (taken->operand(0) == slot.operand(0)) ++behind;
  behind_[&slot] = 1;
}

void TakenSlots::forgetIn(const Op &op) {
  for (const Block &body : op.regions)
    walk(body, [&](const Op &inner) {
      if (inner.kind != OpKind::RingSlot) return;
      std::erase_if(behind_,
                    [&](const auto &taken) { return taken.first->operand(0) == inner.operand(0); });
    });
}

std::optional<std::int32_t> TakenSlots::usesAgo(const Op &slot) const {
  const auto found = behind_.find(&slot);
  return found == behind_.end() ? std::nullopt : std::optional(found->second);
}

} // namespace imbrex::passes::pipeline
