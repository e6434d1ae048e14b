#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace imbrex::runtime {

/// A folder of what was compiled, each by the text of all that it is of. Any number of processes
/// and threads share it, also over NFS.
///
/// An entry is a file that is there as a whole or not at all: it is written under another name, and
/// linked under its own when it is on disk. What is read is compared with its checksum and with the
/// text; what does not match is taken away, and is not there. A checksum is no authentication:
/// whoever may write the folder decides what runs, so one that others may write, or that is another
/// user's, is refused.
class DiskCache {
public:
  /// The folder of IMBREX_CACHE_DIR, else `imbrex` in that of XDG_CACHE_HOME or in ~/.cache; null
  /// where it is `off`, where there is none, for a process with another user's rights (setuid), and
  /// where the folder can't be had, which is warned about once.
  static const DiskCache *ofProcess();
  /// Where that would be; empty: nowhere.
  static std::string usualFolder();

  /// Opens a folder, and makes it where it is not there. `problem` says why it can't be had.
  static std::optional<DiskCache> open(const std::string &folder, std::int64_t mostBytes,
                                       std::string &problem);
  /// One that is there, in which nothing is written.
  static std::optional<DiskCache> openAsItIs(const std::string &folder, std::string &problem);
  DiskCache(DiskCache &&other) noexcept;
  DiskCache &operator=(DiskCache &&) = delete;
  ~DiskCache();

  /// What was kept of just this text.
  std::optional<std::string> find(std::string_view key) const;
  /// Where somebody else was first, what he kept stays. What can't be written is not kept, and said
  /// once in the log.
  void keep(std::string_view key, std::string_view content) const;

  /// Takes it away, so that another may be kept in its place.
  void forget(std::string_view key) const;

  struct Entry {
    std::string file;
    std::int64_t bytes = 0;
    std::int64_t usedAt = 0; ///< Seconds since 1970.
    std::string key;         ///< Empty of one that is damaged.
  };
  /// Those used longest ago first.
  std::vector<Entry> entries() const;
  /// Takes away all entries; how many.
  std::int64_t clear() const;
  /// Takes away what was used longest ago, down to the limit.
  void prune() const;

  const std::string &folder() const { return folder_; }

private:
  DiskCache(std::string folder, int handle, std::int64_t mostBytes)
      : folder_(std::move(folder)), handle_(handle), mostBytes_(mostBytes) {}

  /// All that is there, unfinished ones too, without keys.
  std::vector<Entry> files() const;
  /// False of one that somebody may be writing.
  bool takeAway(const Entry &entry) const;
  /// The whole of a file of ours; none where it is not there.
  std::optional<std::string> read(const std::string &file) const;
  bool write(const std::string &file, std::string_view text) const;

  std::string folder_;
  int handle_; ///< Of the folder.
  std::int64_t mostBytes_;
};

} // namespace imbrex::runtime
