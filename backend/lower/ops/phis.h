#pragma once

#include "backend/ir/kernel.h"
#include "llvm/IR/Instructions.h"

#include <vector>

/// What crosses the borders of loops and branches: a phi for each register, but for small elements
/// of staged tiles, of which several are in a phi, as they lie in a register of the machine.
namespace imbrex::lower {

class Emitter;
using Registers = llvm::SmallVector<llvm::Value *, 8>; ///< Of a tile.

using Phis = std::vector<llvm::SmallVector<llvm::PHINode *, 8>>;
/// The values of one of several ways into a block.
struct Incoming {
  llvm::BasicBlock *from;
  std::vector<Registers> values;
};
Incoming incomingFrom(const Emitter &e, llvm::BasicBlock *block,
                      llvm::ArrayRef<ir::ValueId> values);

Phis newPhis(Emitter &e, llvm::ArrayRef<ir::ValueId> like);
void addIncoming(const Phis &phis, const Incoming &incoming);
void definePhis(Emitter &e, llvm::ArrayRef<ir::ValueId> values, const Phis &phis);

} // namespace imbrex::lower
