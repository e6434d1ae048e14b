#pragma once

/// Named stretches of a thread's time, as profilers show them.
namespace imbrex::driver {

struct Ranges {
  void (*begin)(const char *name); ///< They nest.
  void (*end)();
};

/// Of the profiler that watches this process, where somebody has asked for them: NVIDIA's, which
/// are injected (NVTX), else AMD's (roctx). Looked for once; null where there is none.
const Ranges *profilersRanges(bool areWanted);

} // namespace imbrex::driver
