#pragma once

#include "backend/target/codegen/ordered_access.h"
#include "llvm/TargetParser/TargetParser.h"

#include <array>

/// What memory order is made of on each generation of AMD's GPUs: the rows of the tables in LLVM's
/// AMDGPUUsage, "Memory Model gfx90a", "gfx942", "gfx10-gfx11", "gfx12", for blocks of several
/// waves, which gfx90a to gfx950 run on one compute unit (no "tgsplit") and the others but gfx1250
/// on two ("WGP mode").
namespace imbrex::target::amdgpu {

/// What waits count, as bits: a wave's loads, its stores, which gfx9 counts with the loads, and its
/// accesses to LDS.
using Pending = std::uint8_t;
inline constexpr Pending kNothing = 0, kLoads = 1, kStores = 2, kLds = 4, kAll = 7;

/// What must stand in front of an access that releases, and behind one that acquires, so that it is
/// for these threads.
struct OrderRow {
  MemoryScope scope;
  Pending waits;             ///< For which of the wave's accesses, in front.
  llvm::StringRef writeBack; ///< Which instruction in front of the wait, and waited for; or none.
  bool awaitsAccess;         ///< Behind: for the access itself, and then
  std::array<llvm::StringRef, 2> invalidations; ///< all of these.
};

/// By which words of its instruction an access is one step for these threads.
struct StepRow {
  MemoryScope scope;
  llvm::StringRef load, store, update; ///< "sc0 sc1"; empty: no words are needed.
};

struct GcnModel {
  bool countsStoresApart;
  Pending writeBackCounts;        ///< As what a write-back is waited for.
  std::array<OrderRow, 3> orders; ///< Block, device, system.
  std::array<StepRow, 3> steps;
};
const GcnModel &modelOf(llvm::AMDGPU::IsaVersion isa);

} // namespace imbrex::target::amdgpu
