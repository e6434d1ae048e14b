#pragma once

#include "backend/schedule/program.h"
#include "backend/support/result.h"
#include "llvm/ADT/ArrayRef.h"

#include <cstdint>
#include <string>
#include <vector>

namespace imbrex::tool {

/// The numbers of trips that `name=count` texts say, by trips; an error where one is not said, said
/// of nothing, or no number.
Result<std::vector<std::int32_t>> tripCounts(const schedule::Program &program,
                                             llvm::ArrayRef<std::string> texts);

} // namespace imbrex::tool
