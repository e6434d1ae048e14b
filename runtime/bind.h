#pragma once

#include "backend/ir/argument.h"
#include "backend/ir/kernel.h"
#include "backend/support/diagnostics.h"
#include "imbrex/detail/argument.hpp"
#include "imbrex/device.hpp"
#include "imbrex/grid.hpp"
#include "llvm/ADT/SmallVector.h"

#include <optional>
#include <string>
#include <vector>

/// From the arguments of a launch to what an executor takes, every one checked against its
/// parameter.
namespace imbrex::runtime {

struct Parameter {
  std::string name;
  ir::Type type;
};
using Parameters = std::vector<Parameter>;
Parameters parametersOf(const ir::Kernel &kernel);

/// What a check needs to know besides the argument.
struct LaunchContext {
  const Parameters &parameters;
  device on;
  Location where;
};

/// A launch that is ready to run. It allocates nothing for up to kUsualArguments arguments, but for
/// tables.
class BoundLaunch {
public:
  /// The first thing that is wrong with an argument, if something is.
  std::optional<Diagnostic> bind(const LaunchContext &context,
                                 detail::list<detail::launch_argument> arguments);
  /// The same of the grid.
  std::optional<Diagnostic> bind(const imbrex::grid &blocks, Location where);

  bool isEmpty() const { return grid_.blocks() == 0; }
  const ir::Grid &grid() const { return grid_; }
  llvm::ArrayRef<ir::Argument> arguments() const { return arguments_; }

private:
  static constexpr unsigned kUsualArguments = 32;

  ir::Grid grid_;
  std::vector<ir::PointerTable> tables_;
  llvm::SmallVector<ir::Argument, kUsualArguments> arguments_;
};

} // namespace imbrex::runtime
