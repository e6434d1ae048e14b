#include "runtime/aot/refused_launch.h"

#include "imbrex/aot.h"
#include "runtime/aot/error.h"

#include <new>

namespace imbrex::aot {

int refusedLaunch(const KernelRow &kernel, const driver::Gpu &gpu, const driver::Launch &launch,
                  int error) noexcept {
  try {
    return fail(IMBREX_REFUSED, "%s refuses the launch of '%s' with %d x %d x %d blocks of %d: %s",
                gpu.description().c_str(), kernel.name, launch.grid[0], launch.grid[1],
                launch.grid[2], launch.threads, gpu.textOf(error).c_str());
  } catch (const std::bad_alloc &) {
    return fail(IMBREX_REFUSED, "the launch of '%s' is refused: error %d", kernel.name, error);
  }
}

} // namespace imbrex::aot
