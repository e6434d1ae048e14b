#pragma once

#include "runtime/executable.h"
#include "runtime/gpu/gpu.h"

namespace imbrex::runtime {

/// The code of a kernel, of any stage, on a GPU. What a launch keeps of what code may take for
/// granted is found out at each; the code for what most keep is compiled and loaded at once. Null,
/// and errors reported, where it can't be.
///
/// A launch copies the arrays of its arguments to the device, and back what the kernel has changed.
///
/// `image`: what `imbrex compile` has made of the kernel, an image or a package. The member of it
/// that the device runs best is loaded instead of code made here, and launched as that member's
/// machine wants it; launches that do not keep what it takes for granted get their own all the
/// same. Empty: there is none.
std::shared_ptr<const Executable> makeGpuExecutable(ir::Kernel kernel, const gpu::Gpu &gpu,
                                                    Diagnostics &diagnostics,
                                                    const std::string &image = {});

} // namespace imbrex::runtime
