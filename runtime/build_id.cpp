#include "runtime/build_id.h"

#include "backend/support/lifetime.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Config/llvm-config.h"
#include "llvm/Support/MathExtras.h"

#include <cstring>
#include <elf.h>
#include <link.h>

namespace imbrex::runtime {
namespace {

/// The build id in a segment of notes; empty where there is none.
std::string buildIdIn(const char *notes, std::size_t bytes) {
  while (bytes >= sizeof(ElfW(Nhdr))) {
    ElfW(Nhdr) note;
    std::memcpy(&note, notes, sizeof note);
    const std::size_t name = llvm::alignTo(note.n_namesz, 4),
                      size = llvm::alignTo(note.n_descsz, 4);
    if (sizeof note + name + size > bytes) return "";
    const char *const content = notes + sizeof note + name;
    if (note.n_type == NT_GNU_BUILD_ID)
      return llvm::toHex(llvm::StringRef(content, note.n_descsz), true);
    notes += sizeof note + name + size;
    bytes -= sizeof note + name + size;
  }
  return "";
}

struct Builds {
  std::string ours, llvms;
  bool areKnown = true;
};

/// Of an object of the process: whether some code lies in it.
bool holds(const dl_phdr_info &object, std::uintptr_t code) {
  const llvm::ArrayRef<ElfW(Phdr)> parts(object.dlpi_phdr, object.dlpi_phnum);
  return llvm::any_of(parts, [&](const ElfW(Phdr) & part) {
    return part.p_type == PT_LOAD && code - (object.dlpi_addr + part.p_vaddr) < part.p_memsz;
  });
}

int visit(dl_phdr_info *object, std::size_t, void *builds) {
  auto &found = *static_cast<Builds *>(builds);
  const bool isOurs = holds(*object, reinterpret_cast<std::uintptr_t>(&visit));
  const bool isLlvm = llvm::StringRef(object->dlpi_name).contains("libLLVM");
  if (!isOurs && !isLlvm) return 0;
  std::string id;
  for (const ElfW(Phdr) &part : llvm::ArrayRef(object->dlpi_phdr, object->dlpi_phnum))
    if (part.p_type == PT_NOTE && id.empty())
      id =
          buildIdIn(reinterpret_cast<const char *>(object->dlpi_addr + part.p_vaddr), part.p_memsz);
  (isOurs ? found.ours : found.llvms) += id;
  found.areKnown &= !id.empty();
  return 0;
}

} // namespace

const std::string &buildId() {
  static const auto &both = permanent([] {
    Builds found;
    dl_iterate_phdr(visit, &found);
    return !found.areKnown || found.ours.empty()
               ? ""
               : found.ours + " LLVM " LLVM_VERSION_STRING " " + found.llvms;
  }());
  return both;
}

} // namespace imbrex::runtime
