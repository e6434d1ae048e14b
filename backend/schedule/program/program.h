#pragma once

#include "backend/support/location.h"
#include "backend/support/typed_id.h"

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

/// The abstract program of a schedule: who does what to which slot, and waits for whom. It knows
/// nothing of a machine but counts, and is what the checker proves.
///
/// A program has *roles*, each run by one or more *agents* (warps) that execute the same body. What
/// one agent hands another lies in a *ring*: buffers of `depth` slots and the barriers that guard
/// them. A role walks a ring with a *cursor*, which counts uses from 0 and is never set back; use i
/// is slot i mod depth, and the content that use i writes is *generation* i, which is also what a
/// reader at use i must find. Loops run a symbolic number of *trips*.
///
///   schedule @example {
///     trips %k
///     ring %AB depth 4 {
///       buffer %A 16384
///       buffer %B 16384
///       barrier %full arrivals 1
///       barrier %empty arrivals 8
///     }
///     role %load warps 1 {
///       cursor %p in %AB
///       for %k {
///         wait %empty(%p) flipped
///         expect %full(%p) bytes 32768
///         copy writes %A(%p), %B(%p) to %full(%p) bytes 32768
///         advance %p
///       }
///     }
///     role %compute warps 8 {
///       cursor %c in %AB
///       queue %products serial grouped async
///       for %k {
///         wait %full(%c)
///         issue %products reads %A(%c), %B(%c)
///         commit %products
///         drain %products
///         arrive %empty(%c)
///         advance %c
///       }
///     }
///   }
namespace imbrex::schedule {

using TripsId = Id<struct TripsTag>;
using RingId = Id<struct RingTag>;
using BufferId = Id<struct BufferTag>;
using BarrierId = Id<struct BarrierTag>;
using MeetingId = Id<struct MeetingTag>;
using RoleId = Id<struct RoleTag>;
using CursorId = Id<struct CursorTag>;
using QueueId = Id<struct QueueTag>;

/// A number of trips that is known at run time alone, and to all roles alike.
struct Trips {
  std::string name;
  TripsId within = {};    ///< May differ from trip to trip of that one; none: one for the program.
  std::int32_t least = 0; ///< There are never fewer.
  Location where = {};
};

struct Ring {
  std::string name;
  std::int32_t depth = 1;
};

enum class Space : std::uint8_t {
  Shared,
  Tensor,    // the accumulators' memory of a tensor core
  Registers, // each agent has its own
};

/// One piece of memory for each slot of its ring; one for a buffer without a ring.
struct Buffer {
  std::string name;
  RingId ring = {};
  std::int64_t bytes = 0; ///< Of a slot.
  std::int32_t parts = 1; ///< Equal pieces that accesses can name alone.
  Space space = Space::Shared;
  /// Where it lies in its space, slot after slot; none: apart from all other buffers.
  std::optional<std::int64_t> offset = std::nullopt;
  Location where = {};
};

/// Phases 0, 1, … of each slot of its ring. A phase is over when as many have arrived as it wants
/// and all bytes that were expected have landed.
struct Barrier {
  std::string name;
  RingId ring = {};
  std::int32_t arrivals = 1;
};

/// A barrier without phases to name: agents block until `parties` of them are there.
struct Meeting {
  std::string name;
  std::int32_t parties = 1; ///< Agents.
  std::int32_t number = 0;  ///< The machine's barrier; two meetings may share it in turn.
  Location where = {};
};

/// A role's place in a ring.
struct Cursor {
  std::string name;
  RoleId role;
  RingId ring;
};

/// Operations that end in the order in which they were issued. Each agent of its role has its own.
struct Queue {
  std::string name;
  RoleId role;
  bool serial = false;        ///< Each operation starts when the one before has ended.
  bool grouped = false;       ///< Entries are groups, closed by `commit`; else each is its own.
  bool async = false;         ///< Reads and writes through the async proxy: see `fence`.
  std::int32_t capacity = 63; ///< The largest count that a `drain` can ask for.
};

/// Which use of a ring: the cursor's, and so many further on.
struct Index {
  CursorId cursor = {}; ///< None: the one slot of what has no ring.
  std::int32_t offset = 0;

  friend bool operator==(const Index &, const Index &) = default;
};

/// Which of a buffer's parts.
enum class Part : std::uint8_t {
  All,
  Numbered,
  Own, // that of the agent's number in its role
};

struct Access {
  BufferId buffer;
  Index index = {};
  bool writes = false;
  Part part = Part::All;
  std::int32_t number = 0; ///< Of a numbered part.

