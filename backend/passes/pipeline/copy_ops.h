#pragma once

#include "backend/ir/builder.h"

#include <map>
#include <vector>

namespace imbrex::passes::pipeline {

/// Values under the names that they have elsewhere: in another trip, or in another role.
using Renamed = std::map<ir::ValueId, ir::ValueId>;

ir::ValueId renamed(ir::ValueId value, const Renamed &names);
llvm::SmallVector<ir::ValueId, 8> renamed(llvm::ArrayRef<ir::ValueId> values, const Renamed &names);

/// An op once more, with its bodies; what it and they define gets names.
ir::Op &copyOp(ir::Builder &to, const ir::Op &op, Renamed &names);
void copyOps(ir::Builder &to, const ir::Block &from, Renamed &names);

/// New carried values of a loop, each like another value: its results, and its body's arguments,
/// which are returned. What they begin with and what a trip yields, the caller adds.
std::vector<ir::ValueId> addCarried(ir::Kernel &kernel, ir::Op &loop,
                                    llvm::ArrayRef<ir::ValueId> like);

} // namespace imbrex::passes::pipeline
