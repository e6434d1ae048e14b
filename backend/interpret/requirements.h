#pragma once

#include "backend/ir/argument.h"
#include "backend/ir/kernel.h"
#include "backend/support/diagnostics.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"

#include <optional>
#include <string>
#include <vector>

/// What a kernel requires of its launches, ready to be tested at each of them: by the same
/// arithmetic as everything else (docs/semantics.md), and without an allocation.
namespace imbrex::interpret {

class Requirements {
public:
  /// Of a kernel that passes the verifier.
  explicit Requirements(const ir::Kernel &kernel);

  bool empty() const { return tests_.empty(); }
  /// The first that a launch with these arguments does not keep, told at `where`, or, where that is
  /// not known, at its own line.
  std::optional<Diagnostic> unmet(llvm::ArrayRef<ir::Argument> arguments, Location where) const;

private:
  /// One value that is computed from those before it.
  struct Step {
    ir::OpKind kind = ir::OpKind::Constant;
    ir::ElementKind from = ir::ElementKind::Bool; // of the operands
    ir::ElementKind to = ir::ElementKind::Bool;
    ir::Rounding rounding = ir::Rounding::NearestEven;
    llvm::SmallVector<std::size_t, 3> operands = {}; // steps
    std::size_t parameter = 0;                       // of what the launch gives
    std::size_t axis = 0;
    std::uint64_t bits = 0; // of a constant
  };
  /// What the launch gives, and its name for the error.
  struct LaunchValue {
    std::string name;
    ir::Type type;
    std::size_t step;
  };
  struct Test {
    std::size_t condition; // a step
    std::string text;
    std::string written;
    Location where;
    std::vector<LaunchValue> given;
  };
  class Maker;
  static constexpr unsigned kUsualSteps = 64;

  std::uint64_t computed(const Step &step, llvm::ArrayRef<std::uint64_t> values,
                         llvm::ArrayRef<ir::Argument> arguments) const;

  std::string kernel_;
  std::vector<Step> steps_;
  std::vector<Test> tests_;
};

} // namespace imbrex::interpret
