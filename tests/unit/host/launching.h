#pragma once

#include "backend/ir/builder.h"
#include "backend/target/host/host_emitter.h"
#include "backend/target/host/run/host_program.h"
#include "llvm/Support/raw_ostream.h"

#include <cstdint>
#include <random>
#include <string>
#include <vector>

/// Arguments from plain vectors, for kernels that are built by hand; and the code of a kernel.
namespace imbrex::host {

template <class T, class Allocator>
ir::Argument pointerTo(std::vector<T, Allocator> &data) {
  return {.data = reinterpret_cast<std::byte *>(data.data()),
          .bytes = static_cast<std::int64_t>(data.size() * sizeof(T))};
}

ir::Argument viewOf(auto &data, std::vector<std::int64_t> extents) {
  ir::Argument argument = pointerTo(data);
  std::int64_t stride = 1;
  for (size_t axis = extents.size(); axis-- > 0;) {
    argument.extents[axis] = extents[axis];
    argument.strides[axis] = stride;
    stride *= extents[axis];
  }
  return argument;
}

inline ir::Argument number(std::int64_t value) {
  return {.scalar = static_cast<std::uint64_t>(value)};
}

/// Compiles it each time: for many launches there is HostProgram itself.
inline void launch(const ir::Kernel &kernel, const ir::Grid &grid,
                   const std::vector<ir::Argument> &arguments) {
  Diagnostics diagnostics;
  const std::unique_ptr<HostProgram> program = HostProgram::compile(kernel, diagnostics);
  if (program) program->run(grid, arguments, diagnostics);
}

/// As it is emitted.
inline std::string codeOf(const ir::Kernel &kernel,
                          const VectorUnit &unit = {.bits = 256, .registers = 16}) {
  llvm::LLVMContext context;
  llvm::Module module("k", context);
  const LaunchTraits traits = usualTraits(kernel);
  const LoopPlan plan = planLoops(kernel, traits);
  HostEmitter(module, kernel, plan, traits, {.vectors = unit}).emitEntry("entry");
  std::string text;
  llvm::raw_string_ostream(text) << module;
  return text;
}

/// Few and small, so that their sums are exact.
template <class T>
std::vector<T> wholeNumbers(std::mt19937 &rng, std::int64_t count) {
  std::vector<T> values(static_cast<size_t>(count));
  for (T &value : values) value = static_cast<T>(static_cast<float>(rng() % 7) - 3);
  return values;
}

} // namespace imbrex::host
