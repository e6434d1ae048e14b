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

/// A call of an intrinsic, in whose place the model is put.
struct MachineCall {
  Rewriting &rewriting;
  llvm::CallInst &call;
  Builder b{&call}; ///< In front of it.

  llvm::Value *operand(unsigned number) const { return call.getArgOperand(number); }
  /// The same as 64 bits, zero-extended.
  llvm::Value *word(unsigned number);
  std::string name() const { return call.getCalledFunction()->getName().str(); }
  /// The number of its site, as an operand.
  llvm::Value *site(std::string what, decltype(Site::facts) facts = ControlSite{}) const {
    return addSite(rewriting, call, std::move(what), std::move(facts));
  }
};

/// Puts the model in place of one call: the value that it gives instead of the call's, any where
/// that gives none. Null: it can't.
using Rewrite = std::function<llvm::Value *(MachineCall &)>;
/// By intrinsic.
using RewriteTable = std::unordered_map<unsigned, Rewrite>;

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
