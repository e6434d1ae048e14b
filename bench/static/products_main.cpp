// bench_products FOLDER TARGET [PART]: our code of each product whose name has this part. Writes
// assembly and image into the folder and prints a line of JSON for each. With `--list` in place of
// the folder, what there is.

#include "backend/assembly.h"
#include "backend/compile.h"
#include "backend/emulate/emulate.h"
#include "backend/machine/occupancy.h"
#include "bench/static/products.hpp"
#include "dsl/traced_kernel.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/raw_ostream.h"

#include <bit>
#include <cstdio>
#include <ctime>
#include <fstream>
#include <list>

namespace {

using namespace imbrex;

llvm::json::Object toJson(const bench::Product &product, const machine::Machine &machine) {
  return llvm::json::Object{{"kernel", product.name},
                            {"target", std::string(machine.name)},
                            {"kind", product.kind},
                            {"type", product.type},
                            {"out", product.out},
                            {"m", product.m},
                            {"n", product.n},
                            {"k", product.k},
                            {"warps", product.warps},
                            {"slots_asked", product.slots},
                            {"transposed", product.isTransposed},
                            {"causal", product.isCausal},
                            {"products", product.products},
                            {"shared_limit", machine.sharedMemoryBytes},
                            {"shared_of_core", machine.sharedMemoryPerCore},
                            {"shared_reserved", machine.reservedSharedMemoryBytes},
                            {"registers_of_core", machine.registersPerCore},
                            {"register_granule", machine.registerGranule},
                            {"warps_of_core", machine.maxWarpsPerCore}};
}

/// A launch with a few trips of the inner loop. Zeros do: which banks are touched does not depend
/// on the numbers.
class Launch {
public:
  Launch(const bench::Product &product, const ir::Kernel &kernel) {
    if (product.kind != "attention") {
      constexpr int kTrips = 4;
      const int depth = kTrips * product.k;
      addView(kernel, product.m, depth);
      const int stored = product.type == "i4" ? depth / 2 : depth; // two to a byte
      if (product.isTransposed)
        addView(kernel, product.n, stored);
      else
        addView(kernel, depth, product.n);
      if (product.kind == "weights") addView(kernel, product.n, kTrips);
      addView(kernel, product.m, product.n);
      return;
    }
    const int length = 2 * std::max(product.m, product.n);
    for (int i = 0; i < 4; ++i) addView(kernel, length, product.k);
    addScalar(static_cast<std::uint64_t>(length));
    addScalar(std::bit_cast<std::uint32_t>(0.125F));
    grid_.extents[0] = length / product.m;
  }
  ir::Grid grid() const { return grid_; }
  llvm::ArrayRef<ir::Argument> arguments() const { return arguments_; }

private:
  void addView(const ir::Kernel &kernel, std::int64_t rows, std::int64_t columns) {
    const ir::Type &type = kernel.type(kernel.body().arguments[arguments_.size()]);
    ir::Argument argument;
    argument.bytes = rows * columns * ir::storageBits(type.element()) / 8;
    argument.extents = {rows, columns};
    argument.strides = {columns, 1};
    auto &buffer = buffers_.emplace_back(static_cast<std::size_t>(argument.bytes) / sizeof(Piece));
    argument.data = reinterpret_cast<std::byte *>(buffer.data());
    arguments_.push_back(argument);
  }
  void addScalar(std::uint64_t value) {
    ir::Argument argument;
    argument.scalar = value;
    arguments_.push_back(argument);
  }

