// run_lifetimes: starts itself once for each time in a process's life and each device, and has that
// process launch a kernel then, as the first thing that it does with the library or after another
// launch. Prints what went wrong, and exits 1 then.
//
// A process is told by its environment, as the objects below are made before main has arguments.

#include "backend/target/gpu_target.h"
#include <imbrex/imbrex.hpp>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <vector>

namespace {

using namespace imbrex;

/// A process that waits for a thread which is not there is ended, and has failed.
constexpr unsigned kMostSeconds = 100;

constexpr const char *kTimeVariable = "LIFETIMES_TIME", *kDeviceVariable = "LIFETIMES_DEVICE";

struct doubled {
  void operator()(view<const f32, 1> x, view<f32, 1> y) const {
    auto here = box<64>(program_id(0));
    y[here] = sort(x[here] + x[here]); // with memory of the thread's own on the host
  }
};

/// Launch the kernel, of a grid that the pool shares; a wrong result ends the process.
void launchNow(std::string_view when) {
  constexpr std::size_t kElements = 64 * 48;
  std::vector<float> x(kElements), y(kElements);
  for (std::size_t i = 0; i < kElements; ++i) x[i] = static_cast<float>(i);
  const auto on = device::by_name(std::getenv(kDeviceVariable));
  const auto done =
      jit(doubled{}, {.on = on}).try_launch(grid(kElements / 64), std::as_const(x), y);
  if (!done.ok()) std::fprintf(stderr, "%s\n", done.error().what());
  for (std::size_t i = 0; i < kElements; ++i)
    if (y[i] != 2 * x[i]) _exit(3);
  std::fprintf(stdout, "%.*s\n", static_cast<int>(when.size()), when.data());
}

struct halved {
  void operator()(view<f32, 1> x) const { x[box<1>(0)] = x[box<1>(0)] * 0.5; }
};

/// Launch a kernel that was not compiled before LLVM's statics went: what compiles says so, what
/// interprets runs it.
void launchTooLate() {
  const auto on = device::by_name(std::getenv(kDeviceVariable));
  std::vector<float> x{8};
  const auto done = jit(halved{}, {.on = on}).try_launch(grid(1), x);
  const bool isRun = done.ok() && x[0] == 4;
  const bool isRefused = !done.ok() && done.error().code() == "CompiledTooLate" && x[0] == 8;
  if (on == device::interpreter() ? !isRun : !isRefused) _exit(5);
  std::fprintf(stdout, "too late\n");
}

bool isTime(std::string_view time) {
  const char *now = std::getenv(kTimeVariable);
  return now != nullptr && now == time;
}

/// One that launches when it goes.
struct Last {
  bool launches = false;
  ~Last() {
    if (launches) launchNow("destructor");
  }
};

/// Made before anything of the library, and destroyed after all of it.
struct OfProcess {
  OfProcess() {
    if (isTime("constructor")) launchNow("constructor");
  }
  ~OfProcess() {
    if (isTime("destructor") || isTime("only destructor")) launchNow("destructor");
    if (isTime("destructor with another kernel")) launchTooLate();
  }
} ofProcess;

thread_local Last ofThread;

void inThread() {
  ofThread.launches = true; // made before the thread's own objects of the library
  launchNow("thread");
}

/// Whether a child that launches, and then ends as any process does, says that all is well.
void inChild(int launches) {
  std::fflush(stdout);
  const pid_t child = fork();
  if (child == 0) {
    for (int i = 0; i < launches; ++i) launchNow("child");
    std::exit(0);
  }
  int status = 0;
  if (waitpid(child, &status, 0) != child || status != 0) _exit(4);
}

/// What a process does between its constructors and its destructors.
void live() {
  if (isTime("destructor") || isTime("destructor with another kernel")) launchNow("main");
  if (isTime("thread")) std::thread(inThread).join();
  if (isTime("main thread")) inThread();
  if (isTime("atexit")) {
    std::atexit([] { launchNow("atexit"); });
    launchNow("main");
  }
  if (isTime("fork")) {
    inChild(1);
    launchNow("main");
    inChild(2);
    launchNow("main");
  }
  if (isTime("exit of another thread")) {
    launchNow("main");
    std::thread([] { std::exit(0); }).join();
  }
}

struct Time {
  const char *name;
  int launches;
};
constexpr auto kTimes = std::to_array<Time>({{"constructor", 1},
                                             {"destructor", 2},
                                             {"only destructor", 1},
                                             {"destructor with another kernel", 2},
                                             {"thread", 2},
                                             {"main thread", 2},
                                             {"atexit", 2},
                                             {"fork", 5},
                                             {"exit of another thread", 1}});

/// How many lines the process of this time and device printed; -1: it failed.
int launchesOf(const std::string &program, const Time &time, const std::string &device) {
  setenv(kTimeVariable, time.name, 1);
  setenv(kDeviceVariable, device.c_str(), 1);
  setenv("IMBREX_NUM_THREADS", "3", 1);
  std::FILE *pipe = popen(("'" + program + "'").c_str(), "r");
  int lines = 0;
  for (int c = 0; (c = std::fgetc(pipe)) != EOF;) lines += c == '\n' ? 1 : 0;
  return pclose(pipe) == 0 ? lines : -1;
}

int startAll(const std::string &program) {
  std::vector<std::string> devices{"host", "interpreter"};
  for (const char *name : {"sm_90a", "gfx942"})
    if (target::findGpuTarget(*machine::findMachine(name)) != nullptr)
      devices.push_back(std::string("emulated:") + name);
  int failures = 0;
  for (const Time &time : kTimes)
    for (const std::string &device : devices) {
      const int launches = launchesOf(program, time, device);
      if (launches == time.launches) continue;
      ++failures;
      std::printf("%s on %s: %d launches of %d\n", time.name, device.c_str(), launches,
                  time.launches);
    }
  return failures == 0 ? 0 : 1;
}

} // namespace

int main(int, char **words) {
  if (std::getenv(kTimeVariable) == nullptr) return startAll(words[0]);
  alarm(kMostSeconds);
  live();
  return 0;
}
