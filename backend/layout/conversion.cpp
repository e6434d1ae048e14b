#include "backend/layout/conversion.h"

#include "backend/support/check.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/bit.h"
#include "llvm/Support/MathExtras.h"

#include <map>
#include <numeric>
#include <set>

namespace imbrex::layout {
namespace {

/// Where each bit of a wanted place comes from: the matrices of the essay, column by column.
struct BitMovement {
  std::int32_t laneBits = 0;
  Vectors registers;    // F of each wanted register bit: the register, and above it the lane
  Vectors threads;      // Q of each thread bit: the thread that is read
  Vectors fromOffset;   // B1·Q of each thread bit
  Vectors wantedOffset; // B3 of each thread bit
};

/// Finds a movement bit by bit. Of all solutions it takes those that leave the data where they are:
/// in the register, else in the lane.
class MovementSearch {
public:
  MovementSearch(const LinearLayout &from, const LinearLayout &wanted)
      : from_(from), wanted_(wanted), registerBits_(from.inputBits(Dim::Register)),
        threadBits_(from.inputBits() - registerBits_),
        wantedRegisters_(wanted.columns(Dim::Register)) {
    movement_.laneBits = from.inputBits(Dim::Lane);
    movement_.threads.assign(static_cast<std::size_t>(threadBits_), 0);
    movement_.fromOffset = movement_.wantedOffset = movement_.threads;
  }

  std::optional<BitMovement> run() {
    if (!llvm::all_of(wantedRegisters_, [&](Bits column) { return moveRegister(column); }))
      return std::nullopt;
    llvm::SmallVector<std::int32_t, 8> moving;
    for (std::int32_t bit = 0; bit < movement_.laneBits; ++bit)
      if (!keepLane(bit)) moving.push_back(bit);
    for (const std::int32_t bit : moving)
      if (!copyLane(bit) && !moveLane(bit) && !splitLane(bit)) return std::nullopt;
    for (std::int32_t bit = movement_.laneBits; bit < threadBits_; ++bit)
      if (!keepWarp(bit)) return std::nullopt;
    return movement_;
  }

private:
  /// What lists of columns in a row add up to, and which of them.
  struct Sum {
    Bits first, second, third;
  };

  static std::optional<Sum> solve(llvm::ArrayRef<Bits> first, llvm::ArrayRef<Bits> second,
                                  llvm::ArrayRef<Bits> third, Bits target) {
    Subspace span(first);
    span.addAll(second);
    span.addAll(third);
    const auto found = span.coordinates(target);
    if (!found) return std::nullopt;
    const auto mask = [](std::size_t bits) { return (Bits{1} << bits) - 1; };
    const Bits behind = *found >> first.size();
    return Sum{*found & mask(first.size()), behind & mask(second.size()), behind >> second.size()};
  }

  llvm::ArrayRef<Bits> fromRegisters() const { return from_.columns(Dim::Register); }
  llvm::ArrayRef<Bits> fromLanes() const { return from_.columns(Dim::Lane); }
  Bits threadColumn(const LinearLayout &layout, std::int32_t bit) const {
    return layout.columns()[static_cast<std::size_t>(layout.inputBits(Dim::Register) + bit)];
  }

  /// The register stays, or comes from another, or from another lane.
  bool moveRegister(Bits column) {
    const std::size_t bit = movement_.registers.size();
    if (bit < fromRegisters().size() && fromRegisters()[bit] == column) {
      movement_.registers.push_back(Bits{1} << bit);
      return true;
    }
    const auto place = solve(fromRegisters(), fromLanes(), {}, column);
    if (place) movement_.registers.push_back(place->first | place->second << registerBits_);
    return place.has_value();
  }

  void set(std::int32_t bit, Bits thread, Bits fromOffset, Bits wantedOffset) {
    const auto at = static_cast<std::size_t>(bit);
    movement_.threads[at] = thread;
    movement_.fromOffset[at] = fromOffset;
    movement_.wantedOffset[at] = wantedOffset;
    read_.push_back(bit);
    readLanes_.add(thread);
  }

  /// The lane reads itself, with this bit.
  bool keepLane(std::int32_t bit) {
    const Bits target = threadColumn(wanted_, bit) ^ threadColumn(from_, bit);
    const auto sum = solve(fromRegisters(), wantedRegisters_, {}, target);
    if (sum) set(bit, Bits{1} << bit, sum->first, sum->second);
    return sum.has_value();
  }

  /// The warp reads itself; the lane may move with it.
  bool keepWarp(std::int32_t bit) {
    const Bits target = threadColumn(wanted_, bit) ^ threadColumn(from_, bit);
    const auto sum = solve(fromRegisters(), wantedRegisters_, fromLanes(), target);
    if (sum) set(bit, Bits{1} << bit | sum->third, sum->first, sum->second);
    return sum.has_value();
  }

