#include "tests/support/schedule_builder.h"
#include "tests/support/schedules.h"

#include <utility>

namespace imbrex::testing {

using namespace schedule;

namespace {

class Gemm {
public:
  Gemm(const GemmShape &shape, GemmDefect defect) : shape_(shape), defect_(defect) {
    if (shape.persistent) tiles_ = build_.trips("tiles");
    k_ = build_.trips("k", tiles_);
    ring_ = build_.ring("AB", shape.depth);
    const RingId second = is(GemmDefect::SingleSecondOperand) ? build_.ring("B", 1) : ring_;
    a_ = build_.buffer({.name = "A", .ring = ring_, .bytes = kTileBytes});
    b_ = build_.buffer({.name = "B", .ring = second, .bytes = kTileBytes});
    full_ = build_.barrier("full", ring_, 1);
    empty_ = build_.barrier("empty", ring_, emptyArrivals());
    load(second);
    compute(second);
    if (is(GemmDefect::OthersArriveAhead)) {
      auto others = build_.role("others");
      arriveAhead(others, others.cursor("o", ring_));
    }
  }

  Program take() { return build_.take(); }

private:
  bool is(GemmDefect defect) const { return defect_ == defect; }

  std::int32_t emptyArrivals() const {
    if (is(GemmDefect::EmptyCountTooHigh)) return shape_.warps + 1;
    if (is(GemmDefect::EmptyCountTooLow)) return shape_.warps - 1;
    return is(GemmDefect::OneReleasesForAll) ? 1 : shape_.warps;
  }

  void forTiles(RoleBuilder &role, const Block &block) {
    if (shape_.persistent)
      role.forTrips(tiles_, block);
    else
      block();
  }

  void arriveAhead(RoleBuilder &role, Index at) {
    for (std::int32_t slot = 0; slot < shape_.depth; ++slot) role.arrive(empty_, further(at, slot));
  }

  void load(RingId second) {
    auto role = build_.role("load", shape_.loadWarps, shape_.loadRegisters);
    const Index p = role.cursor("p", ring_);
    const Index q = second == ring_ ? p : role.cursor("q", second);
    forTiles(role, [&] {
      if (is(GemmDefect::RestartsPerTile) || is(GemmDefect::LoaderRestartsPerTile)) role.reset(p);
      role.loop(k_, 0, is(GemmDefect::LoadsOneLess) ? 1 : 0, [&] { loadStep(role, p, q); });
    });
  }

  void loadStep(RoleBuilder &role, Index p, Index q) {
    if (shape_.arrivesAhead || is(GemmDefect::LoaderNotFlipped))
      role.wait(empty_, p);
    else
      role.waitFlipped(empty_, p);
    role.expect(full_, p, 2 * kTileBytes, is(GemmDefect::ExpectDoesNotArrive) ? 0 : 1);
    std::int64_t bytes = 2 * kTileBytes;
    if (is(GemmDefect::FewerBytesLand)) bytes = kTileBytes;
    if (is(GemmDefect::MoreBytesLand)) bytes = 3 * kTileBytes;
    role.copy({write(a_, p), write(b_, q)}, full_, p, bytes);
    role.advance(p);
    if (q != p) role.advance(q);
  }

  void compute(RingId second) {
    const bool oneReleases = is(GemmDefect::OneReleasesForAll);
    if (oneReleases) compute(second, "compute", 1, true);
    compute(second, oneReleases ? "rest" : "compute", shape_.warps - (oneReleases ? 1 : 0),
            !oneReleases);
  }

  void compute(RingId second, const char *name, std::int32_t warps, bool releases) {
    auto role = build_.role(name, warps, shape_.computeRegisters);
    const Index c = role.cursor("c", ring_);
    const Index d = second == ring_ ? c : role.cursor("d", second);
    const QueueId products =
        role.queue({.name = "products", .serial = true, .grouped = true, .async = true});
    if (shape_.arrivesAhead) arriveAhead(role, c);
    forTiles(role, [&] {
      if (is(GemmDefect::RestartsPerTile)) role.reset(c);
      role.forTrips(k_, [&] {
        computeStep(role, products, c, d, releases);
        role.advance(c);
        if (d != c) role.advance(d);
      });
      role.drain(products);
      if (releases) releaseRest(role, c);
    });
  }

