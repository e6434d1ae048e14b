#pragma once

#include "tests/support/semantics.h"

#include <cstdint>

/// What a processor is asked; each is a check of the test that asks.
namespace imbrex::testing {

/// The cases of the semantics page, or every `step`-th from a first one on.
void askPage(const semantics::Executor &executor, std::size_t first = 0, std::size_t step = 1);

/// Whether the random kernels of these seeds leave what the interpreter does.
void askRandomKernels(const semantics::Executor &executor, std::uint32_t first,
                      std::uint32_t count);

/// Whether the kernels of tests/codegen, the examples' own among them, do.
void askTable(const semantics::Executor &executor);

} // namespace imbrex::testing
