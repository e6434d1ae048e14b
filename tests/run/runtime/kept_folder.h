#pragma once

#include <imbrex/log.hpp>

#include <cstdlib>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

/// For tests of code that is kept on disk.
namespace imbrex::testing {

/// The folder of this process, which is gone when it ends. Made before the environment is read.
struct KeptFolder {
  KeptFolder() {
    std::string pattern = (std::filesystem::temp_directory_path() / "imbrex-kept-XXXXXX").string();
    path = mkdtemp(pattern.data());
    setenv("IMBREX_CACHE_DIR", path.c_str(), 1);
  }
  KeptFolder(const KeptFolder &) = delete;
  KeptFolder &operator=(const KeptFolder &) = delete;
  ~KeptFolder() { std::filesystem::remove_all(path); }
  std::string path;
};

/// The log's lines of the cache, while this lives.
class CacheLog {
public:
  CacheLog() {
    lines().clear();
    set_log_filter("none,cache:debug");
    set_logger(
        [](log_level, std::string_view, std::string_view text) { lines().emplace_back(text); });
  }
  CacheLog(const CacheLog &) = delete;
  CacheLog &operator=(const CacheLog &) = delete;
  ~CacheLog() {
    set_logger(nullptr);
    set_log_filter("warn");
  }

  static std::vector<std::string> &lines() {
    static std::vector<std::string> all;
    return all;
  }
  /// "hit", "miss", or what came before.
  static std::string said() {
    std::string text;
    for (const std::string &line : lines())
      text += (text.empty() ? "" : "; ") + line.substr(0, line.find(" on disk"));
    return text;
  }
};

} // namespace imbrex::testing
