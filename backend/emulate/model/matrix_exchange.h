#pragma once

#include "backend/emulate/model/numerics.h"
#include "backend/emulate/model/warp_operation.h"

#include <functional>

/// What the lanes of a warp do together with more registers than a shuffle has.
namespace imbrex::emulate {

/// Registers of 32 bits of one lane: operands, of which each has its place, and then results.
inline constexpr std::size_t kMatrixWords = 52;
using MatrixWords = std::array<std::uint32_t, kMatrixWords>;
/// By lane.
using WarpWords = llvm::ArrayRef<MatrixWords *>;

/// Puts results into the words when all lanes have met. The fault: two lanes that should have
/// brought the same and have not.
using MatrixExchange =
    std::function<std::optional<LaneFault>(WarpWords, const SeededNumerics &numerics)>;

} // namespace imbrex::emulate
