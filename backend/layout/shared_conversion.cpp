#include "backend/layout/shared_conversion.h"

#include "backend/layout/algebra.h"
#include "backend/support/check.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"

#include <algorithm>
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
struct Party {
  const LinearLayout &places;
  AccessKind kind;

  llvm::ArrayRef<Bits> registers() const { return places.columns(Dim::Register); }
  llvm::ArrayRef<Bits> threads() const { return places.columns().drop_front(registers().size()); }
  /// What the lanes that are served together are apart.
  Vectors together(const SharedMemory &memory, std::int64_t bytes) const {
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
};

class Planner {
public:
  Planner(const LinearLayout &write, const LinearLayout &read, std::int32_t elementBytes,
          const SharedMemory &memory)
      : write_{write, AccessKind::Write}, read_{read, AccessKind::Read},
        elementBytes_(elementBytes), memory_(memory), units_(unitVectors(write.outputBits())),
        wordBits_(elementBytes < kBankBytes ? log2Of(kBankBytes / elementBytes) : 0),
        rowBits_(log2Of(memory.banks * kBankBytes / elementBytes)) {}

  SharedConversion run() const {
    std::optional<SharedConversion> best;
    for (const VectorChoice &choice : choices()) {
      SharedConversion plan = evaluated(sharedFor(choice));
      if (!best || cost(plan) < cost(*best)) best = std::move(plan);
    }
    return *best;
  }

private:
  /// Time first, then instructions.
  static std::tuple<std::int64_t, std::int64_t> cost(const SharedConversion &plan) {
    return {plan.writeCost.cycles + plan.readCost.cycles,
            plan.writeCost.accesses + plan.readCost.accesses};
  }

  /// What both sides have in registers, and in no thread's number; then more of one side.
  std::vector<VectorChoice> choices() const {
    const std::size_t most = log2Of(kMaxAccessBytes / elementBytes_);
    Vectors threads(write_.threads());
    threads.append(read_.threads().begin(), read_.threads().end());
    Vectors common = intersection(write_.registers(), read_.registers());
    llvm::sort(common);
    common = extension(threads, common);
    if (common.size() > most) common.resize(most);
    std::vector<VectorChoice> all{{.within = common, .narrow = common.size()}};
    for (const bool writesAreWide : {true, false}) {
      const Party &wide = writesAreWide ? write_ : read_;
      Vectors taken(wide.threads());
      taken.append(common);
      VectorChoice choice{common, common.size(), writesAreWide};
      for (const Bits vector : extension(taken, sorted(wide.registers()))) {
        if (choice.within.size() == most) break;
        choice.within.push_back(vector);
        all.push_back(choice);
      }
    }
    return all;
  }

  static Vectors sorted(llvm::ArrayRef<Bits> vectors) {
    Vectors result(vectors);
    llvm::sort(result);
    return result;
  }

  /// The basis of the essay.
  LinearLayout sharedFor(const VectorChoice &choice) const {
    const Party &wide = choice.writesAreWide ? write_ : read_;
    const Party &narrow = choice.writesAreWide ? read_ : write_;
    const auto bytes = [&](std::size_t bits) { return std::int64_t{elementBytes_} << bits; };
    const Vectors wideLanes = wide.together(memory_, bytes(choice.within.size()));
    const Vectors narrowLanes = narrow.together(memory_, bytes(choice.narrow));

    // What shares a word is in nobody's way: first what is in both sides' lanes.
    Vectors basis(choice.within);
    for (const Vectors &more :
         {intersection(wideLanes, narrowLanes), wideLanes, narrowLanes, units_})
      extend(basis, more, wordBits_);
    const std::size_t inWord = std::max(wordBits_, choice.narrow);

    Vectors w(basis), r(llvm::ArrayRef<Bits>(basis).take_front(inWord));
    extend(w, wideLanes, rowBits_);
    extend(r, narrowLanes, rowBits_);
    for (const Vectors &more : {Vectors(r), units_}) extend(w, more, rowBits_);
    for (const Vectors &more : {Vectors(w), units_}) extend(r, more, rowBits_);
    const Vectors rows = avoidingBoth(w, r, wide);

    Vectors columns(basis);
    columns.append(rows);
    const Vectors banks = extension(columns, bankCandidates(wideLanes, narrowLanes));
    basis.append(banks);
    basis.append(rows);
    return LinearLayout({{Dim::Offset, static_cast<std::int32_t>(basis.size())}},
                        Sides(write_.places.outputs()), basis);
  }

  Vectors bankCandidates(llvm::ArrayRef<Bits> wideLanes, llvm::ArrayRef<Bits> narrowLanes) const {
    Vectors candidates(wideLanes);
    candidates.append(narrowLanes.begin(), narrowLanes.end());
    candidates.append(units_);
    return candidates;
  }

  /// H: a basis of a complement of both spans, which have equal dimensions.
  Vectors avoidingBoth(const Vectors &w, const Vectors &r, const Party &wide) const {
    const Vectors both = intersection(w, r);
    const Vectors onlyW = extension(both, w);
    const Vectors onlyR = extension(both, r);
    // A step that changes the place inside a vector (those are the first of w) must not be one
    // between threads of the side that moves whole vectors.
    const Span registers(wide.registers());
    const auto isInRegisters = [&](Bits v) { return registers.contains(v); };
    Vectors partners, rows, sum(w);
    llvm::copy_if(onlyR, std::back_inserter(partners), isInRegisters);
    std::ranges::remove_copy_if(onlyR, std::back_inserter(partners), isInRegisters);
    for (std::size_t i = 0; i < onlyW.size(); ++i) rows.push_back(onlyW[i] ^ partners[i]);
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
    const auto costOf = [&](const Party &side, const RegisterVectors &vectors) {
      return bankConflicts(plan.shared, {side.kind, side.places, elementBytes_, vectors.width},
                           memory_);
    };
    plan.writeCost = costOf(write_, plan.writes);
    plan.readCost = costOf(read_, plan.reads);
    return plan;
  }

  Party write_, read_;
  std::int32_t elementBytes_;
  const SharedMemory &memory_;
  Vectors units_;
  std::size_t wordBits_, rowBits_; // of the element bits of a word, and of a row of all banks
};

} // namespace

SharedConversion planSharedConversion(const LinearLayout &write, const LinearLayout &read,
                                      std::int32_t elementBytes, const SharedMemory &memory) {
  IMBREX_CHECK(write.outputBits() == read.outputBits(), "a conversion of {0} bits to {1}",
               write.outputBits(), read.outputBits());
  return Planner(write, read, elementBytes, memory).run();
}

} // namespace imbrex::layout