  struct alignas(16) Piece {
    std::byte bytes[16];
  };
  std::list<std::vector<Piece>> buffers_;
  std::vector<ir::Argument> arguments_;
  ir::Grid grid_{.extents = {1, 1, 1}};
};

/// None, and the reason, where the emulator has no model of what the code does.
llvm::json::Object conflictsOf(const bench::Product &product, const ir::Kernel &kernel,
                               const GpuCode &code, const machine::Machine &machine) {
  Diagnostics diagnostics;
  const auto program =
      emulate::EmulatedProgram::compile(*code.copy(), machine, code.interface, diagnostics);
  const Launch launch(product, kernel);
  emulate::Counters counters;
  if (!program ||
      !program->run(launch.grid(), launch.arguments(), {.counters = &counters}, diagnostics))
    return llvm::json::Object{{"bank_conflicts", nullptr}, {"emulator", diagnostics.render()}};
  return llvm::json::Object{
      {"bank_conflicts", static_cast<std::int64_t>(counters.bankConflicts())}};
}

double processorMilliseconds() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) * 1e3 + static_cast<double>(now.tv_nsec) * 1e-6;
}

void write(const std::string &path, llvm::StringRef text) {
  std::ofstream(path, std::ios::binary)
      .write(text.data(), static_cast<std::streamsize>(text.size()));
}

/// What an assembler made, or why there is none.
void addObject(llvm::json::Object &line, const std::string &assembly,
               const lower::KernelInterface &interface, const target::GpuTarget &target,
               const std::string &path) {
  const auto object = target.objectOf(assembly);
  if (!object) {
    line["assembler"] = render(object.error());
    return;
  }
  const target::Resources resources = target.resources(*object);
  line["image"] = path;
  line["registers"] = resources.registers;
  line["spilled_bytes"] = resources.spilledBytes;
  line["stack_bytes"] = resources.stackBytes;
  // As a report says it, of all of a block's warps: those that load are not among product.warps.
  const machine::Occupancy occupancy =
      machine::occupancyOf(target.machine(), {.threads = interface.threads,
                                              .registersPerThread = resources.registers,
                                              .sharedMemoryBytes = interface.sharedMemoryBytes});
  line["blocks_on_core"] = occupancy.blocksPerCore;
  line["warps_on_core"] = occupancy.warpsPerCore;
  write(path, {object->image.data(), object->image.size()});
}

llvm::json::Object measure(const bench::Product &product, const target::GpuTarget &target,
                           const std::string &path) {
  llvm::json::Object line = toJson(product, target.machine());
  Diagnostics diagnostics;
  const double start = processorMilliseconds();
  const traced_kernel traced = product.record();
  ir::Kernel kernel = irOf(traced).clone();
  const auto code = compileForGpu(kernel, target, analysis::usualAssumptions(kernel), diagnostics);
  if (!code) {
    line["error"] = diagnostics.render();
    return line;
  }
  const auto assembly = makeAssembly(*code, target);
  line["cpu_ms"] = processorMilliseconds() - start;
  if (!assembly) {
    line["error"] = render(assembly.error());
    return line;
  }
  line["threads"] = code->interface.threads;
  line["shared_bytes"] = code->interface.sharedMemoryBytes;
  line["assembly"] = path + ".s";
  write(path + ".s", *assembly);
  addObject(line, *assembly, code->interface, target, path + ".image");
  for (auto &[key, value] : conflictsOf(product, irOf(traced), *code, target.machine()))
    line[key] = std::move(value);
  return line;
}

} // namespace

int main(int argc, char **argv) {
  if (argc < 3 || argc > 4) {
    std::fputs("usage: bench_products FOLDER|--list TARGET [PART]\n", stderr);
    return 2;
  }
  const std::string folder = argv[1];
  const llvm::StringRef part = argc > 3 ? argv[3] : "";
  const machine::Machine *machine = machine::findMachine(argv[2]);
  const target::GpuTarget *target = machine ? target::findGpuTarget(*machine) : nullptr;
  if (!target) {
    std::fprintf(stderr, "bench_products makes no code for '%s'\n", argv[2]);
    return 1;
  }
  for (const bench::Product &product : bench::productsFor(*machine)) {
    if (!llvm::StringRef(product.name).contains(part)) continue;
    llvm::json::Object line = folder == "--list"
                                  ? toJson(product, *machine)
                                  : measure(product, *target, folder + "/" + product.name);
    llvm::outs() << llvm::json::Value(std::move(line)) << '\n';
    llvm::outs().flush();
  }
  return 0;
}
