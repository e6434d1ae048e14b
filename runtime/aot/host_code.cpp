#include "runtime/aot/host_code.h"

#include "backend/launching/amx_permission.h"
#include "backend/launching/scratch.h"
#include "backend/launching/thread_pool.h"
#include "backend/launching/whole_number.h"
#include "backend/package/choice/baselines.h"
#include "backend/support/float_state.h"
#include "runtime/aot/error.h"
#include "runtime/aot/loaded.h"
#include "runtime/aot/log.h"
#include "runtime/aot/observed.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdlib>
#include <new>
#include <string>
#include <string_view>

#if defined(__x86_64__)
#include <cpuid.h>
#endif

namespace imbrex::aot {
namespace {

#if defined(__x86_64__)
constexpr auto &kBaselines = package::kX86Baselines;
/// Not before there is code for it: the system has to let the process use AMX.
constexpr std::string_view kAskedFor = "sapphirerapids";

/// What sapphirerapids has besides x86-64-v4 that code is made of (Intel SDM 2A, CPUID, leaf 7).
bool hasSapphireRapids() {
  constexpr unsigned kIfma = 1U << 21, kSha = 1U << 29; // EBX
  constexpr unsigned kVbmi = 1U << 1, kVbmi2 = 1U << 6, kGfni = 1U << 8, kVaes = 1U << 9,
                     kVpclmulqdq = 1U << 10, kVnni = 1U << 11, kBitalg = 1U << 12,
                     kVpopcntdq = 1U << 14; // ECX
  constexpr unsigned kAmxBf16 = 1U << 22, kFp16 = 1U << 23, kAmxTile = 1U << 24,
                     kAmxInt8 = 1U << 25;                       // EDX
  constexpr unsigned kAvxVnni = 1U << 4, kAvx512Bf16 = 1U << 5; // EAX of subleaf 1
  constexpr std::array wanted{
      kIfma | kSha, kVbmi | kVbmi2 | kGfni | kVaes | kVpclmulqdq | kVnni | kBitalg | kVpopcntdq,
      kAmxBf16 | kFp16 | kAmxTile | kAmxInt8, kAvxVnni | kAvx512Bf16};
  std::array<unsigned, 4> has{};
  unsigned ignored = 0;
  if (__builtin_cpu_supports("x86-64-v4") == 0 ||
      __get_cpuid_count(7, 0, &ignored, &has[0], &has[1], &has[2]) == 0 ||
      __get_cpuid_count(7, 1, &has[3], &ignored, &ignored, &ignored) == 0)
    return false;
  for (std::size_t i = 0; i < wanted.size(); ++i)
    if ((has[i] & wanted[i]) != wanted[i]) return false;
  return mayUseAmx();
}

bool isThere(std::string_view baseline) {
  if (baseline == "x86-64-v2") return __builtin_cpu_supports("x86-64-v2") != 0;
  if (baseline == "x86-64-v3") return __builtin_cpu_supports("x86-64-v3") != 0;
  if (baseline == "x86-64-v4") return __builtin_cpu_supports("x86-64-v4") != 0;
  if (baseline == kAskedFor) {
    static const bool isFound = hasSapphireRapids();
    return isFound;
  }
  return true;
}
#elif defined(__aarch64__)
constexpr auto &kBaselines = package::kArmBaselines;
constexpr std::string_view kAskedFor = {};
bool isThere(std::string_view) { return true; }
#endif

void logProcessor() {
  [[maybe_unused]] static const bool isLogged = [] {
    std::string_view best = kBaselines[0];
    for (const std::string_view baseline : kBaselines)
      if (baseline != kAskedFor && isThere(baseline)) best = baseline;
    log(LogLevel::Info, "device", "device=host processor=%s", std::string(best).c_str());
    return true;
  }();
}

/// 1 and more, the better the later; 0 where this processor can't run it.
std::size_t fitOf(const CodeRow &code) {
  if (code.device != IMBREX_HOST) return 0;
  logProcessor();
  const auto found = std::ranges::find(kBaselines, std::string_view(code.machine));
  if (found == kBaselines.end() || !isThere(*found)) return 0;
  return static_cast<std::size_t>(found - kBaselines.begin()) + 1;
}

/// The code for the best baseline; empty where there is none.
std::span<const CodeRow> bestCodes(const KernelRow &kernel) {
  const CodeRow *first = nullptr;
  std::size_t count = 0, best = 0;
  for (const CodeRow &code : std::span(kernel.codes, static_cast<std::size_t>(kernel.codeCount))) {
    const std::size_t fit = fitOf(code);
    if (fit == 0 || fit < best) continue;
    if (fit > best) first = &code, count = 0;
    best = fit;
    ++count;
  }
  return {first, count};
}

/// The first time that it is run.
void logOnce(const KernelRow &kernel, const CodeRow &code) {
  const auto bit = std::uint64_t{1} << std::min<std::ptrdiff_t>(&code - kernel.codes, 63);
  std::atomic<std::uint64_t> &ran = kernel.loaded->ranOnHost;
  if ((ran.load(std::memory_order_relaxed) & bit) == 0 && (ran.fetch_or(bit) & bit) == 0)
    logLoaded(kernel, code, "host");
}

std::int32_t threadCount() {
  static const std::int32_t count = [] {
    const char *text = std::getenv("IMBREX_NUM_THREADS");
    return launching::threadCount(
        launching::wholeNumber(text != nullptr ? text : "", launching::kMostThreads));
  }();
  return count;
}

} // namespace

const CodeRow *usualCode(const KernelRow &kernel) {
  const std::span<const CodeRow> codes = bestCodes(kernel);
  return codes.empty() ? nullptr : codes.data();
}

int runOnHost(const KernelRow &kernel, const BoundArguments &bound) {
  const std::span<const CodeRow> codes = bestCodes(kernel);
  if (codes.empty())
    return fail(IMBREX_NO_CODE,
                "the library '%s' has no code of '%s' for this processor, only for %s",
                kernel.library, kernel.name, describe(kernel).c_str());
  const CodeRow &code = strongest(kernel, codes, bound);
  logOnce(kernel, code);
  Words words;
  writeWords(kernel, bound, words);
  const SitesRow *const observed = sitesOf(kernel, code);
  ObservedHostRun run;
  if (observed != nullptr) run.sites = sitesOf(*observed);
  std::atomic<bool> isShort = false;
  const auto work = [&](std::int64_t first, std::int64_t last) {
    if (run.isStopped) return;
    const DefaultFloatState state;
    try {
      const launching::Scratch scratch(code.scratchBytes);
      code.entry(words.data(), bound.grid.data(), first, last, scratch.data(), &run);
    } catch (const std::bad_alloc &) {
      isShort = true;
    }
  };
  launching::runInParallel(bound.blocks(), threadCount(), work);
  if (run.failed) return failedAssert(kernel, *observed, *run.failed);
  if (run.isShort) return noMemoryToTell(kernel);
  if (!isShort) return IMBREX_OK;
  return fail(IMBREX_NO_MEMORY, "'%s' has no %lld bytes to work in", kernel.name,
              static_cast<long long>(code.scratchBytes));
}

} // namespace imbrex::aot
