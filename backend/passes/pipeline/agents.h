#pragma once

#include "backend/schedule/program/program.h"

#include <cstdint>
#include <string>
#include <string_view>

/// Who runs the program of a kernel, be it read off the kernel (read_schedule.h) or joined of what
/// its loops will be (join_orders.h).
namespace imbrex::passes::pipeline {

/// Two agents stand for all threads, or for all that compute.
inline constexpr std::int32_t kAgents = 2;

struct RoleAgents {
  std::string_view name;
  std::int32_t agents;

  schedule::Role role() const { return {.name = std::string(name), .warps = agents}; }
};

/// A kernel with roles has these.
inline constexpr RoleAgents kLoader{"load", 1}, kComputers{"compute", kAgents};
/// One without, where one thread does more than the others.
inline constexpr RoleAgents kFirst{"first", 1}, kOthers{"others", 1};
/// One whose halves of the warps take turns: kFirst, and this.
inline constexpr RoleAgents kSecond{"second", 1};
/// One where all do the same.
inline constexpr RoleAgents kBlock{"block", kAgents};

/// At which all of them meet.
inline schedule::Meeting meetingOfAll() { return {.name = "all", .parties = kAgents}; }

} // namespace imbrex::passes::pipeline
