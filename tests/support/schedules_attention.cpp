#include "tests/support/schedule_builder.h"
#include "tests/support/schedules.h"

#include <array>
#include <string>

namespace imbrex::testing {

using namespace schedule;

namespace {

/// Slots of one buffer that the loader fills and others release.
struct Channel {
  RingId ring;
  BufferId buffer;
  BarrierId full, empty;
};

class Attention {
public:
  Attention(const AttentionShape &shape, AttentionDefect defect) : shape_(shape), defect_(defect) {
    tiles_ = build_.trips("tiles");
    n_ = build_.trips("n", tiles_);
    key_ = channel("K", shape.keyDepth, 2 * shape.warps);
    value_ = channel("V", shape.valueDepth, 2 * shape.warps);
    for (std::size_t group : {0u, 1u}) {
      query_[group] = channel("Q" + std::to_string(group), 1, shape.warps);
      if (!shape.turns) continue;
      order_[group] = build_.ring("order" + std::to_string(group), 1);
      turn_[group] = build_.barrier("turn" + std::to_string(group), order_[group],
                                    is(AttentionDefect::TurnCountOne) ? 1 : shape.warps);
    }
    load();
    compute(0);
    compute(1);
  }

  Program take() { return build_.take(); }

private:
  bool is(AttentionDefect defect) const { return defect_ == defect; }

  Channel channel(const std::string &name, std::int32_t depth, std::int32_t readers) {
    const RingId ring = build_.ring(name, depth);
    return {.ring = ring,
            .buffer = build_.buffer({.name = name, .ring = ring, .bytes = kTileBytes}),
            .full = build_.barrier(name + "_full", ring, 1),
            .empty = build_.barrier(name + "_empty", ring, readers)};
  }

  /// Q0 K0 Q1 K1 V0 K2 V1 … and the last V.
  void load() {
    auto role = build_.role("load", 1, 24);
    const Index q0 = role.cursor("q0", query_[0].ring), q1 = role.cursor("q1", query_[1].ring);
    const Index k = role.cursor("k", key_.ring), v = role.cursor("v", value_.ring);
    const auto fill = [&](const Channel &channel, Index at) {
      role.waitFlipped(channel.empty, at);
      role.expect(channel.full, at, kTileBytes);
      role.copy({write(channel.buffer, at)}, channel.full, at, kTileBytes);
      role.advance(at);
    };
    role.forTrips(tiles_, [&] {
      fill(query_[0], q0);
      role.when(countOver(n_, 0), [&] { fill(key_, k); });
      fill(query_[1], q1);
      role.loop(n_, 1, 0, [&] {
        fill(key_, k);
        fill(value_, v);
      });
      role.when(countOver(n_, 0), [&] { fill(value_, v); });
    });
  }

  /// A group's places in the rings.
  struct Places {
    Index q = {}, k = {}, v = {}, mine = {}, theirs = {};
  };

  void compute(std::size_t group) {
    auto role = build_.role("compute" + std::to_string(group), shape_.warps, 240);
    Places at = {.q = role.cursor("q", query_[group].ring),
                 .k = role.cursor("k", key_.ring),
                 .v = role.cursor("v", value_.ring)};
    if (shape_.turns) {
      at.mine = role.cursor("mine", order_[group]);
      at.theirs = role.cursor("theirs", order_[1 - group]);
    }
    const QueueId products =
        role.queue({.name = "products", .serial = true, .grouped = true, .async = true});
    role.forTrips(tiles_, [&] {
      role.wait(query_[group].full, at.q);
      firstBlock(role, products, at, group);
      if (is(AttentionDefect::QueryReleasedEarly)) role.arrive(query_[group].empty, at.q);
      role.loop(n_, 1, 0, [&] { nextBlock(role, products, at, group); });
      if (!is(AttentionDefect::QueryReleasedEarly)) role.arrive(query_[group].empty, at.q);
      role.when(countOver(n_, 0), [&] { lastValue(role, products, at); });
      role.advance(at.q);
    });
  }

  void takeTurn(RoleBuilder &role, const Places &at, std::size_t group) {
    if (!shape_.turns) return;
    if (group == 0 && !is(AttentionDefect::BothGroupsWait))
      role.waitFlipped(turn_[0], at.mine);
    else
      role.wait(turn_[group], at.mine);
  }

  void giveTurn(RoleBuilder &role, const Places &at, std::size_t group) {
    if (!shape_.turns) return;
    role.arrive(turn_[1 - group], at.theirs);
    role.advance(at.mine);
    role.advance(at.theirs);
  }

  void multiplyQuery(RoleBuilder &role, QueueId products, const Places &at, std::size_t group) {
    role.issue(products, {read(query_[group].buffer, at.q), read(key_.buffer, at.k)});
    role.commit(products);
  }

  void multiplyValue(RoleBuilder &role, QueueId products, const Places &at) {
    role.issue(products, {read(value_.buffer, at.v)});
    role.commit(products);
  }

  void releaseKey(RoleBuilder &role, const Places &at) {
    role.arrive(key_.empty, at.k);
    role.advance(at.k);
  }

  void releaseValue(RoleBuilder &role, const Places &at) {
    role.arrive(value_.empty, at.v);
    role.advance(at.v);
  }

  void firstBlock(RoleBuilder &role, QueueId products, const Places &at, std::size_t group) {
    role.when(countOver(n_, 0), [&] {
      role.wait(key_.full, at.k);
      takeTurn(role, at, group);
      multiplyQuery(role, products, at, group);
      if (!is(AttentionDefect::NoWaitOnEmptyTile)) giveTurn(role, at, group);
      role.drain(products);
      releaseKey(role, at);
    });
    if (is(AttentionDefect::NoWaitOnEmptyTile)) giveTurn(role, at, group);
  }

  void nextBlock(RoleBuilder &role, QueueId products, const Places &at, std::size_t group) {
    role.wait(key_.full, at.k);
    takeTurn(role, at, group);
    multiplyQuery(role, products, at, group);
    role.wait(value_.full, at.v);
    multiplyValue(role, products, at);
    giveTurn(role, at, group);
    if (!is(AttentionDefect::KeyReleasedInFlight)) role.drain(products, 1);
    releaseKey(role, at);
    if (!is(AttentionDefect::ValueReleasedInFlight)) role.drain(products);
    releaseValue(role, at);
  }

  void lastValue(RoleBuilder &role, QueueId products, const Places &at) {
    role.wait(value_.full, at.v);
    multiplyValue(role, products, at);
    role.drain(products);
    releaseValue(role, at);
  }

  const AttentionShape &shape_;
  AttentionDefect defect_;
  ScheduleBuilder build_ = ScheduleBuilder("attention");
  TripsId tiles_, n_;
  Channel key_, value_;
  std::array<Channel, 2> query_;
  std::array<RingId, 2> order_;
  std::array<BarrierId, 2> turn_;
};

} // namespace

Program attention(const AttentionShape &shape, AttentionDefect defect) {
  return Attention(shape, defect).take();
}

} // namespace imbrex::testing
