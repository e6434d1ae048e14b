// bench_static FOLDER TARGET…: our code of each kernel for each target. Writes the images into
// the folder and prints a line of JSON for each; compare.py sets them against the rivals'.

#include "backend/machine/machine.h"
#include "bench/static/kernels.hpp"
#include "bench/static/measure.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/raw_ostream.h"

#include <cstdio>
#include <fstream>

namespace {

using namespace imbrex;
using target::InstructionClass;

llvm::json::Object widthsOf(const target::InstructionMix &mix, InstructionClass kind) {
  llvm::json::Object widths;
  if (const auto found = mix.widths.find(kind); found != mix.widths.end())
    for (const auto &[bytes, count] : found->second) widths[std::to_string(bytes)] = count;
  return widths;
}

llvm::json::Object toJson(const std::string &kernel, const machine::Machine &machine,
                          const bench::Quality &quality, const std::string &image) {
  const target::InstructionMix &mix = quality.instructions;
  return llvm::json::Object{{"kernel", kernel},
                            {"target", std::string(machine.name)},
                            {"image", image},
                            {"threads", quality.threads},
                            {"registers", quality.resources.registers},
                            {"spilled_bytes", quality.resources.spilledBytes},
                            {"stack_bytes", quality.resources.stackBytes},
                            {"assembly_instructions", mix.total()},
                            {"load_widths", widthsOf(mix, InstructionClass::GlobalLoad)},
                            {"store_widths", widthsOf(mix, InstructionClass::GlobalStore)},
                            {"bank_conflicts", quality.bankConflicts}};
}

void measureAll(const std::string &folder, const target::GpuTarget &target) {
  const machine::Machine &machine = target.machine();
  for (const traced_kernel &kernel : bench::static_kernels()) {
    const bench::Quality quality = bench::measure(kernel, target);
    std::string path;
    if (quality.image) {
      path = folder + "/" + kernel.name() + "." + std::string(machine.name);
      std::ofstream(path, std::ios::binary)
          .write(quality.image->data(), static_cast<std::streamsize>(quality.image->size()));
    }
    llvm::outs() << llvm::json::Value(toJson(kernel.name(), machine, quality, path)) << '\n';
  }
}

} // namespace

int main(int argc, char **argv) {
  if (argc < 3) {
    std::fputs("usage: bench_static FOLDER TARGET...\n", stderr);
    return 2;
  }
  for (int i = 2; i < argc; ++i) {
    const machine::Machine *machine = machine::findMachine(argv[i]);
    const target::GpuTarget *target = machine ? target::findGpuTarget(*machine) : nullptr;
    if (!target) {
      std::fprintf(stderr, "bench_static makes no code for '%s'\n", argv[i]);
      return 1;
    }
    measureAll(argv[1], *target);
  }
  return 0;
}
