#pragma once

#include "backend/schedule/program/program.h"

#include <limits>
#include <variant>

/// The numbers and flags of a program: by which word the text form names each, and what it may be.
/// Printer, parser and the rules of well_formed.h read these tables and know none by themselves.
namespace imbrex::schedule {

/// Deeper bodies than any schedule has, and few enough for a recursive parser's stack.
inline constexpr std::int32_t kDeepestBody = 200;

/// From and to where a number may go.
struct Range {
  std::int64_t least = 0;
  std::int64_t most = std::numeric_limits<std::int32_t>::max();

  bool contains(std::int64_t number) const { return number >= least && number <= most; }
};

inline constexpr Range kPositive{.least = 1};
inline constexpr Range kNotNegative{};
inline constexpr Range kAnyNumber{.least = std::numeric_limits<std::int32_t>::min()};
/// A block has at most 1024 threads, and an agent at least one of them.
inline constexpr Range kAgents{.least = 1, .most = 1024};
/// With 16 bytes for the barriers of each, more slots than any shared memory has room for.
inline constexpr Range kSlots{.least = 1, .most = 65536};

template <class T>
struct Attribute {
  std::string_view word;
  std::variant<bool T::*, std::int32_t T::*, std::int64_t T::*, std::optional<std::int64_t> T::*>
      member;
  Range range = kNotNegative;

  bool isFlag() const { return std::holds_alternative<bool T::*>(member); }
  /// None for a member that has no value.
  std::optional<std::int64_t> get(const T &of) const {
    return std::visit([&](auto at) -> std::optional<std::int64_t> { return of.*at; }, member);
  }
  /// The number must lie in the range, and that of a flag be 1.
  void set(T &of, std::int64_t number) const {
    std::visit([&](auto at) { assign(of.*at, number); }, member);
  }

private:
  template <class Member>
  static void assign(Member &to, std::int64_t number) {
    to = static_cast<Member>(number);
  }
};

inline constexpr auto kTripsAttributes = std::to_array<Attribute<Trips>>({
    {"least", &Trips::least},
});

inline constexpr auto kRingAttributes = std::to_array<Attribute<Ring>>({
    {"depth", &Ring::depth, kSlots},
});

/// The size stands behind a buffer's name, without a word.
inline constexpr Attribute<Buffer> kBufferBytes{"bytes", &Buffer::bytes, kPositive};
inline constexpr auto kBufferAttributes = std::to_array<Attribute<Buffer>>({
    {"parts", &Buffer::parts, kPositive},
    {"at", &Buffer::offset},
});

inline constexpr auto kBarrierAttributes = std::to_array<Attribute<Barrier>>({
    {"arrivals", &Barrier::arrivals, kPositive},
});

inline constexpr auto kMeetingAttributes = std::to_array<Attribute<Meeting>>({
    {"parties", &Meeting::parties, kAgents},
    {"number", &Meeting::number},
});

inline constexpr auto kRoleAttributes = std::to_array<Attribute<Role>>({
    {"warps", &Role::warps, kAgents},
    {"registers", &Role::registers},
});

inline constexpr auto kQueueAttributes = std::to_array<Attribute<Queue>>({
    {"serial", &Queue::serial},
    {"grouped", &Queue::grouped},
    {"async", &Queue::async},
    {"capacity", &Queue::capacity},
});

inline constexpr Attribute<Cost> kCostCycles{"takes", &Cost::cycles};
inline constexpr Attribute<Cost> kCostBusy{"busy", &Cost::busy};

inline constexpr Attribute<Index> kIndexOffset{"offset", &Index::offset, kAnyNumber};
inline constexpr Attribute<Access> kPartNumber{"part", &Access::number};
inline constexpr Attribute<Guard> kGuardThan{"than", &Guard::than, kAnyNumber};

constexpr bool has(ScheduleOpKind kind, Fields field) { return (info(kind).fields & field) != 0; }
constexpr bool hasBody(ScheduleOpKind kind) { return has(kind, kLoop) || has(kind, kGuard); }
/// An `init` makes all slots of its barrier, and so needs no index.
constexpr bool hasIndex(ScheduleOpKind kind) {
  return has(kind, kBarrier) && kind != ScheduleOpKind::Init;
}

/// The numbers and flags of an operation, which end its text in any order.
std::vector<Attribute<ScheduleOp>> attributesOf(ScheduleOpKind kind);

/// An operation of which the text says nothing but the mnemonic.
ScheduleOp blank(ScheduleOpKind kind);

/// Part of an operation that is no number, and the word that leads it in; empty for the first one.
struct Operand {
  Fields field;
  std::string_view word;
  bool mayLack = false; ///< A copy has no barrier until barriers are added.
};

/// In the order of the text: what the operation works on comes first.
std::vector<Operand> operandsOf(ScheduleOpKind kind);

// --- words for what is one of a few ---

inline constexpr std::array<std::string_view, 3> kSpaceWords = {"shared", "tensor", "registers"};
inline constexpr std::array<std::string_view, 3> kMeasureWords = {"count", "done", "left"};

constexpr std::string_view wordOf(Space space) {
  return kSpaceWords[static_cast<std::size_t>(space)];
}
constexpr std::string_view wordOf(Guard::Measure measure) {
  return kMeasureWords[static_cast<std::size_t>(measure)];
}

} // namespace imbrex::schedule
