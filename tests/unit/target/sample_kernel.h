#pragma once

#include "backend/target/gpu_target.h"
#include "llvm/IR/LLVMContext.h"

#include <functional>
#include <memory>

namespace sample {

using imbrex::lower::Vocabulary;

/// What a kernel of a test computes of an i32 that each thread has loaded.
using Body = std::function<llvm::Value *(const Vocabulary &, Vocabulary::Builder &, llvm::Value *)>;

/// kernel(in, out): out[thread] = body(in[thread]), for blocks of so many threads.
std::unique_ptr<llvm::Module> kernel(llvm::LLVMContext &context,
                                     const imbrex::target::GpuTarget &target, const Body &body,
                                     std::int32_t threads = 128);

/// Every machine that the build makes code for.
std::vector<const imbrex::target::GpuTarget *> targets();

} // namespace sample