  friend bool operator==(const Access &, const Access &) = default;
};

/// `measure(trips) > than`, with the trip in which the role is.
struct Guard {
  enum class Measure : std::uint8_t {
    Count, // all trips
    Done,  // those before this one
    Left,  // this one and those after it
  };
  Measure measure = Measure::Count;
  TripsId trips = {};
  std::int32_t than = 0;

  friend bool operator==(const Guard &, const Guard &) = default;
};

enum class ScheduleOpKind : std::uint8_t {
#define IMBREX_SCHEDULE_OP(Kind, ...) Kind,
#include "backend/schedule/program/program_ops.def"
};

/// What of an `Op` a kind uses; see program_ops.def.
enum Fields : std::uint16_t {
  kNone = 0,
  kAccesses = 1,
  kBarrier = 2,
  kCount = 4,
  kBytes = 8,
  kQueue = 16,
  kMeeting = 32,
  kCursor = 64,
  kLoop = 128,
  kGuard = 256,
};

struct ScheduleOpInfo {
  std::string_view mnemonic;
  std::uint16_t fields;
  std::string_view meaning;
};

inline constexpr auto kOps = std::to_array<ScheduleOpInfo>({
#define IMBREX_SCHEDULE_OP(Kind, mnemonic, fields, meaning) {mnemonic, fields, meaning},
#include "backend/schedule/program/program_ops.def"
});

constexpr const ScheduleOpInfo &info(ScheduleOpKind kind) {
  return kOps[static_cast<std::size_t>(kind)];
}

/// What an operation keeps busy, and for how long: for plans and pictures, never for safety.
struct Cost {
  std::string resource = {}; ///< Empty: nothing.
  std::int32_t cycles = 0;   ///< From its start until it is done.
  std::int32_t busy = 0;     ///< Of those, how many no other operation gets the resource.

  friend bool operator==(const Cost &, const Cost &) = default;
};

/// One operation; which members count is in program_ops.def.
struct ScheduleOp {
  ScheduleOpKind kind;
  std::vector<Access> accesses = {};
  BarrierId barrier = {};
  Index index = {};     ///< Of the barrier's slot.
  bool flipped = false; ///< A wait for the phase before: a slot is empty before it was ever filled.
  std::int32_t count = 1;
  std::int64_t bytes = 0;
  QueueId queue = {};
  MeetingId meeting = {};
  CursorId cursor = {};
  TripsId trips = {};
  std::int32_t first = 0; ///< A loop starts at this trip,
  std::int32_t less = 0;  ///< and leaves out so many of the last.
  Guard guard = {};
  std::vector<ScheduleOp> body = {};
  Cost cost = {};
  Location where = {};
};

struct Role {
  std::string name;
  std::int32_t warps = 1;     ///< The agents that run it.
  std::int32_t registers = 0; ///< Of each thread; 0: as the launch gives.
  std::vector<ScheduleOp> body = {};
};

/// How many trips there are, in trip `of` of the loop around.
using TripCount = std::function<std::int64_t(TripsId trips, std::int64_t of)>;

/// Ids index these vectors.
struct Program {
  std::string name;
  std::vector<Trips> trips = {};
  std::vector<Ring> rings = {};
  std::vector<Buffer> buffers = {};
  std::vector<Barrier> barriers = {};
  std::vector<Meeting> meetings = {};
  std::vector<Role> roles = {};
  std::vector<Cursor> cursors = {};
  std::vector<Queue> queues = {};
  Location where = {};

  const Trips &operator[](TripsId id) const { return trips[id.index()]; }
  const Ring &operator[](RingId id) const { return rings[id.index()]; }
  const Buffer &operator[](BufferId id) const { return buffers[id.index()]; }
  const Barrier &operator[](BarrierId id) const { return barriers[id.index()]; }
  const Meeting &operator[](MeetingId id) const { return meetings[id.index()]; }
  const Role &operator[](RoleId id) const { return roles[id.index()]; }
  const Cursor &operator[](CursorId id) const { return cursors[id.index()]; }
  const Queue &operator[](QueueId id) const { return queues[id.index()]; }

  /// Whether an operation reaches memory and barriers through the async proxy: see `fence`.
  bool isAsync(const ScheduleOp &op) const {
    const bool isQueued = (info(op.kind).fields & kQueue) != 0;
    return op.kind == ScheduleOpKind::Copy || (isQueued && (*this)[op.queue].async);
  }

  /// The slots of what lies in this ring; 1 without one.
  std::int32_t depthOf(RingId ring) const { return ring.valid() ? (*this)[ring].depth : 1; }
};

} // namespace imbrex::schedule
