#pragma once

#include <cstdint>

namespace imbrex::host {

/// AMX has tiles of so many rows of so many bytes, and so many words of k.
inline constexpr std::int64_t kAmxRows = 16, kAmxRowBytes = 64;

/// How a processor multiplies and adds up in words what several steps of a product have in one
/// (dot/words.h). A word has 32 bits, those of matrix instructions 64.
enum class WordProduct : std::uint8_t {
  Single,         ///< It does not: each element is widened.
  Pairs,          ///< Bytes, as two integers of 16 bits: pmaddwd of x86.
  UnsignedSigned, ///< Four bytes without a sign by four with one: vpdpbusd of AVX-512 VNNI.
  Alike,          ///< Four bytes of one kind: sdot and udot of AArch64 with FEAT_DotProd.
  Bf16,           ///< Two of bf16, added up in f32: vdpbf16ps of AVX-512 BF16, where it pays.
  MatrixBytes,    ///< Eight bytes of one kind: smmla and ummla of AArch64 with FEAT_I8MM.
  MatrixBf16,     ///< Four of bf16: bfmmla of AArch64 with FEAT_BF16.
  AmxBytes,       ///< Four bytes of one kind, in tiles of AMX-INT8: tdpbssd, tdpbuud.
  AmxBf16,        ///< Two of bf16, in tiles of AMX-BF16: tdpbf16ps.
  AmxF16,         ///< Two of f16, in tiles of AMX-FP16: tdpfp16ps.
};

/// The SIMD registers of the CPU that code is made for, and what is near them. All that loops need
/// to know of it.
struct VectorUnit {
  std::int32_t bits;                         // of one register
  std::int32_t registers;                    // that a program can name
  std::int64_t secondLevelBytes = 1 << 20;   ///< Of a core's second-level cache.
  WordProduct ofBytes = WordProduct::Single; ///< Its widest for bytes,
  WordProduct ofBf16 = WordProduct::Single;  ///< and for bf16.
  bool hasMatrixBytes = false;               ///< It has AArch64's matrix instructions,
  bool hasMatrixBf16 = false;
  bool hasAmxBytes = false; ///< or AMX's tiles, and may use them.
  bool hasAmxBf16 = false, hasAmxF16 = false;
  bool dividesInHalves = false; ///< It divides half a vector at a time.

  /// Lanes of a register for elements of this many bits.
  std::int32_t lanes(std::int32_t elementBits) const { return bits / elementBits; }
};

} // namespace imbrex::host
