#include "tests/codegen/table_launch.h"

#include "backend/interpret/interpret.h"
#include "backend/support/check.h"
#include "runtime/devices.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstring>

namespace imbrex::testing {

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

bool TableLaunch::operator==(const TableLaunch &other) const {
  for (std::size_t i = 0; i < bound_.size(); ++i)
    if (!std::ranges::equal(bytes(i), other.bytes(i))) return false;
  return true;
}

std::string TableLaunch::difference(const TableLaunch &other) const {
  for (std::size_t i = 0; i < bound_.size(); ++i) {
    const bool isRounded = element(i) == ir::ElementKind::F32 || element(i) == ir::ElementKind::F64;
    if (isRounded ? !areClose(i, other) : !std::ranges::equal(bytes(i), other.bytes(i)))
      return of_.kernel.parameterName(i);
  }
  return {};
}

std::span<const std::byte> TableLaunch::bytes(std::size_t i) const {
  const ir::Argument &argument = bound_[i].argument;
  return {argument.data, static_cast<std::size_t>(argument.data ? argument.bytes : 0)};
}

ir::ElementKind TableLaunch::element(std::size_t i) const {
  return of_.kernel.type(of_.kernel.body().arguments[i]).element();
}

std::vector<double> TableLaunch::numbers(std::size_t i) const {
  const std::span<const std::byte> from = bytes(i);
  if (element(i) == ir::ElementKind::F64) {
    std::vector<double> wide(from.size() / sizeof(double));
    std::memcpy(wide.data(), from.data(), from.size());
    return wide;
  }
  std::vector<float> narrow(from.size() / sizeof(float));
  std::memcpy(narrow.data(), from.data(), from.size());
  return {narrow.begin(), narrow.end()};
}

bool TableLaunch::areClose(std::size_t i, const TableLaunch &other) const {
  constexpr double kTolerance = 1e-5; // of the largest number
  const std::vector<double> ours = numbers(i), theirs = other.numbers(i);
  double largest = 0;
  for (const double number : theirs)
    if (std::isfinite(number)) largest = std::max(largest, std::fabs(number));
  return std::ranges::equal(ours, theirs, [&](double a, double b) {
    return a == b || (std::isnan(a) && std::isnan(b)) || std::fabs(a - b) <= kTolerance * largest;
  });
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

void runInterpreter(const ir::Kernel &kernel, const TableKernel &one, TableLaunch &launch) {
  Diagnostics diagnostics;
  const bool ok = interpret::run(kernel, one.grid, launch.arguments(), diagnostics, {});
  REQUIRE_MESSAGE(ok, diagnostics.render());
}

} // namespace imbrex::testing
