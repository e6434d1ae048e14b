#pragma once

#include "backend/assembly.h"
#include "backend/compile.h"
#include "tests/codegen/pipelined_kernels.h"
#include "tests/codegen/table_row.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <sstream>
#include <string>
#include <vector>

/// The assembly of pipelined loops, line by line.
namespace imbrex::testing {

inline const target::GpuTarget *targetNamed(std::string_view name) {
  return target::findGpuTarget(*machine::findMachine(name));
}

/// A kernel and its code, which names the kernel's ops.
struct Compiled {
  ir::Kernel kernel;
  std::optional<GpuCode> code;
};

inline Compiled compiled(const TableKernel &of, const target::GpuTarget &target) {
  Compiled made{.kernel = of.kernel.clone(), .code = {}};
  Diagnostics diagnostics;
  made.code =
      compileForGpu(made.kernel, target, analysis::usualAssumptions(of.kernel), diagnostics);
  REQUIRE_MESSAGE(made.code, diagnostics.render());
  return made;
}

/// One launch of each kernel: all of a kind have the same code.
inline std::vector<TableKernel> oneOfEach(int slots) {
  std::vector<TableKernel> kernels;
  for (TableKernel &one : pipelinedKernels(slots)) {
    const std::string kind = one.name.substr(0, one.name.find('_'));
    if (std::ranges::none_of(
            kernels, [&](const TableKernel &known) { return known.name.starts_with(kind); }))
      kernels.push_back(std::move(one));
  }
  return kernels;
}

using Lines = std::vector<std::string>;

inline Lines linesOf(const std::string &text) {
  Lines lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

inline std::string textOf(const Lines &lines) {
  std::string text;
  for (const std::string &line : lines) text += line + "\n";
  return text;
}

inline bool has(const std::string &line, const char *part) {
  return line.find(part) != std::string::npos;
}

inline bool isCopy(const std::string &line) {
  return has(line, "cp.async.cg.") || has(line, "cp.async.ca.");
}
inline bool isLoadToLds(const std::string &line) {
  return has(line, "global_load_lds") || (has(line, "buffer_load_") && has(line, " lds"));
}
inline bool isCommit(const std::string &line) { return has(line, "cp.async.commit_group"); }
inline bool isWait(const std::string &line) { return has(line, "cp.async.wait_group"); }
inline bool isBarrier(const std::string &line) { return has(line, "bar.sync"); }

inline std::size_t count(const Lines &lines, bool (*is)(const std::string &)) {
  return static_cast<std::size_t>(std::ranges::count_if(lines, is));
}

} // namespace imbrex::testing
