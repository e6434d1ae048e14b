#include "backend/target/nvptx/spills.h"

#include "llvm/DebugInfo/DWARF/DWARFContext.h"
#include "llvm/Object/ELF.h"
#include "llvm/Support/Endian.h"
#include "llvm/Support/Path.h"

#include <array>

// ptxas tells how many bytes it spills, and nobody where. The instructions do: a store to local
// memory is STL, whose encoding NVIDIA does not publish. It is the same on all machines from sm_70
// on: 16 bytes, the low 12 bits of the first half are the opcode, bits 9 to 11 of the second the
// width. A test holds the bytes that are found so against those that ptxas tells. Where a machine
// should differ, no line is found, or another one: nothing but the line that is named hangs on it.
namespace imbrex::target::nvptx {
namespace {

using ElfFile = llvm::object::ELF64LEFile;

constexpr std::size_t kInstructionBytes = 16;
constexpr std::uint64_t kStoreLocal = 0x387, kOpcode = 0xfff;
constexpr std::array<std::int64_t, 8> kWidths{1, 1, 2, 2, 4, 8, 16, 0};

/// The contents of the first section whose name begins so.
llvm::StringRef sectionOf(const ElfFile &file, llvm::StringRef name) {
  auto sections = file.sections();
  if (!sections) return llvm::consumeError(sections.takeError()), llvm::StringRef();
  for (const ElfFile::Elf_Shdr &section : *sections) {
    auto called = file.getSectionName(section);
    if (!called) return llvm::consumeError(called.takeError()), llvm::StringRef();
    if (!called->starts_with(name)) continue;
    auto contents = file.getSectionContents(section);
    if (!contents) return llvm::consumeError(contents.takeError()), llvm::StringRef();
    return llvm::toStringRef(*contents);
  }
  return {};
}

/// The table of lines; a kernel's first instruction has the address 0 in it, for it is not linked.
llvm::DWARFDebugLine::LineTable lineTableOf(llvm::StringRef section) {
  constexpr std::uint8_t kAddressBytes = 8;
  constexpr bool kIsLittleEndian = true;
  const auto ignore = [](llvm::Error error) { llvm::consumeError(std::move(error)); };
  const auto context =
      llvm::DWARFContext::create(llvm::StringMap<std::unique_ptr<llvm::MemoryBuffer>>(),
                                 kAddressBytes, kIsLittleEndian, ignore, ignore);
  llvm::DWARFDataExtractor data(section, kIsLittleEndian, kAddressBytes);
  llvm::DWARFDebugLine::SectionParser parser(data, *context, context->normal_units());
  if (parser.done()) return {};
  return parser.parseNext(ignore, ignore);
}

Location placeOf(const llvm::DWARFDebugLine::LineTable &table, std::uint64_t address) {
  llvm::DILineInfo line;
  constexpr bool kIsApproximate = false;
  const bool isKnown = table.getFileLineInfoForAddress(
      {address, llvm::object::SectionedAddress::UndefSection}, kIsApproximate, "",
      llvm::DILineInfoSpecifier::FileLineInfoKind::AbsoluteFilePath, line);
  if (!isKnown || line.Line == 0) return {};
  return {.file = internFileName(line.FileName), .line = line.Line};
}

} // namespace

SpilledLines spillsIn(llvm::ArrayRef<char> cubin) {
  auto file = ElfFile::create(llvm::StringRef(cubin.data(), cubin.size()));
  if (!file) return llvm::consumeError(file.takeError()), SpilledLines();
  const llvm::StringRef code = sectionOf(*file, ".text.");
  const llvm::DWARFDebugLine::LineTable table = lineTableOf(sectionOf(*file, ".debug_line"));
  SpilledLines spilled;
  for (std::size_t at = 0; at + kInstructionBytes <= code.size(); at += kInstructionBytes) {
    const std::uint64_t low = llvm::support::endian::read64le(code.data() + at);
    if ((low & kOpcode) != kStoreLocal) continue;
    const std::uint64_t high = llvm::support::endian::read64le(code.data() + at + 8);
    spilled.add(placeOf(table, at), kWidths.at(high >> 9 & 7));
  }
  return spilled;
}

} // namespace imbrex::target::nvptx
