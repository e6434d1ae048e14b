// bench_table FOLDER TARGET…: our code of every kernel that the tests' table, the benchmarks and
// arithmetic_kernels.hpp have, for each target. Writes the images into the folder and prints a line
// of JSON for each; table.py counts their instructions and sets two runs against each other.

#include "backend/assembly.h"
#include "backend/compile.h"
#include "backend/machine/machine.h"
#include "bench/compile/pipelined.hpp"
#include "bench/host/kernels.hpp"
#include "bench/static/arithmetic_kernels.hpp"
#include "dsl/traced_kernel.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/raw_ostream.h"
#include "tests/codegen/kernel_table.h"

#include <cstdio>
#include <ctime>
#include <fstream>

namespace {

using namespace imbrex;

struct Row {
  std::string name;
  ir::Kernel kernel;
};

std::vector<Row> rowsFor(const machine::Machine &machine) {
  std::vector<Row> rows;
  for (testing::TableKernel &kernel : testing::kernelTable(machine))
    rows.push_back({"table " + kernel.name, std::move(kernel.kernel)});
  std::vector<traced_kernel> kernels;
  bench::add_row_kernels<bench::exact_forms>(kernels);
  bench::add_row_kernels<bench::fast_forms>(kernels);
  kernels.push_back(trace(bench::matmul<64, 64, 32>{}, {.name = "matmul_f32"}));
  kernels.push_back(trace(bench::matmul_gelu<64, 64, 32>{}, {.name = "matmul_gelu"}));
  kernels.push_back(trace(bench::pipelined_matmul<64, 64, 32>{}, {.name = "product"}));
  kernels.push_back(trace(bench::pipelined_matmul<128, 128, 64>{}, {.name = "large_product"}));
  kernels.push_back(trace(bench::pipelined_attention<32, 32, 32>{}, {.name = "attention"}));
  kernels.push_back(trace(bench::pipelined_attention<64, 64, 64>{}, {.name = "large_attention"}));
  kernels.push_back(trace(bench::pipelined_sum<16, 64>{}, {.name = "sum"}));
  kernels.push_back(trace(bench::two_nested<5>{}, {.name = "two_nested"}));
  for (const traced_kernel &kernel : kernels)
    rows.push_back({"bench " + kernel.name(), irOf(kernel).clone()});
  return rows;
}

/// Of the processor, in this thread: of a shared machine the other figures say little.
double processorMilliseconds() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) * 1e3 + static_cast<double>(now.tv_nsec) * 1e-6;
}

double millisecondsOf(const StageTimes &times, std::string_view stage) {
  for (const StageTime &time : times)
    if (time.stage == stage) return std::chrono::duration<double, std::milli>(time.took).count();
  return 0;
}

void measure(Row &row, const target::GpuTarget &target, const std::string &path) {
  Diagnostics diagnostics;
  StageTimes times;
  const double start = processorMilliseconds();
  const auto code = compileForGpu(row.kernel, target, analysis::usualAssumptions(row.kernel),
                                  diagnostics, &times);
  if (!code) {
    std::fprintf(stderr, "%s: %s\n", row.name.c_str(), diagnostics.render().c_str());
    return;
  }
  const auto assembly = makeAssembly(*code, target, &times);
  const double end = processorMilliseconds();
  if (!assembly) {
    std::fprintf(stderr, "%s has no assembly\n", row.name.c_str());
    return;
  }
  llvm::json::Object line{{"kernel", row.name},
                          {"target", std::string(target.machine().name)},
                          {"assembly_instructions", target.instructions(*assembly).total()},
                          {"cpu_ms", end - start},
                          {"optimise_ms", millisecondsOf(times, "optimise")},
                          {"generate_ms", millisecondsOf(times, "generate")}};
  if (const auto object = target.objectOf(*assembly)) {
    const target::Resources resources = target.resources(*object);
    line["registers"] = resources.registers;
    line["spilled_bytes"] = resources.spilledBytes;
    line["stack_bytes"] = resources.stackBytes;
    line["image"] = path;
    std::ofstream(path, std::ios::binary)
        .write(object->image.data(), static_cast<std::streamsize>(object->image.size()));
  }
  llvm::outs() << llvm::json::Value(std::move(line)) << '\n';
}

} // namespace

int main(int argc, char **argv) {
  if (argc < 3) {
    std::fputs("usage: bench_table FOLDER TARGET...\n", stderr);
    return 2;
  }
  for (int i = 2; i < argc; ++i) {
    const machine::Machine *machine = machine::findMachine(argv[i]);
    const target::GpuTarget *target = machine ? target::findGpuTarget(*machine) : nullptr;
    if (!target) {
      std::fprintf(stderr, "bench_table makes no code for '%s'\n", argv[i]);
      return 1;
    }
    int number = 0;
    for (Row &row : rowsFor(*machine))
      measure(row, *target, std::string(argv[1]) + "/" + std::to_string(number++) + "." + argv[i]);
  }
  return 0;
}
