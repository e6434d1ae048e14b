#include "backend/emulate/model/matrix_moves.h"

#include <algorithm>
#include <array>

namespace imbrex::emulate {
namespace {

std::uint32_t elementOf(const MatrixWords &words, std::uint32_t bits, std::uint32_t element) {
  const std::uint32_t first = bits * element;
  return words[first / 32] >> first % 32 & ((std::uint32_t{1} << bits) - 1);
}

} // namespace

MatrixExchange exchangeOf(const MatrixMove &move) {
  return [move](WarpWords words, const SeededNumerics &) -> std::optional<LaneFault> {
    std::array<MatrixWords, kMostLanes> results{};
    const auto lanes = std::min(move.lanes, static_cast<std::uint32_t>(words.size()));
    for (std::uint32_t lane = 0; lane < lanes; ++lane)
      for (std::uint32_t i = 0; i < move.elements; ++i) {
        const MovedElement from = move.source(lane, i);
        const std::uint32_t first = move.bits * i;
        results[lane][first / 32] |= elementOf(*words[from.lane], move.from, from.element)
                                     << first % 32;
      }
    for (std::uint32_t lane = 0; lane < lanes; ++lane) *words[lane] = results[lane];
    return std::nullopt;
  };
}

namespace moves {

MovedElement loadRows(std::uint32_t lane, std::uint32_t element) {
  return {8 * (element / 2) + lane / 4, 2 * (lane % 4) + element % 2};
}

MovedElement loadColumns(std::uint32_t lane, std::uint32_t element) {
  return {8 * (element / 2) + 2 * (lane % 4) + element % 2, lane / 4};
}

MovedElement storeRows(std::uint32_t lane, std::uint32_t element) {
  return {4 * (lane % 8) + element / 2, 2 * (lane / 8) + element % 2};
}

MovedElement storeColumns(std::uint32_t lane, std::uint32_t element) {
  return {4 * element + lane % 8 / 2, 2 * (lane / 8) + lane % 2};
}

MovedElement loadByteRows(std::uint32_t lane, std::uint32_t element) {
  return {8 * (element / 4) + lane / 4, 4 * (lane % 4) + element % 4};
}

MovedElement loadByteColumns(std::uint32_t lane, std::uint32_t element) {
  const std::uint32_t matrix = element / 8, isRight = element / 4 % 2;
  return {16 * matrix + 4 * (lane % 4) + element % 4, lane / 4 + 8 * isRight};
}

MovedElement storeByteColumns(std::uint32_t lane, std::uint32_t element) {
  return {4 * (element % 8) + lane % 8 / 2, 4 * (lane / 8) + lane % 2 + 2 * (element / 8)};
}

MovedElement loadTransposedHalves(std::uint32_t lane, std::uint32_t element) {
  return {(lane & ~7u) | element, lane & 7};
}

MovedElement loadTransposedBytes(std::uint32_t lane, std::uint32_t element) {
  return {(lane & 16) | (element & 4) << 1 | (lane & 8) >> 1 | (element & 3), lane & 7};
}

MovedElement loadTransposedNibbles(std::uint32_t lane, std::uint32_t element) {
  return {(element & 8) << 1 | (lane & 16) >> 1 | (element & 7), lane & 15};
}

} // namespace moves

} // namespace imbrex::emulate
