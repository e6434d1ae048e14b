#pragma once

#include "backend/emulate/model/numerics.h"
#include "backend/machine/mma.h"

#include <cstdint>
#include <vector>

namespace imbrex::emulate {

/// The number that an element's bits stand for: of a tf32 without the bits that the unit drops.
double numberOf(machine::MatrixElement element, std::uint64_t bits);
/// The bits of a number that the element type has.
std::uint64_t bitsOf(machine::MatrixElement element, double number);

/// How the unit adds the products of one instruction to a sum.
class MatrixSums {
public:
  MatrixSums(const machine::MmaInstruction &instruction, const SeededNumerics &numerics);

  /// The number that the unit takes an operand, or the sum so far, for.
  double taken(machine::MatrixElement element, std::uint64_t bits) const;
  /// Σ a b + c, in the type of the sums. As many of a and of b as the instruction is deep.
  double sum(llvm::ArrayRef<double> a, llvm::ArrayRef<double> b, double c) const;

private:
  double narrowed(double number) const;
  double flushed(machine::MatrixElement element, double number) const;
  double toF32(double number) const;
  double chained(llvm::ArrayRef<double> a, llvm::ArrayRef<double> b, double c) const;
  double stepwise(llvm::ArrayRef<double> products, double c) const;
  double pairwise(llvm::ArrayRef<double> products, double c) const;
  double aligned(llvm::ArrayRef<double> products, double c) const;

  machine::MatrixElement sums_;
  machine::SumRules rules_;
  bool isAdversarial_;
  std::vector<std::size_t> order_; ///< In which k comes.
  bool cuts_ = false;              ///< Where it rounds, and the vendor does not say how.
  bool roundsTf32_ = false;
};

} // namespace imbrex::emulate
