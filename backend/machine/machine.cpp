#include "backend/machine/machine.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

#include <array>
#include <string>
#include <vector>

namespace imbrex::machine {
namespace {

// Derived ones count: exp is exp2 of a product, div a product with the reciprocal.
constexpr std::string_view kFast = " exp exp2 log log2 rsqrt sin cos div ";
constexpr std::string_view kFastTanh = " exp exp2 log log2 rsqrt sin cos div tanh ";

constexpr std::string_view kBf16Fma = " cast mul fma ";
constexpr std::string_view kBf16All = " cast add sub mul fma ";
constexpr std::string_view kBf16Cast = " cast ";

// The asynchronous copies; targets.def says where the numbers come from.
constexpr AsyncCopies kNone = {};
constexpr AsyncCopies kGroups = {.sizes = 4 | 8 | 16, .areGrouped = true, .capacity = 63};
constexpr AsyncCopies kEngine = [] {
  AsyncCopies copies = kGroups;
  copies.haveEngine = true;
  return copies;
}();

// The counter is never above 63, so that LLVM leaves out a wait until 63 are left.
constexpr AsyncCopies kLoadsToLds = {.sizes = 16,
                                     .areInLaneOrder = true,
                                     .capacity = 62,
                                     .stallsFrom = kLoadsBeforeStall,
                                     .latency = 700,
                                     .cacheBytesPerCycle = 64};

constexpr bool kStoresMatrices = true;

// 128 lanes of 512 columns of 32 bits (PTX ISA 9.0, 9.7.16.1, "Tensor Memory").
constexpr std::int32_t kTensorMemory = 128 * 512 * 4;

constexpr std::int32_t kNoTensorMemory = 0;
constexpr SpecialLaunches kClusters8 = {.mostClusterBlocks = 8, .areProgrammatic = true};
constexpr SpecialLaunches kClusters16 = {.mostClusterBlocks = 16, .areProgrammatic = true};

constexpr auto kMachines = std::to_array<Machine>({
#define IMBREX_MACHINE(name, family, ...) {name, Family::family, __VA_ARGS__},
#include "backend/machine/targets.def"
});

constexpr Machine kHost{
    .name = "host", .family = Family::Cpu, .warpSize = 1, .meaning = "this machine's processor"};

/// The machine that a product is, by what `meaning` says of it: sm_80 for "A100", gfx942 for
/// "MI300X"; null if none is. Of several that begin as the name does, the longest counts.
const Machine *machineOfProduct(llvm::StringRef name) {
  const std::string wanted = squeezed(name);
  const Machine *found = nullptr;
  std::size_t longest = 0;
  for (const Machine &machine : kMachines) {
    const auto [architecture, products] = llvm::StringRef(machine.meaning).split(": ");
    for (const llvm::StringRef product : llvm::split(products, ", ")) {
      const std::string known = squeezed(product);
      if (known.size() <= longest || !llvm::StringRef(wanted).starts_with(known)) continue;
      longest = known.size();
      found = &machine;
    }
  }
  return found;
}

} // namespace

bool lists(std::string_view column, std::string_view mnemonic) {
  return column.find(" " + std::string(mnemonic) + " ") != std::string_view::npos;
}

bool exchangesRegisters(const Machine &machine) {
  constexpr std::int32_t kLanesOfRdna = 32;
  return machine.family == Family::Amdgpu && machine.warpSize == kLanesOfRdna;
}

bool readsColumns(const Machine &machine, std::int32_t elementBits) {
  switch (machine.matrixLoads) {
  case MatrixLoads::None:
  case MatrixLoads::GlobalTransposed8: return false;
  case MatrixLoads::Rows16: return elementBits == 16;
  case MatrixLoads::Transposed16:
  case MatrixLoads::Transposed8: return elementBits == 16 || elementBits == 8;
  }
  return false;
}

bool loadsColumns(const Machine &machine, std::int32_t elementBits) {
  return machine.matrixLoads == MatrixLoads::GlobalTransposed8 &&
         (elementBits == 16 || elementBits == 8);
}

bool mayBeApart(const Machine &machine) {
  constexpr std::int32_t kLanesOfCdna = 64;
  return machine.family == Family::Amdgpu && machine.warpSize == kLanesOfCdna;
}

bool hasFastForm(const Machine &machine, std::string_view mnemonic) {
  return lists(machine.fastOps, mnemonic);
}

layout::SharedMemoryModel sharedMemoryOf(const Machine &machine) {
  return {
      .banks = machine.banks, .lanes = machine.warpSize, .storesMatrices = machine.storesMatrices};
}

bool hasBf16Op(const Machine &machine, std::string_view mnemonic) {
  return lists(machine.bf16Ops, mnemonic);
}

llvm::ArrayRef<Machine> allMachines() { return kMachines; }

const Machine *findMachine(std::string_view name) {
  const auto *found = llvm::find_if(kMachines, [&](const Machine &m) { return m.name == name; });
  return found == kMachines.end() ? nullptr : found;
}

const Machine &hostMachine() { return kHost; }

namespace {

/// An error for a name that none of these is, and no target beside them.
const Machine *reportUnknown(std::string_view name, std::vector<std::string_view> names,
                             Diagnostics &diagnostics) {
  for (const Machine &machine : kMachines) names.push_back(machine.name);
  const Machine *product = machineOfProduct(name);
  const std::string_view meant = product != nullptr ? product->name : nearest(name, names);
  if (meant.empty())
    diagnostics.report(Diag::UnknownTarget, {}, name, llvm::join(names, ", "));
  else
    diagnostics.report(Diag::MisspeltTarget, {}, name, meant);
  return nullptr;
}

} // namespace

const Machine *machineNamed(std::string_view name, Diagnostics &diagnostics) {
  if (name == kHost.name) return &kHost;
  const Machine *found = findMachine(name);
  return found != nullptr ? found : reportUnknown(name, {kHost.name}, diagnostics);
}

const Machine *gpuNamed(std::string_view name, Diagnostics &diagnostics) {
  if (name == kHost.name) return diagnostics.report(Diag::NoGpuCode, {}, name), nullptr;
  const Machine *found = findMachine(name);
  return found != nullptr ? found : reportUnknown(name, {}, diagnostics);
}

} // namespace imbrex::machine
