#include "runtime/gpu/staged_arrays.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>

namespace imbrex::gpu {
namespace {

template <class Regions>
auto *regionAt(Regions &regions, const std::byte *address) {
  const auto found = std::ranges::find_if(
      regions, [&](const HostRegion &region) { return region.holds(address); });
  return found == regions.end() ? nullptr : &*found;
}

/// Each piece of memory that a launch brings, its parameter's number, and its own in a table.
template <class Visit>
void forEachPiece(const ir::Kernel &kernel, llvm::ArrayRef<ir::Argument> arguments, Visit visit) {
  for (std::size_t i = 0; i < arguments.size(); ++i)
    if (kernel.parameterType(i).hasMemory())
      for (const auto &[number, piece] :
           llvm::enumerate(ir::memoryOf(kernel.parameterType(i), arguments[i])))
        visit(piece, i, number);
}

bool isOfUnknownSize(const ir::Argument &argument) {
  return argument.bytes == ir::Argument::kUnknownSize;
}

std::vector<HostRegion> merged(std::vector<HostRegion> regions) {
  std::ranges::sort(regions, {}, &HostRegion::begin);
  std::vector<HostRegion> merged;
  for (const HostRegion &region : regions) {
    if (merged.empty() || merged.back().begin + merged.back().bytes <= region.begin) {
      merged.push_back(region);
      continue;
    }
    HostRegion &last = merged.back();
    last.bytes = std::max(last.bytes, (region.begin - last.begin) + region.bytes);
    last.isWritten |= region.isWritten;
  }
  return merged;
}

} // namespace

std::vector<HostRegion> regionsOf(const ir::Kernel &kernel, llvm::ArrayRef<ir::Argument> arguments,
                                  IsStaged isStaged) {
  std::vector<HostRegion> found;
  forEachPiece(kernel, arguments, [&](const ir::Argument &piece, std::size_t i, std::size_t) {
    if (isStaged(piece) && piece.bytes > 0)
      found.push_back({.begin = piece.data,
                       .bytes = piece.bytes,
                       .isWritten = !kernel.parameterType(i).isConst()});
  });
  std::vector<HostRegion> regions = merged(std::move(found));
  forEachPiece(kernel, arguments, [&](const ir::Argument &piece, std::size_t i, std::size_t) {
    if (!isStaged(piece) || !isOfUnknownSize(piece)) return;
    if (HostRegion *region = regionAt(regions, piece.data))
      region->isWritten |= !kernel.parameterType(i).isConst();
  });
  return regions;
}

std::optional<std::string> parameterWithoutSize(const ir::Kernel &kernel,
                                                llvm::ArrayRef<HostRegion> regions,
                                                llvm::ArrayRef<ir::Argument> arguments,
                                                IsStaged isStaged) {
  std::optional<std::string> found;
  forEachPiece(kernel, arguments, [&](const ir::Argument &piece, std::size_t i, std::size_t n) {
    if (found || !isStaged(piece) || !isOfUnknownSize(piece) || regionAt(regions, piece.data))
      return;
    found = kernel.parameterName(i);
    if (kernel.parameterType(i).isTable()) *found += "[" + std::to_string(n) + "]";
  });
  return found;
}

Result<std::optional<std::size_t>> firstToCopy(const SupportedGpu &gpu, const ir::Kernel &kernel,
                                               llvm::ArrayRef<ir::Argument> arguments,
                                               Location where) {
  std::optional<std::size_t> first, foreign;
  std::int32_t number = 0;
  forEachPiece(kernel, arguments, [&](const ir::Argument &piece, std::size_t i, std::size_t) {
    if (piece.data == nullptr || piece.isInPlace) return;
    const MemoryOwner owner = gpu.ownerOf(piece.data);
    if (!owner.isDevice) {
      if (!first) first = i;
    } else if (owner.number != gpu.number() && !foreign) {
      foreign = i;
      number = owner.number;
    }
  });
  if (foreign)
    return fail(Diag::WrongDeviceMemory, where, kernel.parameterName(*foreign), gpu.nameOf(number),
                gpu.nameOf(gpu.number()));
  // The addresses of a table lie in the host's memory, wherever they lead.
  for (std::size_t i = 0; i < arguments.size() && !first; ++i)
    if (kernel.parameterType(i).isTable()) first = i;
  return first;
}

const MemoryOwner &StagedArrays::ownerOf(const std::byte *address) {
  const auto [known, isNew] = owners_.try_emplace(address);
  if (isNew) known->second = gpu_->ownerOf(address);
  return known->second;
}

bool StagedArrays::isStaged(const ir::Argument &argument) {
  return argument.data != nullptr && !argument.isInPlace && !ownerOf(argument.data).isDevice;
}

Result<void> StagedArrays::copyIn(const HostRegion &region) {
  const std::uint64_t offset =
      reinterpret_cast<std::uintptr_t>(region.begin) % driver::kMemoryAlignment;
  auto memory = gpu_->allocate(region.bytes + static_cast<std::int64_t>(offset));
  if (!memory) return memory.failure();
  const std::uint64_t address = memory->address() + offset;
  Copy copy{.region = region, .memory = std::move(*memory), .address = address, .before = {}};
  if (region.isWritten) copy.before.assign(region.begin, region.begin + region.bytes);
  copies_.push_back(std::move(copy));
  return ownerOf(region.begin).isPinned
             ? gpu_->copyIn(address, region.begin, region.bytes)
             : gpu_->copyIn(*through_, address, region.begin, region.bytes);
}

std::byte *StagedArrays::placeOf(const ir::Argument &argument) {
  if (!isStaged(argument)) return argument.data;
  const auto found = std::ranges::find_if(
      copies_, [&](const Copy &copy) { return copy.region.holds(argument.data); });
  if (found == copies_.end()) return nullptr; // it has no bytes, and nothing of it is touched
  return reinterpret_cast<std::byte *>(found->address) + (argument.data - found->region.begin);
}

/// Its addresses on the device, and the null one behind them.
Result<void> StagedArrays::makeTable(ir::Argument &table) {
  std::vector<std::uint64_t> addresses;
  for (const ir::Argument &pointee : table.pointees)
    addresses.push_back(reinterpret_cast<std::uintptr_t>(placeOf(pointee)));
  addresses.push_back(0);
  const auto bytes = static_cast<std::int64_t>(addresses.size() * sizeof(std::uint64_t));
  auto memory = gpu_->allocate(bytes);
  if (!memory) return memory.failure();
  tables_.push_back(std::move(*memory));
  table.data = reinterpret_cast<std::byte *>(tables_.back().address());
  return gpu_->copyIn(tables_.back().address(), addresses.data(), bytes);
}

Result<StagedArrays> StagedArrays::stage(const SupportedGpu &gpu, const ir::Kernel &kernel,
                                         llvm::ArrayRef<ir::Argument> arguments, Location where) {
  StagedArrays staged(gpu);
  const auto isStaged = [&](const ir::Argument &piece) { return staged.isStaged(piece); };
  const std::vector<HostRegion> regions = regionsOf(kernel, arguments, isStaged);
  if (const auto name = parameterWithoutSize(kernel, regions, arguments, isStaged))
    return fail(Diag::UnsizedArgument, where, *name, gpu.description());
  for (const HostRegion &region : regions)
    if (const auto copied = staged.copyIn(region); !copied) return copied.failure();
  staged.arguments_.assign(arguments.begin(), arguments.end());
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    ir::Argument &argument = staged.arguments_[i];
    if (kernel.parameterType(i).isTable()) {
      if (const auto made = staged.makeTable(argument); !made) return made.failure();
    } else if (kernel.parameterType(i).hasMemory()) {
      argument.data = staged.placeOf(argument);
    }
  }
  return staged;
}

Result<void> StagedArrays::bringBack() const {
  for (const Copy &copy : copies_) {
    if (!copy.region.isWritten) continue;
    const auto takeChanges = [&](const std::byte *after, std::int64_t at, std::int64_t size) {
      const std::byte *const before = copy.before.data() + at;
      std::byte *const here = copy.region.begin + at;
      for (std::int64_t i = 0; i < size; ++i)
        if (after[i] != before[i]) here[i] = after[i];
    };
    if (auto copied = gpu_->copyOut(*through_, copy.address, copy.region.bytes, takeChanges);
        !copied)
      return copied;
  }
  return {};
}

} // namespace imbrex::gpu
