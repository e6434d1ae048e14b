#include "backend/emulate/rewrite/rewrite.h"

#include "backend/emulate/model/memory.h"
#include "backend/emulate/run/calls.h"
#include "llvm/ADT/PostOrderIterator.h"
#include "llvm/Analysis/LoopInfo.h"
#include "llvm/IR/DebugInfoMetadata.h"
#include "llvm/IR/Dominators.h"
#include "llvm/IR/Instructions.h"
#include "llvm/Support/Path.h"

namespace imbrex::emulate {

Location locationOf(const llvm::Instruction &instruction) {
  const llvm::DILocation *at = instruction.getDebugLoc().get();
  if (at == nullptr) return {};
  llvm::SmallString<128> path(at->getDirectory());
  llvm::sys::path::append(path, at->getFilename());
  return {.file = internFileName({path.data(), path.size()}), .line = at->getLine()};
}

llvm::ConstantInt *addSite(Rewriting &rewriting, const llvm::Instruction &instruction,
                           std::string what, decltype(Site::facts) facts) {
  const auto number = static_cast<std::uint32_t>(rewriting.sites.size());
  rewriting.sites.push_back({locationOf(instruction), std::move(what), std::move(facts)});
  return llvm::ConstantInt::get(llvm::Type::getInt32Ty(instruction.getContext()), number);
}

namespace {

void markLoops(Rewriting &rewriting, llvm::Function &function) {
  llvm::DominatorTree dominators(function);
  llvm::LoopInfo loops(dominators);
  for (llvm::Loop *loop : loops.getLoopsInPreorder()) {
    llvm::Instruction *first = &*loop->getHeader()->getFirstInsertionPt();
    Builder b(first);
    const llvm::Instruction &place = *loop->getHeader()->getTerminator();
    createCall(b, calls::countTurn, {addSite(rewriting, place, "loop", ControlSite{})});
  }
}

void markExits(Rewriting &rewriting) {
  for (llvm::BasicBlock &block : rewriting.kernel)
    if (auto *end = llvm::dyn_cast<llvm::ReturnInst>(block.getTerminator())) {
      Builder b(end);
      createCall(b, calls::exit, {addSite(rewriting, *end, "return", ControlSite{})});
    }
}

} // namespace

void markControl(Rewriting &rewriting) {
  for (llvm::Function &function : rewriting.module)
    if (!function.isDeclaration()) markLoops(rewriting, function);
  markExits(rewriting);
}

std::uint64_t placeShared(Rewriting &rewriting, std::uint64_t bytesAtLaunch) {
  constexpr unsigned kSharedSpace = 3; // NVPTX's and AMDGPU's alike
  std::uint64_t bytes = 0;
  std::vector<llvm::GlobalVariable *> variables;
  const llvm::DataLayout &layout = rewriting.module.getDataLayout();
  const auto sizeOf = [&](const llvm::GlobalVariable *variable) {
    return layout.getTypeAllocSize(variable->getValueType()).getFixedValue();
  };
  for (const bool isSized : {true, false})
    for (llvm::GlobalVariable &variable : rewriting.module.globals())
      if (variable.getAddressSpace() == kSharedSpace && (sizeOf(&variable) > 0) == isSized)
        variables.push_back(&variable);
  for (llvm::GlobalVariable *variable : variables) {
    bytes = llvm::alignTo(bytes, layout.getPreferredAlign(variable));
    auto *address = llvm::ConstantInt::get(llvm::Type::getInt64Ty(rewriting.module.getContext()),
                                           kSharedBase + bytes);
    variable->replaceAllUsesWith(llvm::ConstantExpr::getIntToPtr(address, variable->getType()));
    bytes += sizeOf(variable);
    variable->eraseFromParent();
  }
  return bytes + bytesAtLaunch;
}

std::vector<NamedConstant> nameConstants(Rewriting &rewriting) {
  constexpr unsigned kGlobal = 1; // NVPTX's and AMDGPU's alike
  std::vector<NamedConstant> named;
  const llvm::DataLayout &layout = rewriting.module.getDataLayout();
  for (llvm::GlobalVariable &variable : rewriting.module.globals()) {
    if (!variable.isConstant() || variable.getAddressSpace() != kGlobal) continue;
    variable.setLinkage(llvm::GlobalValue::ExternalLinkage);
    named.push_back({variable.getName().str(),
                     static_cast<std::int64_t>(
                         layout.getTypeAllocSize(variable.getValueType()).getFixedValue())});
  }
  return named;
}

std::string addEntry(Rewriting &rewriting) {
  llvm::LLVMContext &context = rewriting.module.getContext();
  auto *pointer = llvm::PointerType::get(context, 0);
  auto *type = llvm::FunctionType::get(llvm::Type::getVoidTy(context), {pointer}, false);
  auto *entry = llvm::Function::Create(type, llvm::GlobalValue::ExternalLinkage,
                                       rewriting.kernel.getName() + ".entry", rewriting.module);
  Builder b(llvm::BasicBlock::Create(context, "", entry));
  std::vector<llvm::Value *> arguments;
  for (llvm::Argument &argument : rewriting.kernel.args()) {
    auto *word = b.CreateConstGEP1_32(b.getInt64Ty(), entry->getArg(0), argument.getArgNo());
    arguments.push_back(b.CreateLoad(argument.getType(), word));
  }
  b.CreateCall(&rewriting.kernel, arguments);
  b.CreateRetVoid();
  return entry->getName().str();
}

} // namespace imbrex::emulate
