// What a program that launches one kernel takes, from the start of its process to its end:
// `bench_first_result [rounds]`. It links nothing but Imbrex, since libraries take time to load,
// and LLVM the most. Prints a line of JSON per figure; `--once` is the program that is timed.

#include "bench/host/kernels.hpp"
#include "bench/host/measure.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <spawn.h>
#include <string>
#include <sys/wait.h>
#include <unistd.h>

namespace {

constexpr double kAtMost = 20; // milliseconds

int launchOnce() {
  imbrex::buffer<imbrex::f32> a(4096), b(4096), sum(4096);
  std::fill(a.begin(), a.end(), 1.0F);
  std::fill(b.begin(), b.end(), 2.0F);
  imbrex::jit(bench::add<1024>{})(imbrex::grid(4), a, b, sum);
  return std::all_of(sum.begin(), sum.end(), [](float x) { return x == 3; }) ? 0 : 1;
}

void runOnce() {
  std::string program = "/proc/self/exe", once = "--once";
  char *const arguments[] = {program.data(), once.data(), nullptr};
  pid_t child = 0;
  int status = 0;
  if (posix_spawn(&child, program.c_str(), nullptr, nullptr, arguments, environ) != 0 ||
      waitpid(child, &status, 0) != child || status != 0) {
    std::fputs("the program that is timed has failed\n", stderr);
    std::exit(1);
  }
}

/// The best of several, the first of which may leave code on disk for the others.
void benchProcess(const std::string &name, const std::string &folder, int rounds) {
  setenv("IMBREX_CACHE_DIR", folder.c_str(), 1);
  double best = INFINITY;
  for (int i = 0; i <= rounds; ++i) best = std::min(best, 1e3 * bench::secondsOf(runOnce));
  bench::reportTime(name + ", LLVM " BENCH_LLVM_LINK, best, kAtMost);
}

} // namespace

int main(int argc, char **argv) {
  if (argc > 1 && std::string(argv[1]) == "--once") return launchOnce();
  const int rounds = argc > 1 ? std::max(1, std::atoi(argv[1])) : 15;
  setenv("IMBREX_NUM_THREADS", "1", 1);
  benchProcess("process start to first result", "off", rounds);
  std::string folder = (std::filesystem::temp_directory_path() / "first-result-XXXXXX").string();
  if (mkdtemp(folder.data()) == nullptr) return std::perror("no folder"), 1;
  benchProcess("the same with its code on disk", folder, rounds);
  std::filesystem::remove_all(folder);
  return 0;
}
