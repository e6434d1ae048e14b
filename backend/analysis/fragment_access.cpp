#include "backend/analysis/fragment_access.h"

#include "backend/layout/algebra.h"
#include "backend/layout/conversion.h"
#include "backend/layout/matrix_stores.h"
#include "backend/layout/slot_layout.h"
#include "llvm/ADT/STLExtras.h"

#include <algorithm>

namespace imbrex::analysis {
namespace {

using layout::Bits;
using layout::Dim;
using layout::LinearLayout;

constexpr std::int32_t kRegisterBits = 32;
constexpr std::size_t kColumnBits = 4; ///< Of lanes that get whole columns of one fragment.

std::int64_t elementsTogether(std::int32_t elementBits) {
  return std::max(kRegisterBits / elementBits, 1);
}

/// What a lane names of a matrix, in bytes.
std::int32_t namedBytes(machine::MatrixLoads loads, std::int32_t elementBits) {
  if (loads == machine::MatrixLoads::Rows16) return layout::kMaxAccessBytes;
  constexpr std::int32_t kBytes = 8, kElements = 8;
  return loads == machine::MatrixLoads::Transposed8 ? kElements * elementBits / 8 : kBytes;
}

/// The bits that count the elements that a lane gets of a matrix.
std::int32_t elementBitsOfLane(std::int32_t elementBits, FragmentWay way,
                               machine::MatrixLoads loads) {
  const std::int32_t bits =
      way == FragmentWay::WholeColumns ? 8 * namedBytes(loads, elementBits) : kRegisterBits;
  return layout::bitsFor(std::max(bits / elementBits, 1));
}

/// What the bits of the lanes and of a register's elements are in an access by matrices: those that
/// count within what a lane names, and those that count what lanes name.
struct MatrixParts {
  llvm::SmallVector<Bits, 8> within, named;
};

/// Where lanes get whole columns: how many bits of a column's rows count neighbours among the lanes
/// that name them.
std::size_t rowsOfNeighbours(std::int32_t elementBits, machine::MatrixLoads loads) {
  if (loads == machine::MatrixLoads::Transposed16) return 0;
  return elementBits == 8 ? 2 : 3;
}

std::optional<MatrixParts> partsOf(const FragmentReads &reads, std::int32_t elementBits,
                                   FragmentWay way, machine::MatrixLoads loads) {
  const auto registers = reads.places.columns(Dim::Register),
             lanes = reads.places.columns(Dim::Lane);
  const auto inLane = static_cast<std::size_t>(elementBitsOfLane(elementBits, way, loads));
  if (registers.size() < inLane || reads.ofFragment.size() < inLane) return std::nullopt;
  for (std::size_t bit = 0; bit < inLane; ++bit)
    if (reads.ofFragment[bit] != static_cast<std::int32_t>(bit)) return std::nullopt;
  const auto own = registers.take_front(inLane);
  MatrixParts parts;
  if (way == FragmentWay::WholeColumns) {
    // Of 16 lanes: the column is in a row, and what a lane gets of it is named by lanes.
    if (lanes.size() < kColumnBits || inLane > kColumnBits) return std::nullopt;
    const std::size_t neighbours = rowsOfNeighbours(elementBits, loads);
    parts.within.append(lanes.begin(), lanes.begin() + inLane);
    parts.named.append(own.begin(), own.begin() + neighbours);
    parts.named.append(lanes.begin() + inLane, lanes.begin() + kColumnBits);
    parts.named.append(own.begin() + neighbours, own.end());
    parts.named.append(lanes.begin() + kColumnBits, lanes.end());
    return parts;
  }
  if (lanes.size() != layout::kMatrixRowBits + layout::kMatrixLaneBits) return std::nullopt;
  parts.within.append(own.begin(), own.end());
  parts.within.append(lanes.begin(), lanes.begin() + layout::kMatrixLaneBits);
  parts.named.append(lanes.begin() + layout::kMatrixLaneBits, lanes.end());
  if (way == FragmentWay::Columns) {
    if (parts.within.size() != layout::kMatrixRowBits)
      return std::nullopt; // elements of 16 bits alone
    std::swap(parts.within, parts.named);
  }
  return parts;
}

/// Builds the access by matrices, where the registers' low bits count what a lane gets of one.
std::optional<FragmentAccess> byMatrices(const FragmentReads &reads, std::int32_t elementBits,
                                         FragmentWay way, machine::MatrixLoads loads) {
  if (elementBits > kRegisterBits) return std::nullopt;
  auto parts = partsOf(reads, elementBits, way, loads);
  if (!parts) return std::nullopt;
  const auto registers = reads.places.columns(Dim::Register);
  const std::size_t lanes = reads.places.columns(Dim::Lane).size();
  FragmentAccess access{.way = way,
                        .places = {},
                        .elementBits = elementBits,
                        .elementBitsOfLane = elementBitsOfLane(elementBits, way, loads),
                        .rowBytes = namedBytes(loads, elementBits)};
  llvm::SmallVector<Bits, 16> columns(parts->within.begin(), parts->within.end());
  for (const Bits column :
       registers.drop_front(static_cast<std::size_t>(access.elementBitsOfLane))) {
    if (way != FragmentWay::WholeColumns &&
        static_cast<std::size_t>(access.matrixBits) < layout::kMostMatrixBits) {
      ++access.matrixBits;
      parts->named.push_back(column);
    } else {
      columns.push_back(column);
    }
  }
  parts->named.resize(lanes, 0);
  const layout::Sides inputs{{Dim::Register, static_cast<std::int32_t>(columns.size())},
                             {Dim::Lane, static_cast<std::int32_t>(lanes)},
                             {Dim::Warp, reads.places.inputBits(Dim::Warp)}};
  llvm::append_range(columns, parts->named);
  llvm::append_range(columns, reads.places.columns(Dim::Warp));
  access.places = LinearLayout(inputs, layout::Sides(reads.places.outputs()), columns);
  return access;
}

/// Whether the rows of matrices lie in one piece each.
bool haveRows(const layout::SlotReads &reads, std::int64_t elements) {
  const LinearLayout &offsets = reads.offsets;
  const Bits inside = static_cast<Bits>(elements) - 1;
  if ((reads.first & inside) != 0) return false;
  const auto registers = offsets.columns(Dim::Register);
  const auto bits = static_cast<std::size_t>(layout::bitsFor(elements));
  if (registers.size() < bits) return false;
  for (std::size_t bit = 0; bit < bits; ++bit)
    if (registers[bit] != Bits{1} << bit) return false;
  const Bits others = layout::unionOf(registers.drop_front(bits)) |
                      layout::unionOf(offsets.columns(Dim::Lane)) |
                      layout::unionOf(offsets.columns(Dim::Warp));
  return (others & inside) == 0;
}

llvm::SmallVector<FragmentWay, 2> waysOf(const machine::Machine &machine,
                                         std::int32_t elementBits) {
  if (machine.matrixLoads == machine::MatrixLoads::Rows16)
    return {FragmentWay::Rows, FragmentWay::Columns};
  if (machine::readsColumns(machine, elementBits)) return {FragmentWay::WholeColumns};
  return {};
}

} // namespace

llvm::SmallVector<FragmentAccess, 3> fragmentAccesses(const FragmentReads &reads,
                                                      std::int32_t elementBits,
                                                      const machine::Machine &machine) {
  llvm::SmallVector<FragmentAccess, 3> ways{
      {.way = FragmentWay::Vectors, .places = reads.places, .elementBits = elementBits}};
  for (const FragmentWay way : waysOf(machine, elementBits))
    if (auto access = byMatrices(reads, elementBits, way, machine.matrixLoads))
      ways.push_back(std::move(*access));
  return ways;
}

bool haveWholeRegisters(const FragmentReads &reads, const layout::RegisterVectors &vectors,
                        std::int32_t elementBits) {
  const auto together = static_cast<std::size_t>(elementsTogether(elementBits));
  if (static_cast<std::size_t>(vectors.width) < together ||
      std::size_t{1} << reads.ofFragment.size() < together)
    return false;
  for (std::size_t bit = 0; std::size_t{1} << bit < together; ++bit)
    if (reads.ofFragment[bit] != static_cast<std::int32_t>(bit)) return false;
  for (std::size_t i = 0; i < vectors.registers.size(); ++i) {
    const auto number = static_cast<std::size_t>(vectors.registers[i]);
    const auto first = static_cast<std::size_t>(vectors.registers[i - i % together]);
    if (number != first + i % together || first % together != 0) return false;
  }
  return true;
}

std::optional<std::int64_t> exchangeWeight(const LinearLayout &held, const LinearLayout &places,
                                           std::int32_t elementBits,
                                           const machine::Machine &machine) {
  if (!machine::exchangesRegisters(machine)) return std::nullopt;
  const layout::ConversionPlan plan = layout::planConversion(held, places);
  const auto isNoXor = [](const layout::ConversionStep &step) {
    const auto *shuffle = std::get_if<layout::ShuffleStep>(&step);
    return shuffle && !shuffle->isXor;
  };
  if (plan.kind != layout::ConversionKind::Shuffles || llvm::any_of(plan.steps, isNoXor))
    return std::nullopt;
  // Small elements cross lanes in words, which are put together where they do not lie so behind.
  const std::size_t common = layout::commonRegisters(held, places).size();
  const std::int64_t together = std::min(elementsTogether(elementBits), std::int64_t{1} << common);
  const layout::StepCounts counts = layout::countSteps(plan.steps);
  const std::int64_t elements = std::int64_t{1} << places.inputBits(Dim::Register),
                     steps = (counts.shuffles + counts.selects) / together;
  // A word is stored and loaded by shared memory.
  constexpr std::int64_t kMostSteps = 2;
  if (steps > kMostSteps * elements / together) return std::nullopt;
  const bool areInOrder = together == 1 || layout::wordRegister(held, places)->wanted == 0;
  const std::int64_t moved = areInOrder ? 0 : elements;
  return 2 * (steps + moved);
}

bool areSideBySide(const FragmentReads &reads, const layout::RegisterVectors &vectors) {
  std::size_t inOrder = 0; // low bits of a fragment's elements that count registers
  while (inOrder < reads.ofFragment.size() &&
         reads.ofFragment[inOrder] == static_cast<std::int32_t>(inOrder))
    ++inOrder;
  const auto together =
      std::min(static_cast<std::size_t>(vectors.width), std::size_t{1} << inOrder);
  for (std::size_t i = 0; i < vectors.registers.size(); ++i)
    if (vectors.registers[i] !=
        vectors.registers[i - i % together] + static_cast<std::int32_t>(i % together))
      return false;
  return true;
}

std::optional<FragmentCost> costOfAccess(const FragmentReads &reads, const FragmentAccess &access,
                                         const LinearLayout &shared,
                                         const machine::Machine &machine) {
  const std::int32_t bytes = access.elementBits / 8;
  const layout::SharedMemoryModel memory = sharedMemoryOf(machine);
  const layout::SlotReads inShared = slotReads(shared, access.places, reads.first);
  const std::int64_t most = access.rowBytes / bytes;
  FragmentCost cost;
  std::int64_t width = most;
  if (access.way == FragmentWay::Vectors) {
    const layout::RegisterVectors vectors = inShared.vectors(most);
    width = vectors.width;
    const std::int64_t elements = std::int64_t{1} << access.places.inputBits(Dim::Register);
    if (!haveWholeRegisters(reads, vectors, access.elementBits))
      cost.assembled = elements;
    else if (!areSideBySide(reads, vectors))
      cost.moved = elements / elementsTogether(access.elementBits);
  } else if (!haveRows(inShared, most)) {
    return std::nullopt;
  }
  cost.access = bankConflicts({.kind = layout::AccessKind::Read,
                               .offsets = inShared.offsets,
                               .elementBytes = bytes,
                               .vectorElements = width},
                              memory);
  return cost;
}

FragmentPlan planFragments(const FragmentReads &reads, std::int32_t elementBits,
                           const machine::Machine &machine, PlaceTile place) {
  std::optional<FragmentPlan> best;
  for (FragmentAccess &access : fragmentAccesses(reads, elementBits, machine)) {
    for (PlacedTile &tile : place(access.places)) {
      const auto cost = costOfAccess(reads, access, tile.shared, machine);
      if (!cost) continue;
      const std::int64_t weight = cost->weight() + tile.writeWeight;
      if (!best || weight < best->weight) best = FragmentPlan{access, std::move(tile), weight};
    }
  }
  return std::move(*best);
}

namespace {

/// What it takes to have a thread's vectors in registers that follow each other, where they do not
/// already: an instruction for each.
std::int64_t gatheringWeight(const LinearLayout &offsets, std::int32_t elementBits) {
  const layout::RegisterVectors vectors =
      contiguousRegisters(offsets, layout::kMaxAccessBytes * 8 / elementBits);
  const auto width = static_cast<std::size_t>(vectors.width);
  std::int64_t elements = 0;
  for (std::size_t i = 0; i < vectors.registers.size(); i += width) {
    const auto vector = llvm::ArrayRef(vectors.registers).slice(i, width);
    bool follow = vector[0] % vectors.width == 0;
    for (std::size_t j = 1; j < width; ++j) follow &= vector[j] == vector[j - 1] + 1;
    if (!follow) elements += vectors.width;
  }
  return 2 * elements / elementsTogether(elementBits);
}

/// How many elements of a vector are in registers that follow each other, from its first on.
std::int64_t sideBySide(const layout::RegisterVectors &vectors) {
  std::int32_t count = 1;
  while (count < vectors.width &&
         vectors.registers[static_cast<std::size_t>(count)] == vectors.registers[0] + count)
    ++count;
  return count;
}

} // namespace

PlacedTiles storedTiles(const LinearLayout &held, const LinearLayout &places,
                        std::int32_t elementBits, const machine::Machine &machine,
                        RegisterOrder order) {
  const std::int32_t bytes = elementBits / 8;
  const layout::SharedMemoryModel memory = sharedMemoryOf(machine);
  PlacedTiles tiles;
  const auto add = [&](layout::SharedConversion conversion) {
    const std::int64_t weight =
        weightOf(conversion.writeCost) + gatheringWeight(conversion.writeOffsets, elementBits);
    tiles.push_back({std::move(conversion.shared), weight});
  };
  layout::SharedConversion elements = planSharedConversion(held, places, bytes, memory);
  const std::int64_t inOrder = sideBySide(elements.reads);
  add(std::move(elements));
  if (order != RegisterOrder::Never) {
    layout::SharedConversion registers =
        planSharedConversion(held, places, bytes, memory, layout::ReadOrder::Registers);
    if (order == RegisterOrder::May || sideBySide(registers.reads) > inOrder)
      add(std::move(registers));
  }
  // Vectors of what the writers have along one axis or the other.
  for (const layout::Side &side : held.outputs())
    if (auto vectors = contiguousRegisters(held, side.dim, layout::kMaxAccessBytes / bytes);
        vectors.width > 1)
      add(planSharedConversion(held, vectors, places, bytes, memory));
  return tiles;
}

FragmentPlan planSlab(const LinearLayout &held, const FragmentReads &reads,
                      std::int32_t elementBits, const machine::Machine &machine) {
  return planFragments(reads, elementBits, machine, [&](const LinearLayout &places) {
    return storedTiles(held, places, elementBits, machine, RegisterOrder::Never);
  });
}

FragmentAccess bestAccess(const FragmentReads &reads, const LinearLayout &shared,
                          std::int32_t elementBits, const machine::Machine &machine) {
  return planFragments(reads, elementBits, machine,
                       [&](const LinearLayout &) { return PlacedTiles{{.shared = shared}}; })
      .access;
}

} // namespace imbrex::analysis
