#include "tests/codegen/table_launch.h"

#include "backend/interpret/interpret.h"
#include "backend/interpret/scalar.h"
#include "backend/ir/text.h"
#include "backend/support/check.h"
#include "backend/target/gpu_target.h"
#include "runtime/devices.h"
#include "tests/codegen/matrix_text.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <random>
#include <span>

namespace imbrex::testing {
namespace {

using Piece = TableLaunch::Piece;

std::span<const std::byte> bytesOf(const Piece &piece) {
  const ir::Argument &argument = piece.argument;
  return {argument.data, static_cast<std::size_t>(argument.data ? argument.bytes : 0)};
}

std::vector<double> numbersOf(const Piece &piece) {
  const std::span<const std::byte> from = bytesOf(piece);
  if (from.empty()) return {};
  if (piece.element == ir::ElementKind::F64) {
    std::vector<double> wide(from.size() / sizeof(double));
    std::memcpy(wide.data(), from.data(), from.size());
    return wide;
  }
  std::vector<float> narrow(from.size() / sizeof(float));
  std::memcpy(narrow.data(), from.data(), from.size());
  return {narrow.begin(), narrow.end()};
}

bool areEqual(const Piece &a, const Piece &b) { return std::ranges::equal(bytesOf(a), bytesOf(b)); }

bool areClose(const Piece &a, const Piece &b) {
  constexpr double kTolerance = 1e-5; // of the largest number
  const std::vector<double> ours = numbersOf(a), theirs = numbersOf(b);
  double largest = 0;
  for (const double number : theirs)
    if (std::isfinite(number)) largest = std::max(largest, std::fabs(number));
  return std::ranges::equal(ours, theirs, [&](double x, double y) {
    return x == y || (std::isnan(x) && std::isnan(y)) || std::fabs(x - y) <= kTolerance * largest;
  });
}

/// From -3 to 3: all that the narrowest have.
void fillFloats(const TableLaunch &launch) {
  std::mt19937 rng(3);
  for (const Piece &piece : launch.pieces()) {
    if (!ir::isFloat(piece.element) && !ir::isNarrowFloat(piece.element)) continue;
    const std::int64_t bytes = ir::storageBits(piece.element) / 8;
    for (std::int64_t at = 0; at < piece.argument.bytes; at += bytes) {
      const std::uint64_t number = interpret::fromDouble(static_cast<double>(rng() % 7) - 3,
                                                         ir::ElementKind::F64),
                          bits = interpret::convert(number, ir::ElementKind::F64, piece.element);
      std::memcpy(piece.argument.data + at, &bits, static_cast<std::size_t>(bytes));
    }
  }
}

} // namespace

TableLaunch::TableLaunch(const TableKernel &of) : of_(of) {
  IMBREX_CHECK(of.arguments.size() == of.kernel.parameterCount(), "'{0}' has other parameters",
               of.name);
  for (std::size_t i = 0; i < of.arguments.size(); ++i) {
    const ir::Type &type = of.kernel.type(of.kernel.body().arguments[i]);
    auto bound =
        tool::bindArgument(type, {.name = of.kernel.parameterName(i), .value = of.arguments[i]});
    IMBREX_CHECK(bound.ok(), "'{0}': {1}", of.name, render(bound.error()));
    bound_.push_back(std::move(*bound));
  }
}

std::vector<ir::Argument> TableLaunch::arguments() const {
  std::vector<ir::Argument> arguments;
  for (const tool::BoundArgument &bound : bound_) arguments.push_back(bound.argument);
  return arguments;
}

std::vector<Piece> TableLaunch::pieces() const {
  std::vector<Piece> pieces;
  for (std::size_t i = 0; i < bound_.size(); ++i) {
    const std::string &name = of_.kernel.parameterName(i);
    const ir::Type &type = of_.kernel.type(of_.kernel.body().arguments[i]);
    const auto parameter = static_cast<std::int32_t>(i);
    if (!type.isTable()) pieces.push_back({name, type.element(), bound_[i].argument, parameter});
    for (std::size_t n = 0; n < bound_[i].pointees.size(); ++n)
      pieces.push_back({name + "[" + std::to_string(n) + "]", type.element(),
                        bound_[i].pointees[n].argument, parameter});
  }
  return pieces;
}

bool TableLaunch::operator==(const TableLaunch &other) const {
  return std::ranges::equal(pieces(), other.pieces(), areEqual);
}

std::string TableLaunch::difference(const TableLaunch &other) const {
  const std::vector<Piece> ours = pieces(), theirs = other.pieces();
  for (std::size_t i = 0; i < ours.size(); ++i) {
    const ir::ElementKind element = ours[i].element;
    const bool isRounded = element == ir::ElementKind::F32 || element == ir::ElementKind::F64;
    if (isRounded ? !areClose(ours[i], theirs[i]) : !areEqual(ours[i], theirs[i]))
      return ours[i].name;
  }
  return {};
}

std::shared_ptr<const runtime::Executable> executableOn(const std::string &name,
                                                        const TableKernel &one) {
  const Result<device> on = runtime::findDevice(name, {});
  REQUIRE(on);
  Diagnostics diagnostics;
  auto made = runtime::makeExecutable(one.kernel, *on, diagnostics, TableLaunch(one).arguments());
  REQUIRE_MESSAGE(made, diagnostics.render());
  return made;
}

std::string run(const runtime::Executable &executable, const TableKernel &one, TableLaunch &launch,
                const runtime::RunOptions &options) {
  Diagnostics diagnostics;
  const bool ok = executable.run(one.grid, launch.arguments(), diagnostics, options);
  CHECK(ok != diagnostics.hasErrors());
  return diagnostics.render();
}

void checkAsInterpreter(const TableKernel &one, const std::string &machine, const Comparison &how) {
  CAPTURE(machine);
  CAPTURE(ir::print(one.kernel));
  TableLaunch meant(one), got(one), worst(one);
  if (how.prepare)
    for (const TableLaunch *launch : {&meant, &got, &worst}) how.prepare(*launch);
  REQUIRE(run(*executableOn("interpreter", one), one, meant) == "");
  const auto executable = executableOn("emulated:" + machine, one);
  REQUIRE(run(*executable, one, got) == "");
  REQUIRE(got.difference(meant) == "");
  REQUIRE(run(*executable, one, worst,
              {.emulated = {.seed = 7, .numerics = emulate::Numerics::Adversarial}}) == "");
  if (how.agreesAtWorst) CHECK(worst.difference(meant) == "");
}

void checkBitForBit(const TableKernel &one) {
  CAPTURE(ir::print(one.kernel));
  const auto outcome = [&](const runtime::Executable &of, emulate::Numerics numerics) {
    TableLaunch launch(one);
    fillFloats(launch);
    REQUIRE(run(of, one, launch, {.emulated = {.numerics = numerics}}) == "");
    return launch;
  };
  using enum emulate::Numerics;
  const TableLaunch meant = outcome(*executableOn("interpreter", one), Exact);
  CHECK(outcome(*executableOn("host", one), Exact) == meant);
  for (const std::string machine : kMachinesWithUnits) {
    if (target::findGpuTarget(*machine::findMachine(machine)) == nullptr) continue;
    CAPTURE(machine);
    const auto executable = executableOn("emulated:" + machine, one);
    CHECK(outcome(*executable, Exact) == meant);
    CHECK(outcome(*executable, Adversarial) == meant);
  }
}

void runInterpreter(const ir::Kernel &kernel, const TableKernel &one, TableLaunch &launch) {
  Diagnostics diagnostics;
  const bool ok = interpret::run(kernel, one.grid, launch.arguments(), diagnostics, {});
  REQUIRE_MESSAGE(ok, diagnostics.render());
}

} // namespace imbrex::testing
