#pragma once

#include "backend/ir/kernel.h"

#include <cstdint>
#include <map>
#include <optional>

namespace imbrex::passes::pipeline {

/// The slots that a kernel has taken where its code is read, and how far their rings have gone on
/// since.
class TakenSlots {
public:
  /// The op is a ring.slot.
  void note(const ir::Op &slot);
  /// How far a ring goes on in an op's bodies, nobody knows.
  void forgetIn(const ir::Op &op);
  /// 1 for the ring's last, one more for each that was taken behind it; nothing where nobody knows.
  std::optional<std::int32_t> usesAgo(const ir::Op &slot) const;

private:
  std::map<const ir::Op *, std::int32_t> behind_;
};

} // namespace imbrex::passes::pipeline
