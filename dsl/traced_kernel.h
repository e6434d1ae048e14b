#pragma once

#include "backend/ir/kernel.h"
#include <imbrex/trace.hpp>

namespace imbrex {

/// The IR inside a traced kernel, at stage Traced; it lives as long as the kernel or a copy of it.
inline const ir::Kernel &irOf(const traced_kernel &kernel) { return *kernel.shared(); }

} // namespace imbrex
