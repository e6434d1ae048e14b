// bench_selections TARGET...: the forms of block_select_topk as code for each target, a line of
// JSON each, for the table of docs/kernels.md.

#include "bench/static/selections.hpp"
#include "llvm/Support/JSON.h"
#include "llvm/Support/raw_ostream.h"

#include <cstdio>

using namespace imbrex;

int main(int argc, char **argv) {
  if (argc < 2) {
    std::fputs("usage: bench_selections TARGET...\n", stderr);
    return 2;
  }
  for (int i = 1; i < argc; ++i) {
    const machine::Machine *machine = machine::findMachine(argv[i]);
    const target::GpuTarget *target = machine ? target::findGpuTarget(*machine) : nullptr;
    if (!target) {
      std::fprintf(stderr, "bench_selections makes no code for '%s'\n", argv[i]);
      return 1;
    }
    for (const bench::Selection &selection : bench::selections()) {
      const bench::SelectionQuality quality = bench::measure(selection, *target);
      llvm::outs() << llvm::json::Value(llvm::json::Object{
                          {"kernel", selection.name},
                          {"target", std::string(machine->name)},
                          {"threads", quality.code.threads},
                          {"registers", quality.code.resources.registers},
                          {"spilled_bytes", quality.code.resources.spilledBytes},
                          {"assembly_instructions", quality.code.instructions.total()},
                          {"looks", quality.looks}})
                   << '\n';
    }
  }
  return 0;
}
