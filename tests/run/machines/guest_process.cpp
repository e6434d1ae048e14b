#include "tests/run/machines/guest_process.h"

#include "backend/support/check.h"
#include "llvm/Support/Program.h"
#include "tests/run/machines/guest_mail.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
#include <utility>

namespace imbrex::testing {
namespace {

// Of the shared memory: the mail, code, data, and the stack at the end.
constexpr std::size_t kBytes = std::size_t{512} << 20, kDataFrom = kBytes / 2,
                      kStackBytes = std::size_t{16} << 20, kDataTo = kBytes - kStackBytes;

std::size_t aligned(std::size_t bytes) { return (bytes + 63) / 64 * 64; }

/// Each process has an address of its own, far from where either system puts anything.
std::uint64_t nextBase() {
  static std::uint64_t next = std::uint64_t{1} << 45;
  return std::exchange(next, next + (std::uint64_t{1} << 32));
}

void orAbort(bool worked, const char *what) {
  IMBREX_CHECK(worked, "the emulated process: {0}: {1}", what, std::strerror(errno));
}

std::byte *mapAt(std::uint64_t base, int file) {
  orAbort(ftruncate(file, kBytes) == 0, "ftruncate");
  void *at = mmap(reinterpret_cast<void *>(base), kBytes, PROT_READ | PROT_WRITE,
                  MAP_SHARED | MAP_FIXED_NOREPLACE, file, 0);
  orAbort(at == reinterpret_cast<void *>(base), "mmap");
  return static_cast<std::byte *>(at);
}

pid_t start(const std::string &emulator, const std::string &cpu, const std::array<int, 4> &files) {
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  for (const int target : {0, 1, int{kGuestMemoryFile}})
    posix_spawn_file_actions_adddup2(&actions, files[static_cast<std::size_t>(target)], target);
  std::array<std::string, 4> words{emulator, "-cpu", cpu, IMBREX_GUEST};
  std::array<char *, 5> argv{words[0].data(), words[1].data(), words[2].data(), words[3].data(),
                             nullptr};
  pid_t process = -1;
  const int failure = posix_spawn(&process, argv[0], &actions, nullptr, argv.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  errno = failure;
  orAbort(failure == 0, "posix_spawn");
  return process;
}

} // namespace

std::optional<std::string> GuestProcess::findEmulator() {
  for (const char *name : {"qemu-aarch64", "qemu-aarch64-static"})
    if (auto found = llvm::sys::findProgramByName(name)) return *found;
  return std::nullopt;
}

GuestProcess::GuestProcess(const std::string &emulator, const std::string &cpu) : cpu_(cpu) {
  const std::uint64_t base = nextBase();
  const int file = memfd_create("guest", MFD_CLOEXEC);
  orAbort(file >= 0, "memfd_create");
  memory_ = mapAt(base, file);
  nextCode_ = memory_ + aligned(sizeof(guest_mail));
  freeData();
  std::array<int, 2> down{}, up{};
  orAbort(pipe2(down.data(), O_CLOEXEC) == 0 && pipe2(up.data(), O_CLOEXEC) == 0, "pipe2");
  process_ = start(emulator, cpu, {down[0], up[1], -1, file});
  for (const int unused : {down[0], up[1], file}) close(unused);
  toGuest_ = down[1];
  fromGuest_ = up[0];
  const guest_memory memory{base, kBytes, base + kBytes};
  send(&memory, sizeof memory);
  await();
}

GuestProcess::~GuestProcess() {
  close(toGuest_); // by which it ends
  close(fromGuest_);
  waitpid(process_, nullptr, 0);
  munmap(memory_, kBytes);
}

std::byte *GuestProcess::allocateCode(std::size_t bytes) {
  std::byte *at = std::exchange(nextCode_, nextCode_ + aligned(bytes));
  IMBREX_CHECK(nextCode_ <= memory_ + kDataFrom,
               "the emulated process has no memory for code left");
  return at;
}

std::byte *GuestProcess::allocateData(std::size_t bytes, std::size_t offset) {
  std::byte *at = std::exchange(nextData_, nextData_ + aligned(offset + bytes)) + offset;
  IMBREX_CHECK(nextData_ <= memory_ + kDataTo, "the emulated process has no memory for data left");
  return at;
}

void GuestProcess::freeData() { nextData_ = memory_ + kDataFrom; }

std::uint64_t GuestProcess::addressOfCall(Function function, void *context) {
  IMBREX_CHECK(calls_.size() < kGuestCalls, "the guest can call {0} functions", int{kGuestCalls});
  calls_.push_back({function, context});
  return mail().calls + (calls_.size() - 1) * kGuestCallBytes;
}

void GuestProcess::run(std::uint64_t function, llvm::ArrayRef<std::uint64_t> arguments) {
  mail().function = function;
  std::ranges::copy(arguments, mail().x);
  for (send("r", 1); await() == 'c'; send("r", 1)) {
    const Call &called = calls_[mail().function];
    called.function(mail(), called.context);
  }
}

void GuestProcess::send(const void *data, std::size_t bytes) {
  orAbort(write(toGuest_, data, bytes) == static_cast<ssize_t>(bytes), "write");
}

char GuestProcess::await() {
  char said = 0;
  if (read(fromGuest_, &said, 1) == 1) return said;
  int status = 0;
  waitpid(process_, &status, 0);
  IMBREX_UNREACHABLE("the emulated {0} died of signal {1}, or ended with {2}", cpu_,
                     WIFSIGNALED(status) ? WTERMSIG(status) : 0, WEXITSTATUS(status));
}

} // namespace imbrex::testing
