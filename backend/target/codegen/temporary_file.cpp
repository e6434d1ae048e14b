#include "backend/target/codegen/temporary_file.h"

#include "backend/support/check.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/raw_ostream.h"

namespace imbrex::target {

TemporaryFile::TemporaryFile(llvm::StringRef suffix, llvm::StringRef content) {
  int descriptor = -1;
  llvm::SmallString<128> path;
  const std::error_code error =
      llvm::sys::fs::createTemporaryFile("imbrex", suffix, descriptor, path);
  IMBREX_CHECK(!error, "cannot make a temporary file: {0}", error.message());
  path_ = path.str().str();
  constexpr bool kCloses = true;
  llvm::raw_fd_ostream(descriptor, kCloses) << content;
}

TemporaryFile::~TemporaryFile() { llvm::sys::fs::remove(path_); }

std::vector<char> TemporaryFile::read() const {
  const auto buffer = llvm::MemoryBuffer::getFile(path_, false, false);
  if (!buffer) return {};
  return {(*buffer)->getBufferStart(), (*buffer)->getBufferEnd()};
}

} // namespace imbrex::target
