#pragma once

#include "backend/ir/argument.h"
#include "backend/ir/kernel.h"
#include "backend/support/diagnostics.h"

#include <functional>
#include <optional>
#include <string>
#include <vector>

/// docs/semantics.md as data: kernels with what their arguments hold before and must hold after.
/// Every executor answers the same questions; which one is asked is a parameter.
namespace imbrex::semantics {

/// Elements of one kind, row-major, as bits.
struct Tile {
  ir::ElementKind element = ir::ElementKind::Bool;
  ir::Shape shape;
  std::vector<std::uint64_t> bits;
};

/// A tile of numbers, each of which the element must hold exactly (NaN: the canonical one).
Tile tile(ir::ElementKind element, const ir::Shape &shape, const std::vector<double> &numbers);
Tile scalar(ir::ElementKind element, double number);
std::uint64_t bitsOf(ir::ElementKind element, double number);

/// What a parameter is given: a scalar its only element, a pointer or a view the packed elements, a
/// table a pointer to each row of them.
struct CaseArgument {
  Tile before;
  std::optional<Tile> after = std::nullopt; // none: nothing may change
  std::vector<std::int64_t> strides = {};   // of a view; none: row-major
};

struct Case {
  std::string name;
  std::string text; // of the kernel
  std::vector<CaseArgument> arguments;
  ir::Grid grid = {};
  /// Of an op that is not exact: how far an element may be off, in parts of the largest expected.
  double tolerance = 0;
};

/// One op applied to tiles: a case whose kernel is made from it.
struct OpCase {
  std::string name;
  std::string op;         // the mnemonic
  std::string attributes; // `[axis = 1]`
  std::vector<Tile> inputs;
  std::vector<Tile> outputs;
  std::string regions = {};
  double tolerance = 0;
};
Case toCase(const OpCase &op);
std::vector<Case> toCases(const std::vector<OpCase> &ops);

/// One elementwise op on many rows of operands, spread over a grid.
struct ElementwiseCase {
  std::string op;
  std::vector<ir::ElementKind> operands;
  ir::ElementKind result;
  std::vector<std::vector<std::uint64_t>> rows; // operands, then the result
  std::string attributes = {};
};
Case toCase(const ElementwiseCase &op);

/// Runs a kernel as interpret::run does.
using Executor = std::function<bool(const ir::Kernel &, const ir::Grid &,
                                    llvm::ArrayRef<ir::Argument>, Diagnostics &)>;

/// What went wrong; empty when the executor gives what the case expects. Any NaN stands for any.
std::string runCase(const Case &question, const Executor &executor);

/// The kernel of a case; the tests of coverage look into it.
ir::Kernel kernelOf(const Case &question);

// The tables, by topic.
std::vector<Case> integerCases();    // every pair of i8 and u8, corners of the wider ones
std::vector<Case> floatCases();      // arithmetic, comparison, NaN and -0
std::vector<Case> conversionCases(); // all pairs of elements
std::vector<Case> elementaryCases(); // exp, sin, …: the functions of backend/math
std::vector<Case> shapeCases();
std::vector<Case> rowCases();     // what is computed of a row at a time
std::vector<Case> axisCases();    // reduce, scan, sort, histogram, gather
std::vector<Case> productCases(); // dot and dot_scaled
std::vector<Case> randomCases();
std::vector<Case> memoryCases();
std::vector<Case> controlCases();
std::vector<Case> variableCases(); // at stage traced
std::vector<Case> allCases();

} // namespace imbrex::semantics
