#pragma once

#include "runtime/executable.h"
#include "runtime/gpu/supported_gpu.h"

namespace imbrex::runtime {

/// What is known beforehand.
struct GpuExecutableOptions {
  /// What `imbrex compile` has made of the kernel, an image or a package. The member of it that the
  /// device runs best is loaded instead of code made here, and launched as that member's machine
  /// wants it; launches that do not keep what it takes for granted get their own all the same.
  /// Empty: there is none.
  std::string image = {};
  llvm::ArrayRef<ir::Argument> launch = {}; ///< That the first code is for; empty: for the usual.
};

/// The code of a kernel, of any stage, on a GPU. What a launch keeps of what code may take for
/// granted is found out at each; the first code is compiled and loaded at once. Null, and errors
/// reported, where it can't be.
///
/// A launch copies the arrays of its arguments to the device, and back what the kernel has changed.
std::shared_ptr<const Executable> makeGpuExecutable(ir::Kernel kernel, const gpu::SupportedGpu &gpu,
                                                    Diagnostics &diagnostics,
                                                    const GpuExecutableOptions &options = {});

/// What a launch in a stream that is captured, for a graph, can't do.
enum class Captured : std::uint8_t { Loading, Telling };
/// The error of a launch that would; none where the stream is not captured.
std::optional<Diagnostic> refusedInCapture(const ir::Kernel &kernel, const gpu::SupportedGpu &gpu,
                                           const RunOptions &launch, Captured what);

} // namespace imbrex::runtime
