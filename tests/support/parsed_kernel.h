#pragma once

#include "backend/ir/text.h"

#include <doctest/doctest.h>

namespace imbrex::testing {

/// The kernel of a text, whose lines are those of "k.imx".
inline ir::Kernel parsedKernel(std::string_view text) {
  Diagnostics diagnostics;
  auto kernel = ir::parse(text, "k.imx", diagnostics);
  REQUIRE_MESSAGE(kernel, text << diagnostics.render());
  return std::move(*kernel);
}

} // namespace imbrex::testing
