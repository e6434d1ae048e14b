#pragma once

#include "imbrex/device.hpp"
#include "llvm/ADT/ArrayRef.h"
#include "tools/imbrex/arguments.h"

#include <vector>

namespace imbrex::tool {

/// An array to write after the run.
struct Output {
  const BoundArgument *array;
  std::string path;
};

struct RequestedLaunch {
  device on;
  ir::Grid grid;
  std::uint64_t seed;                   ///< Of the order of warps on an emulated device.
  std::vector<BoundArgument> arguments; ///< In the order of the parameters.
  std::vector<Output> outputs;
};

/// `64`, `16,4`, `8,4,2`.
Result<ir::Grid> parseGrid(std::string_view text);
/// One `name=value` for each parameter, in any order.
Result<std::vector<BoundArgument>> bindArguments(const ir::Kernel &kernel,
                                                 llvm::ArrayRef<std::string> texts);
/// `name=@file.npy`, of a table `name[3]=@file.npy`. The arguments must outlive what is given.
Result<std::vector<Output>> parseOutputs(const ir::Kernel &kernel,
                                         llvm::ArrayRef<BoundArgument> arguments,
                                         llvm::ArrayRef<std::string> texts);

} // namespace imbrex::tool
