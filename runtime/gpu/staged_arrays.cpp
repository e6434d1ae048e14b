#include "runtime/gpu/staged_arrays.h"

#include <algorithm>

namespace imbrex::gpu {
namespace {

const ir::Type &typeOf(const ir::Kernel &kernel, std::size_t parameter) {
  return kernel.type(kernel.body().arguments[parameter]);
}

template <class Regions>
auto *regionAt(Regions &regions, const std::byte *address) {
  const auto found =
      std::ranges::find_if(regions, [&](const Region &region) { return region.holds(address); });
  return found == regions.end() ? nullptr : &*found;
}

} // namespace

std::vector<Region> regionsOf(const ir::Kernel &kernel, llvm::ArrayRef<ir::Argument> arguments,
                              llvm::function_ref<bool(std::size_t)> isStaged) {
  std::vector<Region> regions;
  for (std::size_t i = 0; i < arguments.size(); ++i)
    if (isStaged(i) && arguments[i].bytes > 0)
      regions.push_back({.begin = arguments[i].data,
                         .bytes = arguments[i].bytes,
                         .isWritten = !typeOf(kernel, i).isConst()});
  std::ranges::sort(regions, {}, &Region::begin);
  std::vector<Region> merged;
  for (const Region &region : regions) {
    if (merged.empty() || merged.back().begin + merged.back().bytes <= region.begin) {
      merged.push_back(region);
      continue;
    }
    Region &last = merged.back();
    last.bytes = std::max(last.bytes, (region.begin - last.begin) + region.bytes);
    last.isWritten |= region.isWritten;
  }
  for (std::size_t i = 0; i < arguments.size(); ++i)
    if (isStaged(i) && arguments[i].bytes == ir::Argument::kUnknownSize)
      if (Region *region = regionAt(merged, arguments[i].data))
        region->isWritten |= !typeOf(kernel, i).isConst();
  return merged;
}

std::optional<std::size_t> parameterWithoutSize(llvm::ArrayRef<Region> regions,
                                                llvm::ArrayRef<ir::Argument> arguments,
                                                llvm::function_ref<bool(std::size_t)> isStaged) {
  for (std::size_t i = 0; i < arguments.size(); ++i)
    if (isStaged(i) && arguments[i].bytes == ir::Argument::kUnknownSize &&
        regionAt(regions, arguments[i].data) == nullptr)
      return i;
  return std::nullopt;
}

Result<void> StagedArrays::copyIn(const Region &region) {
  const std::uint64_t offset =
      reinterpret_cast<std::uintptr_t>(region.begin) % DeviceMemory::kAlignment;
  auto memory = gpu_->allocate(region.bytes + static_cast<std::int64_t>(offset));
  if (!memory) return memory.failure();
  const std::uint64_t address = memory->address() + offset;
  Copy copy{.region = region, .memory = std::move(*memory), .address = address, .before = {}};
  if (region.isWritten) copy.before.assign(region.begin, region.begin + region.bytes);
  copies_.push_back(std::move(copy));
  return gpu_->copyIn(address, region.begin, region.bytes);
}

const StagedArrays::Copy *StagedArrays::copyOf(const ir::Argument &argument) const {
  const auto found = std::ranges::find_if(
      copies_, [&](const Copy &copy) { return copy.region.holds(argument.data); });
  return found == copies_.end() ? nullptr : &*found;
}

Result<StagedArrays> StagedArrays::stage(const Gpu &gpu, const ir::Kernel &kernel,
                                         llvm::ArrayRef<ir::Argument> arguments) {
  StagedArrays staged(gpu);
  std::vector<bool> isOwn(arguments.size());
  for (std::size_t i = 0; i < arguments.size(); ++i)
    isOwn[i] = arguments[i].data != nullptr && gpu.owns(arguments[i].data);
  const auto isStaged = [&](std::size_t i) {
    return !typeOf(kernel, i).isTile() && arguments[i].data != nullptr && !isOwn[i];
  };
  const std::vector<Region> regions = regionsOf(kernel, arguments, isStaged);
  if (const auto i = parameterWithoutSize(regions, arguments, isStaged))
    return fail(Diag::UnsizedArgument, {}, kernel.parameterName(*i), gpu.description());
  for (const Region &region : regions)
    if (const auto copied = staged.copyIn(region); !copied) return copied.failure();
  staged.arguments_.assign(arguments.begin(), arguments.end());
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    if (!isStaged(i)) continue;
    const Copy *copy = staged.copyOf(arguments[i]);
    std::byte *&data = staged.arguments_[i].data;
    if (copy != nullptr)
      data = reinterpret_cast<std::byte *>(copy->address) + (data - copy->region.begin);
    else
      data = nullptr; // it has no bytes, and nothing of it is touched
  }
  return staged;
}

Result<void> StagedArrays::bringBack() const {
  std::vector<std::byte> after;
  for (const Copy &copy : copies_) {
    if (!copy.region.isWritten) continue;
    after.resize(copy.before.size());
    if (auto copied = gpu_->copyOut(after.data(), copy.address, copy.region.bytes); !copied)
      return copied;
    for (std::size_t i = 0; i < after.size(); ++i)
      if (after[i] != copy.before[i]) copy.region.begin[i] = after[i];
  }
  return {};
}

} // namespace imbrex::gpu
