#pragma once

#include "backend/ir/kernel.h"

#include <cstdint>
#include <map>
#include <vector>

namespace imbrex::passes::pipeline {

/// Which values are computed in the same way from the same: numbers, equal only for values that are
/// equal wherever both are there, though each role computes its own.
///
/// An op is known by its kind, its attributes and the numbers of its operands. The index of a loop
/// is what whoever reads the loops says of it (`setIndex`). All else has a number of its own.
class SameValues {
public:
  using Number = std::uint32_t;

  explicit SameValues(const ir::Kernel &kernel) : kernel_(kernel) {}

  Number operator()(ir::ValueId value);

  /// Indices of loops over the same numbers, which these stand for, are the same.
  void setIndex(ir::ValueId index, std::uint32_t loop);

private:
  struct Expression {
    ir::OpKind kind;
    ir::Attributes attributes;
    std::vector<Number> operands;
    std::uint32_t result;
    bool operator==(const Expression &) const = default;
  };

  const ir::Kernel &kernel_;
  std::map<ir::ValueId, Number> numbers_;
  std::map<std::uint32_t, Number> indices_; // by loop
  std::vector<std::pair<Expression, Number>> expressions_;
  Number next_ = 0;
};

} // namespace imbrex::passes::pipeline
