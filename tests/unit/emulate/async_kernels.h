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

/// AMD's loads to LDS, of words or less on gfx9 and gfx10, of more on gfx950, and those of gfx1250.
std::vector<AsyncKernel> ldsKernels();
std::vector<AsyncKernel> wideLdsKernels();
std::vector<AsyncKernel> asyncLdsKernels();

/// All of them, each with the machines that it is for.
struct AsyncRow {
  const char *machine;
  std::vector<AsyncKernel> kernels;
};
std::vector<AsyncRow> asyncTable();

/// A kernel of NVIDIA's whose body is given: @sh has room for eight elements for each thread, %t is
/// the thread.
std::string copyKernelText(const std::string &body);
/// The same of AMD's.
std::string ldsKernelText(const std::string &body);

} // namespace imbrex
