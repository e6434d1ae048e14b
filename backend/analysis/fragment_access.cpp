#include "backend/analysis/fragment_access.h"

#include "backend/layout/algebra.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"

#include <algorithm>

namespace imbrex::analysis {
namespace {

using layout::Bits;
using layout::Dim;
using layout::LinearLayout;

constexpr std::int32_t kRegisterBits = 32;
// Of a matrix, in bits of its coordinates: rows, and the lanes that share one.
constexpr std::int32_t kRowBits = 3, kLaneBitsOfRow = 2;

std::int64_t elementsTogether(std::int32_t elementBits) {
  return std::max(kRegisterBits / elementBits, 1);
}

/// Builds the access by matrices, where the registers' low bits count the elements of one register.
std::optional<FragmentAccess> byMatrices(const FragmentReads &reads, std::int32_t elementBits,
                                         FragmentWay way) {
  const auto registers = reads.places.columns(Dim::Register),
             lanes = reads.places.columns(Dim::Lane);
  const auto inRegister = static_cast<std::size_t>(layout::bitsFor(elementsTogether(elementBits)));
  if (elementBits > kRegisterBits || lanes.size() != kRowBits + kLaneBitsOfRow ||
      registers.size() < inRegister)
    return std::nullopt;
  for (std::size_t bit = 0; bit < inRegister; ++bit)
    if (reads.ofFragment[bit] != static_cast<std::int32_t>(bit)) return std::nullopt;
  llvm::SmallVector<Bits, 8> within(registers.take_front(inRegister));
  within.append(lanes.begin(), lanes.begin() + kLaneBitsOfRow);
  llvm::SmallVector<Bits, 8> across(lanes.drop_front(kLaneBitsOfRow));
  if (way == FragmentWay::Columns) {
    if (within.size() != kRowBits) return std::nullopt; // elements of 16 bits alone
    std::swap(within, across);
  }
  FragmentAccess access{.way = way, .places = {}, .elementBits = elementBits};
  llvm::SmallVector<Bits, 16> columns(within.begin(), within.end()),
      ofLanes(across.begin(), across.end());
  for (std::size_t bit = inRegister; bit < registers.size(); ++bit) {
    if (access.matrixBits.size() < 2) {
      access.matrixBits.push_back(static_cast<std::int32_t>(bit));
      ofLanes.push_back(registers[bit]);
    } else {
      columns.push_back(registers[bit]);
    }
  }
  ofLanes.resize(lanes.size(), 0);
  const layout::Sides inputs{{Dim::Register, static_cast<std::int32_t>(columns.size())},
                             {Dim::Lane, static_cast<std::int32_t>(ofLanes.size())},
                             {Dim::Warp, reads.places.inputBits(Dim::Warp)}};
  columns.append(ofLanes);
  llvm::append_range(columns, reads.places.columns(Dim::Warp));
  access.places = LinearLayout(inputs, layout::Sides(reads.places.outputs()), columns);
  return access;
}

/// Whether the rows of matrices lie in one piece each.
bool haveRows(const LinearLayout &offsets, std::int64_t elements) {
  const Bits inside = static_cast<Bits>(elements) - 1;
  const auto registers = offsets.columns(Dim::Register);
  const auto bits = static_cast<std::size_t>(layout::bitsFor(elements));
  if (registers.size() < bits) return false;
  for (std::size_t bit = 0; bit < bits; ++bit)
    if (registers[bit] != Bits{1} << bit) return false;
  const auto isRow = [&](Bits column) { return (column & inside) == 0; };
  return llvm::all_of(registers.drop_front(bits), isRow) &&
         llvm::all_of(offsets.columns(Dim::Lane), isRow) &&
         llvm::all_of(offsets.columns(Dim::Warp), isRow);
}

} // namespace

llvm::SmallVector<FragmentAccess, 3> fragmentAccesses(const FragmentReads &reads,
                                                      std::int32_t elementBits,
                                                      const machine::Machine &machine) {
  llvm::SmallVector<FragmentAccess, 3> ways{
      {.way = FragmentWay::Vectors, .places = reads.places, .elementBits = elementBits}};
  if (machine.hasMatrixLoads)
    for (const FragmentWay way : {FragmentWay::Rows, FragmentWay::Columns})
      if (auto access = byMatrices(reads, elementBits, way)) ways.push_back(std::move(*access));
  return ways;
}

bool haveWholeRegisters(const FragmentReads &reads, const layout::RegisterVectors &vectors,
                        std::int32_t elementBits) {
  const auto together = static_cast<std::size_t>(elementsTogether(elementBits));
  if (static_cast<std::size_t>(vectors.width) < together) return false;
  for (std::size_t bit = 0; std::size_t{1} << bit < together; ++bit)
    if (reads.ofFragment[bit] != static_cast<std::int32_t>(bit)) return false;
  for (std::size_t i = 0; i < vectors.registers.size(); ++i) {
    const auto number = static_cast<std::size_t>(vectors.registers[i]);
    const auto first = static_cast<std::size_t>(vectors.registers[i - i % together]);
    if (number != first + i % together || first % together != 0) return false;
  }
  return true;
}

std::optional<FragmentCost> costOfAccess(const FragmentReads &reads, const FragmentAccess &access,
                                         const LinearLayout &shared,
                                         const machine::Machine &machine) {
  const std::int32_t bytes = access.elementBits / 8;
  const layout::SharedMemory memory{.banks = machine.banks, .lanes = machine.warpSize};
  const LinearLayout offsets = compose(inverse(shared), access.places);
  const std::int64_t most = layout::kMaxAccessBytes / bytes;
  FragmentCost cost;
  std::int64_t width = most;
  if (access.way == FragmentWay::Vectors) {
    const layout::RegisterVectors vectors = contiguousRegisters(offsets, most);
    width = vectors.width;
    if (!haveWholeRegisters(reads, vectors, access.elementBits))
      cost.assembled = std::int64_t{1} << offsets.inputBits(Dim::Register);
  } else if (!haveRows(offsets, most)) {
    return std::nullopt;
  }
  cost.access = bankConflicts(shared,
                              {.kind = layout::AccessKind::Read,
                               .places = access.places,
                               .elementBytes = bytes,
                               .vectorElements = width},
                              memory);
  return cost;
}

FragmentPlan planFragments(const FragmentReads &reads, std::int32_t elementBits,
                           const machine::Machine &machine, PlaceTile place) {
  std::optional<FragmentPlan> best;
  for (FragmentAccess &access : fragmentAccesses(reads, elementBits, machine)) {
    PlacedTile tile = place(access.places);
    const auto cost = costOfAccess(reads, access, tile.shared, machine);
    if (!cost) continue;
    const std::int64_t weight = cost->weight() + tile.writeWeight;
    if (!best || weight < best->weight)
      best = FragmentPlan{std::move(access), std::move(tile), weight};
  }
  return std::move(*best);
}

SlabPlan planSlab(const LinearLayout &held, const FragmentReads &reads, std::int32_t elementBits,
                  const machine::Machine &machine) {
  const std::int32_t bytes = elementBits / 8;
  const layout::SharedMemory memory{.banks = machine.banks, .lanes = machine.warpSize};
  // Vectors of what suits both sides, or of what the writers have along one axis or the other.
  llvm::SmallVector<std::optional<layout::RegisterVectors>, 3> writes{std::nullopt};
  for (const layout::Side &side : held.outputs())
    if (auto vectors = contiguousRegisters(held, side.dim, layout::kMaxAccessBytes / bytes);
        vectors.width > 1)
      writes.push_back(std::move(vectors));
  std::optional<SlabPlan> best;
  for (const auto &vectors : writes) {
    const auto conversion = [&](const LinearLayout &places) {
      return vectors ? planSharedConversion(held, *vectors, places, bytes, memory)
                     : planSharedConversion(held, places, bytes, memory);
    };
    const FragmentPlan plan =
        planFragments(reads, elementBits, machine, [&](const LinearLayout &places) {
          layout::SharedConversion made = conversion(places);
          return PlacedTile{std::move(made.shared), weightOf(made.writeCost)};
        });
    if (!best || plan.weight < best->weight)
      best = SlabPlan{conversion(plan.access.places), plan.weight};
  }
  return std::move(*best);
}

FragmentAccess bestAccess(const FragmentReads &reads, const LinearLayout &shared,
                          std::int32_t elementBits, const machine::Machine &machine) {
  return planFragments(reads, elementBits, machine,
                       [&](const LinearLayout &) { return PlacedTile{shared}; })
      .access;
}

} // namespace imbrex::analysis
