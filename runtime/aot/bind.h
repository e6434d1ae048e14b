#pragma once

#include "backend/launching/parameter_assumptions.h"
#include "backend/package/choice/tables.h"
#include "imbrex/aot.h"

#include <array>
#include <cstdint>
#include <memory>
#include <span>

/// From the arguments of a launch to what code takes, every one checked against its parameter.
namespace imbrex::aot {

/// An argument, and what holds of it.
struct Bound {
  std::uint64_t scalar = 0; ///< Its bits, zero-extended; of memory its address.
  std::int64_t bytes = 0;   ///< Of memory: from its address on; -1 where they are not known.
  std::int64_t count = 0;   ///< Of a table's pointers.
  const imbrex_array *view = nullptr;
  bool isApart = false; ///< From all other arguments, as far as anybody writes: of tables alone.
  launching::ParameterAssumptions holds = {};
};

/// As a row of a library has it.
launching::ParameterAssumptions assumptionsOf(const Assumed &assumed);

/// A launch whose arguments fit. What is not used of it is never written, which would cost more
/// than the rest of a small launch.
class BoundArguments {
public:
  std::array<std::int32_t, 3> grid{};
  bool areDisjoint = false;

  BoundArguments() {} // NOLINT(modernize-use-equals-default): the arguments are made one by one
  Bound &add(std::size_t i) { return *std::construct_at(&arguments_[i].bound); }
  /// Of the first so many arguments: for a device that can't load boxes.
  void forgetBoxes(std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) arguments_[i].bound.holds.hasBoxes = false;
  }
  const Bound &operator[](std::size_t i) const { return arguments_[i].bound; }
  std::int64_t blocks() const { return std::int64_t{grid[0]} * grid[1] * grid[2]; }

private:
  union Room {
    Room() {} // NOLINT(modernize-use-equals-default): nothing
    Bound bound;
  };
  std::array<Room, kMostParameters> arguments_;
};

/// "the argument 'a' of 'gemm', view<f32, 2>, " and what is wrong with it. An imbrex_status.
[[gnu::format(printf, 3, 4)]] int
wrongArgument(const KernelRow &kernel, const ParameterRow &parameter, const char *what, ...);

/// The bytes that an array reaches over, or the error of one that can't be. An imbrex_status.
int checkSpan(const KernelRow &kernel, const ParameterRow &parameter,
              std::span<const std::int64_t> extents, std::span<const std::int64_t> strides,
              std::int64_t &bytes);

/// An imbrex_status.
int bindArguments(const KernelRow &kernel, const void *const *arguments, BoundArguments &bound);

/// The arguments as code for the processor takes them (host::argumentWords): a scalar's bits, an
/// address, and behind that of a view its extents and strides, of a table its size.
using Words = std::array<std::uint64_t, (kMostParameters + 1) * (1 + 2 * kMostAxes)>;
/// How many they are.
std::size_t writeWords(const KernelRow &kernel, const BoundArguments &bound, Words &words);

/// The code, of those for one machine, that assumes most of what holds of the launch. The last one
/// assumes nothing.
const CodeRow &strongest(const KernelRow &kernel, std::span<const CodeRow> codes,
                         const BoundArguments &bound);

} // namespace imbrex::aot
