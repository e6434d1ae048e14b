// How long a kernel takes from its C++ to a GPU's assembly, in a process that has compiled before,
// by stage: `bench_compile [TARGET [RUNS [NAME]]]`, of the kernels whose names contain NAME. Time
// of the thread's CPU, the best of the runs, so that a shared machine disturbs little; under
// callgrind, RUNS = 1 gives the count of instructions. With a last `--image` also what the driver
// loads is made; the time of an assembler that is a program of its own counts. The products of
// bench/static are compiled where NAME is a part of theirs.

#include "backend/assembly.h"
#include "backend/compile.h"
#include "backend/ir/text.h"
#include "backend/machine/machine.h"
#include "backend/target/gpu_target.h"
#include "bench/compile/pipelined.hpp"
#include "bench/host/kernels.hpp"
#include "bench/static/products.hpp"
#include "dsl/traced_kernel.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <functional>
#include <string>
#include <string_view>
#include <sys/resource.h>
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

/// Of the programs that were started and have ended.
Milliseconds timeOfPrograms() {
  rusage usage{};
  getrusage(RUSAGE_CHILDREN, &usage);
  const auto milliseconds = [](const timeval &time) {
    return std::chrono::seconds(time.tv_sec) + std::chrono::microseconds(time.tv_usec);
  };
  return milliseconds(usage.ru_utime) + milliseconds(usage.ru_stime);
}

/// Nothing where there is no assembler.
void addImage(Split &split, const std::string &assembly, const target::GpuTarget &target) {
  const Milliseconds start = processorTime() + timeOfPrograms();
  if (makeObject(assembly, target))
    split.emplace_back("image", (processorTime() + timeOfPrograms() - start).count());
}

struct Wanted {
  const target::GpuTarget &target;
  int runs;
  bool isImage;
};

/// All that a process does that launches a kernel for the first time, up to the assembly; the image
/// beside it.
Split compileOnce(const std::function<traced_kernel()> &record, const Wanted &wanted) {
  const Milliseconds start = processorTime();
  const traced_kernel recorded = record();
  const Milliseconds traced = processorTime();
  // The name that the cache knows it by, and the copies that the executable and its variant keep.
  const std::string key = ir::print(irOf(recorded), {.locations = true});
  static_cast<void>(key); // It is the time that counts.
  const ir::Kernel kept = irOf(recorded).clone();
  ir::Kernel variant = kept.clone();
  const auto assumptions = analysis::usualAssumptions(kept);
  const Milliseconds known = processorTime();
  Diagnostics diagnostics;
  StageTimes times;
  auto code = compileForGpu(variant, wanted.target, assumptions, diagnostics, &times);
  const auto fail = [&](const std::string &why) {
    std::fputs(why.c_str(), stderr);
    std::exit(1);
  };
  if (!code) fail(diagnostics.render());
  const auto assembly = makeAssemblyInPlace(*code, wanted.target, &times);
  if (!assembly) fail(render(assembly.error()));
  const Milliseconds end = processorTime();
  Split split{{"trace", (traced - start).count()}, {"key", (known - traced).count()}};
  for (const StageTime &time : times)
    split.emplace_back(time.stage, Milliseconds(time.took).count());
  split.emplace_back("total", (end - start).count());
  if (wanted.isImage) addImage(split, *assembly, wanted.target);
  return split;
}

void measure(const std::string &name, const std::function<traced_kernel()> &record,
             const Wanted &wanted) {
  Split best = compileOnce(record, wanted);
  for (int run = 1; run < wanted.runs; ++run) {
    const Split next = compileOnce(record, wanted);
    for (std::size_t i = 0; i < best.size(); ++i)
      best[i].second = std::min(best[i].second, next[i].second);
  }
  std::printf("{\"kernel\": \"%s\", \"target\": \"%s\"", name.c_str(),
              std::string(wanted.target.machine().name).c_str());
  for (const auto &[stage, milliseconds] : best)
    std::printf(", \"%s_ms\": %.2f", std::string(stage).c_str(), milliseconds);
  std::printf("}\n");
}

} // namespace

int main(int argc, char **argv) {
  const bool isImage = argc > 1 && std::string_view(argv[argc - 1]) == "--image";
  argc -= isImage ? 1 : 0;
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
  const auto isWanted = [&](std::string_view kernel) {
    return kernel.find(wanted) != std::string_view::npos;
  };
  const Wanted how{.target = *target, .runs = runs, .isImage = isImage};
  const auto report = [&](const char *kernelName, const auto &kernel) {
    if (isWanted(kernelName)) measure(kernelName, [&] { return trace(kernel); }, how);
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
  if (wanted.empty()) return 0; // The products take minutes.
  for (const bench::Product &product : bench::productsFor(*machine))
    if (isWanted(product.name)) measure(product.name, product.record, how);
  return 0;
}
