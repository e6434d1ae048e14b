#pragma once

#include "backend/ir/kernel.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "runtime/gpu/supported_gpu.h"

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace imbrex::gpu {

/// Memory of the host that a launch reads or writes: of one argument, or of several that overlap.
struct HostRegion {
  std::byte *begin;
  std::int64_t bytes;
  bool isWritten; ///< A parameter leads there that is not const.

  bool holds(const std::byte *address) const { return begin <= address && address < begin + bytes; }
  friend bool operator==(const HostRegion &, const HostRegion &) = default;
};

/// Whether what an argument, or a pointer of a table, leads to is to be copied.
using IsStaged = llvm::function_ref<bool(const ir::Argument &)>;

/// The memory behind the arguments that `isStaged` holds of, in the order of addresses, no two of
/// them overlapping. What only adjoins stays apart: no argument leads from one to the other.
std::vector<HostRegion> regionsOf(const ir::Kernel &kernel, llvm::ArrayRef<ir::Argument> arguments,
                                  IsStaged isStaged);

/// The first parameter, of those that `isStaged` holds of, whose argument leads to memory that no
/// region has: a bare pointer, of which nobody knows how much it leads to. Its name, and of a table
/// the pointer's number: `x`, `xs[3]`.
std::optional<std::string> parameterWithoutSize(const ir::Kernel &kernel,
                                                llvm::ArrayRef<HostRegion> regions,
                                                llvm::ArrayRef<ir::Argument> arguments,
                                                IsStaged isStaged);

/// The first parameter of a launch for which something is to be copied to a device; none where all
/// is in its own memory. An error where an argument is in another GPU's.
Result<std::optional<std::size_t>> firstToCopy(const SupportedGpu &gpu, const ir::Kernel &kernel,
                                               llvm::ArrayRef<ir::Argument> arguments,
                                               Location where);

/// The arrays of a launch, copied into a device's memory. Arguments that overlap on the host do so
/// there, in the same way; addresses keep their alignment. An argument that is in the device's own
/// memory already is used where it is. Tables are made again, of the addresses there.
class StagedArrays {
public:
  /// An error where there is no room, or nobody knows how much memory a pointer leads to.
  static Result<StagedArrays> stage(const SupportedGpu &gpu, const ir::Kernel &kernel,
                                    llvm::ArrayRef<ir::Argument> arguments, Location where);

  /// The arguments of the launch, with the device's addresses.
  llvm::ArrayRef<ir::Argument> arguments() const { return arguments_; }
  /// Copy to the host what has changed, and nothing else: between the elements of one launch's view
  /// may lie those of another's, which runs at the same time.
  Result<void> bringBack() const;

private:
  struct Copy {
    HostRegion region;
    DeviceMemory memory;
    std::uint64_t address;         ///< Of the region's first byte.
    std::vector<std::byte> before; ///< What it held; empty where nothing is written.
  };

  explicit StagedArrays(const SupportedGpu &gpu)
      : gpu_(&gpu), through_(std::make_unique<driver::StagedCopies>(gpu.driver())) {}
  const MemoryOwner &ownerOf(const std::byte *address);
  bool isStaged(const ir::Argument &argument);
  Result<void> copyIn(const HostRegion &region);
  Result<void> makeTable(ir::Argument &table);
  /// Where it lies for the device.
  std::byte *placeOf(const ir::Argument &argument);

  const SupportedGpu *gpu_;
  llvm::DenseMap<const std::byte *, MemoryOwner> owners_; ///< The driver is asked once for each.
  std::vector<Copy> copies_;
  std::vector<DeviceMemory> tables_;
  std::vector<ir::Argument> arguments_;
  std::unique_ptr<driver::StagedCopies> through_; ///< Ends before the memory that it copies to.
};

} // namespace imbrex::gpu
