#pragma once

namespace imbrex::driver {

/// hipModuleLaunchCooperativeKernel, which finds each argument where it is told, and in no buffer.
using HipLaunchCooperative = int(void *kernel, unsigned gridX, unsigned gridY, unsigned gridZ,
                                 unsigned blockX, unsigned blockY, unsigned blockZ,
                                 unsigned sharedBytes, void *stream, void **parameters);

} // namespace imbrex::driver
