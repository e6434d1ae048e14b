// random_agreement FIRST COUNT [all]: the random kernels of so many seeds, each run by the
// interpreter, by the host, and emulated on a GPU of each vendor, or on all GPUs. Prints where two
// of them leave different bits, or where one reports an error, and exits 1 then.

#include "tests/support/random_agreement.h"

#include "backend/ir/text.h"
#include "backend/target/gpu_target.h"
#include "runtime/devices.h"
#include "runtime/executable.h"

#include <array>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

namespace imbrex {
namespace {

using Names = std::vector<std::string>;

/// Those that this build has code for.
Names known(const Names &targets) {
  Names found;
  for (const std::string &name : targets)
    if (target::findGpuTarget(*machine::findMachine(name))) found.push_back("emulated:" + name);
  return found;
}

Names allTargets() {
  Names names;
  for (const machine::Machine &machine : machine::allMachines()) names.emplace_back(machine.name);
  names = known(names);
  names.emplace_back("host");
  return names;
}

/// Each architecture and each size of a warp in turn, so that any two meet.
Names targetsOf(std::uint32_t seed) {
  static const std::array<Names, 2> families{known({"sm_80", "sm_90a", "sm_120a"}),
                                             known({"gfx90a", "gfx942", "gfx1100", "gfx1201"})};
  Names chosen{"host"};
  for (const Names &family : families)
    if (!family.empty()) chosen.push_back(family[seed % family.size()]);
  return chosen;
}

/// Runs a kernel on a device; what is reported, or nothing.
std::string runOn(const std::string &name, const testing::RandomKernel &random,
                  testing::RandomLaunch &launch) {
  const Result<device> on = runtime::findDevice(name, {});
  if (!on) return render(on.error());
  Diagnostics diagnostics;
  const std::vector<ir::Argument> &arguments = launch.arguments();
  const auto executable = runtime::makeExecutable(random.kernel, *on, diagnostics, arguments);
  if (executable) executable->run(random.grid, arguments, diagnostics);
  return diagnostics.render();
}

bool agree(std::uint32_t seed, const Names &devices) {
  const testing::RandomKernel random = testing::randomKernel(seed, testing::agreementOptions(seed));
  testing::RandomLaunch interpreted(random);
  std::string wrong = runOn("interpreter", random, interpreted);
  for (auto device = devices.begin(); wrong.empty() && device != devices.end(); ++device) {
    testing::RandomLaunch launch(random);
    wrong = runOn(*device, random, launch);
    if (wrong.empty()) wrong = testing::difference(random, launch, interpreted);
    if (!wrong.empty()) wrong = "on " + *device + ": " + wrong;
  }
  if (wrong.empty()) return true;
  const auto &[x, y, z] = random.grid.extents;
  std::printf("seed %u, grid %d,%d,%d %s\n%s\n", seed, x, y, z, wrong.c_str(),
              ir::print(random.kernel).c_str());
  return false;
}

int run(int count, char **words) {
  if (count < 3) return std::fputs("usage: random_agreement FIRST COUNT [all]\n", stderr), 2;
  const auto first = static_cast<std::uint32_t>(std::strtoul(words[1], nullptr, 10));
  const auto seeds = static_cast<std::uint32_t>(std::strtoul(words[2], nullptr, 10));
  const bool onAll = count > 3 && std::string(words[3]) == "all";
  std::uint32_t failures = 0;
  for (std::uint32_t seed = first; seed < first + seeds; ++seed)
    failures += agree(seed, onAll ? allTargets() : targetsOf(seed)) ? 0 : 1;
  std::printf("%u of %u random kernels agree\n", seeds - failures, seeds);
  return failures == 0 && seeds > 0 ? 0 : 1;
}

} // namespace
} // namespace imbrex

int main(int count, char **words) { return imbrex::run(count, words); }
