#pragma once

#include <string>
#include <vector>

/// Kernels whose copies run beside their threads.
namespace imbrex {

/// A kernel without a mistake. Its block has 64 threads of NVIDIA's, or 128 of AMD's; in[i] is 100
/// + i, there are eight elements for each thread.
struct AsyncKernel {
  const char *what;
  std::string text;
  /// What it leaves in out[t].
  std::int32_t (*result)(std::int32_t t);
};

/// NVIDIA's cp.async.
std::vector<AsyncKernel> copyKernels();

/// A kernel of NVIDIA's whose body is given: @sh has room for eight elements for each thread, %t is
/// the thread.
std::string copyKernelText(const std::string &body);

} // namespace imbrex
