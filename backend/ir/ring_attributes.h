#pragma once

#include "backend/ir/choices.h"
#include "backend/ir/fields.h"

#include <cstdint>

/// What the ops of rings, barriers and roles fix (attributes.h).
namespace imbrex::ir {

/// The slots of a ring. `by`: what fills them. Boxes: ring.load_box, each slot as the machine's
/// engine writes a tile (layout/box_layout.h); copies: ring.copy and ring.copy_box; stores:
/// ring.store.
struct RingAttrs {
  std::int32_t slots = 1;
  Ahead by = Ahead::Copies;
  IMBREX_FIELDS(RingAttrs, slots, by)
};

/// `width`: so many neighbours of a thread adjoin in memory, are aligned and masked alike.
struct RingCopyAttrs {
  std::int32_t width = 1;
  IMBREX_FIELDS(RingCopyAttrs, width)
};

struct RingCopyBoxAttrs {
  BoxUnit unit = BoxUnit::Tiles;
  std::int32_t width = 1;
  IMBREX_FIELDS(RingCopyBoxAttrs, unit, width)
};

struct CountAttrs {
  std::int32_t count = 0;
  IMBREX_FIELDS(CountAttrs, count)
};

struct BoxAttrs {
  BoxUnit unit = BoxUnit::Tiles;
  IMBREX_FIELDS(BoxAttrs, unit)
};

/// `arrivals`: of one phase.
struct BarrierAttrs {
  std::int32_t slots = 1;
  std::int32_t arrivals = 1;
  IMBREX_FIELDS(BarrierAttrs, slots, arrivals)
};

struct BytesAttrs {
  std::int64_t bytes = 0;
  IMBREX_FIELDS(BytesAttrs, bytes)
};

struct WaitAttrs {
  bool flipped = false;
  IMBREX_FIELDS(WaitAttrs, flipped)
};

/// `half`: whose warps meet once more than the others, which they are a meeting behind from then
/// on, or up to then. Each meets those that are at a meeting of theirs, wherever in the code that
/// is.
struct MeetAttrs {
  Half half = Half::Both;
  IMBREX_FIELDS(MeetAttrs, half)
};

/// `warps`: those of the first body, behind the kernel's own; `releases`, `takes`: the registers
/// that a thread of the first body is left with, and one of the second gets; 0: as at the launch,
/// for which `blocks` are to fit on a core.
struct RolesAttrs {
  std::int32_t warps = 1;
  std::int32_t releases = 0;
  std::int32_t takes = 0;
  std::int32_t blocks = 0;
  IMBREX_FIELDS(RolesAttrs, warps, releases, takes, blocks)
};

} // namespace imbrex::ir
