#include "backend/package/archive/make_archive.h"

#include "backend/package/archive/tables.h"
#include "backend/support/check.h"
#include "llvm/Object/ArchiveWriter.h"
#include "llvm/Support/Error.h"

namespace imbrex::archive {

Result<std::unique_ptr<llvm::MemoryBuffer>> makeArchive(const Library &library) {
  std::vector<std::unique_ptr<llvm::MemoryBuffer>> tables; // outlive what is written
  std::vector<std::string> names;
  std::vector<llvm::NewArchiveMember> members;
  const auto add = [&](const llvm::MemoryBuffer &object, std::string name) {
    names.push_back(std::move(name));
    members.emplace_back(object.getMemBufferRef());
  };
  const auto addCode = [&](const CodeOnHost &code) {
    if (code.object) add(*code.object, code.entry + ".o");
  };
  const auto addCodes = [&](const LibraryKernel &kernel) {
    addCode(kernel.checkCode);
    addCode(kernel.blocksCode);
    for (const LibraryCode &code : kernel.codes) addCode(code.host);
  };
  const auto addTables = [&](Result<std::unique_ptr<llvm::MemoryBuffer>> made,
                             const std::string &symbol) {
    if (made) tables.push_back(std::move(*made)), add(*tables.back(), symbol + ".o");
    return made.ok() ? Result<void>() : made.failure();
  };
  if (const auto made = addTables(makeLoader(library), library.loaderSymbol()); !made)
    return made.failure();
  for (const LibraryKernel &kernel : library.kernels) {
    if (const auto made = addTables(makeTables(library, kernel), library.symbolOf(kernel)); !made)
      return made.failure();
    addCodes(kernel);
    for (const LibraryKernel &config : kernel.configs) addCodes(config);
  }
  for (std::size_t i = 0; i < members.size(); ++i) members[i].MemberName = names[i];
  auto archive = llvm::writeArchiveToBuffer(members, llvm::SymtabWritingMode::NormalSymtab,
                                            llvm::object::Archive::K_GNU, /*Deterministic=*/true,
                                            /*Thin=*/false);
  IMBREX_CHECK(bool(archive), "objects of our own make no archive: {0}",
               llvm::toString(archive.takeError()));
  return std::move(*archive);
}

} // namespace imbrex::archive
