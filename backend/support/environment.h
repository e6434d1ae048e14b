#pragma once

#include "backend/launching/thread_pool.h"
#include "backend/support/diagnostics.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace imbrex {

using EnvironmentText = std::string;                    ///< Empty where not set.
using EnvironmentThreads = std::optional<std::int64_t>; ///< From 1 to launching::kMostThreads.
using EnvironmentFlag = bool;                           ///< `1` or `0`.
struct EnvironmentMebibytes {
  static constexpr std::int64_t kMost = std::int64_t{1} << 30;
  std::optional<std::int64_t> number = {}; ///< From 1 to kMost.
};

/// The IMBREX_* variables, one member for each row of environment.def.
struct Environment {
#define IMBREX_VARIABLE(member, name, type, meaning) Environment##type member = {};
#include "backend/support/environment.def"
};

/// What a variable is called.
std::string_view nameOf(EnvironmentText Environment::*member);

/// Read a block of `NAME=value` strings that ends with a null pointer, as `environ` is. Unknown
/// IMBREX_ names and values that a variable cannot have are reported as warnings.
Environment parseEnvironment(const char *const *block, Diagnostics &diagnostics);

/// The variables of the process, read at the first call; what is wrong with them is said once, on
/// stderr.
const Environment &environment();

/// The table of docs/environment.md.
std::string environmentAsMarkdown();

} // namespace imbrex
