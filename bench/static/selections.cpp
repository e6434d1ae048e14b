#include "bench/static/selections.hpp"

#include "backend/emulate/emulate.h"
#include "backend/support/check.h"

#include <random>

namespace bench {
namespace {

using namespace imbrex;

template <class T>
ir::Argument argumentOf(std::vector<T> &data, std::vector<std::int64_t> extents) {
  ir::Argument argument;
  std::int64_t stride = 1;
  for (std::size_t i = extents.size(); i-- > 0; stride *= extents[i]) {
    argument.extents[i] = extents[i];
    argument.strides[i] = stride;
  }
  argument.data = reinterpret_cast<std::byte *>(data.data());
  argument.bytes = static_cast<std::int64_t>(data.size() * sizeof(T));
  return argument;
}

/// One block with a random row, counted.
emulate::Counters run(const Selection &selection, const GpuCode &code,
                      const machine::Machine &machine) {
  std::vector<float> scores(static_cast<std::size_t>(selection.columns));
  std::mt19937 random(1);
  for (float &score : scores) score = std::normal_distribution<float>()(random);
  std::vector<std::int32_t> counts(1), indices(static_cast<std::size_t>(selection.k)),
      places(static_cast<std::size_t>(selection.capacity));
  ir::Argument k;
  k.scalar = static_cast<std::uint64_t>(selection.k);
  std::vector<ir::Argument> arguments{argumentOf(scores, {1, selection.columns}),
                                      argumentOf(counts, {0}), k,
                                      argumentOf(indices, {1, selection.k})};
  if (selection.capacity > 0) arguments.push_back(argumentOf(places, {1, selection.capacity}));
  Diagnostics diagnostics;
  emulate::Counters counters;
  const auto program =
      emulate::EmulatedProgram::compile(*code.copy(), machine, code.interface, diagnostics);
  const bool ran = program && program->run({.extents = {1, 1, 1}}, arguments,
                                           {.counters = &counters}, diagnostics);
  IMBREX_CHECK(ran, "{0}", diagnostics.render());
  return counters;
}

/// Scores are read where a row is turned into ranks, and nothing else is.
bool readsScores(const emulate::AccessCounters &access) {
  return !access.isShared && access.where.file.find("ranked_row") != std::string::npos;
}

} // namespace

SelectionQuality measure(const Selection &selection, const target::GpuTarget &target) {
  const GpuCode code = codeOf(selection.kernel, target);
  double bytes = 0;
  for (const emulate::AccessCounters &access : run(selection, code, target.machine()).accesses)
    if (readsScores(access)) bytes += static_cast<double>(access.lanes) * access.bytesPerLane;
  return {.code = measure(code, target),
          .looks = bytes / (sizeof(float) * static_cast<double>(selection.columns))};
}

} // namespace bench
