#pragma once

#include "backend/schedule/program/program.h"
#include "backend/support/result.h"
#include "llvm/ADT/ArrayRef.h"

#include <cstdint>
#include <string>
#include <vector>

namespace imbrex::tool {

/// The numbers of trips that `name=count` texts say, by trips; an error where one is not said, said
/// of nothing, or no number. What need not be said is what `otherwise` has, which is not negative.
Result<std::vector<std::int32_t>> tripCounts(const schedule::Program &program,
                                             llvm::ArrayRef<std::string> texts,
                                             llvm::ArrayRef<std::int32_t> otherwise = {});

/// What parts of a schedule are called, for a hint: "'k', 'tiles'", or "none".
template <class Parts>
std::string listOf(const Parts &parts) {
  std::string list;
  for (const auto &part : parts) list += (list.empty() ? "'" : ", '") + part.name + "'";
  return list.empty() ? "none" : list;
}

} // namespace imbrex::tool
