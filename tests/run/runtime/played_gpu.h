#pragma once

#include "backend/analysis/assumptions.h"
#include "backend/ir/argument.h"
#include "backend/ir/kernel.h"
#include "backend/machine/machine.h"
#include "tests/run/runtime/fake_driver.h"

#include <string>
#include <vector>

namespace imbrex::testing {

/// The state of the fake driver at a path, as if nothing had happened to it yet.
fake::State &freshDriver(const char *path);

/// The image that the compiler makes of a kernel for launches that keep what most keep.
std::string imageOf(const ir::Kernel &kernel, std::string_view machine);

/// The same as assembly.
std::string assemblyOf(const ir::Kernel &kernel, std::string_view machine);

/// Plays the GPU behind a fake driver, for launches of one kernel: takes the arguments out of the
/// bytes that came, where the *image* says that they are; makes the code again that launches with
/// such arguments are to run, and insists that it is the image; and runs it in the emulator, in
/// which no other memory than the driver's can be touched.
class PlayedGpu {
public:
  PlayedGpu(fake::State &driver, const ir::Kernel &kernel, const machine::Machine &machine)
      : PlayedGpu(driver, kernel, machine, {}) {}
  /// For launches of code that was made before, under one of these assumptions, the most first: the
  /// first that a launch keeps is the one whose code it is to run.
  PlayedGpu(fake::State &driver, const ir::Kernel &kernel, const machine::Machine &machine,
            std::vector<analysis::Assumptions> madeBefore)
      : driver_(driver), kernel_(kernel), machine_(machine), madeBefore_(std::move(madeBefore)) {
    driver_.device = [this](const fake::SeenLaunch &launch) { return run(launch); };
  }

  /// What was wrong with the last launch; empty where nothing was.
  const std::string &problem() const { return problem_; }

  /// For these parameters launches pass bare pointers from now on, of which nobody knows the bytes.
  void expectBare(std::vector<std::size_t> parameters) { bare_ = std::move(parameters); }

private:
  int run(const fake::SeenLaunch &launch);
  std::string runOrSay(const fake::SeenLaunch &launch);
  std::int64_t bytesBehind(const std::byte *address) const;
  std::string wrongIn(const ir::Argument &table) const;
  std::vector<ir::Argument> pointeesOf(const ir::Argument &table) const;
  analysis::Assumptions assumedFor(std::vector<ir::Argument> arguments) const;

  fake::State &driver_;
  const ir::Kernel &kernel_;
  const machine::Machine &machine_;
  std::vector<analysis::Assumptions> madeBefore_;
  std::vector<std::size_t> bare_;
  std::string problem_;
};

} // namespace imbrex::testing
