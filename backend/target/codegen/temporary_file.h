#pragma once

#include "llvm/ADT/StringRef.h"

#include <string>
#include <vector>

namespace imbrex::target {

/// A file that goes with the object: what programs and linkers exchange, which know only files.
class TemporaryFile {
public:
  explicit TemporaryFile(llvm::StringRef suffix, llvm::StringRef content = {});
  ~TemporaryFile();
  TemporaryFile(const TemporaryFile &) = delete;
  TemporaryFile &operator=(const TemporaryFile &) = delete;

  const std::string &path() const { return path_; }
  std::vector<char> read() const;

private:
  std::string path_;
};

} // namespace imbrex::target
