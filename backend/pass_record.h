#pragma once

#include "backend/pass.h"
#include "llvm/ADT/ArrayRef.h"

#include <chrono>
#include <cstdio>
#include <string>
#include <string_view>

namespace imbrex {

/// What the environment asks to be told about the passes.
struct PassRecordOptions {
  std::string printAfter = {};      ///< A pass, or `all`; empty: none.
  std::string dumpFolder = {};      ///< Empty: no dumps.
  llvm::ArrayRef<Pass> passes = {}; ///< What `printAfter` may name.
  std::string machine = "host";     ///< That the passes are for.
  std::FILE *printTo = stderr;      ///< Where `printAfter` goes.
};

/// Shows one kernel on its way through the passes:
///
///   IMBREX_PRINT_AFTER=cse          the kernel after that pass on stderr, or that it is unchanged
///   IMBREX_DUMP=dir                 dir/<kernel>/00-traced.imx, 01-construct-ssa.imx, … with the
///                                   place of each op, so that what is wrong with a kernel read
///                                   from there names its author's line; and passes.txt with what
///                                   the kernel is and the time that each pass took
///
/// A second kernel of the same name in one process gets a folder of its own, <kernel>-2. What
/// cannot be written is warned about once, and the compilation goes on.
class PassRecord {
public:
  PassRecord(const ir::Kernel &kernel, PassRecordOptions options);

  void after(std::string_view pass, const ir::Kernel &kernel, std::chrono::nanoseconds took);

private:
  void print(std::string_view pass, const ir::Kernel &kernel, const std::string &text);
  void dump(std::string_view step, const ir::Kernel &kernel);
  void write(const std::string &file, const std::string &text, const char *mode);

  bool isActive() const { return !options_.printAfter.empty() || !options_.dumpFolder.empty(); }

  PassRecordOptions options_;
  std::string folder_; // of this kernel; empty: no dumps
  std::string before_; // the kernel's text before the pass
  int step_ = 0;
};

} // namespace imbrex
