#include "backend/machine/machine.h"

#include "llvm/ADT/STLExtras.h"

#include <array>

namespace imbrex::machine {
namespace {

constexpr auto kMachines = std::to_array<Machine>({
#define IMBREX_MACHINE(name, family, ...) {name, Family::family, __VA_ARGS__},
#include "backend/machine/targets.def"
});

constexpr Machine kHost{
    .name = "host", .family = Family::Cpu, .warpSize = 1, .meaning = "this machine's processor"};

} // namespace

llvm::ArrayRef<Machine> allMachines() { return kMachines; }

const Machine *findMachine(std::string_view name) {
  const auto *found = llvm::find_if(kMachines, [&](const Machine &m) { return m.name == name; });
  return found == kMachines.end() ? nullptr : found;
}

const Machine &hostMachine() { return kHost; }

} // namespace imbrex::machine
