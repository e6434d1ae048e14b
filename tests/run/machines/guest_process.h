#pragma once

#include "llvm/ADT/ArrayRef.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <sys/types.h>
#include <vector>

struct guest_mail;

namespace imbrex::testing {

/// A process of another architecture, emulated, and memory that it and this one have at the same
/// address. Code that is put there runs as on a machine of its own; what it calls, this one
/// executes.
class GuestProcess {
public:
  /// The emulator, found in the path; none where it is not installed.
  static std::optional<std::string> findEmulator();

  /// `cpu`: what the emulator is to be, by its own name. Aborts where the process does not start.
  GuestProcess(const std::string &emulator, const std::string &cpu);
  ~GuestProcess();
  GuestProcess(const GuestProcess &) = delete;
  GuestProcess &operator=(const GuestProcess &) = delete;

  /// Memory that nothing has used before: the emulator keeps its translation of code that it has
  /// seen, and does not notice that another process changes it.
  std::byte *allocateCode(std::size_t bytes);
  /// Memory until the next call of `freeData`, at `offset` behind a multiple of 64.
  std::byte *allocateData(std::size_t bytes, std::size_t offset = 0);
  void freeData();

  /// A function of this process, for the guest's code to call: of up to eight integers or pointers.
  using Function = void (*)(guest_mail &mail, void *context);
  std::uint64_t addressOfCall(Function function, void *context);

  /// Run a function of six integers or pointers. Aborts where the guest dies of it.
  void run(std::uint64_t function, llvm::ArrayRef<std::uint64_t> arguments);

private:
  void send(const void *data, std::size_t bytes);
  char await();
  guest_mail &mail() const { return *reinterpret_cast<guest_mail *>(memory_); }

  struct Call {
    Function function;
    void *context;
  };
  std::string cpu_;
  std::byte *memory_ = nullptr;
  std::byte *nextCode_ = nullptr, *nextData_ = nullptr;
  pid_t process_ = -1;
  int toGuest_ = -1, fromGuest_ = -1;
  std::vector<Call> calls_;
};

} // namespace imbrex::testing
