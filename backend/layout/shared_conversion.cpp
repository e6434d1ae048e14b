#include "backend/layout/shared_conversion.h"

#include "backend/layout/algebra.h"
#include "backend/layout/matrix_stores.h"
#include "backend/support/check.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"

#include <map>
#include <tuple>

namespace imbrex::layout {
namespace {

std::size_t log2Of(std::int64_t number) {
  return llvm::Log2_64(static_cast<std::uint64_t>(number));
}

/// Makes a list a basis of more: adds from `candidates`, up to `dimension`.
void extend(Vectors &basis, llvm::ArrayRef<Bits> candidates, std::size_t dimension) {
  for (const Bits vector : extension(basis, candidates))
    if (basis.size() < dimension) basis.push_back(vector);
}

/// One side of the conversion.
struct ConversionSide {
  const LinearLayout &places;
  AccessKind kind;

  llvm::ArrayRef<Bits> registers() const { return places.columns(Dim::Register); }
  /// What the lanes that are served together are apart.
  Vectors together(const SharedMemoryModel &memory, std::int64_t bytes) const {
    Vectors steps;
    for (const Bits lane : lanesTogether(memory, kind, bytes))
      steps.push_back(places.apply(Dim::Lane, lane));
    return steps;
  }
};

/// A choice of what a vector is: the first `narrow` of its bits for one side, all for the other.
struct VectorChoice {
  Vectors within;
  std::size_t narrow = 0;
  bool writesAreWide = true;
  Vectors rows = {}; // of the matrices that writers store; none where they store vectors
};

class SharedConversionPlanner {
public:
  SharedConversionPlanner(const LinearLayout &write, const LinearLayout &read,
                          std::int32_t elementBytes, const SharedMemoryModel &memory,
                          ReadOrder order = ReadOrder::Elements)
      : write_{write, AccessKind::Write}, read_{read, AccessKind::Read},
        elementBytes_(elementBytes), memory_(memory), order_(order),
        units_(unitVectors(write.outputBits())),
        rowBits_(log2Of(memory.banks * kBankBytes / elementBytes)) {}

  SharedConversion run() const {
    std::multimap<Cost, VectorChoice> byCost;
    for (const VectorChoice &choice : choices()) byCost.emplace(expectedCost(choice), choice);
    std::optional<SharedConversion> best;
    for (const auto &[expected, choice] : byCost) {
      SharedConversion plan = evaluated(sharedFor(choice));
      const bool isAsExpected = cost(plan) <= expected;
      if (!best || cost(plan) < cost(*best)) best = std::move(plan);
      if (isAsExpected) break; // what follows costs more; between tile layouts nearly always
    }
    return *best;
  }

  SharedConversion run(const RegisterVectors &writes) const {
    VectorChoice choice;
    const auto placeOf = [&](std::size_t i) {
      return write_.places.apply(Dim::Register, static_cast<Bits>(writes.registers[i]));
    };
    for (std::size_t i = 1; i < static_cast<std::size_t>(writes.width); i *= 2)
      choice.within.push_back(placeOf(i) ^ placeOf(0));
    while (choice.narrow < choice.within.size() &&
           extension(Vectors(read_.registers()), choice.within[choice.narrow]).empty())
      ++choice.narrow;
    return evaluated(sharedFor(choice));
  }

private:
  /// Conflicts, time, instructions.
  using Cost = std::tuple<std::int64_t, std::int64_t, std::int64_t>;
  static Cost cost(const SharedConversion &plan) {
    return {plan.writeCost.conflicts() + plan.readCost.conflicts(),
            plan.writeCost.cycles + plan.readCost.cycles,
            plan.writeCost.accesses + plan.readCost.accesses};
  }

  /// With vectors as chosen, and no conflicts.
  Cost expectedCost(const VectorChoice &choice) const {
    std::int64_t cycles = 0, accesses = 0;
    for (const bool writes : {true, false}) {
      const ConversionSide &side = writes ? write_ : read_;
      const bool isWide = writes == choice.writesAreWide;
      if (writes && !choice.rows.empty()) {
        // Four bytes of a lane in a cycle, and sixteen in a store.
        const std::int64_t bytes = std::int64_t{elementBytes_} << side.registers().size();
        accesses += std::max<std::int64_t>(bytes / kMaxAccessBytes, 1);
        cycles += std::max<std::int64_t>(bytes / kBankBytes, 1);
        continue;
      }
      const std::size_t bits = isWide ? choice.within.size() : choice.narrow;
      const std::size_t together =
          lanesTogether(memory_, side.kind, std::int64_t{elementBytes_} << bits).size();
      const std::int64_t count = std::int64_t{1} << (side.registers().size() - bits);
      accesses += count;
      cycles += count * (memory_.lanes >> together);
    }
    return {0, cycles, accesses};
  }

