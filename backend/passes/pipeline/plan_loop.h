#pragma once

#include "backend/passes/pass_context.h"
#include "backend/passes/pipeline/order_loop.h"

#include <algorithm>
#include <optional>
#include <string>

namespace imbrex::passes::pipeline {

/// What a plan is compared at, where nobody knows: trips of a loop, and of the one around it.
inline constexpr std::int32_t kUsualTrips = 32, kUsualTripsAround = 4;

/// What loops that were planned before take of a block.
struct TakenRoom {
  std::int64_t bytes = 0; ///< Of shared memory, for rings.
  /// Values that will be read where they lie (LoopLoads::inPlace), and take no exchange.
  std::set<ir::ValueId> inPlace = {};
};

/// The room that a block has for rings.
struct RingRoom {
  std::int64_t bytes;          ///< For rings: what is left of
  std::int64_t limit;          ///< what a block may use, after
  std::int64_t exchange;       ///< what lowering takes to move tiles between threads, at least; and
  std::int64_t wantedExchange; ///< where there is room to move each at once.
  std::int32_t slots = ir::ForAttrs::kMostSlots; ///< Of each ring at most.
  /// What a block takes with the exchanges that are wanted, as far as there is room for these.
  std::int64_t taken() const { return std::min(limit, limit - bytes - exchange + wantedExchange); }
};
RingRoom ringRoom(const ir::Kernel &kernel, const machine::Machine &machine,
                  const TakenRoom &taken = {});

/// What the rings of a loop take.
std::int64_t bytesOf(const ir::Kernel &kernel, const LoopLoads &loads, const LoopChoice &choice);

struct PlannedSlots {
  std::int32_t slots;
  std::string explanation = {};
};

/// How many slots the rings of a loop get: the author's, as many of them as there is room for, or
/// as many as pay, which schedule/plan/plan.h finds out. Nothing where the loop had better stay as
/// it is, with the reason in `why`.
std::optional<PlannedSlots> planSlots(const ir::Kernel &kernel, const ir::Op &loop,
                                      const LoopLoads &loads, bool hasLoader, const RingRoom &room,
                                      const PassContext &context, std::string &why);

} // namespace imbrex::passes::pipeline
