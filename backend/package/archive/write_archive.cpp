#include "backend/package/archive/write_archive.h"

#include "backend/package/archive/tables.h"
#include "llvm/Object/ArchiveWriter.h"
#include "llvm/Support/Error.h"

namespace imbrex::archive {

Result<void> writeArchive(const Library &library, const std::string &path) {
  std::vector<std::unique_ptr<llvm::MemoryBuffer>> tables; // outlive what is written
  std::vector<std::string> names;
  std::vector<llvm::NewArchiveMember> members;
  const auto add = [&](llvm::MemoryBufferRef object, std::string name) {
    names.push_back(std::move(name));
    members.emplace_back(object);
  };
  for (const LibraryKernel &kernel : library.kernels) {
    auto made = makeTables(library, kernel);
    if (!made) return made.failure();
    tables.push_back(std::move(*made));
    add(tables.back()->getMemBufferRef(), library.symbolOf(kernel) + ".o");
    if (const CodeOnHost &blocks = kernel.blocksCode; blocks.object)
      add(blocks.object->getMemBufferRef(), blocks.entry + ".o");
    for (const LibraryCode &code : kernel.codes)
      if (code.host.object) add(code.host.object->getMemBufferRef(), code.host.entry + ".o");
  }
  for (std::size_t i = 0; i < members.size(); ++i) members[i].MemberName = names[i];
  llvm::Error failed =
      llvm::writeArchive(path, members, llvm::SymtabWritingMode::NormalSymtab,
                         llvm::object::Archive::K_GNU, /*Deterministic=*/true, /*Thin=*/false);
  if (!failed) return {};
  llvm::consumeError(std::move(failed));
  return fail(Diag::UnwritableFile, {}, path);
}

} // namespace imbrex::archive
