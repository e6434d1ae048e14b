#include "backend/target/gpu_target.h"
#include "runtime/devices.h"
#include "runtime/executable.h"
#include "tests/codegen/kernel_table.h"
#include "tools/imbrex/arguments.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstring>

using namespace imbrex;
using namespace imbrex::testing;

namespace {

/// A launch's memory, made anew for each run.
class Launch {
public:
  explicit Launch(const TableKernel &of) : of_(of) {
    REQUIRE(of.arguments.size() == of.kernel.parameterCount());
    for (std::size_t i = 0; i < of.arguments.size(); ++i) {
      const ir::Type &type = of.kernel.type(of.kernel.body().arguments[i]);
      auto bound =
          tool::bindArgument(type, {.name = of.kernel.parameterName(i), .value = of.arguments[i]});
      REQUIRE_MESSAGE(bound.ok(), (bound.ok() ? "" : render(bound.error())));
      bound_.push_back(std::move(*bound));
    }
  }

  /// What is reported; empty when all went well.
  std::string run(const runtime::Executable &executable, std::uint64_t seed) {
    std::vector<ir::Argument> arguments;
    for (const tool::BoundArgument &bound : bound_) arguments.push_back(bound.argument);
    Diagnostics diagnostics;
    const bool ok = executable.run(of_.grid, arguments, diagnostics, {.seed = seed});
    CHECK(ok != diagnostics.hasErrors());
    return diagnostics.render();
  }

  bool operator==(const Launch &other) const {
    for (std::size_t i = 0; i < bound_.size(); ++i)
      if (!std::ranges::equal(bytes(i), other.bytes(i))) return false;
    return true;
  }

  /// Where two launches are further apart than sums in another order may be.
  std::string difference(const Launch &other) const {
    for (std::size_t i = 0; i < bound_.size(); ++i) {
      const ir::ElementKind kind = of_.kernel.type(of_.kernel.body().arguments[i]).element();
      const bool isRounded = kind == ir::ElementKind::F32 || kind == ir::ElementKind::F64;
      if (isRounded ? !areClose(i, other) : !std::ranges::equal(bytes(i), other.bytes(i)))
        return of_.kernel.parameterName(i);
    }
    return {};
  }

private:
  std::span<const std::byte> bytes(std::size_t i) const {
    const ir::Argument &argument = bound_[i].argument;
    return {argument.data, static_cast<std::size_t>(argument.data ? argument.bytes : 0)};
  }

  std::vector<double> numbers(std::size_t i) const {
    const bool isDouble =
        of_.kernel.type(of_.kernel.body().arguments[i]).element() == ir::ElementKind::F64;
    const std::span<const std::byte> from = bytes(i);
    std::vector<double> found(from.size() / (isDouble ? 8 : 4));
    for (std::size_t n = 0; n < found.size(); ++n) {
      float narrow = 0;
      if (isDouble)
        std::memcpy(&found[n], &from[8 * n], 8);
      else
        std::memcpy(&narrow, &from[4 * n], 4), found[n] = narrow;
    }
    return found;
  }

  bool areClose(std::size_t i, const Launch &other) const {
    constexpr double kTolerance = 1e-5; // of the largest number
    const std::vector<double> ours = numbers(i), theirs = other.numbers(i);
    double largest = 0;
    for (const double number : theirs)
      if (std::isfinite(number)) largest = std::max(largest, std::fabs(number));
    for (std::size_t n = 0; n < ours.size(); ++n) {
      const bool areNans = std::isnan(ours[n]) && std::isnan(theirs[n]);
      const bool areClose = std::fabs(ours[n] - theirs[n]) <= kTolerance * largest;
      if (!areNans && !areClose && ours[n] != theirs[n]) return false;
    }
    return true;
  }

  const TableKernel &of_;
  std::vector<tool::BoundArgument> bound_;
};

std::shared_ptr<const runtime::Executable> executableOn(const std::string &name,
                                                        const TableKernel &one) {
  const Result<device> on = runtime::findDevice(name, {});
  REQUIRE(on);
  Diagnostics diagnostics;
  auto made = runtime::makeExecutable(one.kernel, *on, diagnostics);
  REQUIRE_MESSAGE(made, diagnostics.render());
  return made;
}

void checkQuiet(const std::string &target, std::uint64_t seeds) {
  const machine::Machine *machine = machine::findMachine(target);
  for (const TableKernel &one : kernelTable(*machine)) {
    if (!one.isEmulated) continue;
    CAPTURE(target);
    CAPTURE(one.name);
    const auto executable = executableOn("emulated:" + target, one);
    Launch meant(one), first(one);
    REQUIRE(meant.run(*executableOn("interpreter", one), 0) == "");
    REQUIRE(first.run(*executable, 0) == "");
    REQUIRE(first.difference(meant) == "");
    for (std::uint64_t seed = 1; seed < seeds; ++seed) {
      CAPTURE(seed);
      Launch again(one);
      REQUIRE(again.run(*executable, seed) == "");
      REQUIRE(again == first);
    }
  }
}

} // namespace

// A case for each, so that they can run side by side (CMakeLists.txt).
TEST_CASE("no kernel of the table is reported under any order of warps, emulated on sm_90a") {
  checkQuiet("sm_90a", 50);
}
TEST_CASE("no kernel of the table is reported under any order of warps, emulated on gfx942") {
  checkQuiet("gfx942", 50);
}

// Run by --no-skip: scripts/nightly.sh.
TEST_CASE("no kernel of the table is reported on any emulated GPU" * doctest::skip()) {
  for (const machine::Machine &machine : machine::allMachines())
    if (target::findGpuTarget(machine) != nullptr) checkQuiet(std::string(machine.name), 200);
}
