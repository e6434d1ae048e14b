#pragma once

#include "backend/ir/attributes.h"
#include "runtime/aot/driver/gpu.h"

namespace imbrex::gpu {

/// What launches of a kernel ask of the driver.
inline driver::LaunchAttributes launchAttributesOf(const ir::KernelAttrs &asked) {
  driver::LaunchAttributes attributes{.isCooperative = asked.cooperative,
                                      .isProgrammatic = asked.programmatic};
  for (std::size_t axis = 0; axis < asked.cluster.size(); ++axis)
    attributes.cluster[axis] = static_cast<std::int32_t>(asked.cluster[axis]);
  return attributes;
}

} // namespace imbrex::gpu
