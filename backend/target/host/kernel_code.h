#pragma once

#include "backend/ir/argument.h"
#include "backend/ir/kernel.h"
#include "backend/lower/kernel_interface.h"
#include "backend/target/host/compiler.h"
#include "backend/target/host/launch_traits.h"

/// A kernel's machine code, before anything is loaded: the same whether this machine executes it or
/// another.
namespace imbrex::host {

/// Run the blocks with numbers from `first` up to, not including, `last`. `words`: the arguments;
/// `launch`: what calls of the code are handed.
using EntryFunction = void (*)(const std::uint64_t *words, const std::int32_t *grid,
                               std::int64_t first, std::int64_t last, std::byte *scratch,
                               void *launch);

struct KernelCode {
  static constexpr const char *kEntry = "entry"; // the symbol of its EntryFunction, unless said
  std::unique_ptr<llvm::MemoryBuffer> object;
  std::int64_t scratchBytes = 0; // that each call of it needs, aligned to 64
  std::vector<lower::ObservationSite> sites;
};

/// The code of a kernel at stage Tiles for launches with these traits.
KernelCode compileKernel(const ir::Kernel &kernel, const LaunchTraits &traits, Compiler &compiler);
/// The same to be linked into a program or a library, for whose users the symbol `entry` is hidden.
KernelCode compileKernel(const ir::Kernel &kernel, const LaunchTraits &traits, Compiler &compiler,
                         const std::string &entry);

/// The arguments as compiled code takes them: a scalar's bits, a pointer, a view's pointer, extents
/// and strides, a table's pointer and size.
using Words = llvm::SmallVector<std::uint64_t, 64>;
Words argumentWords(const ir::Kernel &kernel, llvm::ArrayRef<ir::Argument> arguments);

} // namespace imbrex::host
