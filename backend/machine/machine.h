#pragma once

#include "backend/layout/bank_conflicts.h"
#include "backend/support/diagnostics.h"
#include "llvm/ADT/ArrayRef.h"

#include <bit>
#include <cstdint>
#include <string_view>

/// What a machine is, as data: a row of targets.def. Passes and the scheduler ask these numbers;
/// nobody asks for a vendor but target/, emulate/, package/ and runtime/, by the family.
namespace imbrex::machine {

enum class Family : std::uint8_t {
  Cpu,
  Nvptx,
  Amdgpu,
};

/// A warp that issues a load while so many of its own are in flight stalls: a thread trace of loads
/// at random addresses on CDNA 3 shows it at the 24th, long before the counter is full; of CDNA 4
/// nobody has said otherwise.
inline constexpr std::int32_t kLoadsBeforeStall = 24;

/// Copies from global into shared memory that a thread starts and waits for later, without the
/// data passing through registers. A thread's copies end in the order in which they were started;
/// it waits until at most so many are not done.
struct AsyncCopies {
  /// The bytes that one copy of a thread can have, each a power of two: their sum; 0: there are
  /// none. The least and the most follow.
  std::uint32_t sizes = 0;
  std::int32_t leastBytes = static_cast<std::int32_t>(sizes ^ (sizes & (sizes - 1)));
  std::int32_t mostBytes = static_cast<std::int32_t>(std::bit_floor(sizes));
  bool areGrouped = false; ///< Waited for in groups, which the thread closes; else one by one.
  /// A warp names one place, and what its lanes copy lies there side by side in their order; all of
  /// them take part. Else each thread names its own.
  bool areInLaneOrder = false;
  std::int32_t capacity = 0; ///< The most that may be left when it goes on.
  /// A warp with so many in flight stalls at the next one; 0: none does.
  std::int32_t stallsFrom = 0;
  // For plans alone, and of machines without such copies as well:
  std::int32_t latency = 500;           ///< Cycles until one from memory lands.
  std::int32_t bytesPerCycle = 16;      ///< That memory gives one core,
  std::int32_t cacheBytesPerCycle = 48; ///< and the cache that all cores share.
  /// An engine beside the threads loads boxes of views, which end at barriers in shared memory that
  /// count phases; and warps can hand registers to each other.
  bool haveEngine = false;
};

/// What launches can ask for besides; all GPUs have cooperative ones.
struct SpecialLaunches {
  std::int32_t mostClusterBlocks = 1; ///< Of a cluster.
  bool areProgrammatic = false; ///< A kernel can start, and wait for the one in front of it itself.
};

/// What a warp can read as matrices: of shared memory (analysis/fragment_access.h), or of global
/// memory (layout/column_loads.h).
enum class MatrixLoads : std::uint8_t {
  None,
  Rows16,            ///< 8 rows of 16 bytes, up to four times; also transposed.
  Transposed16,      ///< By 16 lanes, a row of 16 elements for each 8 bytes of a lane; transposed.
  Transposed8,       ///< By 8 lanes, 8 rows of 8 elements; transposed.
  GlobalTransposed8, ///< The same of global memory, and none of shared memory.
};

/// Of a barrier in shared memory that counts phases (Parallel Thread Execution ISA 9.0, "Size and
/// alignment of mbarrier object").
inline constexpr std::int64_t kBarrierBytes = 8;

/// A *core* is what the threads of one block share: NVIDIA's streaming multiprocessor; AMD's
/// compute unit, from gfx10 on the work-group processor, which is two of them. A core has
/// partitions, each with its own registers; a warp lives in one of them.
struct Machine {
  std::string_view name; ///< As `--target` and `imbrex targets` call it: "sm_90a", "gfx942".
  Family family;
  std::string_view cpu = {};                  ///< What LLVM calls it.
  std::string_view features = {};             ///< LLVM's subtarget features, "+ptx87".
  std::int32_t warpSize = 0;                  ///< Lanes of a warp.
  std::int32_t maxThreads = 0;                ///< Of a block.
  std::int32_t parameterBytes = 0;            ///< That a launch can pass to a kernel, at most.
  std::int32_t sharedMemoryBytes = 0;         ///< That one block may use, at most.
  std::int32_t staticSharedMemoryBytes = 0;   ///< That it may use without asking at launch.
  std::int32_t sharedMemoryPerCore = 0;       ///< Bytes that the blocks on one core share.
  std::int32_t sharedMemoryGranule = 0;       ///< What a block gets is a multiple of this.
  std::int32_t reservedSharedMemoryBytes = 0; ///< What the driver takes for itself in each block.
  std::int32_t registersPerCore = 0;          ///< 32-bit registers of one core.
  std::int32_t maxRegistersPerThread = 0;
  std::int32_t registerGranule = 0; ///< What a thread gets is a multiple of this.
  std::int32_t maxWarpsPerCore = 0;
  std::int32_t maxBlocksPerCore = 0;
  std::int32_t partitionsPerCore = 0;
  std::int32_t banks = 0; ///< Of shared memory, 4 bytes wide each.
  /// The ops, by mnemonic and between spaces, whose fast form on f32 has instructions of its own.
  std::string_view fastOps = {};
  std::string_view meaning = {}; ///< For people.
  AsyncCopies asyncCopies = {};
  /// The ops, by mnemonic and between spaces, that have instructions on bf16, which round once and
  /// flush nothing; "cast" is that of an f32.
  std::string_view bf16Ops = {};
  MatrixLoads matrixLoads = MatrixLoads::None;
  bool storesMatrices = false;        ///< Of 8 rows of 16 bytes, by warps.
  std::int32_t tensorMemoryBytes = 0; ///< Of one core: where tensor cores keep what they sum up.
  SpecialLaunches launches = {};
};

/// Whether a column of mnemonics between spaces has this one.
bool lists(std::string_view column, std::string_view mnemonic);

/// Whether an ordinary instruction brings each lane a register of the lane whose number differs by
/// any one mask: by DPP or v_permlanex16 on AMD's waves of 32 (RDNA 3 ISA, "Data Parallel
/// Processing" and "V_PERMLANEX16_B32").
bool exchangesRegisters(const Machine &machine);

/// Whether warps read such elements along the columns of a matrix in shared memory as well as along
/// its rows.
bool readsColumns(const Machine &machine, std::int32_t elementBits);
/// The same of global memory.
bool loadsColumns(const Machine &machine, std::int32_t elementBits);

/// Whether warps of a block may meet each at another meeting: AMD's waves of 64 count at an
/// s_barrier wherever in the code that is (CDNA 3 ISA, "S_BARRIER").
bool mayBeApart(const Machine &machine);

/// Whether an op of this mnemonic has a fast form on f32.
bool hasFastForm(const Machine &machine, std::string_view mnemonic);

/// Whether an op of this mnemonic has an instruction on bf16 (Machine::bf16Ops).
bool hasBf16Op(const Machine &machine, std::string_view mnemonic);

/// What conversions between layouts and the counting of bank conflicts want to know.
layout::SharedMemoryModel sharedMemoryOf(const Machine &machine);

/// Every target, in the table's order.
llvm::ArrayRef<Machine> allMachines();
/// Null where no target has this name.
const Machine *findMachine(std::string_view name);
/// A target or the host, by its name; null, and an error where there is none, which suggests the
/// one that a product of this name is ("A100"), or the nearest.
const Machine *machineNamed(std::string_view name, Diagnostics &diagnostics);
/// The same where a GPU is wanted: the host is an error, and no error suggests it.
const Machine *gpuNamed(std::string_view name, Diagnostics &diagnostics);
/// The CPU under our feet: no warps, no shared memory.
const Machine &hostMachine();

} // namespace imbrex::machine
