#pragma once

#include "backend/support/result.h"
#include "llvm/ADT/StringRef.h"

#include <string>
#include <utility>
#include <vector>

namespace imbrex::target {

/// A file that goes with the object: what programs and linkers exchange, which know only files.
class TemporaryFile {
public:
  /// An error where the folder for such files (TMPDIR) cannot be written.
  static Result<TemporaryFile> make(llvm::StringRef suffix, llvm::StringRef content = {});
  ~TemporaryFile();
  TemporaryFile(TemporaryFile &&other) noexcept : path_(std::exchange(other.path_, {})) {}
  TemporaryFile &operator=(TemporaryFile &&) = delete;

  const std::string &path() const { return path_; }
  std::vector<char> read() const;

private:
  explicit TemporaryFile(std::string path) : path_(std::move(path)) {}

  std::string path_;
};

} // namespace imbrex::target
