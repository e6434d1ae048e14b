#include "backend/target/codegen/temporary_file.h"

#include "llvm/ADT/SmallString.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/raw_ostream.h"

namespace imbrex::target {

Result<TemporaryFile> TemporaryFile::make(llvm::StringRef suffix, llvm::StringRef content) {
  llvm::SmallString<128> folder;
  constexpr bool kErasedOnReboot = true;
  llvm::sys::path::system_temp_directory(kErasedOnReboot, folder);
  int descriptor = -1;
  llvm::SmallString<128> path;
  if (llvm::sys::fs::createTemporaryFile("imbrex", suffix, descriptor, path))
    return fail(Diag::UnwritableFile, {}, folder.str());
  TemporaryFile file(path.str().str());
  constexpr bool kCloses = true;
  llvm::raw_fd_ostream stream(descriptor, kCloses);
  stream << content;
  stream.close();
  const bool isWritten = !stream.has_error();
  stream.clear_error();
  if (!isWritten) return fail(Diag::UnwritableFile, {}, file.path());
  return file;
}

TemporaryFile::~TemporaryFile() {
  if (path_.empty()) return;
  // That it stays is no reason to fail.
  [[maybe_unused]] const std::error_code ignored = llvm::sys::fs::remove(path_);
}

std::vector<char> TemporaryFile::read() const {
  const auto buffer = llvm::MemoryBuffer::getFile(path_, false, false);
  if (!buffer) return {};
  return {(*buffer)->getBufferStart(), (*buffer)->getBufferEnd()};
}

} // namespace imbrex::target
