#include "runtime/disk_cache.h"
#include <imbrex/log.hpp>

#include <doctest/doctest.h>

#include <csignal>
#include <cstdlib>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <functional>
#include <random>
#include <string>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

/// What processes keep for each other, and what they do to each other meanwhile.
namespace imbrex {
namespace {

using runtime::DiskCache;
namespace fs = std::filesystem;

constexpr std::int64_t kMuch = std::int64_t{1} << 40;
constexpr uid_t kNobody = 65534;

/// A folder of the test's own.
class Folder {
public:
  Folder() {
    std::string pattern = (fs::temp_directory_path() / "imbrex-cache-XXXXXX").string();
    path_ = mkdtemp(pattern.data());
  }
  ~Folder() { fs::remove_all(path_); }
  Folder(const Folder &) = delete;
  Folder &operator=(const Folder &) = delete;
  const std::string &path() const { return path_; }

  std::vector<std::string> files() const {
    std::vector<std::string> found;
    for (const auto &file : fs::directory_iterator(path_))
      if (file.path().filename().string().starts_with("code-"))
        found.push_back(file.path().string());
    return found;
  }

private:
  std::string path_;
};

DiskCache opened(const Folder &folder, std::int64_t most = kMuch) {
  std::string problem;
  auto cache = DiskCache::open(folder.path(), most, problem);
  REQUIRE_MESSAGE(cache, problem);
  return std::move(*cache);
}

std::string contentOf(const std::string &path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

void write(const std::string &path, const std::string &content) {
  std::ofstream(path, std::ios::binary | std::ios::trunc) << content;
}

void useLongAgo(const std::string &path) {
  const timespec longAgo[2]{{.tv_sec = 1000, .tv_nsec = 0}, {.tv_sec = 1000, .tv_nsec = 0}};
  utimensat(AT_FDCWD, path.c_str(), longAgo, 0);
}

/// Its exit status, or the signal that ended it, below zero.
int inChild(const std::function<bool()> &action) {
  const pid_t child = fork();
  if (child == 0) _exit(action() ? 0 : 1);
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

std::string keyOf(int number) { return "kernel k" + std::to_string(number) + "\ntarget t\n"; }
std::string codeOf(int number) {
  std::string code(static_cast<std::size_t>(number % 97) * 50, '\0');
  for (std::size_t i = 0; i < code.size(); ++i)
    code[i] = static_cast<char>(static_cast<std::size_t>(number) * 31 + i * i);
  return code;
}

} // namespace

TEST_CASE("what is kept is found again by its text alone") {
  const Folder folder;
  const DiskCache cache = opened(folder);
  CHECK_FALSE(cache.find(keyOf(1)));
  for (int i = 0; i < 100; ++i) cache.keep(keyOf(i), codeOf(i));
  const DiskCache other = opened(folder);
  for (int i = 0; i < 100; ++i) CHECK(other.find(keyOf(i)) == codeOf(i));
  CHECK_FALSE(other.find(keyOf(1) + " "));
  CHECK_FALSE(other.find(""));
  cache.keep(keyOf(1), "from another process, which lost the race");
  CHECK(cache.find(keyOf(1)) == codeOf(1));
  CHECK(cache.entries().size() == 100);
  CHECK(fs::exists(folder.path() + "/CACHEDIR.TAG"));
  CHECK(cache.clear() == 100);
  CHECK_FALSE(cache.find(keyOf(1)));
}

TEST_CASE("whatever happens to a file, nothing but what was kept is found") {
  const Folder folder;
  const DiskCache cache = opened(folder);
  const std::string code("code\0\n that is short", 20);
  cache.keep(keyOf(1), code);
  const std::string file = folder.files().at(0), whole = contentOf(file);
  const auto hasGone = [&](const std::string &damaged) {
    write(file, damaged);
    return !cache.find(keyOf(1)) && !fs::exists(file);
  };
  for (std::size_t i = 0; i < whole.size(); ++i) {
    CAPTURE(i);
    std::string flipped = whole;
    flipped[i] = static_cast<char>(flipped[i] ^ 1 << i % 8);
    CHECK(hasGone(flipped));
    CHECK(hasGone(whole.substr(0, i)));
  }
  CHECK(hasGone(whole + "x"));
  cache.keep(keyOf(2), "another");
  CHECK(hasGone(contentOf(folder.files().at(0)))); // sound, and of another text
  write(file, whole);
  CHECK(cache.find(keyOf(1)) == code);
}

TEST_CASE("what is no file of one's own is not read, and makes room for one that is") {
  const Folder folder, elsewhere;
  const DiskCache cache = opened(folder);
  const std::string moved = elsewhere.path() + "/moved";
  const auto hasGone = [&](const std::function<void(const std::string &)> &spoil) {
    cache.keep(keyOf(1), "code");
    const std::string file = folder.files().at(0);
    REQUIRE(cache.find(keyOf(1)) == "code");
    spoil(file);
    return !cache.find(keyOf(1)) && folder.files().empty();
  };
  CHECK(hasGone([&](const std::string &file) {
    fs::rename(file, moved);
    fs::create_symlink(moved, file);
  }));
  CHECK(fs::exists(moved));
  CHECK(hasGone([&](const std::string &file) {
    fs::remove(file);
    fs::create_directory(file);
  }));
  CHECK(hasGone([&](const std::string &file) { // which nobody writes
    fs::remove(file);
    CHECK(mkfifo(file.c_str(), 0600) == 0);
  }));
  constexpr std::uintmax_t kMoreThanMemory = std::uintmax_t{1} << 43;
  CHECK(hasGone([&](const std::string &file) { fs::resize_file(file, kMoreThanMemory); }));
  CHECK(hasGone([&](const std::string &file) { chmod(file.c_str(), 0622); }));
  if (geteuid() == 0)
    CHECK(hasGone([&](const std::string &file) { CHECK(chown(file.c_str(), kNobody, 0) == 0); }));
  cache.keep(keyOf(1), "code");
  cache.forget(keyOf(1));
  CHECK(folder.files().empty());
}

TEST_CASE("the log says of what is damaged whether it could be taken away") {
  const Folder folder;
  const DiskCache cache = opened(folder);
  std::string said;
  set_logger([&](log_level, std::string_view, std::string_view text) { said = text; });
  cache.keep(keyOf(1), "code");
  const std::string file = folder.files().at(0);
  write(file, "");
  CHECK_FALSE(cache.find(keyOf(1)));
  CHECK(said == "'" + file + "' is damaged, and taken away");
  fs::create_directories(file + "/full");
  CHECK_FALSE(cache.find(keyOf(1)));
  CHECK(said == "'" + file + "' is damaged, and can't be taken away: Directory not empty");
  set_logger({});
}

TEST_CASE("a folder that others decide over is refused") {
  const Folder folder;
  std::string problem;
  REQUIRE(chmod(folder.path().c_str(), 0770) == 0);
  CHECK_FALSE(DiskCache::open(folder.path(), kMuch, problem));
  CHECK(problem == "others may write '" + folder.path() + "', which `chmod go-w` ends");
  REQUIRE(chmod(folder.path().c_str(), 0700) == 0);
  CHECK(DiskCache::open(folder.path(), kMuch, problem));
  if (geteuid() == 0) {
    REQUIRE(chown(folder.path().c_str(), kNobody, 0) == 0);
    CHECK_FALSE(DiskCache::open(folder.path(), kMuch, problem));
    CHECK(problem == "'" + folder.path() + "' is another user's");
  }
  CHECK_FALSE(DiskCache::open("/dev/null/folder", kMuch, problem));
  CHECK(problem.starts_with("'/dev/null/folder' can't be made: "));
}

TEST_CASE("eight processes that start on an empty folder keep each entry once") {
  const Folder folder;
  constexpr int kProcesses = 8, kKernels = 200;
  std::vector<pid_t> children;
  for (int process = 0; process < kProcesses; ++process) {
    const pid_t child = fork();
    if (child == 0) {
      std::string problem;
      const auto cache = DiskCache::open(folder.path(), kMuch, problem);
      bool isRight = cache.has_value();
      for (int i = 0; i < kKernels && isRight; ++i) {
        const int number = (i + process * 7) % kKernels;
        if (!cache->find(keyOf(number))) cache->keep(keyOf(number), codeOf(number));
        isRight = cache->find(keyOf(number)) == codeOf(number);
      }
      _exit(isRight ? 0 : 1);
    }
    children.push_back(child);
  }
  for (const pid_t child : children) {
    int status = 0;
    waitpid(child, &status, 0);
    CHECK(status == 0);
  }
  CHECK(folder.files().size() == kKernels); // nothing unfinished, either
  for (const DiskCache::Entry &entry : opened(folder).entries()) CHECK(entry.key != "");
}

TEST_CASE("processes that are killed at any time leave nothing wrong behind") {
  const Folder folder;
  std::mt19937 random(1);
  constexpr int kKills = 60, kKernels = 40;
  for (int kill = 0; kill < kKills; ++kill) {
    const pid_t child = fork();
    if (child == 0) {
      std::string problem;
      const auto cache = DiskCache::open(folder.path(), kMuch, problem);
      for (int i = kill; cache; ++i) {
        cache->keep(keyOf(i % kKernels), codeOf(i % kKernels));
        cache->clear();
      }
      _exit(1);
    }
    usleep(static_cast<useconds_t>(random() % 8000));
    ::kill(child, SIGKILL);
    waitpid(child, nullptr, 0);
    const DiskCache cache = opened(folder);
    for (int i = 0; i < kKernels; ++i) {
      const auto found = cache.find(keyOf(i));
      CHECK((!found || *found == codeOf(i)));
    }
    for (const DiskCache::Entry &entry : cache.entries()) CHECK(entry.key != "");
  }
  opened(folder).clear();
  CHECK(opened(folder).entries().empty());
  // What was not finished goes when nobody can be at it any more.
  for (const std::string &file : folder.files()) useLongAgo(file);
  opened(folder).clear();
  CHECK(folder.files().empty());
}

TEST_CASE("what somebody may be writing is left to him for an hour") {
  const Folder folder;
  const DiskCache cache = opened(folder, 1);
  const std::string file = folder.path() + "/code-unfinished-0123";
  write(file, "half of it");
  cache.prune();
  CHECK(cache.clear() == 0);
  CHECK(cache.entries().empty());
  CHECK(fs::exists(file));
  useLongAgo(file);
  CHECK(cache.clear() == 1);
  CHECK_FALSE(fs::exists(file));
}

TEST_CASE("what can't be written is not kept, and what is there is still found") {
  const Folder folder;
  {
    opened(folder).keep(keyOf(1), codeOf(1));
  }
  // As on a disk that is full: a file may have ten bytes.
  CHECK(inChild([&] {
          const DiskCache cache = opened(folder);
          signal(SIGXFSZ, SIG_IGN);
          const rlimit least{.rlim_cur = 10, .rlim_max = 10};
          setrlimit(RLIMIT_FSIZE, &least);
          cache.keep(keyOf(2), codeOf(2));
          return !cache.find(keyOf(2)) && cache.find(keyOf(1)) == codeOf(1);
        }) == 0);
  CHECK(folder.files().size() == 1);
  // A folder that may only be read, for which root has to be somebody else.
  CHECK(inChild([&] {
          const std::string entry = folder.files().at(0);
          if (geteuid() == 0 && (chown(entry.c_str(), kNobody, 0) != 0 ||
                                 chown(folder.path().c_str(), kNobody, 0) != 0))
            return false;
          if (chmod(folder.path().c_str(), 0500) != 0) return false;
          if (geteuid() == 0 && seteuid(kNobody) != 0) return false;
          std::string problem;
          const auto cache = DiskCache::open(folder.path(), kMuch, problem);
          if (!cache) return false;
          cache->keep(keyOf(2), codeOf(2));
          return !cache->find(keyOf(2)) && cache->find(keyOf(1)) == codeOf(1);
        }) == 0);
  REQUIRE(chmod(folder.path().c_str(), 0700) == 0);
  CHECK(folder.files().size() == 1);
}

TEST_CASE("what was used longest ago is taken away first") {
  const Folder folder;
  const std::string code(1000, 'x');
  {
    const DiskCache cache = opened(folder);
    for (int i = 0; i < 10; ++i) cache.keep(keyOf(i), code);
  }
  fs::remove(folder.path() +
             "/llvmcache.timestamp"); // since keeping looks, too, and not again soon
  for (const std::string &file : folder.files()) useLongAgo(file);
  const DiskCache cache = opened(folder, 5000);
  for (const int used : {3, 7}) CHECK(cache.find(keyOf(used)) == code);
  cache.prune();
  const auto left = cache.entries();
  CHECK(left.size() >= 2);
  CHECK(left.size() <= 5);
  for (const int used : {3, 7}) CHECK(cache.find(keyOf(used)) == code);
}

} // namespace imbrex
