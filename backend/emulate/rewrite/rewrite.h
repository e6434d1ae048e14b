#pragma once

#include "backend/emulate/model/counters.h"
#include "backend/emulate/model/site.h"
#include "backend/machine/machine.h"
#include "backend/support/diagnostics.h"
#include "llvm/IR/Constants.h"
#include "llvm/IR/Function.h"
#include "llvm/IR/Module.h"

/// From the module of a GPU to one that runs here: each step in a file of its own.
namespace imbrex::emulate {

struct Rewriting {
  llvm::Module &module;
  const machine::Machine &machine;
  llvm::Function &kernel;
  SiteTable &sites;
  Diagnostics &diagnostics;
};

Location locationOf(const llvm::Instruction &instruction);

/// The number of a new site for an instruction, as an operand.
llvm::ConstantInt *addSite(Rewriting &rewriting, const llvm::Instruction &instruction,
                           std::string what, decltype(Site::facts) facts);

/// The kernel's parameter that an address is made of; -1: none.
std::int32_t parameterBehind(const Rewriting &rewriting, const llvm::Value *pointer);

/// The instructions of a basic block, by kind.
struct BlockMix {
  llvm::BasicBlock *block;
  InstructionCounts counts;
};
/// Of every block of the module, as it is before anything is rewritten.
std::vector<BlockMix> mixesOf(const llvm::Module &module);
/// Count how often each of the blocks is entered.
void countBlocks(llvm::ArrayRef<BlockMix> mixes);

/// Loops of loads and stores in place of copies and fills of memory.
void expandMemoryCalls(Rewriting &rewriting);

/// A check in front of every access; atomics become plain accesses, because the threads of a run
/// take turns on one thread of the host; fences become calls.
void rewriteMemory(Rewriting &rewriting);

/// Calls of the model in place of the machine's intrinsics. What has no model is reported.
void rewriteCalls(Rewriting &rewriting);

/// The same of calls whose operands and results are many registers (words.h), which go through
/// memory of the model's own: so this comes behind `rewriteMemory`.
void rewriteWordCalls(Rewriting &rewriting);

/// Give each loop a call per turn, and the kernel one at its end.
void markControl(Rewriting &rewriting);

/// Replace each variable in shared memory by its address; behind all others lies what has no size
/// of its own, with the bytes that the launch asks for. Returns the bytes that they take.
std::uint64_t placeShared(Rewriting &rewriting, std::uint64_t bytesAtLaunch);

/// The constants in global memory, by the names under which their addresses can be asked for.
struct NamedConstant {
  std::string name;
  std::int64_t bytes;
};
std::vector<NamedConstant> nameConstants(Rewriting &rewriting);

/// A function that calls the kernel with arguments from an array of words; its name.
std::string addEntry(Rewriting &rewriting);

} // namespace imbrex::emulate
