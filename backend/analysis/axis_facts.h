#pragma once

#include "backend/analysis/axis_info.h"

#include <optional>

/// How each op passes facts on: the rules behind axis_info.h, pure and one axis at a time.
namespace imbrex::analysis::facts {

inline constexpr std::int64_t kMost = AxisAnalysis::kMost;

/// An operand along one axis.
struct OperandFacts {
  ir::Type type;
  AxisFacts facts;
  std::optional<std::int64_t> constant;
  bool isNeverNegative = false;
};

AxisInfo unknown(const ir::Shape &shape);
AxisInfo ofScalar(std::int64_t divisibility);

/// The largest power of two that divides a number, kMost at most; of 0: kMost.
std::int64_t divisorOf(std::int64_t number);
/// The group that is a whole axis.
std::int64_t groupOf(const ir::Shape &shape, std::int32_t axis);
/// What divides the product of two numbers, of which the first is a power of two.
std::int64_t product(std::int64_t a, std::int64_t b);
/// How many elements so many bytes hold; 1 at least.
std::int64_t elementsIn(std::int64_t bytes, const ir::Type &memory);

/// What divides every value of a tile.
std::int64_t everywhere(const AxisInfo &info, const ir::Type &type);
/// What two tiles of one type have in common.
AxisInfo meet(const AxisInfo &a, const AxisInfo &b, const ir::Type &type);

AxisFacts elementwise(ir::OpKind kind, const ir::Type &result,
                      llvm::ArrayRef<OperandFacts> operands);
AxisInfo arange(const ir::ArangeAttrs &attrs, const ir::Shape &shape);
AxisInfo broadcast(const AxisInfo &info, const ir::Shape &from, const ir::Shape &to);
AxisInfo reshape(const AxisInfo &info, const ir::Type &from, const ir::Shape &to);
AxisInfo permute(const AxisInfo &info, llvm::ArrayRef<std::int64_t> order);

} // namespace imbrex::analysis::facts
