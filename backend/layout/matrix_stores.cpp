#include "backend/layout/matrix_stores.h"

#include "backend/layout/tile_layout.h"
#include "llvm/ADT/STLExtras.h"

#include <algorithm>

namespace imbrex::layout {
namespace {

constexpr std::int32_t kLaneBytes = 4; // that a lane gives of each matrix

/// What bits of registers and lanes count: the elements of a row, and the rows.
struct MatrixStoreParts {
  Vectors within, named;
  llvm::SmallVector<std::size_t, 2> registers; // bits that count what a lane gives of a matrix
};

/// The elements in a register lie in a row, then those of four lanes.
std::optional<MatrixStoreParts> plainParts(const LinearLayout &offsets, std::int32_t elementBytes) {
  const auto registers = offsets.columns(Dim::Register), lanes = offsets.columns(Dim::Lane);
  MatrixStoreParts parts;
  for (std::int32_t bit = 0; bit < bitsFor(kLaneBytes / elementBytes); ++bit) {
    const auto *const found = llvm::find(registers, Bits{1} << bit);
    if (found == registers.end()) return std::nullopt;
    parts.registers.push_back(static_cast<std::size_t>(found - registers.begin()));
    parts.within.push_back(*found);
  }
  llvm::append_range(parts.within, lanes.take_front(kMatrixLaneBits));
  llvm::append_range(parts.named, lanes.drop_front(kMatrixLaneBits));
  return parts;
}

/// Eight lanes have the elements of a row, and a lane's two are in two rows.
std::optional<MatrixStoreParts> transposedParts(const LinearLayout &offsets,
                                                std::int32_t elementBytes) {
  const auto registers = offsets.columns(Dim::Register), lanes = offsets.columns(Dim::Lane);
  if (elementBytes * 2 != kLaneBytes || registers.empty()) return std::nullopt;
  MatrixStoreParts parts{.within = {}, .named = {registers[0]}, .registers = {0}};
  llvm::append_range(parts.within, lanes.drop_front(kMatrixLaneBits));
  llvm::append_range(parts.named, lanes.take_front(kMatrixLaneBits));
  return parts;
}

/// Whether rows are pieces of memory, and begin at multiples of their length.
bool haveRows(const MatrixStoreParts &parts, llvm::ArrayRef<Bits> others) {
  for (std::size_t bit = 0; bit < parts.within.size(); ++bit)
    if (parts.within[bit] != Bits{1} << bit) return false;
  const Bits inside = (Bits{1} << parts.within.size()) - 1;
  return ((unionOf(parts.named) | unionOf(others)) & inside) == 0;
}

/// The number whose bits are those of `number`, at these places.
std::int32_t atPlaces(std::size_t number, llvm::ArrayRef<std::size_t> places) {
  std::size_t result = 0;
  for (const auto &[bit, place] : llvm::enumerate(places)) result |= (number >> bit & 1) << place;
  return static_cast<std::int32_t>(result);
}

std::optional<MatrixStores> storesOf(const LinearLayout &offsets, MatrixStoreParts parts) {
  const auto registers = offsets.columns(Dim::Register), warps = offsets.columns(Dim::Warp);
  llvm::SmallVector<std::size_t, 8> order(parts.registers.begin(), parts.registers.end());
  Vectors rest;
  for (std::size_t bit = 0; bit < registers.size(); ++bit) {
    if (llvm::is_contained(parts.registers, bit)) continue;
    order.push_back(bit);
    rest.push_back(registers[bit]);
  }
  Vectors others(rest);
  llvm::append_range(others, warps);
  if (!haveRows(parts, others)) return std::nullopt;

  const std::size_t matrixBits = std::min(kMostMatrixBits, rest.size());
  MatrixStores stores{.elementsOfLane = std::int32_t{1} << parts.registers.size(),
                      .matrixBits = static_cast<std::int32_t>(matrixBits),
                      .elementBitsOfRow = static_cast<std::int32_t>(parts.within.size()),
                      .registers = {},
                      .rows = {}};
  for (std::size_t i = 0; i >> registers.size() == 0; ++i)
    stores.registers.push_back(atPlaces(i, order));
  parts.named.append(rest.begin(), rest.begin() + matrixBits);
  parts.named.resize(kMatrixRowBits + kMatrixLaneBits, 0);
  Vectors columns(parts.within);
  columns.append(rest.begin() + matrixBits, rest.end());
  const Sides inputs{{Dim::Register, static_cast<std::int32_t>(columns.size())},
                     {Dim::Lane, static_cast<std::int32_t>(parts.named.size())},
                     {Dim::Warp, static_cast<std::int32_t>(warps.size())}};
  llvm::append_range(columns, parts.named);
  llvm::append_range(columns, warps);
  stores.rows = LinearLayout(inputs, Sides(offsets.outputs()), columns);
  return stores;
}

} // namespace

llvm::SmallVector<MatrixRows, 2> matrixRows(const LinearLayout &held, std::int32_t elementBytes) {
  const auto registers = held.columns(Dim::Register), lanes = held.columns(Dim::Lane);
  llvm::SmallVector<MatrixRows, 2> all;
  if (elementBytes > kLaneBytes || lanes.size() != kMatrixRowBits + kMatrixLaneBits) return all;
  const auto add = [&](Vectors elements, Vectors rows) {
    Vectors both(elements);
    llvm::append_range(both, rows);
    if (rank(both) == static_cast<std::int32_t>(both.size()))
      all.push_back({std::move(elements), std::move(rows)});
  };
  const Vectors four(lanes.take_front(kMatrixLaneBits)), eight(lanes.drop_front(kMatrixLaneBits));
  const auto ofLane = static_cast<std::size_t>(bitsFor(kLaneBytes / elementBytes));
  if (registers.size() < ofLane) return all;
  Vectors elements(registers.take_front(ofLane));
  llvm::append_range(elements, four);
  add(std::move(elements), eight);
  if (elementBytes * 2 != kLaneBytes) return all;
  Vectors rows{registers[0]};
  llvm::append_range(rows, four);
  add(eight, std::move(rows));
  return all;
}

std::optional<MatrixStores> matrixStores(const LinearLayout &offsets, std::int32_t elementBytes) {
  const auto registers = offsets.columns(Dim::Register), lanes = offsets.columns(Dim::Lane);
  if (elementBytes > kLaneBytes || lanes.size() != kMatrixRowBits + kMatrixLaneBits)
    return std::nullopt;
  Vectors ofWarp(registers);
  llvm::append_range(ofWarp, lanes);
  if (rank(ofWarp) != static_cast<std::int32_t>(ofWarp.size())) return std::nullopt;
  if (auto parts = plainParts(offsets, elementBytes))
    if (auto stores = storesOf(offsets, std::move(*parts))) return stores;
  auto parts = transposedParts(offsets, elementBytes);
  if (!parts) return std::nullopt;
  auto stores = storesOf(offsets, std::move(*parts));
  if (stores) stores->areTransposed = true;
  return stores;
}

std::optional<MatrixStores> fewerMatrixStores(const LinearLayout &offsets,
                                              const RegisterVectors &vectors,
                                              std::int32_t elementBytes,
                                              const SharedMemoryModel &memory) {
  if (!memory.storesMatrices) return std::nullopt;
  auto stores = matrixStores(offsets, elementBytes);
  if (stores && stores->elementsOfLane << stores->matrixBits <= vectors.width) stores.reset();
  return stores;
}

AccessCost costOf(const MatrixStores &stores, std::int32_t elementBytes,
                  const SharedMemoryModel &memory) {
  SharedMemoryModel ofRows = memory; // a lane for each row
  ofRows.lanes = std::int32_t{1} << (kMatrixRowBits + static_cast<std::size_t>(stores.matrixBits));
  const std::int64_t ofRow = std::int64_t{1} << stores.elementBitsOfRow;
  return bankConflicts({AccessKind::Write, stores.rows, elementBytes, ofRow}, ofRows);
}

} // namespace imbrex::layout
