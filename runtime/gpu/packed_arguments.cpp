#include "runtime/gpu/packed_arguments.h"

#include "backend/support/check.h"

#include <cstring>

namespace imbrex::gpu {
namespace {

std::uint64_t wordOf(const lower::Word &word, llvm::ArrayRef<ir::Argument> arguments,
                     std::uint64_t observations) {
  const auto axis = static_cast<std::size_t>(word.axis);
  const auto parameter = static_cast<std::size_t>(word.parameter);
  switch (word.kind) {
  case lower::WordKind::Scalar: return arguments[parameter].scalar;
  case lower::WordKind::Pointer: return reinterpret_cast<std::uintptr_t>(arguments[parameter].data);
  case lower::WordKind::Extent:
    return static_cast<std::uint64_t>(arguments[parameter].extents[axis]);
  case lower::WordKind::Stride:
    return static_cast<std::uint64_t>(arguments[parameter].strides[axis]);
  case lower::WordKind::Observations: return observations;
  }
  IMBREX_UNREACHABLE("kind of word");
}

} // namespace

std::vector<std::byte> packArguments(const lower::KernelInterface &interface,
                                     llvm::ArrayRef<ir::Argument> arguments,
                                     std::uint64_t observations) {
  std::vector<std::byte> packed;
  for (const lower::Word &word : interface.words) {
    const auto size = static_cast<std::size_t>(word.bytes);
    const std::size_t at = (packed.size() + size - 1) / size * size;
    packed.resize(at + size);
    const std::uint64_t bits = wordOf(word, arguments, observations);
    std::memcpy(&packed[at], &bits, size); // the low bytes: both ends have the least first
  }
  return packed;
}

} // namespace imbrex::gpu
