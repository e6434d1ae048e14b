#pragma once

#include "backend/ir/argument.h"
#include "backend/lower/kernel_interface.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

/// A tensor in global memory, and the box of it that one copy moves.
namespace imbrex::emulate {

inline constexpr std::size_t kMostAxes = 5;

/// Where 16 bytes of a box lie in shared memory: their address, with some of its bits flipped by
/// others (PTX ISA 9.0, 5.5.7, "Swizzling modes").
enum class BoxSwizzle : std::uint8_t { None, Bytes32, Bytes64, Bytes128 };

/// What a kernel of an emulated GPU is given in place of the vendor's CUtensorMap, which is opaque
/// and of the same size. Axis 0 is the innermost, and its elements are next to each other.
struct alignas(64) TensorMap {
  static constexpr std::uint64_t kMagic = 0x494d42584d415031; // "IMBXMAP1"

  std::uint64_t magic = kMagic;
  std::uint64_t address = 0;
  std::array<std::uint64_t, kMostAxes - 1> strides{}; ///< Of the other axes, in bytes.
  std::array<std::uint32_t, kMostAxes> extents{};
  std::array<std::uint32_t, kMostAxes> box{};
  std::uint8_t rank = 0;
  std::uint8_t elementBytes = 0;
  BoxSwizzle swizzle = BoxSwizzle::None;
};
static_assert(sizeof(TensorMap) == 128);

/// Of a view that a launch passes, for the boxes that a kernel loads of it.
TensorMap mapOf(const lower::BoxMap &boxes, const ir::Argument &view, std::size_t axes);

/// What is wrong with a map that is used for boxes of so many axes; nothing: it is sound.
std::optional<std::string> whatIsWrong(const TensorMap &map, std::size_t axes);

/// Bytes of a box that lie together on both sides.
struct BoxPiece {
  std::uint64_t offset;  ///< In the box, before it is swizzled.
  std::uint64_t address; ///< In global memory; 0: outside of the tensor.
  std::uint32_t bytes;
};

std::uint32_t boxBytes(const TensorMap &map);
/// The pieces of the box that begins at these coordinates; none crosses a multiple of 16 bytes.
std::vector<BoxPiece> piecesOf(const TensorMap &map,
                               const std::array<std::int32_t, kMostAxes> &first);

/// An address in shared memory, swizzled.
std::uint64_t swizzled(BoxSwizzle swizzle, std::uint64_t address);

} // namespace imbrex::emulate
