#pragma once

#include "backend/target/gpu_target.h"

#include <doctest/doctest.h>

namespace imbrex::testing {

/// Whether images for a machine can be made here. Where its assembler is not found, a line says
/// that something is skipped, and why.
///
/// A test whose result depends on this is in the suite "toolkit", so that it runs with and without
/// (cmake/ImbrexTest.cmake).
inline bool canAssemble(const target::GpuTarget &target) {
  const auto made = target.objectOf(""); // which some assemblers take, and some do not
  if (made || made.error().kind != Diag::NoAssembler) return true;
  MESSAGE("SKIP: " << made.error().message);
  return false;
}

} // namespace imbrex::testing
