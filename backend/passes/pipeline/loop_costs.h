#pragma once

#include "backend/ir/kernel.h"
#include "backend/machine/machine.h"
#include "backend/schedule/program/program.h"

#include <cstdint>

/// What a kernel's operations cost, as plans and timelines of its loops count: round numbers, which
/// say what is much and what is little.
namespace imbrex::passes::pipeline {

/// Cycles that an op computes: its products, and an operation of a lane for each element; of an op
/// with bodies, those of each once.
std::int64_t computeCycles(const ir::Kernel &kernel, const ir::Op &op);

/// To bring so many bytes into shared memory, while the threads go on.
schedule::Cost copyCost(const machine::AsyncCopies &copies, std::int64_t bytes);
/// To read so many bytes of shared memory, and compute for as long besides.
schedule::Cost readCost(std::int64_t bytes, std::int64_t compute = 0);
/// Of an op that reads or writes global memory itself; nothing of one that does not.
schedule::Cost memoryCost(const ir::Kernel &kernel, const ir::Op &op,
                          const machine::AsyncCopies &copies);

} // namespace imbrex::passes::pipeline
