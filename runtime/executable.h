#pragma once

#include "backend/emulate/options.h"
#include "backend/ir/argument.h"
#include "backend/ir/kernel.h"
#include "backend/support/diagnostics.h"
#include "backend/support/float_state.h"
#include "imbrex/device.hpp"
#include "llvm/ADT/ArrayRef.h"

#include <memory>

namespace imbrex::gpu {
class RepeatableLaunch;
}

namespace imbrex::runtime {

/// How long a kernel takes on a GPU, by its own clock and without the copies around it.
struct DeviceTime {
  std::int32_t launches = 1; ///< To be made, one after the other, instead of one.
  double milliseconds = 0;   ///< That one took.
};

/// How a run is made where there is a choice.
struct RunOptions {
  emulate::EmulatorOptions emulated = {};
  DeviceTime *time = nullptr; ///< A GPU: filled with how long it took.
  /// A GPU: the caller's own, of its vendor, in which the launch is put and not waited for; null:
  /// the default one, in which what is to be copied is copied.
  void *stream = nullptr;
  gpu::RepeatableLaunch *repeatable = nullptr; ///< A GPU: filled where the launch can be repeated.
  Location where = {};                         ///< For an error of the launch itself.
};

/// A kernel made ready for one device. Immutable; any number of threads may run it at once.
class Executable {
public:
  virtual ~Executable() = default;
  /// Run the grid's blocks and return when all have ended; false, and an error reported, where one
  /// could not.
  bool run(const ir::Grid &grid, llvm::ArrayRef<ir::Argument> arguments, Diagnostics &diagnostics,
           const RunOptions &options = {}) const {
    const DefaultFloatState state;
    return execute(grid, arguments, diagnostics, options);
  }

private:
  virtual bool execute(const ir::Grid &grid, llvm::ArrayRef<ir::Argument> arguments,
                       Diagnostics &diagnostics, const RunOptions &options) const = 0;
};

/// Compile a kernel, of either stage, for a device. Null, and errors reported, where it can't be.
///
/// The code is for what most launches keep; one that does not has to wait for its own. Where it is
/// known what will be launched, `launch` has its arguments: the code is for that one, and the usual
/// code is not made before a launch wants it.
std::shared_ptr<const Executable> makeExecutable(const ir::Kernel &kernel, device on,
                                                 Diagnostics &diagnostics,
                                                 llvm::ArrayRef<ir::Argument> launch = {});

/// The same, but a kernel whose text was seen before for this device is not compiled again. Places
/// are part of the text, because the errors of a run name them.
std::shared_ptr<const Executable> cachedExecutable(const ir::Kernel &kernel, device on,
                                                   Diagnostics &diagnostics,
                                                   llvm::ArrayRef<ir::Argument> launch = {});

} // namespace imbrex::runtime
