#pragma once

#include "backend/ir/choices.h"

#include <cstdint>

/// What the ops of rings, barriers and roles fix (attributes.h).
namespace imbrex::ir {

/// The slots of a ring. `by`: what fills them. Boxes: ring.load_box, each slot as the machine's
/// engine writes a tile (layout/box_layout.h); copies: ring.copy and ring.copy_box; stores:
/// ring.store.
struct RingAttrs {
  std::int32_t slots = 1;
  Ahead by = Ahead::Copies;
  bool operator==(const RingAttrs &) const = default;
  void visit(auto &&field) {
    field("slots", slots);
    field("by", by);
  }
};

/// `width`: so many neighbours of a thread adjoin in memory, are aligned and masked alike.
struct RingCopyAttrs {
  std::int32_t width = 1;
  bool operator==(const RingCopyAttrs &) const = default;
  void visit(auto &&field) { field("width", width); }
};

struct RingCopyBoxAttrs {
  BoxUnit unit = BoxUnit::Tiles;
  std::int32_t width = 1;
  bool operator==(const RingCopyBoxAttrs &) const = default;
  void visit(auto &&field) {
    field("unit", unit);
    field("width", width);
  }
};

struct CountAttrs {
  std::int32_t count = 0;
  bool operator==(const CountAttrs &) const = default;
  void visit(auto &&field) { field("count", count); }
};

struct BoxAttrs {
  BoxUnit unit = BoxUnit::Tiles;
  bool operator==(const BoxAttrs &) const = default;
  void visit(auto &&field) { field("unit", unit); }
};

/// `arrivals`: of one phase.
struct BarrierAttrs {
  std::int32_t slots = 1;
  std::int32_t arrivals = 1;
  bool operator==(const BarrierAttrs &) const = default;
  void visit(auto &&field) {
    field("slots", slots);
    field("arrivals", arrivals);
  }
};

struct BytesAttrs {
  std::int64_t bytes = 0;
  bool operator==(const BytesAttrs &) const = default;
  void visit(auto &&field) { field("bytes", bytes); }
};

struct WaitAttrs {
  bool flipped = false;
  bool operator==(const WaitAttrs &) const = default;
  void visit(auto &&field) { field("flipped", flipped); }
};

/// `warps`: those of the first body, behind the kernel's own; `releases`, `takes`: the registers
/// that a thread of the first body is left with, and one of the second gets; 0: as at the launch,
/// for which `blocks` are to fit on a core.
struct RolesAttrs {
  std::int32_t warps = 1;
  std::int32_t releases = 0;
  std::int32_t takes = 0;
  std::int32_t blocks = 0;
  bool operator==(const RolesAttrs &) const = default;
  void visit(auto &&field) {
    field("warps", warps);
    field("releases", releases);
    field("takes", takes);
    field("blocks", blocks);
  }
};

} // namespace imbrex::ir