  /// The lanes that differ in this bit read the same, as those do that differ in bits we have.
  bool copyLane(std::int32_t bit) {
    Vectors have;
    for (const std::int32_t other : read_) have.push_back(elementRead(other));
    const auto sum = solve(have, wantedRegisters_, {}, threadColumn(wanted_, bit));
    if (!sum) return false;
    Bits thread = 0, fromOffset = 0;
    for (std::size_t i = 0; i < read_.size(); ++i) {
      if ((sum->first >> i & 1) == 0) continue;
      thread ^= movement_.threads[static_cast<std::size_t>(read_[i])];
      fromOffset ^= movement_.fromOffset[static_cast<std::size_t>(read_[i])];
    }
    const auto at = static_cast<std::size_t>(bit);
    movement_.threads[at] = thread;
    movement_.fromOffset[at] = fromOffset;
    movement_.wantedOffset[at] = sum->second;
    return true;
  }

  Bits elementRead(std::int32_t bit) const {
    const auto at = static_cast<std::size_t>(bit);
    return from_.apply(movement_.fromOffset[at] | movement_.threads[at] << registerBits_);
  }

  /// The lane reads a lane that no combination of the others reads.
  bool moveLane(std::int32_t bit) {
    auto sum = solve(fromRegisters(), fromLanes(), wantedRegisters_, threadColumn(wanted_, bit));
    if (!sum) return false;
    if (readLanes_.contains(sum->second)) {
      const auto other = freeMove();
      if (!other) return false;
      *sum = {sum->first ^ other->first, sum->second ^ other->second, sum->third ^ other->third};
    }
    set(bit, sum->second, sum->first, sum->third);
    return true;
  }

  /// The lanes that differ in this bit read one lane, a register each: there are two shuffles then
  /// where there was one.
  bool splitLane(std::int32_t bit) {
    const Bits column = threadColumn(wanted_, bit);
    if (!moveRegister(column)) return false;
    wantedRegisters_.push_back(column);
    return copyLane(bit);
  }

  /// A change of place that changes no element, to a lane that nobody reads.
  std::optional<Sum> freeMove() const {
    Vectors all(fromRegisters());
    all.append(fromLanes().begin(), fromLanes().end());
    all.append(wantedRegisters_);
    const Bits registerMask = (Bits{1} << registerBits_) - 1;
    const Bits laneMask = (Bits{1} << movement_.laneBits) - 1;
    for (const Bits change : kernel(all)) {
      const Bits behind = change >> registerBits_;
      if (readLanes_.contains(behind & laneMask)) continue;
      return Sum{change & registerMask, behind & laneMask, behind >> movement_.laneBits};
    }
    return std::nullopt;
  }

  const LinearLayout &from_, &wanted_;
  std::int32_t registerBits_, threadBits_;
  Vectors wantedRegisters_; // columns; those of `wanted`, then those that splitting adds
  BitMovement movement_;
  llvm::SmallVector<std::int32_t, 8> read_; // thread bits whose threads are independent
  Subspace readLanes_;
};

/// A matrix as a sum of `steps[k]` wherever an odd number of `masks[k]`'s bits are set.
struct Rounds {
  Vectors steps, masks;
};

Rounds roundsOf(llvm::ArrayRef<Bits> columns) {
  Rounds rounds{.steps = extension({}, columns), .masks = {}};
  rounds.masks.assign(rounds.steps.size(), 0);
  const Subspace span(rounds.steps);
  for (std::size_t column = 0; column < columns.size(); ++column) {
    const Bits parts = *span.coordinates(columns[column]);
    for (std::size_t k = 0; k < rounds.masks.size(); ++k)
      rounds.masks[k] |= (parts >> k & 1) << column;
  }
  return rounds;
}

/// Of a map that is known at the threads that are read, its columns.
Vectors columnsOf(const BitMovement &movement) {
  Vectors basis, values;
  Subspace span;
  for (std::size_t bit = 0; bit < movement.threads.size(); ++bit)
    if (span.add(movement.threads[bit])) {
      basis.push_back(movement.threads[bit]);
      values.push_back(movement.fromOffset[bit]);
    }
  const auto units = unitVectors(static_cast<std::int32_t>(movement.threads.size()));
  basis.append(extension(basis, units)); // nobody reads those: 0
  values.resize(basis.size(), 0);
  const Subspace complete(basis);
  Vectors columns;
  for (const Bits unit : units) columns.push_back(multiply(values, *complete.coordinates(unit)));
  return columns;
}

std::int32_t indexOf(Bits number) { return static_cast<std::int32_t>(number); }

/// Writes the steps of a movement, and knows which register is where between them.
class ConversionWriter {
public:
  ConversionWriter(const BitMovement &movement, std::int32_t registerBits)
      : movement_(movement), registerBits_(registerBits) {}

