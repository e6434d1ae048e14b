#pragma once

#include "backend/emulate/model/matrix_exchange.h"
#include "backend/emulate/model/shadow.h"
#include "backend/emulate/model/warp_operation.h"
#include "backend/support/location.h"

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

/// The places in a module at which it calls the model of the machine.
namespace imbrex::emulate {

enum class Space : std::uint8_t { Global, Shared, Private, Generic };

/// A load, a store or an atomic.
struct AccessSite {
  AccessMode mode = AccessMode::Read;
  MemoryScope scope = MemoryScope::Device; ///< Of an atomic.
  bool reads = false;                      ///< An atomic, also where it writes.
  bool acquires = false;
  bool releases = false;
  bool isConditional = false; ///< A compare-and-exchange: whether it writes comes out later.
  bool waits =
      false; ///< Others get a turn before it, as somebody may go round a loop to wait here.
  Space space = Space::Generic;
  std::uint32_t bytes = 0;
  std::uint32_t alignment = 1;
  std::int32_t parameter = -1;    ///< The LLVM parameter that the address is made of, if it is one.
  std::uint32_t privateBytes = 0; ///< The size of the variable that the address is made of.
};

/// A copy that goes on beside the thread. Both accesses are the copy's own.
struct CopySite {
  AccessSite from, to;
  std::uint32_t laneStride = 0; ///< How far apart lanes write behind one address; 0: each has one.
  bool isGroup = false;         ///< Each copy is waited for by itself.
};

struct FenceSite {
  MemoryScope scope = MemoryScope::Device;
  bool acquires = false;
  bool releases = false;
};

/// In place of the operand that names lanes: all of the warp, also those that have exited.
inline constexpr std::int32_t kAllLanes = -2;

struct WarpSite {
  WarpOperation operation;
  std::int32_t maskOperand;     ///< -1: all lanes that have not exited.
  MatrixExchange exchange = {}; ///< Of WarpOperation::Exchange.
};

enum class MeetingAction : std::uint8_t {
  Meet,   ///< Wait for all that take part.
  Arrive, ///< Count, and go on.
  Await,  ///< Wait for all that arrive.
};

struct MeetingSite {
  MeetingAction action = MeetingAction::Meet;
  bool wholeBlock = true;    ///< Every thread takes part, and at this very call.
  bool ordersMemory = false; ///< What was done before is seen after, without a fence.
};

/// What is done to a barrier in shared memory that counts arrivals and bytes.
struct PhaseSite {
  bool ordersMemory = true;  ///< It releases or acquires, without a fence.
  bool drops = false;        ///< Later phases want as many arrivals fewer.
  bool mayNotEnd = false;    ///< The phase must want more.
  bool asksByParity = false; ///< A wait; else by the state that an arrival gave.
};

/// A copy of a box of so many axes.
struct BoxSite {
  std::uint32_t axes = 0;
};

/// A loop whose next turn begins, a place that must not be reached, or a wait for copies.
struct ControlSite {};

struct Site {
  Location where;
  std::string what; ///< For people: "load", "atomicrmw add", "llvm.nvvm.shfl.sync.bfly.i32".
  std::variant<AccessSite, CopySite, FenceSite, WarpSite, MeetingSite, PhaseSite, BoxSite,
               ControlSite>
      facts;
};

using SiteTable = std::vector<Site>;

} // namespace imbrex::emulate
