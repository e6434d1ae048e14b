#include "backend/target/codegen/instruction_mix.h"

#include <numeric>

namespace imbrex::target {

std::int32_t InstructionMix::total() const {
  return std::accumulate(counts.begin(), counts.end(), 0);
}

} // namespace imbrex::target
