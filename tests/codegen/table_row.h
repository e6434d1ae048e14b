#pragma once

#include "dsl/traced_kernel.h"
#include "tests/codegen/kernel_table.h"
#include <imbrex/dsl.hpp>

#include <utility>

namespace imbrex::testing {

/// A kernel of the language as a row of the table.
template <class K>
TableKernel row(std::string name, const K &kernel, std::array<std::int32_t, 3> blocks,
                std::vector<std::string> arguments) {
  const traced_kernel traced = trace(kernel, {.name = name});
  return {.name = std::move(name),
          .kernel = irOf(traced).clone(),
          .grid = {.extents = blocks},
          .arguments = std::move(arguments)};
}

} // namespace imbrex::testing
