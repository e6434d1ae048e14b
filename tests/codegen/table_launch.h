#pragma once

#include "runtime/executable.h"
#include "tests/codegen/kernel_table.h"
#include "tools/imbrex/arguments.h"

#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace imbrex::testing {

/// The memory of one launch of a kernel of the table; two of them start equal.
class TableLaunch {
public:
  explicit TableLaunch(const TableKernel &of);

  std::vector<ir::Argument> arguments() const;
  bool operator==(const TableLaunch &other) const;
  /// An argument of which two launches leave something else: of f32 and f64 further apart than sums
  /// in another order may be. Empty where there is none.
  std::string difference(const TableLaunch &other) const;

  /// An array: a parameter's, or what a pointer of a table leads to.
  struct Piece {
    std::string name; ///< `x`, `xs[3]`.
    ir::ElementKind element;
    ir::Argument argument;
    std::int32_t parameter;
  };
  /// Those of a parameter and of the next come one behind the other.
  std::vector<Piece> pieces() const;

private:
  const TableKernel &of_;
  std::vector<tool::BoundArgument> bound_;
};

/// A kernel of the table, compiled for the device of this name; a failure of the test where it
/// cannot be.
std::shared_ptr<const runtime::Executable> executableOn(const std::string &device,
                                                        const TableKernel &one);

/// What a run reports; empty when all went well.
std::string run(const runtime::Executable &executable, const TableKernel &one, TableLaunch &launch,
                const runtime::RunOptions &options = {});

/// What a comparison with the interpreter asks for.
struct Comparison {
  /// Fills what arguments cannot say, of each launch alike; empty: nothing.
  std::function<void(const TableLaunch &launch)> prepare = {};
  /// Whether results are the interpreter's also where units add up as badly as they may.
  bool agreesAtWorst = true;
};

/// Whether an emulated device (a name of a GPU) computes what the interpreter does, exactly and as
/// badly as it may; a failure of the test where it does not.
void checkAsInterpreter(const TableKernel &one, const std::string &machine,
                        const Comparison &how = {});

/// Whether the host and every kind of emulated machine with units leave the bits that the
/// interpreter does, also where units add up as badly as they may; a failure of the test where one
/// does not. Floats are small integers, whose sums are exact in any order.
void checkBitForBit(const TableKernel &one);

/// A launch of a kernel, as it is or as a pass has left it, in the interpreter; a failure of the
/// test where that reports something.
void runInterpreter(const ir::Kernel &kernel, const TableKernel &one, TableLaunch &launch);

} // namespace imbrex::testing