  /// What both sides have in registers; then more of one side; then rows of matrices.
  std::vector<VectorChoice> choices() const {
    const std::size_t most = log2Of(kMaxAccessBytes / elementBytes_);
    Vectors common = sorted(intersection(write_.registers(), read_.registers()));
    if (common.size() > most) common.resize(most);
    std::vector<VectorChoice> all{{.within = common, .narrow = common.size()}};
    for (const bool writesAreWide : {true, false}) {
      const ConversionSide &wide = writesAreWide ? write_ : read_;
      VectorChoice choice{common, common.size(), writesAreWide};
      const bool isSorted = writesAreWide || order_ == ReadOrder::Elements;
      const Vectors own = isSorted ? sorted(wide.registers()) : Vectors(wide.registers());
      for (const Bits vector : extension(common, own)) {
        if (choice.within.size() == most) break;
        choice.within.push_back(vector);
        all.push_back(choice);
      }
    }
    if (!memory_.storesMatrices) return all;
    for (const MatrixRows &row : matrixRows(write_.places, elementBytes_))
      if (extension(read_.registers(), row.elements).empty())
        all.push_back({.within = row.elements,
                       .narrow = row.elements.size(),
                       .writesAreWide = false,
                       .rows = row.rows});
    return all;
  }

  static Vectors sorted(llvm::ArrayRef<Bits> vectors) {
    Vectors result(vectors);
    llvm::sort(result);
    return result;
  }

  /// The basis of the essay.
  LinearLayout sharedFor(const VectorChoice &choice) const {
    const ConversionSide &wide = choice.writesAreWide ? write_ : read_;
    const ConversionSide &narrow = choice.writesAreWide ? read_ : write_;
    const auto bytes = [&](std::size_t bits) { return std::int64_t{elementBytes_} << bits; };
    const Vectors wideLanes = wide.together(memory_, bytes(choice.within.size()));
    const Vectors narrowLanes =
        choice.rows.empty() ? narrow.together(memory_, bytes(choice.narrow)) : choice.rows;

    Vectors w(choice.within), r(llvm::ArrayRef<Bits>(w).take_front(choice.narrow));
    extend(w, wideLanes, rowBits_);
    extend(r, narrowLanes, rowBits_);
    for (const Vectors &more : {Vectors(r), units_}) extend(w, more, rowBits_);
    // In the order of w: where the narrow side's vectors are less than a word, r then has all of
    // the word, in which lanes are not in each other's way.
    for (const Vectors &more : {Vectors(w), units_}) extend(r, more, rowBits_);

    Vectors columns(w);
    columns.append(avoidingBoth(w, r));
    return LinearLayout({{Dim::Offset, static_cast<std::int32_t>(columns.size())}},
                        Sides(write_.places.outputs()), columns);
  }

  /// H: a basis of a complement of both spans, which have equal dimensions.
  Vectors avoidingBoth(const Vectors &w, const Vectors &r) const {
    const Vectors both = intersection(w, r);
    const Vectors onlyW = extension(both, w);
    const Vectors onlyR = extension(both, r);
    Vectors rows, sum(w);
    for (std::size_t i = 0; i < onlyW.size(); ++i) rows.push_back(onlyW[i] ^ onlyR[i]);
    sum.append(onlyR);
    rows.append(extension(sum, units_));
    return rows;
  }

  SharedConversion evaluated(LinearLayout shared) const {
    const LinearLayout back = inverse(shared);
    SharedConversion plan;
    plan.shared = std::move(shared);
    plan.writeOffsets = compose(back, write_.places);
    plan.readOffsets = compose(back, read_.places);
    const std::int64_t most = kMaxAccessBytes / elementBytes_;
    plan.writes = contiguousRegisters(plan.writeOffsets, most);
    plan.reads = contiguousRegisters(plan.readOffsets, most);
    plan.writeCost =
        bankConflicts({write_.kind, plan.writeOffsets, elementBytes_, plan.writes.width}, memory_);
    plan.readCost =
        bankConflicts({read_.kind, plan.readOffsets, elementBytes_, plan.reads.width}, memory_);
    if (const auto stores =
            fewerMatrixStores(plan.writeOffsets, plan.writes, elementBytes_, memory_))
      plan.writeCost = layout::costOf(*stores, elementBytes_, memory_);
    return plan;
  }

  ConversionSide write_, read_;
  std::int32_t elementBytes_;
  const SharedMemoryModel &memory_;
  const ReadOrder order_;
  Vectors units_;
  std::size_t rowBits_; // that count the elements in a row of all banks
};

} // namespace

SharedConversion planSharedConversion(const LinearLayout &write, const LinearLayout &read,
                                      std::int32_t elementBytes, const SharedMemoryModel &memory,
                                      ReadOrder order) {
  IMBREX_CHECK(write.outputBits() == read.outputBits(), "a conversion of {0} bits to {1}",
               write.outputBits(), read.outputBits());
  return SharedConversionPlanner(write, read, elementBytes, memory, order).run();
}

SharedConversion planSharedConversion(const LinearLayout &write, const RegisterVectors &writes,
                                      const LinearLayout &read, std::int32_t elementBytes,
                                      const SharedMemoryModel &memory) {
  return SharedConversionPlanner(write, read, elementBytes, memory).run(writes);
}

} // namespace imbrex::layout
