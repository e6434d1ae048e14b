#include "backend/target/host/kernel_code.h"

#include "backend/target/host/host_emitter.h"
#include "llvm/IR/LLVMContext.h"

namespace imbrex::host {

namespace {

KernelCode compileAs(const std::string &entry, llvm::GlobalValue::VisibilityTypes visibility,
                     const ir::Kernel &kernel, const LaunchTraits &traits, Compiler &compiler) {
  llvm::LLVMContext context;
  llvm::Module module(kernel.name(), context);
  compiler.prepare(module);
  const LoopPlan plan = planLoops(kernel, traits);
  HostEmitter emitter(module, kernel, plan, traits, compiler.machine());
  emitter.emitEntry(entry);
  module.getFunction(entry)->setVisibility(visibility);
  return {.object = compiler.compile(module, llvm::CodeGenOptLevel::Default),
          .scratchBytes = emitter.totalScratchBytes(),
          .sites = emitter.takeSites()};
}

} // namespace

KernelCode compileKernel(const ir::Kernel &kernel, const LaunchTraits &traits, Compiler &compiler) {
  return compileAs(KernelCode::kEntry, llvm::GlobalValue::DefaultVisibility, kernel, traits,
                   compiler);
}

KernelCode compileKernel(const ir::Kernel &kernel, const LaunchTraits &traits, Compiler &compiler,
                         const std::string &entry) {
  return compileAs(entry, llvm::GlobalValue::HiddenVisibility, kernel, traits, compiler);
}

Words argumentWords(const ir::Kernel &kernel, llvm::ArrayRef<ir::Argument> arguments) {
  Words words;
  for (size_t i = 0; i < arguments.size(); ++i) {
    const ir::Type &type = kernel.parameterType(i);
    const ir::Argument &argument = arguments[i];
    const bool isScalar = type.isTile();
    words.push_back(isScalar ? argument.scalar : reinterpret_cast<std::uint64_t>(argument.data));
    if (!type.hasExtents()) continue;
    for (std::int32_t axis = 0; axis < type.rank(); ++axis)
      words.push_back(static_cast<std::uint64_t>(argument.extents[static_cast<size_t>(axis)]));
    if (type.isTable()) continue;
    for (std::int32_t axis = 0; axis < type.rank(); ++axis)
      words.push_back(static_cast<std::uint64_t>(argument.strides[static_cast<size_t>(axis)]));
  }
  return words;
}

} // namespace imbrex::host
