#pragma once

#include "llvm/IR/Module.h"

/// LLVM's scheduler reads the fragments of a product where they are wanted, waits, multiplies, and
/// begins again, so that the matrix unit waits for shared memory over and over. It takes orders,
/// though: a list of groups, so many instructions of a kind each, at the end of a block
/// (llvm.amdgcn.sched.group.barrier).
///
///   LLVM's own                     asked for
///   ds_read ds_read ds_read        ds_read ds_read ds_read
///   wait  mfma mfma mfma           mfma mfma  (of the last trip)
///   ds_read ds_read ds_read        wait  mfma ds_read  mfma ds_read …
///   wait  mfma mfma mfma           mfma mfma  wait  mfma …
///
/// What is read is read some products before the one that wants it, and one between two products;
/// stores into slots and loads stand between products as well. Moved are LDS reads within their
/// part, between two meetings, and products in front of it, if arithmetic alone is moved with them.
///
/// Just before code is generated: what runs the module, and what compares accesses, has seen it as
/// it was before.
namespace imbrex::target::amdgpu {

/// For the blocks of code that multiply in loops, of a module that is optimised.
void orderProducts(llvm::Module &module);

} // namespace imbrex::target::amdgpu
