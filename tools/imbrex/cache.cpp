#include "llvm/ADT/StringRef.h"
#include "llvm/Support/FileSystem.h"
#include "runtime/disk_cache.h"
#include "tools/imbrex/command.h"

#include <cstdio>
#include <ctime>

namespace imbrex::tool {
namespace {

namespace cl = llvm::cl;
using runtime::DiskCache;

cl::SubCommand cacheOptions("cache", "List, check or clear what is kept of compiled code");
cl::opt<std::string> action(cl::Positional, cl::desc("[list|verify|clear]"), cl::init("list"),
                            Of{cacheOptions});
cl::opt<std::string> folder("dir", cl::desc("The folder, in place of IMBREX_CACHE_DIR's"),
                            cl::value_desc("folder"), Of{cacheOptions});

/// The first lines of a key, without their first words: `softmax for sm_90a`.
std::string nameOf(const DiskCache::Entry &entry) {
  if (entry.key.empty()) return "damaged: " + entry.file;
  const auto [kernel, rest] = llvm::StringRef(entry.key).split('\n');
  llvm::StringRef target = rest.split('\n').first;
  target.consume_front("target ");
  llvm::StringRef name = kernel;
  name.consume_front("kernel ");
  return (name + " for " + target).str();
}

std::string timeOf(std::int64_t seconds) {
  const std::time_t time = seconds;
  std::tm parts{};
  char text[32] = "";
  localtime_r(&time, &parts);
  std::strftime(text, sizeof text, "%Y-%m-%d %H:%M", &parts);
  return text;
}

int list(const DiskCache &cache) {
  std::int64_t bytes = 0;
  const auto entries = cache.entries();
  for (const DiskCache::Entry &entry : entries) {
    bytes += entry.bytes;
    std::printf("%s  %9lld  %s\n", timeOf(entry.usedAt).c_str(),
                static_cast<long long>(entry.bytes), nameOf(entry).c_str());
  }
  std::printf("%zu entries of %lld bytes in %s\n", entries.size(), static_cast<long long>(bytes),
              cache.folder().c_str());
  return kSuccess;
}

int verify(const DiskCache &cache) {
  std::size_t damaged = 0;
  const auto entries = cache.entries();
  for (const DiskCache::Entry &entry : entries) {
    if (!entry.key.empty()) continue;
    ++damaged;
    std::printf("damaged: %s/%s\n", cache.folder().c_str(), entry.file.c_str());
  }
  std::printf("%zu of %zu entries are as they were written\n", entries.size() - damaged,
              entries.size());
  return damaged == 0 ? kSuccess : kFailure;
}

int clear(const DiskCache &cache) {
  std::printf("%lld entries taken away from %s\n", static_cast<long long>(cache.clear()),
              cache.folder().c_str());
  return kSuccess;
}

int manageCache() {
  const std::string place = folder.empty() ? DiskCache::usualFolder() : folder.getValue();
  std::string problem = "IMBREX_CACHE_DIR is off, or there is no home folder";
  const bool isToCome = folder.empty() && !place.empty() && !llvm::sys::fs::exists(place);
  if (isToCome) // whoever keeps the first code makes it
    return std::printf("0 entries of 0 bytes in %s\n", place.c_str()), kSuccess;
  const auto cache = place.empty() ? std::nullopt : DiskCache::openAsItIs(place, problem);
  if (!cache) return reportUsage(diagnostic(Diag::NoCache, {}, problem));
  if (action == "list") return list(*cache);
  if (action == "verify") return verify(*cache);
  if (action == "clear") return clear(*cache);
  return reportUsage(diagnostic(Diag::CacheAction, {}, action.getValue()));
}

} // namespace

const Subcommand kCache{.options = &cacheOptions, .run = manageCache};

} // namespace imbrex::tool
