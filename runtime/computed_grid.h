#pragma once

#include "backend/ir/argument.h"
#include "backend/support/result.h"
#include "imbrex/grid.hpp"
#include "imbrex/trace.hpp"
#include "runtime/executable.h"

#include <atomic>
#include <mutex>

namespace imbrex::runtime {

/// The grid that a kernel computes itself from the arguments of a launch (imbrex/blocks.hpp), on
/// the host wherever the launch runs. Any number of threads may ask.
class ComputedGrid {
public:
  explicit ComputedGrid(traced_kernel blocks) : kernel_(std::move(blocks)) {}

  Result<imbrex::grid> of(llvm::ArrayRef<ir::Argument> arguments);

private:
  traced_kernel kernel_;
  std::mutex mutex_; // of `owned_`
  std::shared_ptr<const Executable> owned_;
  std::atomic<const Executable *> ready_ = nullptr;
};

} // namespace imbrex::runtime
