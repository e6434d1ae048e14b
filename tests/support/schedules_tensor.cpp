#include "tests/support/schedule_builder.h"
#include "tests/support/schedules.h"

namespace imbrex::testing {

using namespace schedule;

namespace {

constexpr std::int64_t kOperands = 32768, kBias = 512, kResult = 65536; // bytes

class TensorGemm {
public:
  TensorGemm(const TensorGemmShape &shape, TensorGemmDefect defect)
      : shape_(shape), defect_(defect) {
    tiles_ = build_.trips("tiles");
    k_ = build_.trips("k", tiles_, 1);
    operands_ = build_.ring("AB", shape.depth);
    results_ = build_.ring("ACC", shape.resultDepth);
    biases_ = build_.ring("BIAS", shape.biasDepth);
    ab_ = build_.buffer({.name = "AB", .ring = operands_, .bytes = kOperands});
    result_ = build_.buffer({.name = "result",
                             .ring = results_,
                             .bytes = kResult,
                             .parts = shape.warps,
                             .space = Space::Tensor});
    bias_ = build_.buffer({.name = "bias", .ring = biases_, .bytes = kBias});
    full_ = build_.barrier("full", operands_, 1);
    empty_ = build_.barrier("empty", operands_, is(TensorGemmDefect::ReleaseReachesOne) ? 2 : 1);
    resultFull_ = build_.barrier("result_full", results_, 1);
    resultEmpty_ = build_.barrier("result_empty", results_, shape.warps);
    biasFull_ = build_.barrier("bias_full", biases_, 1);
    biasEmpty_ = build_.barrier("bias_empty", biases_, shape.warps);
    load();
    loadBias();
    multiply();
    finish();
  }

  Program take() { return build_.take(); }

private:
  bool is(TensorGemmDefect defect) const { return defect_ == defect; }

  void load() {
    auto role = build_.role("load");
    const Index p = role.cursor("p", operands_);
    const auto step = [&] {
      role.waitFlipped(empty_, p);
      role.expect(full_, p, kOperands);
      role.copy({write(ab_, p)}, full_, p, kOperands);
      role.advance(p);
    };
    role.forTrips(tiles_, [&] {
      if (!is(TensorGemmDefect::SecondLoadMissing)) {
        role.forTrips(k_, step);
        return;
      }
      role.when(countOver(k_, 0), step);
      role.when(countOver(k_, 1), [&] { role.advance(p); });
      role.loop(k_, 2, 0, step);
    });
  }

  void loadBias() {
    auto role = build_.role("load_bias");
    const Index q = role.cursor("q", biases_);
    const auto step = [&] {
      role.waitFlipped(biasEmpty_, q);
      role.expect(biasFull_, q, kBias);
      role.copy({write(bias_, q)}, biasFull_, q, kBias);
      role.advance(q);
    };
    if (!is(TensorGemmDefect::SecondBiasMissing)) {
      role.forTrips(tiles_, step);
      return;
    }
    role.when(countOver(tiles_, 0), step);
    role.when(countOver(tiles_, 1), [&] { role.advance(q); });
    role.loop(tiles_, 2, 0, step);
  }

  void multiply() {
    auto role = build_.role("multiply");
    const Index c = role.cursor("c", operands_), r = role.cursor("r", results_);
    const QueueId products = role.queue({.name = "products", .serial = true, .async = true});
    role.forTrips(tiles_, [&] {
      if (!is(TensorGemmDefect::ResultNeverReleased) && !is(TensorGemmDefect::FirstWaitMissing))
        role.waitFlipped(resultEmpty_, r);
      if (is(TensorGemmDefect::ResultSignalledEarly)) role.signal(products, resultFull_, r);
      role.forTrips(k_, [&] {
        role.wait(full_, c);
        role.issue(products, {read(ab_, c), write(result_, r)});
        role.signal(products, empty_, c);
        role.advance(c);
      });
      if (!is(TensorGemmDefect::ResultSignalledEarly)) role.signal(products, resultFull_, r);
      role.advance(r);
    });
  }

  void finish() {
    auto role = build_.role("finish", shape_.warps);
    const Index d = role.cursor("d", results_), b = role.cursor("b", biases_);
    const QueueId loads = role.queue({.name = "loads"});
    role.forTrips(tiles_, [&] {
      role.wait(resultFull_, d);
      role.issue(loads, {own(read(result_, d))});
      const bool early = is(TensorGemmDefect::ResultReleasedEarly);
      if (!early) role.drain(loads);
      if (!is(TensorGemmDefect::ResultNeverReleased)) role.arrive(resultEmpty_, d);
      if (early) role.drain(loads);
      role.wait(biasFull_, b);
      role.access({read(bias_, b)});
      role.arrive(biasEmpty_, b);
      role.advance(d);
      role.advance(b);
    });
  }

  const TensorGemmShape &shape_;
  TensorGemmDefect defect_;
  ScheduleBuilder build_ = ScheduleBuilder("tensor_gemm");
  TripsId tiles_, k_;
  RingId operands_, results_, biases_;
  BufferId ab_, result_, bias_;
  BarrierId full_, empty_, resultFull_, resultEmpty_, biasFull_, biasEmpty_;
};

} // namespace

Program tensorGemm(const TensorGemmShape &shape, TensorGemmDefect defect) {
  return TensorGemm(shape, defect).take();
}

} // namespace imbrex::testing
