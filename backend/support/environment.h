#pragma once

#include "backend/launching/thread_pool.h"
#include "backend/support/diagnostics.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace imbrex {

using EnvironmentText = std::string;                    ///< Empty where not set.
using EnvironmentPath = std::string;                    ///< The same, of a file or a folder.
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

/// Read a block of `NAME=value` strings that ends with a null pointer, as `environ` is. Unknown
/// IMBREX_ names and values that a variable cannot have are reported as warnings.
Environment parseEnvironment(const char *const *block, Diagnostics &diagnostics);

/// The same without those that name a file or a folder.
Environment withoutPaths(Environment environment);

/// Whether the process has rights that its user has not, as of a program with another owner's
/// (setuid). What files it uses is then not for the user to say.
bool hasOthersRights();

/// The variables of the process, read at the first call, without paths where it has others' rights;
/// what is wrong with them is said once, on stderr.
const Environment &environment();

/// The table of docs/environment.md.
std::string environmentAsMarkdown();

} // namespace imbrex
