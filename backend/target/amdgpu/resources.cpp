#include "backend/target/amdgpu/resources.h"

#include "llvm/BinaryFormat/MsgPackDocument.h"
#include "llvm/Object/ELF.h"

namespace imbrex::target::amdgpu {
namespace {

using ElfFile = llvm::object::ELF64LEFile;

/// The MessagePack of the note NT_AMDGPU_METADATA; empty where there is none.
llvm::StringRef metadataOf(const ElfFile &file) {
  auto sections = file.sections();
  if (!sections) return llvm::consumeError(sections.takeError()), llvm::StringRef();
  for (const ElfFile::Elf_Shdr &section : *sections) {
    if (section.sh_type != llvm::ELF::SHT_NOTE) continue;
    llvm::Error error = llvm::Error::success();
    llvm::StringRef found;
    for (const auto &note : file.notes(section, error))
      if (note.getType() == llvm::ELF::NT_AMDGPU_METADATA)
        found = note.getDescAsStringRef(section.sh_addralign);
    llvm::consumeError(std::move(error));
    if (!found.empty()) return found;
  }
  return {};
}

std::int32_t number(llvm::msgpack::MapDocNode &kernel, llvm::StringRef key) {
  const auto found = kernel.find(key);
  if (found == kernel.end()) return 0;
  return static_cast<std::int32_t>(found->second.getUInt());
}

std::optional<Resources> resourcesSaidBy(llvm::msgpack::Document &metadata) {
  auto kernels = metadata.getRoot().getMap()["amdhsa.kernels"].getArray();
  if (kernels.empty()) return std::nullopt;
  llvm::msgpack::MapDocNode &kernel = kernels[0].getMap();
  constexpr std::int32_t kBytesOfRegister = 4;
  const std::int32_t stackBytes = number(kernel, ".private_segment_fixed_size");
  const std::int32_t spilled =
      number(kernel, ".vgpr_spill_count") + number(kernel, ".sgpr_spill_count");
  return Resources{.registers = number(kernel, ".vgpr_count"),
                   .scalarRegisters = number(kernel, ".sgpr_count"),
                   // Without memory of its own, a thread keeps them in registers of another kind.
                   .spilledBytes = stackBytes > 0 ? kBytesOfRegister * spilled : 0,
                   .stackBytes = stackBytes,
                   .sharedMemoryBytes = number(kernel, ".group_segment_fixed_size")};
}

} // namespace

std::optional<Resources> resourcesOf(llvm::ArrayRef<char> image) {
  auto file = ElfFile::create(llvm::StringRef(image.data(), image.size()));
  if (!file) return llvm::consumeError(file.takeError()), std::nullopt;
  llvm::msgpack::Document document;
  const llvm::StringRef metadata = metadataOf(*file);
  if (metadata.empty() || !document.readFromBlob(metadata, false)) return std::nullopt;
  return resourcesSaidBy(document);
}

std::optional<Resources> resourcesIn(llvm::StringRef assembly) {
  const llvm::StringRef behind = assembly.split(".amdgpu_metadata\n").second;
  const llvm::StringRef metadata = behind.split(".end_amdgpu_metadata").first;
  llvm::msgpack::Document document;
  if (metadata.empty() || !document.fromYAML(metadata)) return std::nullopt;
  return resourcesSaidBy(document);
}

} // namespace imbrex::target::amdgpu
