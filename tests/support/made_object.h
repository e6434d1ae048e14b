#pragma once

#include "backend/assembly.h"

namespace imbrex {

/// The image of a kernel, by way of its assembly.
inline Result<target::ObjectCode> makeObject(const GpuCode &code, const target::GpuTarget &target) {
  const auto assembly = makeAssembly(code, target);
  if (!assembly) return assembly.failure();
  return makeObject(*assembly, target);
}

} // namespace imbrex
