#include "bench/static/measure.h"

#include "backend/assembly.h"
#include "backend/compile.h"
#include "backend/emulate/emulate.h"
#include "backend/support/check.h"
#include "dsl/traced_kernel.h"

#include <list>

namespace bench {
namespace {

using namespace imbrex;

/// Arrays of ones for a kernel's views: as large as four blocks of each kernel want.
class Launch {
public:
  explicit Launch(const ir::Kernel &kernel) {
    for (const ir::ValueId parameter : kernel.body().arguments) add(kernel.type(parameter));
  }
  ir::Grid grid() const { return {.extents = {4, 1, 1}}; }
  llvm::ArrayRef<ir::Argument> arguments() const { return arguments_; }

private:
  void add(const ir::Type &type) {
    constexpr std::int64_t kSide = 1024; // the longest row of a tile
    std::int64_t elements = kSide * 8;
    ir::Argument argument;
    argument.extents = {elements};
    argument.strides = {1};
    if (type.rank() == 2) {
      elements = kSide * kSide;
      argument.extents = {kSide, kSide};
      argument.strides = {kSide, 1};
    }
    std::vector<float> &buffer = buffers_.emplace_back(static_cast<std::size_t>(elements), 1.0F);
    argument.data = reinterpret_cast<std::byte *>(buffer.data());
    argument.bytes = elements * static_cast<std::int64_t>(sizeof(float));
    arguments_.push_back(argument);
  }

  std::list<std::vector<float>> buffers_;
  std::vector<ir::Argument> arguments_;
};

std::int64_t bankConflictsOf(const ir::Kernel &kernel, const GpuCode &code,
                             const machine::Machine &machine) {
  Diagnostics diagnostics;
  const auto program =
      emulate::EmulatedProgram::compile(*code.copy(), machine, code.interface, diagnostics);
  const Launch launch(kernel);
  emulate::Counters counters;
  const bool ran = program && program->run(launch.grid(), launch.arguments(),
                                           {.counters = &counters}, diagnostics);
  IMBREX_CHECK(ran, "{0}", diagnostics.render());
  return static_cast<std::int64_t>(counters.bankConflicts());
}

} // namespace

GpuCode codeOf(const traced_kernel &traced, const target::GpuTarget &target) {
  ir::Kernel kernel = irOf(traced).clone();
  Diagnostics diagnostics;
  auto code = compileForGpu(kernel, target, analysis::usualAssumptions(kernel), diagnostics);
  IMBREX_CHECK(code.has_value(), "{0}", diagnostics.render());
  return *std::move(code);
}

Quality measure(const GpuCode &code, const target::GpuTarget &target) {
  const auto assembly = makeAssembly(code, target);
  Quality quality{.threads = code.interface.threads,
                  .instructions = target.instructions(*assembly),
                  .image = {},
                  .resources = {}};
  if (auto object = target.objectOf(*assembly)) {
    quality.resources = target.resources(*object);
    quality.image = std::move(object->image);
  }
  return quality;
}

Quality measure(const traced_kernel &traced, const target::GpuTarget &target) {
  const GpuCode code = codeOf(traced, target);
  Quality quality = measure(code, target);
  quality.bankConflicts = bankConflictsOf(irOf(traced), code, target.machine());
  return quality;
}

} // namespace bench
