#include "backend/launching/thread_pool.h"

#include "backend/support/float_state.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <deque>
#include <memory>
#include <mutex>
#include <pthread.h>
#include <sched.h>
#include <system_error>
#include <thread>
#include <vector>

namespace imbrex::launching {
namespace {

/// Consecutive blocks, of which threads take half of what is left at a time: few ranges, so that
/// panels that blocks share are copied seldom, and small ones at the end, so that threads that are
/// not as fast end together.
struct alignas(64) Segment {
  std::atomic<std::int64_t> next = 0;
  std::int64_t end = 0;
};

/// One launch. Each thread has a segment of its own, and then what others have left of theirs; the
/// caller then waits for the last ranges.
struct Job {
  Job(BlockWork blocks, std::int64_t count, std::int32_t threads, std::int64_t most)
      : work(blocks), longest(most),
        segments(static_cast<std::size_t>(std::min<std::int64_t>(count, threads))), untaken(count) {
    const std::int64_t parts = std::ssize(segments), length = count / parts, longer = count % parts;
    for (std::int64_t begin = 0, i = 0; Segment &segment : segments) {
      segment.next = begin;
      segment.end = begin += length + (i++ < longer ? 1 : 0);
    }
  }

  const BlockWork work;
  const std::int64_t longest; // range
  std::vector<Segment> segments;
  std::atomic<std::int64_t> untaken;     // blocks
  std::atomic<std::size_t> entered = 0;  // threads
  std::atomic<std::int32_t> helpers = 0; // pool threads inside; changed under the pool's mutex
  const int processor = sched_getcpu();  // of the caller

  bool exhausted() const { return untaken.load(std::memory_order_relaxed) <= 0; }

  void help() {
    const std::size_t own = entered.fetch_add(1, std::memory_order_relaxed);
    for (std::size_t i = 0; i < segments.size(); ++i)
      workOff(segments[(own + i) % segments.size()]);
  }

  void workOff(Segment &segment) {
    std::int64_t begin = segment.next.load(std::memory_order_relaxed);
    while (begin < segment.end) {
      const std::int64_t end = begin + std::min((segment.end - begin + 1) / 2, longest);
      if (!segment.next.compare_exchange_weak(begin, end, std::memory_order_relaxed)) continue;
      untaken.fetch_sub(end - begin, std::memory_order_relaxed);
      work(begin, end);
      begin = segment.next.load(std::memory_order_relaxed);
    }
  }
};

/// Go on elsewhere, if the thread is on this processor. Linux often wakes a thread where the one is
/// that wakes it, and moves it to one that is idle only after some milliseconds.
void leave(int processor) {
  if (sched_getcpu() != processor) return;
  cpu_set_t allowed, others;
  if (sched_getaffinity(0, sizeof allowed, &allowed) != 0) return;
  others = allowed;
  CPU_CLR(static_cast<unsigned>(processor), &others);
  if (sched_setaffinity(0, sizeof others, &others) == 0) // fails if there are none
    sched_setaffinity(0, sizeof allowed, &allowed);
}

/// Look out for what is likely to happen at once, for about as long as it takes to be woken behind
/// a sleep: who waits loses twice that at most, and mostly nothing.
template <class F>
void lookOut(const F &isThere) {
  constexpr std::chrono::microseconds kLongest(50);
  const auto end = std::chrono::steady_clock::now() + kLongest;
  while (!isThere() && std::chrono::steady_clock::now() < end) std::this_thread::yield();
}

class Pool {
public:
  /// As many threads as there are to be had, up to so many with the caller's.
  explicit Pool(std::int32_t threads) {
    try {
      for (std::int32_t i = 1; i < threads; ++i) workers_.emplace_back([this] { serve(); });
    } catch (const std::system_error &) {
      // A limit of the process; the work is shared among fewer.
    }
  }

  /// End the threads; who launches from here on works alone.
  void close() {
    {
      const std::lock_guard lock(mutex_);
      stopping_ = true;
      ++news_;
    }
    wake_.notify_all();
    for (std::thread &worker : workers_) worker.join();
    workers_.clear();
  }

  void run(Job &job) {
    {
      const std::lock_guard lock(mutex_);
      jobs_.push_back(&job);
      ++news_;
    }
    wake_.notify_all();
    job.help();
    std::unique_lock lock(mutex_);
    std::erase(jobs_, &job); // from here on nobody enters
    if (job.helpers != 0) {
      lock.unlock();
      lookOut([&] { return job.helpers == 0; });
      lock.lock();
    }
    left_.wait(lock, [&] { return job.helpers == 0; });
  }

private:
  Job *openJob() {
    const auto open = std::ranges::find_if(jobs_, [](const Job *job) { return !job->exhausted(); });
    return open == jobs_.end() ? nullptr : *open;
  }

  void serve() {
    const DefaultFloatState state; // the thread has that of who made the pool
    std::unique_lock lock(mutex_);
    for (;;) {
      Job *job = nullptr;
      const auto isWanted = [&] { return stopping_ || (job = openJob()) != nullptr; };
      if (!isWanted()) {
        const std::uint32_t known = news_;
        lock.unlock();
        lookOut([&] { return news_ != known; });
        lock.lock();
      }
      wake_.wait(lock, isWanted);
      if (stopping_) return;
      ++job->helpers;
      lock.unlock();
      leave(job->processor);
      job->help();
      lock.lock();
      if (--job->helpers == 0) left_.notify_all();
    }
  }

  std::mutex mutex_;
  std::condition_variable wake_; // there may be work
  std::condition_variable left_; // a job may have lost its last helper
  std::deque<Job *> jobs_;
  std::vector<std::thread> workers_;
  bool stopping_ = false;
  std::atomic<std::uint32_t> news_ = 0; // changes, under the mutex, with what threads wait for
};

/// The pool of this process; null before it is needed, and in a process that was forked off, which
/// has only the thread that forked. Never destroyed, as statics may launch while they go.
constinit std::atomic<Pool *> pool = nullptr;

/// When the process ends no thread may be left in the code.
void closePool() {
  if (Pool *made = pool.load(std::memory_order_acquire)) made->close();
}

Pool &thePool(std::int32_t threads) {
  Pool *found = pool.load(std::memory_order_acquire);
  if (found != nullptr) return *found;
  static std::once_flag once;
  std::call_once(once, [] {
    std::atexit(closePool);
    pthread_atfork(nullptr, nullptr, [] { pool.store(nullptr, std::memory_order_relaxed); });
  });
  auto made = std::make_unique<Pool>(threads);
  if (pool.compare_exchange_strong(found, made.get())) return *made.release();
  made->close(); // another thread was faster
  return *found;
}

} // namespace

std::int32_t threadCount(std::optional<std::int64_t> wanted) {
  const std::int64_t processors = std::max(1U, std::thread::hardware_concurrency());
  return static_cast<std::int32_t>(std::min(wanted.value_or(processors), kMostThreads));
}

void runInParallel(std::int64_t count, std::int32_t threads, BlockWork work, std::int64_t longest) {
  if (threads == 1 || count <= 1) {
    if (count > 0) work(0, count);
    return;
  }
  Job job(work, count, threads, longest);
  thePool(threads).run(job);
}

} // namespace imbrex::launching