  std::vector<ConversionStep> run(std::int32_t wantedBits) {
    const Vectors offsets = columnsOf(movement_);
    shuffle(select(registersToOffer(offsets), roundsOf(offsets)));
    std::vector<Bits> wanted(std::size_t{1} << wantedBits);
    std::iota(wanted.begin(), wanted.end(), 0);
    rename(select(wanted, roundsOf(movement_.wantedOffset)));
    return std::move(steps_);
  }

private:
  Bits registerPart(Bits place) const { return place & ((Bits{1} << registerBits_) - 1); }
  Bits lanePart(Bits place) const { return place >> registerBits_; }

  /// A·r for each wanted register.
  std::vector<Bits> registersToOffer(llvm::ArrayRef<Bits> offsets) const {
    std::vector<Bits> offered;
    for (Bits r = 0; r >> movement_.registers.size() == 0; ++r) {
      const Bits place = multiply(movement_.registers, r);
      offered.push_back(registerPart(place) ^ multiply(offsets, lanePart(place)));
    }
    return offered;
  }

  /// Where `wanted[i]`, moved by the rounds, is when their selects are done.
  std::vector<std::int32_t> select(const std::vector<Bits> &wanted, const Rounds &rounds) {
    // Backwards: what must be there in front of each round.
    std::vector<std::set<Bits>> needed{{wanted.begin(), wanted.end()}};
    for (const Bits step : llvm::reverse(rounds.steps)) {
      std::set<Bits> before = needed.back();
      for (const Bits r : needed.back()) before.insert(r ^ step);
      needed.push_back(std::move(before));
    }
    std::map<Bits, std::int32_t> places;
    for (Bits r = 0; r < count_; ++r) places[r] = indexOf(r);
    for (std::size_t k = 0; k < rounds.steps.size(); ++k) {
      SelectStep step{.threadMask = rounds.masks[k], .sources = {}, .others = {}};
      std::map<Bits, std::int32_t> next;
      for (const Bits r : needed[rounds.steps.size() - 1 - k]) {
        next[r] = static_cast<std::int32_t>(step.sources.size());
        step.sources.push_back(places.at(r));
        step.others.push_back(places.at(r ^ rounds.steps[k]));
      }
      count_ = next.size();
      steps_.emplace_back(std::move(step));
      places = std::move(next);
    }
    std::vector<std::int32_t> sources;
    for (const Bits r : wanted) sources.push_back(places.at(r));
    return sources;
  }

  void shuffle(const std::vector<std::int32_t> &sources) {
    ShuffleStep step{.sources = sources, .laneMasks = {}, .laneColumns = {}};
    const Bits laneMask = (Bits{1} << movement_.laneBits) - 1;
    step.isXor = true;
    for (std::size_t bit = 0; bit < movement_.threads.size(); ++bit) {
      const Bits lane = movement_.threads[bit] & laneMask;
      step.laneColumns.push_back(static_cast<std::uint32_t>(lane));
      step.isXor &= lane == (Bits{1} << bit & laneMask);
    }
    bool moves = !step.isXor;
    for (Bits r = 0; r < sources.size(); ++r) {
      const Bits lane = lanePart(multiply(movement_.registers, r));
      step.laneMasks.push_back(static_cast<std::uint32_t>(lane));
      moves |= lane != 0;
    }
    if (!moves) return rename(sources);
    count_ = sources.size();
    steps_.emplace_back(std::move(step));
  }

  void rename(const std::vector<std::int32_t> &sources) {
    const bool isInPlace = llvm::all_of(
        llvm::enumerate(sources), [](const auto &e) { return e.value() == indexOf(e.index()); });
    if (isInPlace && sources.size() == count_) return;
    count_ = sources.size();
    steps_.emplace_back(RenameStep{sources});
  }

