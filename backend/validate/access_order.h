#pragma once

#include "backend/target/gpu_target.h"

#include <optional>
#include <string>
#include <vector>

/// Whether an assembly orders memory as the module asks that it is made from. What the emulator
/// runs, and what all else is proven of, is that module; LLVM's code generators come behind it, and
/// have lost orders, scopes and waits (docs/lowering.md).
///
///   module                                            assembly
///   atomicrmw add … device acq_rel, !dbg column 1     .loc 1 7 1
///                                                     atom.acq_rel.gpu.global.add.u32 …   as asked
///   barrier, !dbg column 2                            .loc 1 8 2
///                                                     bar.sync 0;                         as asked
///
/// Each atomic, fence and meeting is told apart by a number, which goes through code generation as
/// the column of its line: kernels are known by lines alone, so that columns are free. What an
/// instruction of the assembly orders, the target knows (GpuTarget::accessesOf), from the text
/// alone. More than is asked for is as good. What LLVM makes one instruction of two has no number,
/// and stands for any of which nothing else is there.
namespace imbrex {

struct RequiredAccess {
  target::OrderedAccess access;
  Location where;
};

/// Gives each its number, counted from 1, in a module that code is made from next.
std::vector<RequiredAccess> assignAccessNumbers(llvm::Module &module,
                                                const target::GpuTarget &target);

struct AccessDifference {
  Location where;
  std::string what;
};
/// Of what is asked for the first that is not there; nothing where all is.
std::optional<AccessDifference> differenceFrom(llvm::ArrayRef<RequiredAccess> required,
                                               llvm::ArrayRef<target::FoundAccess> found);

} // namespace imbrex
