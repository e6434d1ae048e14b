#include "backend/emulate/model/matrix_product.h"

#include "backend/emulate/model/matrix_sums.h"

namespace imbrex::emulate {

using machine::MatrixElement;
using machine::MmaOperand;

namespace {

/// Bits of a lane's registers from one on: up to 64, and not across words but where a word begins.
std::uint64_t bitsAt(const std::uint32_t *words, std::int32_t first, std::int32_t count) {
  const std::uint32_t *word = words + first / 32;
  if (count == 64) return word[0] | std::uint64_t{word[1]} << 32;
  return std::uint64_t{*word} >> first % 32 & ((std::uint64_t{1} << count) - 1);
}

void setBits(std::uint32_t *words, std::int32_t first, std::int32_t count, std::uint64_t bits) {
  std::uint32_t *word = words + first / 32;
  if (count == 64) word[1] = static_cast<std::uint32_t>(bits >> 32);
  const std::uint64_t mask = count == 64 ? ~0u : (std::uint64_t{1} << count) - 1;
  *word &= static_cast<std::uint32_t>(~(mask << first % 32));
  *word |= static_cast<std::uint32_t>((bits & mask) << first % 32);
}

/// The bits of a matrix, and which lane has brought them.
struct Gathered {
  std::vector<std::uint64_t> bits;
  std::vector<std::int32_t> lanes;
};

/// `isTransposed`: by column.
struct Order {
  std::int32_t rows, columns;
  bool isTransposed = false;
  std::size_t operator()(MatrixPlace at) const {
    return static_cast<std::size_t>(isTransposed ? at.column * rows + at.row
                                                 : at.row * columns + at.column);
  }
};

struct OperandSource {
  MmaOperand operand;
  MatrixElement element;
  const Fragment &fragment;
  Order order;
};

std::optional<LaneFault> gather(WarpWords words, const OperandSource &from, Gathered &to) {
  const auto count = static_cast<std::size_t>(from.order.rows * from.order.columns);
  to.bits.assign(count, 0);
  to.lanes.assign(count, -1);
  std::optional<LaneFault> fault;
  for (std::int32_t lane = 0; lane < static_cast<std::int32_t>(words.size()); ++lane) {
    const std::uint32_t *own = words[static_cast<std::size_t>(lane)]->data() + wordOf(from.operand);
    for (std::int32_t i = 0; i < from.fragment.elements; ++i) {
      const std::size_t at = from.order(from.fragment.at(lane, i));
      const std::uint64_t bits =
          bitsAt(own, i * from.fragment.stride + from.fragment.firstBit, bitsOf(from.element));
      if (to.lanes[at] >= 0 && to.bits[at] != bits && !fault)
        fault =
            LaneFault{static_cast<std::uint32_t>(lane), static_cast<std::uint32_t>(to.lanes[at])};
      to.bits[at] = bits;
      to.lanes[at] = lane;
    }
  }
  return fault;
}

std::vector<double> numbersOf(const Gathered &gathered, MatrixElement element,
                              const MatrixSums &sums) {
  std::vector<double> numbers;
  numbers.reserve(gathered.bits.size());
  for (const std::uint64_t bits : gathered.bits) numbers.push_back(sums.taken(element, bits));
  return numbers;
}

} // namespace

MatrixProduct::MatrixProduct(const machine::Machine &machine,
                             const machine::MmaInstruction &instruction, ScaleSelectors ofA,
                             ScaleSelectors ofB)
    : instruction_(instruction), a_(vendorFragment(machine, instruction, MmaOperand::A)),
      b_(vendorFragment(machine, instruction, MmaOperand::B)),
      sums_(vendorFragment(machine, instruction, MmaOperand::Sums)) {
  if (!instruction.isScaled()) return;
  scalesOfA_ = scalesOf(machine, MmaOperand::ScaleA, ofA);
  scalesOfB_ = scalesOf(machine, MmaOperand::ScaleB, ofB);
}

MatrixProduct::Scales MatrixProduct::scalesOf(const machine::Machine &machine, MmaOperand operand,
                                              ScaleSelectors selectors) const {
  Scales scales;
  const std::int32_t outer = operand == MmaOperand::ScaleA ? instruction_.m : instruction_.n;
  for (std::int32_t i = 0; i < outer; ++i)
    for (std::int32_t block = 0; block < instruction_.k / instruction_.scale.k; ++block)
      scales.push_back(vendorScale(machine, instruction_, operand, selectors, i, block));
  return scales;
}

double MatrixProduct::scaleAt(WarpWords words, MmaOperand operand, std::size_t outer,
                              std::size_t k) const {
  const auto ofBlock = static_cast<std::size_t>(instruction_.scale.k);
  const std::size_t blocks = static_cast<std::size_t>(instruction_.k) / ofBlock;
  const Scales &scales = operand == MmaOperand::ScaleA ? scalesOfA_ : scalesOfB_;
  const ScalePlace at = scales[outer * blocks + k / ofBlock];
  const std::uint32_t *own = words[static_cast<std::size_t>(at.lane)]->data() + wordOf(operand);
  std::uint64_t bits = bitsAt(own, 8 * at.byte, 8);
  if (instruction_.scale.element == MatrixElement::F8E4M3FN) bits &= 0x7f; // it has no sign
  return numberOf(instruction_.scale.element, bits);
}

std::optional<LaneFault> MatrixProduct::operator()(WarpWords words,
                                                   const SeededNumerics &numerics) const {
  const machine::MmaInstruction &x = instruction_;
  const OperandSource ofA{MmaOperand::A, x.a, a_, {x.m, x.k}};
  const OperandSource ofB{MmaOperand::B, x.b, b_, {x.k, x.n, true}};
  const OperandSource ofSums{MmaOperand::Sums, x.sums, sums_, {x.m, x.n}};
  Gathered a, b, c;
  for (const auto &[source, gathered] : {std::pair(&ofA, &a), {&ofB, &b}, {&ofSums, &c}})
    if (const auto fault = gather(words, *source, *gathered)) return fault;

  const MatrixSums sums(x, numerics);
  std::vector<double> left = numbersOf(a, x.a, sums), right = numbersOf(b, x.b, sums);
  const std::vector<double> addends = numbersOf(c, x.sums, sums);
  const auto depth = static_cast<std::size_t>(x.k);
  if (x.isScaled()) {
    for (std::size_t i = 0; i < left.size(); ++i)
      left[i] *= scaleAt(words, MmaOperand::ScaleA, i / depth, i % depth);
    for (std::size_t i = 0; i < right.size(); ++i)
      right[i] *= scaleAt(words, MmaOperand::ScaleB, i / depth, i % depth);
  }
  const auto rowOf = [&](const std::vector<double> &numbers, std::int32_t row) {
    return llvm::ArrayRef(numbers).slice(static_cast<std::size_t>(row) * depth, depth);
  };
  for (std::int32_t lane = 0; lane < static_cast<std::int32_t>(words.size()); ++lane) {
    std::uint32_t *own = words[static_cast<std::size_t>(lane)]->data() + wordOf(MmaOperand::Sums);
    for (std::int32_t i = 0; i < sums_.elements; ++i) {
      const MatrixPlace at = sums_.at(lane, i);
      const double sum =
          sums.sum(rowOf(left, at.row), rowOf(right, at.column), addends[ofSums.order(at)]);
      setBits(own, i * sums_.stride, machine::bitsOf(x.sums), bitsOf(x.sums, sum));
    }
  }
  return std::nullopt;
}

} // namespace imbrex::emulate
