#pragma once

#include "backend/ir/kernel.h"
#include "backend/schedule/program/program.h"

#include <optional>

/// What decides whether code runs, as far as a proof can depend on it (read_schedule.h).
namespace imbrex::passes::pipeline {

/// The first op of a loop's body that can end the trip that it is in, or the block of the grid; of
/// another body, that can end the block.
const ir::Op *whatLeaves(const ir::Block &body, bool isOfLoop = true);
/// Whether what stands behind the op may be left out: a way out of the body, or of the kernel.
bool mayLeave(const ir::Op &op);
/// Of a for: then its trips are fewer than its numbers say.
bool mayBeLeft(const ir::Op &loop);

/// A loop, and what its trips are called in a schedule.
struct CountedLoop {
  const ir::Op *op;
  schedule::TripsId trips;
  bool isOver = false;
};

/// Which trips of one of the loops a condition holds in: where it is `distance > n steps`, as
/// numbers without a sign, of that loop, and n is below 2^31. Nothing of any other condition. The
/// last that is not over is meant, if the numbers of several fit: the innermost one, and the next.
std::optional<schedule::Guard> readCondition(const ir::Kernel &kernel, ir::ValueId condition,
                                             llvm::ArrayRef<CountedLoop> loops);

} // namespace imbrex::passes::pipeline
