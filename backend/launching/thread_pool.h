#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <optional>

/// Spreads the blocks of a launch over threads that live as long as the process.
namespace imbrex::launching {

/// More threads than this only wait for each other, and systems refuse to make any number of them.
inline constexpr std::int64_t kMostThreads = 1024;

/// The threads that work on a launch, those of the pool and the caller: so many as are wanted, or
/// one per processor.
std::int32_t threadCount(std::optional<std::int64_t> wanted);

/// A call of what takes blocks from `begin` up to, not including, `end`; it owns nothing.
class BlockWork {
public:
  template <class F>
  BlockWork(const F &work) // NOLINT(google-explicit-constructor)
      : work_(std::addressof(work)),
        call_([](const void *of, std::int64_t begin, std::int64_t end) {
          (*static_cast<const F *>(of))(begin, end);
        }) {}
  void operator()(std::int64_t begin, std::int64_t end) const { call_(work_, begin, end); }

private:
  const void *work_;
  void (*call_)(const void *, std::int64_t, std::int64_t);
};

/// Call `work(begin, end)` for consecutive ranges that cover 0 … count, and return when all have
/// returned. Each thread has as many blocks side by side, in few ranges of at most `longest`, as
/// long as all are as fast. The caller works too, so that a launch makes progress whatever the pool
/// is busy with, and any number of threads may launch at once. The first launch decides how many
/// threads there are.
void runInParallel(std::int64_t count, std::int32_t threads, BlockWork work,
                   std::int64_t longest = std::numeric_limits<std::int64_t>::max());

} // namespace imbrex::launching
