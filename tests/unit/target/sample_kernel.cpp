#include "tests/unit/target/sample_kernel.h"

namespace sample {

std::unique_ptr<llvm::Module> kernel(llvm::LLVMContext &context,
                                     const imbrex::target::GpuTarget &target, const Body &body,
                                     std::int32_t threads) {
  auto module = std::make_unique<llvm::Module>("sample", context);
  target.prepare(*module);
  const Vocabulary &words = target.vocabulary();
  llvm::Type *pointer = llvm::PointerType::get(context, words.globalSpace());
  auto *type = llvm::FunctionType::get(llvm::Type::getVoidTy(context), {pointer, pointer}, false);
  llvm::Function *function =
      llvm::Function::Create(type, llvm::Function::ExternalLinkage, "sample", *module);
  words.declareKernel(*function, threads);
  Vocabulary::Builder b(llvm::BasicBlock::Create(context, "entry", function));
  llvm::Value *thread = words.threadIndex(b);
  llvm::Value *in = b.CreateGEP(b.getInt32Ty(), function->getArg(0), thread);
  llvm::Value *out = b.CreateGEP(b.getInt32Ty(), function->getArg(1), thread);
  b.CreateStore(body(words, b, b.CreateLoad(b.getInt32Ty(), in)), out);
  b.CreateRetVoid();
  return module;
}

std::vector<const imbrex::target::GpuTarget *> targets() {
  std::vector<const imbrex::target::GpuTarget *> found;
  for (const imbrex::machine::Machine &machine : imbrex::machine::allMachines())
    if (const auto *target = imbrex::target::findGpuTarget(machine)) found.push_back(target);
  return found;
}

} // namespace sample
