#include "runtime/disk_cache.h"

#include "backend/support/environment.h"
#include "backend/support/lifetime.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/BLAKE3.h"
#include "llvm/Support/FileSystem.h"
#include "runtime/log.h"

#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <dirent.h>
#include <fcntl.h>
#include <memory>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>

namespace imbrex::runtime {
namespace {

constexpr std::string_view kPrefix = "code-", kUnfinished = "code-unfinished-";
/// A file that nobody has finished since then is of somebody who was killed.
constexpr std::int64_t kSecondsToFinish = 3600;
constexpr std::string_view kMagic = "imbrex cache 2\n";
constexpr std::size_t kDigestBytes = 32;
/// No code has as many: a longer file is damaged, and there may be no memory to read it into.
constexpr std::int64_t kMostEntryBytes = std::int64_t{1} << 30;

std::string reasonOf(int error) { return std::strerror(error); }

/// A file, closed with this.
class Handle {
public:
  explicit Handle(int number) : number_(number) {}
  ~Handle() { close(); }
  Handle(const Handle &) = delete;
  Handle &operator=(const Handle &) = delete;
  explicit operator bool() const { return number_ >= 0; }
  int number() const { return number_; }
  int release() { return std::exchange(number_, -1); }
  bool close() { return number_ >= 0 && ::close(std::exchange(number_, -1)) == 0; }

private:
  int number_;
};

std::string digestOf(llvm::ArrayRef<std::string_view> parts) {
  llvm::BLAKE3 hash;
  for (const std::string_view part : parts) hash.update(llvm::StringRef(part));
  const auto bytes = hash.final<kDigestBytes>();
  return {bytes.begin(), bytes.end()};
}

std::string fileOf(std::string_view key) {
  return std::string(kPrefix) + llvm::toHex(digestOf(key), true);
}

/// magic, the digest of all that follows, the key's length, the key, the content
std::string entryOf(std::string_view key, std::string_view content) {
  const std::uint64_t bytes = key.size();
  const std::string length(reinterpret_cast<const char *>(&bytes), sizeof bytes);
  std::string entry(kMagic);
  entry += digestOf({length, key, content});
  entry += length;
  entry.append(key).append(content);
  return entry;
}

struct Content {
  std::string_view key, content;
};

/// None of a file that is not as it was written.
std::optional<Content> contentOf(std::string_view entry) {
  if (!entry.starts_with(kMagic)) return std::nullopt;
  entry.remove_prefix(kMagic.size());
  std::uint64_t length = 0;
  if (entry.size() < kDigestBytes + sizeof length) return std::nullopt;
  const std::string_view digest = entry.substr(0, kDigestBytes), rest = entry.substr(kDigestBytes);
  if (digestOf(rest) != digest) return std::nullopt;
  std::memcpy(&length, rest.data(), sizeof length);
  if (length > rest.size() - sizeof length) return std::nullopt;
  return Content{.key = rest.substr(sizeof length, length),
                 .content = rest.substr(sizeof length + length)};
}

/// Whether nobody but this user decides what is in it.
bool isOwn(const struct stat &facts) {
  return facts.st_uid == geteuid() && (facts.st_mode & (S_IWGRP | S_IWOTH)) == 0;
}

/// Somebody writes it, or was killed.
bool isUnfinished(const DiskCache::Entry &entry) {
  return llvm::StringRef(entry.file).starts_with(kUnfinished);
}

/// Says so once.
template <class... A>
void warnOnce(const char *format, const A &...arguments) {
  static std::atomic<bool> isSaid = false;
  if (!isSaid.exchange(true)) log(log_level::warn, "cache", format, arguments...);
}

} // namespace

// --- the folder ---

std::string DiskCache::usualFolder() {
  if (hasOthersRights()) return "";
  const std::string &named = environment().cacheFolder;
  if (named == "off") return "";
  if (!named.empty()) return named;
  const char *base = getenv("XDG_CACHE_HOME");
  if (base != nullptr && *base == '/') return std::string(base) + "/imbrex";
  const char *home = getenv("HOME");
  return home != nullptr && *home == '/' ? std::string(home) + "/.cache/imbrex" : "";
}

const DiskCache *DiskCache::ofProcess() {
  static const auto &only = permanent([] {
    const std::string folder = usualFolder();
    if (folder.empty()) return std::optional<DiskCache>();
    constexpr std::int64_t kUsualMebibytes = 1024, kMebibyte = 1 << 20;
    const std::int64_t limit = environment().cacheLimit.number.value_or(kUsualMebibytes);
    std::string problem;
    auto opened = open(folder, limit * kMebibyte, problem);
    if (!opened) warnOnce("nothing is kept for other processes: {0}", problem);
    return opened;
  }());
  return only ? &*only : nullptr;
}

std::optional<DiskCache> DiskCache::open(const std::string &folder, std::int64_t mostBytes,
                                         std::string &problem) {
  constexpr auto kOwnersAlone = llvm::sys::fs::perms::owner_all;
  if (const auto error = llvm::sys::fs::create_directories(folder, true, kOwnersAlone)) {
    problem = "'" + folder + "' can't be made: " + error.message();
    return std::nullopt;
  }
  auto cache = openAsItIs(folder, problem);
  if (!cache) return std::nullopt;
  cache->mostBytes_ = mostBytes;
  // What those who make backups look for (https://bford.info/cachedir/).
  constexpr const char *kTag = "CACHEDIR.TAG";
  if (faccessat(cache->handle_, kTag, F_OK, 0) != 0)
    cache->write(kTag,
                 "Signature: 8a477f597d28d172789f06886806bc55\n# Code that imbrex has compiled.\n");
  return cache;
}

std::optional<DiskCache> DiskCache::openAsItIs(const std::string &folder, std::string &problem) {
  Handle handle(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  struct stat facts{};
  if (!handle || fstat(handle.number(), &facts) != 0) {
    problem = "'" + folder + "' can't be opened: " + reasonOf(errno);
    return std::nullopt;
  }
  if (facts.st_uid != geteuid()) {
    problem = "'" + folder + "' is another user's";
    return std::nullopt;
  }
  if (!isOwn(facts)) {
    problem = "others may write '" + folder + "', which `chmod go-w` ends";
    return std::nullopt;
  }
  constexpr std::int64_t kAny = std::int64_t{1} << 62;
  return DiskCache(folder, handle.release(), kAny);
}

DiskCache::DiskCache(DiskCache &&other) noexcept
    : folder_(std::move(other.folder_)), handle_(std::exchange(other.handle_, -1)),
      mostBytes_(other.mostBytes_) {}

DiskCache::~DiskCache() {
  if (handle_ >= 0) ::close(handle_);
}

// --- files ---

std::optional<std::string> DiskCache::read(const std::string &file) const {
  // Of a pipe nobody may ever open the other end.
  constexpr int kAtOnce = O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK;
  Handle handle(openat(handle_, file.c_str(), kAtOnce));
  struct stat facts{};
  if (!handle || fstat(handle.number(), &facts) != 0 || !S_ISREG(facts.st_mode) || !isOwn(facts) ||
      facts.st_size > kMostEntryBytes)
    return std::nullopt;
  std::string text(static_cast<std::size_t>(facts.st_size), '\0');
  std::size_t have = 0;
  while (have < text.size()) {
    const ssize_t got = ::read(handle.number(), &text[have], text.size() - have);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return std::nullopt;
    have += static_cast<std::size_t>(got);
  }
  return text;
}

/// False, and nothing is left of it, where it can't be written.
bool DiskCache::write(const std::string &file, std::string_view text) const {
  constexpr mode_t kOwner = S_IRUSR | S_IWUSR;
  constexpr int kNew = O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC;
  Handle handle(openat(handle_, file.c_str(), kNew, kOwner));
  if (!handle) return false;
  bool isWritten = true;
  while (isWritten && !text.empty()) {
    const ssize_t put = ::write(handle.number(), text.data(), text.size());
    if (put < 0 && errno == EINTR) continue;
    isWritten = put > 0;
    if (isWritten) text.remove_prefix(static_cast<std::size_t>(put));
  }
  isWritten = isWritten && fsync(handle.number()) == 0;
  isWritten = handle.close() && isWritten;
  if (isWritten) return true;
  const int error = errno;
  unlinkat(handle_, file.c_str(), 0);
  errno = error;
  return false;
}

std::vector<DiskCache::Entry> DiskCache::files() const {
  std::vector<Entry> found;
  const int again = openat(handle_, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  const std::unique_ptr<DIR, int (*)(DIR *)> folder(fdopendir(again), closedir);
  if (!folder) return found;
  while (const dirent *next = readdir(folder.get())) {
    struct stat facts{};
    if (llvm::StringRef(next->d_name).starts_with(kPrefix) &&
        fstatat(handle_, next->d_name, &facts, AT_SYMLINK_NOFOLLOW) == 0) // else it has gone since
      found.push_back({.file = next->d_name,
                       .bytes = facts.st_size,
                       .usedAt = facts.st_atim.tv_sec,
                       .key = ""});
  }
  llvm::stable_sort(found, [](const Entry &a, const Entry &b) { return a.usedAt < b.usedAt; });
  return found;
}

// --- entries ---

std::optional<std::string> DiskCache::find(std::string_view key) const {
  const std::string file = fileOf(key);
  struct stat facts{};
  if (fstatat(handle_, file.c_str(), &facts, AT_SYMLINK_NOFOLLOW) != 0) return std::nullopt;
  const auto text = read(file);
  const auto found = text ? contentOf(*text) : std::nullopt;
  if (!found || found->key != key) {
    // One that can't be read would never be replaced, either. The folder is our own.
    const bool stays =
        unlinkat(handle_, file.c_str(), S_ISDIR(facts.st_mode) ? AT_REMOVEDIR : 0) != 0 &&
        errno != ENOENT; // somebody else was first
    const std::string done = stays ? "can't be taken away: " + reasonOf(errno) : "taken away";
    log(log_level::warn, "cache", "'{0}/{1}' is damaged, and {2}", folder_, file, done);
    return std::nullopt;
  }
  // Whatever is used now is what is taken away last.
  const timespec times[]{{.tv_sec = 0, .tv_nsec = UTIME_NOW}, {.tv_sec = 0, .tv_nsec = UTIME_OMIT}};
  utimensat(handle_, file.c_str(), times, AT_SYMLINK_NOFOLLOW);
  return std::string(found->content);
}

void DiskCache::forget(std::string_view key) const { unlinkat(handle_, fileOf(key).c_str(), 0); }

void DiskCache::keep(std::string_view key, std::string_view content) const {
  // Processes of other machines and containers have the same numbers.
  std::uint64_t number = 0;
  if (getrandom(&number, sizeof number, 0) != sizeof number) return;
  const std::string unfinished = std::string(kUnfinished) + llvm::utohexstr(number, true, 16);
  const std::string file = fileOf(key);
  bool isKept = write(unfinished, entryOf(key, content));
  int error = errno;
  if (isKept) {
    // It fails where the entry is there, which is as good.
    isKept = linkat(handle_, unfinished.c_str(), handle_, file.c_str(), 0) == 0 || errno == EEXIST;
    error = errno;
    // A file system without links: whoever is last wins, with the same content.
    if (!isKept && (error == EPERM || error == EOPNOTSUPP || error == ENOSYS))
      isKept = renameat(handle_, unfinished.c_str(), handle_, file.c_str()) == 0;
    unlinkat(handle_, unfinished.c_str(), 0);
  }
  if (!isKept) return warnOnce("nothing is kept in '{0}': {1}", folder_, reasonOf(error));
  static std::atomic<bool> isPruned = false;
  if (!isPruned.exchange(true)) prune(); // once in a process
}

void DiskCache::prune() const {
  const std::vector<Entry> all = files();
  std::int64_t bytes = 0;
  for (const Entry &entry : all) bytes += entry.bytes;
  for (const Entry &entry : all) {
    if (bytes <= mostBytes_) return;
    if (takeAway(entry)) bytes -= entry.bytes;
  }
}

std::vector<DiskCache::Entry> DiskCache::entries() const {
  std::vector<Entry> all = files();
  llvm::erase_if(all, isUnfinished);
  for (Entry &entry : all) {
    const auto text = read(entry.file);
    const auto content = text ? contentOf(*text) : std::nullopt;
    if (content && fileOf(content->key) == entry.file) entry.key = content->key;
  }
  return all;
}

std::int64_t DiskCache::clear() const {
  return llvm::count_if(files(), [&](const Entry &entry) { return takeAway(entry); });
}

bool DiskCache::takeAway(const Entry &entry) const {
  const bool isBeingWritten =
      isUnfinished(entry) && entry.usedAt + kSecondsToFinish > std::time(nullptr);
  return !isBeingWritten && unlinkat(handle_, entry.file.c_str(), 0) == 0;
}

} // namespace imbrex::runtime
