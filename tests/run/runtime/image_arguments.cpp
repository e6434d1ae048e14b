#include "tests/run/runtime/image_arguments.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/BinaryFormat/MsgPackDocument.h"
#include "llvm/Object/ELF.h"
#include "llvm/Support/Endian.h"

#include <algorithm>

namespace imbrex::testing {
namespace {

using ElfFile = llvm::object::ELF64LEFile;
using llvm::support::endian::read16le;
using llvm::support::endian::read32le;

/// A cubin lists its kernel's parameters in the section .nv.info.KERNEL, one record each: format,
/// attribute, length, then index, ordinal, offset, and the size above 18 bits of other facts. (What
/// cuobjdump --dump-elf calls EIATTR_KPARAM_INFO.) Records of other attributes are skipped.
std::vector<ArgumentPlace> placesOfCubin(llvm::StringRef info) {
  constexpr std::uint8_t kParameter = 0x17, kHasLength = 4;
  constexpr std::size_t kHead = 4;
  constexpr unsigned kSizeShift = 18;
  std::vector<ArgumentPlace> places;
  while (info.size() >= kHead) {
    const auto format = static_cast<std::uint8_t>(info[0]);
    const auto attribute = static_cast<std::uint8_t>(info[1]);
    const std::size_t length = format == kHasLength ? read16le(info.data() + 2) : 0;
    const char *record = info.data() + kHead;
    if (attribute == kParameter) {
      const std::size_t ordinal = read16le(record + 4);
      places.resize(std::max(places.size(), ordinal + 1));
      places[ordinal] = {read16le(record + 6), read32le(record + 8) >> kSizeShift};
    }
    info = info.drop_front(std::min(info.size(), kHead + length));
  }
  return places;
}

/// `.visible .entry KERNEL(.param .u64 .ptr .global .align 1 KERNEL_param_0, .param .b8 …)`: each
/// at the next multiple of its size.
std::vector<ArgumentPlace> placesOfPtx(llvm::StringRef text, const std::string &kernel) {
  llvm::StringRef list = text.split(".entry " + kernel + "(").second.split(')').first;
  std::vector<ArgumentPlace> places;
  std::uint32_t end = 0;
  while (!list.empty()) {
    const auto [parameter, rest] = list.split(',');
    list = rest;
    unsigned bits = 0;
    const llvm::StringRef type = parameter.split(".param .").second;
    if (type.starts_with("align ")) { // an array of bytes: .align 64 .b8 KERNEL_param_5[128]
      std::uint32_t alignment = 0, count = 0;
      type.split("align ").second.split(' ').first.getAsInteger(10, alignment);
      type.split('[').second.split(']').first.getAsInteger(10, count);
      if (alignment == 0 || count == 0) continue;
      end = (end + alignment - 1) / alignment * alignment;
      places.push_back({end, count});
      end += count;
      continue;
    }
    if (type.drop_front().take_while(llvm::isDigit).getAsInteger(10, bits)) continue;
    const std::uint32_t bytes = bits / 8;
    end = (end + bytes - 1) / bytes * bytes;
    places.push_back({end, bytes});
    end += bytes;
  }
  return places;
}

/// A code object's metadata list the arguments (LLVM, AMDGPUUsage, "Code Object V5 Metadata");
/// hidden ones are the driver's.
std::vector<ArgumentPlace> placesOfMetadata(llvm::StringRef metadata) {
  llvm::msgpack::Document document;
  if (!document.readFromBlob(metadata, false)) return {};
  auto &kernel = document.getRoot().getMap()["amdhsa.kernels"].getArray()[0].getMap();
  std::vector<ArgumentPlace> places;
  for (llvm::msgpack::DocNode &node : kernel[".args"].getArray()) {
    auto &argument = node.getMap();
    if (argument[".value_kind"].getString().starts_with("hidden_")) continue;
    places.push_back({static_cast<std::uint32_t>(argument[".offset"].getUInt()),
                      static_cast<std::uint32_t>(argument[".size"].getUInt())});
  }
  return places;
}

llvm::StringRef noteOf(const ElfFile &file, const ElfFile::Elf_Shdr &section) {
  llvm::Error error = llvm::Error::success();
  llvm::StringRef found;
  for (const auto &note : file.notes(section, error))
    if (note.getType() == llvm::ELF::NT_AMDGPU_METADATA)
      found = note.getDescAsStringRef(section.sh_addralign);
  llvm::consumeError(std::move(error));
  return found;
}

} // namespace

std::vector<ArgumentPlace> argumentsInImage(llvm::StringRef image, const std::string &kernel) {
  if (!image.starts_with("\177ELF")) return placesOfPtx(image, kernel);
  const auto file = llvm::cantFail(ElfFile::create(image));
  for (const ElfFile::Elf_Shdr &section : llvm::cantFail(file.sections())) {
    if (section.sh_type == llvm::ELF::SHT_NOTE)
      if (const llvm::StringRef metadata = noteOf(file, section); !metadata.empty())
        return placesOfMetadata(metadata);
    if (llvm::cantFail(file.getSectionName(section)) == ".nv.info." + kernel)
      return placesOfCubin(llvm::toStringRef(llvm::cantFail(file.getSectionContents(section))));
  }
  return {};
}

} // namespace imbrex::testing
