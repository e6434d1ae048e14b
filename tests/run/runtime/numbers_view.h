#pragma once

#include "backend/ir/argument.h"

#include <cstddef>
#include <cstdint>

namespace imbrex::testing {

/// The argument for a view of one axis.
inline ir::Argument viewOf(float *data, std::int64_t count, std::int64_t stride = 1) {
  ir::Argument argument;
  argument.data = reinterpret_cast<std::byte *>(data);
  argument.bytes = ((count - 1) * stride + 1) * static_cast<std::int64_t>(sizeof(float));
  argument.extents[0] = count;
  argument.strides[0] = stride;
  return argument;
}

} // namespace imbrex::testing