  void computeStep(RoleBuilder &role, QueueId products, Index c, Index d, bool releases) {
    const bool early = is(GemmDefect::ReleasedAtIssue);
    if (!is(GemmDefect::ReadsBeforeWait)) role.wait(full_, c);
    role.issue(products, {read(a_, c), read(b_, d)});
    if (is(GemmDefect::ReadsBeforeWait)) role.wait(full_, c);
    role.commit(products);
    if (!early) role.drain(products, shape_.inFlight);
    if (!releases) return;
    if (early || is(GemmDefect::ReleasedInFlight) || shape_.inFlight == 0)
      role.arrive(empty_, c);
    else
      role.when(doneOver(k_, shape_.inFlight - 1),
                [&] { role.arrive(empty_, further(c, -shape_.inFlight)); });
  }

  /// The slots of the products that were in flight after the last step.
  void releaseRest(RoleBuilder &role, Index c) {
    if (is(GemmDefect::ReleasedAtIssue) || is(GemmDefect::ReleasedInFlight) ||
        is(GemmDefect::NotReleasedAtEnd))
      return;
    for (std::int32_t before = shape_.inFlight; before > 0; --before)
      role.when(countOver(k_, before - 1), [&] { role.arrive(empty_, further(c, -before)); });
  }

  const GemmShape &shape_;
  GemmDefect defect_;
  ScheduleBuilder build_ = ScheduleBuilder("gemm");
  TripsId tiles_, k_;
  RingId ring_;
  BufferId a_, b_;
  BarrierId full_, empty_;
};

/// One use of a ring by a loader: wait until the slot is free, fill it.
void fill(RoleBuilder &role, BarrierId empty, BarrierId full, Accesses accesses, Index at,
          std::int64_t bytes) {
  role.waitFlipped(empty, at);
  role.expect(full, at, bytes);
  role.copy(std::move(accesses), full, at, bytes);
}

} // namespace

Program gemm(const GemmShape &shape, GemmDefect defect) { return Gemm(shape, defect).take(); }

Program biasGemm(const BiasGemmShape &shape, BiasGemmDefect defect) {
  ScheduleBuilder build("bias_gemm");
  const TripsId tiles = build.trips("tiles"), k = build.trips("k", tiles);
  const RingId operands = build.ring("AB", shape.depth),
               biases = build.ring("BIAS", shape.biasDepth);
  const BufferId a = build.buffer({.name = "A", .ring = operands, .bytes = kTileBytes});
  const BufferId b = build.buffer({.name = "B", .ring = operands, .bytes = kTileBytes});
  const BufferId bias = build.buffer({.name = "bias", .ring = biases, .bytes = 512});
  const BarrierId full = build.barrier("full", operands, 1);
  const BarrierId empty = build.barrier("empty", operands, shape.warps);
  const BarrierId biasFull = build.barrier("bias_full", biases, 1);
  const BarrierId biasEmpty = build.barrier("bias_empty", biases, shape.warps);

  auto load = build.role("load", 1, 40);
  const Index p = load.cursor("p", operands);
  const auto loadStep = [&](std::int32_t ahead) {
    const Index content = further(p, ahead);
    fill(load, empty, full, {write(a, content), write(b, content)}, p, 2 * kTileBytes);
    load.advance(p);
  };
  load.forTrips(tiles, [&] {
    if (defect == BiasGemmDefect::OperandsRestartAtTile) load.reset(p);
    if (defect == BiasGemmDefect::OperandsRunAhead) {
      load.when(countOver(k, 0), [&] { loadStep(0); });
      // The same slot, but the content of its next turn.
      load.loop(k, 1, 0, [&] { loadStep(shape.depth); });
    } else {
      load.forTrips(k, [&] { loadStep(0); });
    }
  });

  auto loadBias = build.role("load_bias", 1, 40);
  const Index q = loadBias.cursor("q", biases);
  loadBias.forTrips(tiles, [&] {
    fill(loadBias, biasEmpty, biasFull, {write(bias, q)}, q, 512);
    loadBias.advance(q);
    if (defect == BiasGemmDefect::BiasSlotSkipped)
      loadBias.when(doneOver(tiles, 0), [&] { loadBias.advance(q); });
  });

  auto compute = build.role("compute", shape.warps, 232);
  const Index c = compute.cursor("c", operands), d = compute.cursor("d", biases);
  const QueueId products =
      compute.queue({.name = "products", .serial = true, .grouped = true, .async = true});
  compute.forTrips(tiles, [&] {
    compute.forTrips(k, [&] {
      compute.wait(full, c);
      compute.issue(products, {read(a, c), read(b, c)});
      compute.commit(products);
      compute.drain(products);
      compute.arrive(empty, c);
      compute.advance(c);
    });
    compute.wait(biasFull, d);
    compute.access({read(bias, d)});
    compute.arrive(biasEmpty, d);
    compute.advance(d);
  });
  return build.take();
}

} // namespace imbrex::testing
