#pragma once

#include <cstdint>

/// What AMD's driver tells a kernel about its launch, as far as kernels of one dimension ask.
namespace imbrex::emulate {

/// What lies behind the explicit arguments: LLVM, "User Guide for AMDGPU Backend", code object V5,
/// hidden arguments.
struct ImplicitArguments {
  std::uint32_t blockCount[3] = {};
  std::uint16_t groupSize[3] = {};
  std::uint16_t remainder[3] = {};
  std::uint8_t reserved[16] = {};
  std::int64_t globalOffset[3] = {};
  std::uint16_t gridDimensions = 3;
  std::uint8_t rest[190] = {};
};
static_assert(sizeof(ImplicitArguments) == 256);

/// The head of hsa_kernel_dispatch_packet_t (HSA Runtime Programmer's Reference Manual 1.2, 2.6).
struct DispatchPacket {
  std::uint16_t header = 0;
  std::uint16_t setup = 3;
  std::uint16_t groupSize[3] = {};
  std::uint16_t reserved = 0;
  std::uint32_t gridSize[3] = {}; ///< In threads.
  std::uint8_t rest[40] = {};
};
static_assert(sizeof(DispatchPacket) == 64);

} // namespace imbrex::emulate
