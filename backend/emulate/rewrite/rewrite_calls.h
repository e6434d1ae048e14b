#pragma once

#include "backend/emulate/rewrite/rewrite.h"
#include "backend/emulate/run/calls.h"
#include "llvm/IR/Instructions.h"

#include <functional>
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
/// What has no model; once of each line.
void reportUnknown(Rewriting &rewriting, const llvm::CallInst &call);

/// Whether `rewriteMatrices` has to do with an intrinsic.
bool isMatrixIntrinsic(unsigned intrinsic);
/// How it is counted.
InstructionKind matrixKind(unsigned intrinsic);

/// Of copies that run beside the threads, and of barriers in shared memory.
RewriteTable asyncRewrites();
RewriteTable phaseRewrites();
RewriteTable bulkRewrites();

} // namespace imbrex::emulate
