#pragma once

#include "backend/emulate/emulate.h"
#include "backend/machine/mma.h"

#include <functional>
#include <random>
#include <string>
#include <vector>

/// Kernels of one warp that call every matrix instruction of a machine once, and their data.
namespace imbrex {

/// The operands of one instruction as numbers, by row and then by column.
struct Operands {
  std::vector<double> a, b, c;
  std::vector<double> scaleA, scaleB; ///< By row and block; by block and column.

  double scaledA(const machine::MmaInstruction &x, int i, int k) const;
  double scaledB(const machine::MmaInstruction &x, int k, int j) const;
};

/// A number for an operand of an element type; `isSum`: for c.
using NumberOf = std::function<double(std::mt19937 &, machine::MatrixElement, bool isSum)>;
/// Whole numbers whose sums every type of sums has.
double smallInteger(std::mt19937 &random, machine::MatrixElement element, bool isSum);
/// Any that the type has, of about the same size.
double anyNumber(std::mt19937 &random, machine::MatrixElement element, bool isSum);

/// Rounded to the nearest number of the type; of the small formats, whose numbers are between 1 and
/// 4, cut to two bits.
double toElement(machine::MatrixElement element, double number);

class MatrixLaunch {
public:
  MatrixLaunch(const std::string &machineName, std::uint32_t seed, const NumberOf &number);

  const std::vector<const machine::MmaInstruction *> &rows() const { return rows_; }
  const Operands &operandsOf(std::size_t row) const { return operands_[row]; }
  /// What a lane has of A, of every instruction, the one before it has.
  void rotateLanes();
  /// Runs the kernel, and gives what is reported.
  std::string run(std::uint64_t seed, emulate::Numerics numerics,
                  emulate::Counters *counters = nullptr);
  /// Of the last run, by row and column.
  std::vector<double> sumsOf(std::size_t row) const;

private:
  std::uint32_t *wordsOf(std::size_t row, int lane);
  void layOut(std::size_t row, machine::MmaOperand operand, const std::vector<double> &numbers);

  std::string machine_, text_;
  int lanes_;
  std::vector<const machine::MmaInstruction *> rows_;
  std::vector<Operands> operands_;
  std::vector<std::uint32_t> in_, out_;
};

} // namespace imbrex
