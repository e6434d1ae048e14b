#include "runtime/gpu_executable.h"
#include "runtime/gpus.h"
#include "runtime/launch_hook.h"
#include "runtime/launch_state.h"
#include "runtime/log.h"
#include "runtime/recent_launches.h"
#include "runtime/throw.h"

namespace imbrex::detail {
namespace {

/// For this launch or, of no arguments, for what most are. What others compile is not waited for,
/// unless it is the same.
result<const runtime::Executable *> compile(launch_state &state, device on,
                                            llvm::ArrayRef<ir::Argument> launch) {
  Diagnostics diagnostics;
  auto made = runtime::cachedExecutable(irOf(state.kernel), on, diagnostics, launch);
  if (!made) return runtime::toError(diagnostics);
  const std::scoped_lock lock(state.mutex);
  auto &owned = state.owned[on.index()];
  if (!owned) owned = std::move(made);
  state.ready[on.index()].store(owned.get(), std::memory_order_release);
  return owned.get();
}

/// Whoever forgot the store gets no error of anybody, and arrays as they were.
void warnUnlessSeen(const ir::Kernel &kernel) {
  bool isSeen = false;
  ir::walk(kernel.body(), [&](const ir::Op &op) {
    const ir::Effect effect = ir::info(op.kind).effect;
    isSeen |= effect == ir::Effect::Write || effect == ir::Effect::Atomic ||
              effect == ir::Effect::Observe;
  });
  if (isSeen) return;
  const Diagnostic told = diagnostic(Diag::StoresNothing, kernel.where(), kernel.name());
  const std::string place = told.where.known() ? toText(told.where) + ": " : "";
  runtime::log(log_level::warn, "kernel", "{0}{1}; {2}", place, told.message, told.hint);
}

std::uint64_t numberOfNext() {
  static std::atomic<std::uint64_t> last = 0;
  return ++last;
}

result<device> deviceOf(const launch_state &state, const stream_ref *stream) {
  if (stream != nullptr) return stream->on();
  if (state.on) return *state.on;
  const auto current = runtime::currentDevice();
  if (!current) return runtime::toError(current.error());
  return *current;
}

/// The code for a launch, compiled now if there is none for the device yet.
result<const runtime::Executable *> executableFor(launch_state &state,
                                                  const runtime::AskedLaunch &asked,
                                                  llvm::ArrayRef<ir::Argument> arguments,
                                                  const runtime::RunOptions &options) {
  const device on = asked.in.on();
  if (const auto *ready = state.ready[on.index()].load(std::memory_order_acquire)) return ready;
  if (asked.in.native() != nullptr) {
    const auto gpu = runtime::gpuOf(asked.in);
    if (!gpu) return runtime::toError(gpu.error());
    if (const auto refused = runtime::refusedInCapture(irOf(state.kernel), **gpu, options,
                                                       runtime::Captured::Loading))
      return runtime::toError(*refused);
  }
  return compile(state, on, arguments);
}

result<void> launchNew(launch_state &state, const runtime::AskedLaunch &asked) {
  const Location where = asked.blocks != nullptr ? locate(asked.blocks->where()) : Location{};
  if (const auto wrong = runtime::checkStream(asked.in, where)) return runtime::toError(*wrong);
  runtime::BoundLaunch bound;
  if (asked.blocks != nullptr)
    if (const auto problem = bound.bind(*asked.blocks, where)) return runtime::toError(*problem);
  if (const auto problem = bound.bind({state.parameters, asked.in.on(), where}, asked.arguments))
    return runtime::toError(*problem);
  if (!state.requirements.empty())
    if (const auto unmet = state.requirements.unmet(bound.arguments(), where))
      return runtime::toError(*unmet);
  if (asked.blocks == nullptr) {
    const auto computed = state.blocks->of(bound.arguments());
    if (!computed) return runtime::toError(computed.error());
    if (const auto problem = bound.bind(*computed, where)) return runtime::toError(*problem);
  }
  if (bound.isEmpty()) return {};

  runtime::RunOptions options{.stream = asked.in.native(), .where = where};
  const auto executable = executableFor(state, asked, bound.arguments(), options);
  if (!executable) return executable.error();
  runtime::RecentLaunch *const place = runtime::placeForRecent(asked);
  if (place != nullptr) options.repeatable = &place->launch;
  Diagnostics diagnostics;
  if (!(*executable)->run(bound.grid(), bound.arguments(), diagnostics, options))
    return runtime::toError(diagnostics);
  for (const Diagnostic &said : diagnostics.all())
    runtime::log(log_level::warn, "launch", "{0}; {1}", said.message, said.hint);
  if (place != nullptr) runtime::keepRecent(*place, asked);
  return {};
}

result<void> toResult(const Result<void> &made) {
  if (!made) return runtime::toError(made.error());
  return {};
}

} // namespace

launchable::launchable(traced_kernel kernel, std::optional<device> on,
                       std::optional<traced_kernel> blocks) {
  warnUnlessSeen(irOf(kernel));
  runtime::beginToWatch();
  runtime::Parameters parameters = runtime::parametersOf(irOf(kernel));
  interpret::Requirements requirements(irOf(kernel));
  state_ = std::make_shared<launch_state>(numberOfNext(), std::move(kernel), on,
                                          std::move(parameters), std::move(requirements));
  if (blocks) state_->blocks.emplace(std::move(*blocks));
}

const traced_kernel &launchable::kernel() const { return state_->kernel; }

result<void> launchable::prepare(device on) const {
  const auto made = compile(*state_, on, {});
  if (!made) return made.error();
  return {};
}

result<void> launchable::launch(const stream_ref *stream, const grid *blocks,
                                list<launch_argument> arguments, const std::uint64_t *words) const {
  const auto on = deviceOf(*state_, stream);
  if (!on) return on.error();
  const runtime::AskedLaunch asked{.kernel = state_->number,
                                   .in = stream != nullptr ? *stream : stream_ref(*on),
                                   .blocks = blocks,
                                   .arguments = arguments,
                                   .words = words,
                                   .followsFromNumbers = state_->followsFromNumbers(blocks)};
  runtime::HookedLaunch watched(irOf(state_->kernel).name(), asked.in);
  const std::optional<Result<void>> again = runtime::launchAgain(asked);
  const result<void> made = again ? toResult(*again) : launchNew(*state_, asked);
  if (made.ok()) watched.isDone();
  return made;
}

int launchable::launch_again_in_current(const grid *blocks, const std::uint64_t *words) const {
  const auto on = deviceOf(*state_, nullptr);
  if (!on) return not_recent; // `launch` tells
  const stream_ref stream(*on);
  return launch_again(&stream, blocks, words);
}

result<void> launchable::refused(int error) {
  return toResult(runtime::RecentLaunches::find()->latest().launch.started(error));
}

} // namespace imbrex::detail
