#pragma once

#include "backend/ir/builder.h"
#include "backend/machine/machine.h"

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

/// A product on a matrix unit, taken apart along k: what one part of k is made of.
namespace imbrex::passes::pipeline {

/// A product of a loop that sums up from trip to trip.
struct SummedProduct {
  ir::Op *loop = nullptr;
  ir::Op *dot = nullptr;
  std::size_t sums = 0; ///< Among what the loop carries.
};

/// What adds to a carried value of the loop, which nobody else looks at, and may be cut along k.
std::optional<SummedProduct> summedProduct(const ir::Kernel &kernel,
                                           const machine::Machine &machine, ir::Op &loop,
                                           ir::Op &op, const std::vector<std::int32_t> &uses);

/// Whether the loop's body takes the slot in which a tile lies.
bool isTakenIn(const ir::Kernel &kernel, const ir::Op &loop, ir::ValueId tile);

/// Whether so many of k make equal parts of at least so many each, which can be cut off in a slot.
bool makesParts(std::int64_t depth, std::int64_t parts, std::int64_t least);

/// Of a product's k, the fewest that can be cut off: an instruction's, or as many as an order of k
/// mixes.
std::int64_t leastPart(const ir::Kernel &kernel, const machine::Machine &machine,
                       const ir::Op &dot);
/// 32-bit registers of a thread for the fragments of so many of k.
std::int64_t fragmentRegisters(const ir::Kernel &kernel, const machine::Machine &machine,
                               const ir::Op &dot, std::int64_t depth);
/// For what goes from trip to trip of a loop.
std::int64_t carriedRegisters(const ir::Kernel &kernel, const ir::Op &loop);

/// Writes parts of a product.
class ProductParts {
public:
  ProductParts(ir::Kernel &kernel, const machine::Machine &machine, const ir::Op &dot)
      : kernel_(kernel), machine_(machine), dot_(dot) {}

  /// Of k from `first` on, so many, a power of two: where they lie in the operand's slot; as
  /// fragments; and multiplied.
  ir::ValueId slice(ir::Builder &to, std::size_t operand, std::int64_t first,
                    std::int64_t depth) const;
  ir::ValueId load(ir::Builder &to, std::size_t operand, std::int64_t first,
                   std::int64_t depth) const;
  ir::ValueId multiply(ir::Builder &to, const std::array<ir::ValueId, 2> &operands,
                       std::int64_t depth, ir::ValueId sums) const;

private:
  ir::Kernel &kernel_;
  const machine::Machine &machine_;
  const ir::Op &dot_;
};

} // namespace imbrex::passes::pipeline