  const BitMovement &movement_;
  std::int32_t registerBits_;
  std::size_t count_ = std::size_t{1} << registerBits_; // of registers behind the steps so far
  std::vector<ConversionStep> steps_;
};

/// Through shared memory a register is stored and loaded, both by address, and all warps wait for
/// each other twice. Beyond so many instructions per register that is less.
constexpr std::int64_t kMaxStepsPerRegister = 6;

ConversionKind kindOf(const std::vector<ConversionStep> &steps) {
  if (steps.empty()) return ConversionKind::None;
  const bool shuffles = llvm::any_of(
      steps, [](const ConversionStep &step) { return std::holds_alternative<ShuffleStep>(step); });
  return shuffles ? ConversionKind::Shuffles : ConversionKind::Registers;
}

} // namespace

std::optional<std::vector<ConversionStep>> planWithinWarps(const LinearLayout &from,
                                                           const LinearLayout &wanted) {
  IMBREX_CHECK(from.isOnThreads() && wanted.isOnThreads(), "a conversion between other places");
  for (const Dim dim : {Dim::Lane, Dim::Warp})
    IMBREX_CHECK(from.inputBits(dim) == wanted.inputBits(dim),
                 "a conversion between different threads: {0} has {1} and {2} bits", nameOf(dim),
                 from.inputBits(dim), wanted.inputBits(dim));
  IMBREX_CHECK(from.outputBits() == wanted.outputBits(),
               "a conversion between tiles of {0} and {1} bits", from.outputBits(),
               wanted.outputBits());
  const auto movement = MovementSearch(from, wanted).run();
  if (!movement) return std::nullopt;
  return ConversionWriter(*movement, from.inputBits(Dim::Register))
      .run(wanted.inputBits(Dim::Register));
}

ConversionPlan planConversion(const LinearLayout &from, const LinearLayout &wanted) {
  auto steps = planWithinWarps(from, wanted);
  if (!steps) return {};
  const StepCounts counts = countSteps(*steps);
  const std::int64_t registers = std::int64_t{1} << wanted.inputBits(Dim::Register);
  const ConversionKind kind = kindOf(*steps);
  const bool isDear = counts.shuffles + counts.selects > kMaxStepsPerRegister * registers;
  if (kind == ConversionKind::Shuffles && isDear) return {};
  return {.kind = kind, .steps = std::move(*steps)};
}

StepCounts countSteps(const std::vector<ConversionStep> &steps) {
  StepCounts counts;
  for (const ConversionStep &step : steps) {
    if (const auto *select = std::get_if<SelectStep>(&step))
      counts.selects += std::ssize(select->sources);
    if (const auto *shuffle = std::get_if<ShuffleStep>(&step))
      counts.shuffles += llvm::count_if(
          shuffle->laneMasks, [&](std::uint32_t mask) { return mask != 0 || !shuffle->isXor; });
  }
  return counts;
}

namespace {

/// The register bit that alone decides a bit of the output.
std::optional<std::int32_t> deciderOf(const LinearLayout &layout, Bits output) {
  const auto registers = layout.columns(Dim::Register);
  const auto touches = [&](Bits column) { return (column & output) != 0; };
  if (llvm::count_if(layout.columns(), touches) != 1) return std::nullopt;
  const auto *const found = llvm::find(registers, output);
  if (found == registers.end()) return std::nullopt;
  return static_cast<std::int32_t>(found - registers.begin());
}

} // namespace

std::vector<CommonRegister> commonRegisters(const LinearLayout &from, const LinearLayout &wanted) {
  std::vector<CommonRegister> all;
  for (std::int32_t bit = from.outputBits(); bit-- > 0;) {
    const Bits output = Bits{1} << bit;
    const auto before = deciderOf(from, output), behind = deciderOf(wanted, output);
    if (before && behind) all.push_back({output, *before, *behind});
  }
  return all;
}

std::optional<CommonRegister> wordRegister(const LinearLayout &from, const LinearLayout &wanted) {
  const std::vector<CommonRegister> all = commonRegisters(from, wanted);
  if (all.empty()) return std::nullopt;
  return *llvm::min_element(all, [](const auto &a, const auto &b) { return a.wanted < b.wanted; });
}

LinearLayout withoutCommonRegister(const LinearLayout &layout, Bits output, std::int32_t bit) {
  const auto place = static_cast<std::int32_t>(llvm::Log2_64(output));
  Sides outputs(layout.outputs()), inputs(layout.inputs());
  for (Side &side : outputs) {
    const std::int32_t first = layout.outputShift(side.dim);
    if (first <= place && place < first + side.bits) {
      --side.bits;
      break;
    }
  }
  for (Side &side : inputs) side.bits -= side.dim == Dim::Register ? 1 : 0;
  Vectors columns(layout.columns());
  columns.erase(columns.begin() + layout.inputShift(Dim::Register) + bit);
  for (Bits &column : columns) column = (column & (output - 1)) | (column >> (place + 1) << place);
  return {inputs, outputs, columns};
}

std::string toText(const ConversionPlan &plan) {
  const StepCounts counts = countSteps(plan.steps);
  const std::string selects =
      counts.selects == 0 ? "" : ", " + std::to_string(counts.selects) + " selects";
  switch (plan.kind) {
  case ConversionKind::None: return "nothing to do";
  case ConversionKind::Registers: return "registers of the thread" + selects;
  case ConversionKind::Shuffles: return std::to_string(counts.shuffles) + " shuffles" + selects;
  case ConversionKind::Shared: return "through shared memory";
  }
  IMBREX_UNREACHABLE("conversion kind");
}

} // namespace imbrex::layout
