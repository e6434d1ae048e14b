#include "runtime/aot/loaded.h"

#include "backend/package/choice/fit.h"
#include "runtime/aot/devices.h"
#include "runtime/aot/error.h"
#include "runtime/aot/log.h"
#include "runtime/aot/tuning.h"

#include <algorithm>
#include <mutex>
#include <string>
#include <vector>

namespace imbrex::aot {
namespace {

using Codes = std::span<const CodeRow>;

bool areOfOneMachine(const CodeRow &a, const CodeRow &b) {
  return a.device == b.device && a.isAssembly == b.isAssembly &&
         std::string_view(a.machine) == b.machine;
}

/// The code of each machine, which stands together.
std::vector<Codes> byMachine(const KernelRow &kernel) {
  std::vector<Codes> groups;
  const Codes all(kernel.codes, static_cast<std::size_t>(kernel.codeCount));
  for (std::size_t first = 0, next = 0; first < all.size(); first = next) {
    while (next < all.size() && areOfOneMachine(all[first], all[next])) ++next;
    groups.push_back(all.subspan(first, next - first));
  }
  return groups;
}

/// What suits a GPU, the best first.
std::vector<Codes> suitable(const KernelRow &kernel, const driver::Gpu &gpu, std::uint8_t device) {
  const auto fit = [&](Codes codes) {
    const CodeRow &one = codes.front();
    if (one.device != device) return 0;
    return package::fitOf(one.machine, one.isAssembly, gpu.kind());
  };
  std::vector<Codes> groups = byMachine(kernel);
  std::erase_if(groups, [&](Codes codes) { return fit(codes) == 0; });
  std::ranges::stable_sort(groups, [&](Codes a, Codes b) { return fit(a) > fit(b); });
  return groups;
}

/// Of a kernel on one GPU. The code of a machine that its driver has once taken is used from then
/// on; before that, the next best is tried where it refuses one.
class OnGpu {
public:
  OnGpu(const KernelRow &kernel, const driver::Gpu &gpu, std::uint8_t device)
      : kernel_(kernel), gpu_(gpu), suitable_(suitable(kernel, gpu, device)),
        slots_(static_cast<std::size_t>(kernel.codeCount)) {}

  const CodeRow *usual() const {
    if (const Codes *codes = taken_.load(std::memory_order_acquire)) return codes->data();
    return suitable_.empty() ? nullptr : suitable_.front().data();
  }

  int find(const imbrex_stream &on, const BoundArguments &bound, Ready &ready) {
    if (const Codes *codes = taken_.load(std::memory_order_acquire))
      if (isLoaded(strongest(kernel_, *codes, bound), ready)) return IMBREX_OK;
    if (isRefused_.load(std::memory_order_relaxed)) return IMBREX_REFUSED;
    const std::scoped_lock lock(mutex_);
    const auto loadStrongest = [&](Codes codes) {
      return load(on, strongest(kernel_, codes, bound), ready);
    };
    const Codes *const taken = taken_.load(std::memory_order_acquire);
    const int status = taken != nullptr ? loadStrongest(*taken) : takeBest(loadStrongest);
    if (status == IMBREX_REFUSED) isRefused_.store(kernel_.config != nullptr);
    return status;
  }

  /// Load all that any launch may run. Which machine's code is taken follows from the one that
  /// assumes nothing.
  int findAll(const imbrex_stream &on) {
    const std::scoped_lock lock(mutex_);
    Ready ready;
    int status = IMBREX_OK;
    if (taken_.load(std::memory_order_acquire) == nullptr)
      status = takeBest([&](Codes codes) { return load(on, codes.back(), ready); });
    const Codes *const taken = taken_.load(std::memory_order_acquire);
    if (taken == nullptr) return status;
    for (const CodeRow &code : *taken) {
      if (status != IMBREX_OK || (code.mapCount != 0 && !gpu_.knowsBoxes())) continue;
      status = load(on, code, ready);
      if (status != IMBREX_OK) continue;
      if (const int error = gpu_.loadFor(ready.module, on.handle); error != 0)
        status = failToLoad(code, error, "");
    }
    return status;
  }

private:
  /// Have the first of the suitable codes be taken that the driver does not refuse to `loadFrom`.
  template <class LoadFrom>
  int takeBest(LoadFrom loadFrom) {
    if (suitable_.empty())
      return fail(IMBREX_NO_CODE, "the library '%s' has no code of '%s' for %s, only for %s",
                  kernel_.library, kernel_.name, gpu_.description().c_str(),
                  describe(kernel_).c_str());
    int status = IMBREX_OK;
    for (const Codes &codes : suitable_) {
      status = loadFrom(codes);
      if (status == IMBREX_OK) taken_.store(&codes, std::memory_order_release);
      if (status != IMBREX_REFUSED) return status;
    }
    return status;
  }

  struct Slot {
    driver::Module module;
    std::atomic<bool> isLoaded = false;
  };

  Slot &slotOf(const CodeRow &code) {
    return slots_[static_cast<std::size_t>(&code - kernel_.codes)];
  }

  bool isLoaded(const CodeRow &code, Ready &ready) {
    const Slot &slot = slotOf(code);
    if (!slot.isLoaded.load(std::memory_order_acquire)) return false;
    ready = {&code, slot.module};
    return true;
  }

