#include "imbrex/cache.hpp"

#include "backend/ir/text.h"
#include "runtime/executable.h"
#include "runtime/log.h"

#include <map>
#include <mutex>

namespace imbrex {
namespace {

using runtime::Executable;

/// The compiled kernels of the process, by their text. An entry is filled under a lock of its own,
/// so that two kernels compile at the same time and one kernel compiles once.
struct Entry {
  std::mutex mutex;
  std::shared_ptr<const Executable> executable; // null until it was compiled without an error
};

struct Cache {
  std::mutex mutex;
  std::map<std::string, std::shared_ptr<Entry>> entries;
  std::size_t hits = 0;
  std::size_t misses = 0;
};

Cache &kernelCache() {
  static auto &only = *new Cache; // never destroyed: statics may hold kernels
  return only;
}

std::shared_ptr<Entry> entryOf(std::string key) {
  const std::scoped_lock lock(kernelCache().mutex);
  auto &entry = kernelCache().entries[std::move(key)];
  if (!entry) entry = std::make_shared<Entry>();
  return entry;
}

void count(std::size_t Cache::*counter) {
  const std::scoped_lock lock(kernelCache().mutex);
  ++(kernelCache().*counter);
}

} // namespace

namespace runtime {

std::shared_ptr<const Executable> cachedExecutable(const ir::Kernel &kernel, device on,
                                                   Diagnostics &diagnostics,
                                                   llvm::ArrayRef<ir::Argument> launch) {
  const DefaultFloatState state; // the text has numbers
  std::string key = std::string(on.name()) + "\n" + ir::print(kernel, {.locations = true});
  const std::shared_ptr<Entry> entry = entryOf(std::move(key));
  const std::scoped_lock lock(entry->mutex);
  if (entry->executable) {
    count(&Cache::hits);
    log(log_level::debug, "cache", "hit kernel={0} device={1}", kernel.name(), on.name());
  } else {
    count(&Cache::misses);
    entry->executable = makeExecutable(kernel, on, diagnostics, launch);
  }
  return entry->executable;
}

} // namespace runtime

cache_statistics cache_usage() {
  const std::scoped_lock lock(kernelCache().mutex);
  return {.entries = kernelCache().entries.size(),
          .hits = kernelCache().hits,
          .misses = kernelCache().misses};
}

void clear_cache() {
  const std::scoped_lock lock(kernelCache().mutex);
  kernelCache().entries.clear();
}

} // namespace imbrex
