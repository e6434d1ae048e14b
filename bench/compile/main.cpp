// How long a kernel takes from its C++ to a GPU's assembly, in a process that has compiled before,
// by stage: `bench_compile [TARGET [RUNS]]`. Time of the thread's CPU, the best of the runs, so
// that a shared machine disturbs little; under callgrind, RUNS = 1 gives the count of instructions.

#include "backend/compile.h"
#include "backend/ir/text.h"
#include "backend/machine/machine.h"
#include "backend/target/gpu_target.h"
#include "bench/compile/pipelined.hpp"
#include "bench/host/kernels.hpp"
#include "dsl/traced_kernel.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

using namespace imbrex;

namespace {

using Milliseconds = std::chrono::duration<double, std::milli>;

Milliseconds processorTime() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return std::chrono::seconds(now.tv_sec) + std::chrono::nanoseconds(now.tv_nsec);
}

/// The time of each stage and of all, in milliseconds.
using Split = std::vector<std::pair<std::string_view, double>>;

/// All that a process does that launches a kernel for the first time, up to the assembly.
template <class Kernel>
Split compileOnce(const Kernel &kernel, const target::GpuTarget &target) {
  const Milliseconds start = processorTime();
  const traced_kernel recorded = trace(kernel);
  const Milliseconds traced = processorTime();
  // The name that the cache knows it by, and the copies that the executable and its variant keep.
  const std::string key = ir::print(irOf(recorded), {.locations = true});
  const ir::Kernel kept = irOf(recorded).clone();
  ir::Kernel variant = kept.clone();
  const auto assumptions = analysis::usualAssumptions(kept);
  const Milliseconds known = processorTime();
  Diagnostics diagnostics;
  StageTimes times;
  const auto code = compileForGpu(variant, target, assumptions, diagnostics, &times);
  if (!code || !makeAssembly(*code, target, &times)) {
    std::fputs(diagnostics.render().c_str(), stderr);
    std::exit(1);
  }
  const Milliseconds end = processorTime();
  Split split{{"trace", (traced - start).count()}, {"key", (known - traced).count()}};
  for (const StageTime &time : times)
    split.emplace_back(time.stage, Milliseconds(time.took).count());
  split.emplace_back("total", (end - start).count());
  return split;
}

template <class Kernel>
void measure(const char *name, const Kernel &kernel, const target::GpuTarget &target, int runs) {
  Split best = compileOnce(kernel, target);
  for (int run = 1; run < runs; ++run) {
    const Split next = compileOnce(kernel, target);
    for (std::size_t i = 0; i < best.size(); ++i)
      best[i].second = std::min(best[i].second, next[i].second);
  }
  std::printf("{\"kernel\": \"%s\", \"target\": \"%s\"", name,
              std::string(target.machine().name).c_str());
  for (const auto &[stage, milliseconds] : best)
    std::printf(", \"%s_ms\": %.2f", std::string(stage).c_str(), milliseconds);
  std::printf("}\n");
}

} // namespace

int main(int argc, char **argv) {
  const std::string_view name = argc > 1 ? argv[1] : "sm_90a";
  const int runs = argc > 2 ? std::max(1, std::atoi(argv[2])) : 20;
  const std::string_view wanted = argc > 3 ? argv[3] : ""; // part of a kernel's name
  Diagnostics diagnostics;
  const machine::Machine *machine = machine::machineNamed(name, diagnostics);
  const target::GpuTarget *target =
      machine == nullptr ? nullptr : gpuTargetOf(*machine, diagnostics);
  if (target == nullptr) {
    std::fputs(diagnostics.render().c_str(), stderr);
    return 1;
  }
  const auto report = [&](const char *kernelName, const auto &kernel) {
    if (std::string_view(kernelName).find(wanted) != std::string_view::npos)
      measure(kernelName, kernel, *target, runs);
  };
  report("vector add", bench::add<1024>{});
  report("softmax", bench::softmax<1024>{});
  report("layer norm", bench::layer_norm<1024>{});
  report("matmul", bench::matmul<64, 64, 32>{});
  report("pipelined matmul", bench::pipelined_matmul<64, 64, 32>{});
  report("pipelined attention", bench::pipelined_attention<32, 32, 32>{});
  report("pipelined sum", bench::pipelined_sum<16, 64>{});
  report("two nested, 5 slots", bench::two_nested<5>{});
  report("two nested, 8 slots", bench::two_nested<8>{});
  report("two nested, 16 slots", bench::two_nested<16>{});
  report("three nested, 3 slots", bench::three_nested<3>{});
  report("three nested, 16 slots", bench::three_nested<16>{});
  return 0;
}
