#pragma once

#include "backend/emulate/rewrite/rewrite.h"
#include "backend/emulate/run/calls.h"
#include "llvm/IR/Instructions.h"

#include <functional>
#include <map>
#include <string>
#include <unordered_map>

/// How the machine's intrinsics become calls of the model.
namespace imbrex::emulate {

/// Puts the model in place of one call. False: it can't.
using Rewrite = std::function<bool(Rewriting &, Builder &, llvm::CallInst &)>;
/// By intrinsic.
using RewriteTable = std::unordered_map<unsigned, Rewrite>;

/// A value as 64 bits, zero-extended.
llvm::Value *toWord(const Rewriting &rewriting, Builder &b, llvm::Value *value);
std::string nameOf(const llvm::CallInst &call);

/// Puts a value in place of a call's.
void replaceBy(llvm::CallInst &call, llvm::Value *value);
/// Of copies that run beside the threads, and of barriers in shared memory.
RewriteTable asyncRewrites();
RewriteTable phaseRewrites();
RewriteTable bulkRewrites();

/// Of calls whose operands are many registers: matrix instructions, with the loads and stores that
/// deal matrices to lanes; and accesses by buffer resources.
RewriteTable matrixRewrites();
RewriteTable bufferRewrites();
/// How they are counted.
using KindsOfCalls = std::map<unsigned, InstructionKind>;
KindsOfCalls matrixKinds();
KindsOfCalls bufferKinds();

} // namespace imbrex::emulate