  /// Unless it is there.
  int load(const imbrex_stream &on, const CodeRow &code, Ready &ready) {
    if (isLoaded(code, ready)) return IMBREX_OK;
    if (gpu_.isCapturing(on.handle))
      return fail(IMBREX_CAPTURED,
                  "'%s' is not loaded on %s yet, and the stream is being captured; load the "
                  "library, or launch it once, before",
                  kernel_.name, gpu_.description().c_str());
    const driver::LaunchAttributes attributes = attributesOf(code);
    if (const char *lacked = gpu_.lacksFor(attributes))
      return fail(IMBREX_REFUSED,
                  "the driver of %s is too old for the launches of '%s': it lacks %s",
                  gpu_.description().c_str(), kernel_.name, lacked);
    Slot &slot = slotOf(code);
    driver::LoadReport report;
    const int error = gpu_.load({.code = static_cast<const char *>(code.image),
                                 .symbol = code.symbol,
                                 .needs = {code.sharedBytes, attributes.clusterBlocks()}},
                                slot.module, report);
    if (error != 0) return failToLoad(code, error, report.log);
    logLoaded(kernel_, code, gpu_.description().c_str());
    slot.isLoaded.store(true, std::memory_order_release);
    ready = {&code, slot.module};
    return IMBREX_OK;
  }

  int failToLoad(const CodeRow &code, int error, const std::string &log) const {
    // Who has no memory now may have some later.
    const imbrex_status kind = error == driver::kOutOfMemory ? IMBREX_NO_MEMORY : IMBREX_REFUSED;
    const int status = fail(kind, "%s refuses the code of '%s' for %s: %s%s%s",
                            gpu_.description().c_str(), kernel_.name, code.machine,
                            gpu_.textOf(error).c_str(), log.empty() ? "" : "; ", log.c_str());
    aot::log(LogLevel::Info, "load", "%s", imbrex_error_text());
    return status;
  }

  const KernelRow &kernel_;
  const driver::Gpu &gpu_;
  const std::vector<Codes> suitable_;
  std::atomic<const Codes *> taken_ = nullptr;
  std::atomic<bool> isRefused_ = false; // of a configuration, in whose place the kernel runs
  std::mutex mutex_;                    // of loading
  std::vector<Slot> slots_;             // by the kernel's codes
};

constinit std::mutex making;

OnGpu &onGpu(const KernelRow &kernel, const driver::Gpu &gpu, const imbrex_stream &on) {
  std::atomic<void *> &place = kernel.loaded->places[placeOf(on)];
  if (void *found = place.load(std::memory_order_acquire)) return *static_cast<OnGpu *>(found);
  const std::scoped_lock lock(making);
  if (void *found = place.load(std::memory_order_acquire)) return *static_cast<OnGpu *>(found);
  // Stays for good, as its GPU does.
  auto *made = new OnGpu(kernel, gpu, static_cast<std::uint8_t>(on.device));
  place.store(made, std::memory_order_release);
  return *made;
}

} // namespace

driver::LaunchAttributes attributesOf(const CodeRow &code) {
  return {.cluster = {code.cluster[0], code.cluster[1], code.cluster[2]},
          .isCooperative = code.isCooperative,
          .isProgrammatic = code.isProgrammatic};
}

const CodeRow *usualCode(const KernelRow &kernel, const driver::Gpu &gpu, const imbrex_stream &on) {
  return onGpu(kernel, gpu, on).usual();
}

int makeReady(const KernelRow &kernel, const driver::Gpu &gpu, const imbrex_stream &on,
              BoundArguments &bound, Ready &ready) {
  if (!gpu.knowsBoxes()) bound.forgetBoxes(static_cast<std::size_t>(kernel.parameterCount));
  return onGpu(kernel, gpu, on).find(on, bound, ready);
}

void logLoaded(const KernelRow &kernel, const CodeRow &code, const char *device) {
  // Tells the codes of a machine apart, and is what a launch by jit says.
  std::int64_t assumed = (code.areDisjoint ? 1 : 0) + code.equalCount;
  for (const Assumed &of : std::span(code.assumed, static_cast<std::size_t>(kernel.parameterCount)))
    assumed += assumptionsOf(of).count();
  aot::log(LogLevel::Info, "load", "kernel=%s%s%s library=%s device=%s code=%s%s assumes=%lld",
           kernel.name, kernel.config != nullptr ? " config=" : "",
           kernel.config != nullptr ? kernel.config : "", kernel.library, device,
           code.isAssembly ? "ptx:" : "", code.machine, static_cast<long long>(assumed));
}

int loadAll(const KernelRow &kernel, const driver::Gpu &gpu, const imbrex_stream &on) {
  OnGpu &usual = onGpu(kernel, gpu, on);
  int status = usual.findAll(on);
  for (const TunedRow &row : std::span(kernel.tuned, static_cast<std::size_t>(kernel.tunedCount))) {
    if (status != IMBREX_OK || !isAbout(row, *usual.usual())) continue;
    status = onGpu(*row.config, gpu, on).findAll(on);
    if (status == IMBREX_REFUSED) status = IMBREX_OK; // the kernel runs in its place
  }
  return status;
}

std::string describe(const KernelRow &kernel) {
  std::string text;
  for (const Codes codes : byMachine(kernel)) {
    const CodeRow &one = codes.front();
    text.append(text.empty() ? "" : ", ")
        .append(one.isAssembly              ? "assembly of "
                : one.device == IMBREX_HOST ? "host:"
                                            : "")
        .append(one.machine);
  }
  return text;
}

} // namespace imbrex::aot
