#include "imbrex/stream.hpp"

#include "runtime/gpus.h"
#include "runtime/throw.h"

#include <chrono>
#include <utility>

namespace imbrex {
namespace {

const gpu::SupportedGpu *gpuOrThrow(const stream_ref &in) {
  return runtime::valueOrThrow(runtime::gpuOf(in));
}

void throwIf(const Result<void> &done) {
  if (!done) runtime::throwError(done.error());
}

/// Of an event and what happens elsewhere: streams wait for events of their own device alone, and
/// its clock tells the time between those.
void checkSameDevice(device of, device elsewhere) {
  if (of != elsewhere)
    runtime::throwError(diagnostic(Diag::EventElsewhere, {}, of.name(), elsewhere.name()));
}

} // namespace

// --- stream_ref ---

result<void> stream_ref::try_synchronize() const {
  const auto gpu = runtime::gpuOf(*this);
  if (!gpu) return runtime::toError(gpu.error());
  if (*gpu == nullptr) return {};
  const auto ended = (*gpu)->await(native_);
  if (!ended) return runtime::toError(ended.error());
  return {};
}

void stream_ref::synchronize() const { try_synchronize().value(); }

void stream_ref::wait(const event &happened) const {
  checkSameDevice(happened.on(), device_);
  const gpu::SupportedGpu *gpu = gpuOrThrow(*this);
  if (gpu != nullptr && happened.native() != nullptr)
    throwIf(gpu->letAwait(native_, happened.native()));
}

// --- stream ---

stream::stream(device on) : ref_(on) {
  if (const gpu::SupportedGpu *gpu = gpuOrThrow(ref_); gpu != nullptr)
    ref_ = stream_ref(on, runtime::valueOrThrow(gpu->makeStream()));
}

stream::~stream() {
  if (native() != nullptr) (*runtime::gpuOf(ref_))->destroyStream(native());
}

stream::stream(stream &&other) noexcept : ref_(std::exchange(other.ref_, stream_ref(other.on()))) {}

stream &stream::operator=(stream &&other) noexcept {
  std::swap(ref_, other.ref_);
  return *this;
}

// --- event ---

struct event::state {
  using Clock = std::chrono::steady_clock;

  /// Null on the processor, where the time is all there is to an event.
  const gpu::SupportedGpu *gpu;
  void *native = nullptr;
  bool isRecorded = false;
  Clock::time_point reached = {};

  explicit state(const stream_ref &in) : gpu(gpuOrThrow(in)) {
    if (gpu != nullptr) native = runtime::valueOrThrow(gpu->makeEvent(in.native()));
  }
  ~state() {
    if (native != nullptr) gpu->destroyEvent(native);
  }
  state(const state &) = delete;
  state &operator=(const state &) = delete;
};

event::event(device on) : device_(on), state_(std::make_unique<state>(stream_ref(on))) {}
event::event(const stream_ref &in) : device_(in.on()), state_(std::make_unique<state>(in)) {
  record(in);
}
event::~event() = default;
event::event(event &&) noexcept = default;
event &event::operator=(event &&) noexcept = default;

void *event::native() const { return state_ ? state_->native : nullptr; }

void event::record(const stream_ref &in) {
  checkSameDevice(device_, in.on());
  if (!state_) state_ = std::make_unique<state>(in); // it was moved from
  state_->isRecorded = true;
  if (state_->gpu != nullptr)
    throwIf(state_->gpu->record(state_->native, in.native()));
  else
    state_->reached = state::Clock::now();
}

void event::synchronize() const {
  if (state_ && state_->gpu != nullptr) throwIf(state_->gpu->awaitEvent(state_->native));
}

double event::milliseconds_since(const event &earlier) const {
  checkSameDevice(earlier.on(), device_);
  for (const event *each : {this, &earlier})
    if (!each->state_ || !each->state_->isRecorded)
      runtime::throwError(diagnostic(Diag::EventUnrecorded, {}));
  if (state_->gpu == nullptr)
    return std::chrono::duration<double, std::milli>(state_->reached - earlier.state_->reached)
        .count();
  earlier.synchronize();
  synchronize();
  return runtime::valueOrThrow(
      state_->gpu->millisecondsBetween(earlier.state_->native, state_->native));
}

} // namespace imbrex
