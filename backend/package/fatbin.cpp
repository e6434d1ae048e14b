#include "backend/package/fatbin.h"

#include "backend/package/choice/capability.h"
#include "backend/package/malformed.h"
#include "backend/support/check.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Object/ELF.h"
#include "llvm/Support/Compression.h"
#include "llvm/Support/Endian.h"
#include "llvm/Support/MathExtras.h"

#include <array>
#include <optional>
#include <type_traits>

namespace imbrex::package {
namespace {

constexpr std::uint32_t kFatbinMagic = 0xba55ed50;
constexpr std::uint16_t kVersion = 1;
constexpr std::size_t kHeader = 16;
constexpr std::uint16_t kPtx = 1, kElf = 2;
constexpr std::uint16_t kMemberVersion = 0x101;
constexpr std::size_t kEntryAlignment = 8;
// What a broken header may make us allocate.
constexpr std::uint64_t kMostBytes = 1 << 30;

constexpr std::size_t kPlainHeader = 64;
constexpr std::size_t kOptions = 72;  // where their text stands in the longer header
constexpr std::size_t kNoOptions = 1; // the zero behind an empty text
constexpr std::int32_t kFirstWithCompatibility = 100;

constexpr std::uint64_t k64Bit = 0x1, kLinux = 0x10, kZstd = 0x8000;
constexpr std::array<std::uint64_t, 3> kFlagOf{0, 0x200000, 0x100000}; // Features
constexpr std::uint64_t kHasCompatibility = 0x1000000;

template <class Number>
void put(std::string &bytes, std::size_t at, std::type_identity_t<Number> number) {
  llvm::support::endian::write<Number>(&bytes[at], number, llvm::endianness::little);
}

template <class Number>
Number get(llvm::StringRef bytes, std::size_t at) {
  return llvm::support::endian::read<Number>(bytes.data() + at, llvm::endianness::little);
}

template <class T>
std::optional<T> orNone(llvm::Expected<T> expected) {
  if (expected) return std::move(*expected);
  llvm::consumeError(expected.takeError());
  return std::nullopt;
}

/// The section .nv.compat of an image; empty where there is none.
std::string compatibilityOf(llvm::StringRef image) {
  const auto file = orNone(llvm::object::ELF64LEFile::create(image));
  const auto sections = file ? orNone(file->sections()) : std::nullopt;
  if (!sections) return {};
  for (const auto &section : *sections) {
    const auto name = orNone(file->getSectionName(section));
    const auto content =
        name == ".nv.compat" ? orNone(file->getSectionContents(section)) : std::nullopt;
    if (content) return {content->begin(), content->end()};
  }
  return {};
}

/// The version of PTX, from its first directive.
std::uint32_t versionOf(llvm::StringRef ptx) {
  const llvm::StringRef version = ptx.split(".version ").second;
  std::uint32_t major = 0, minor = 0;
  version.split('.').first.getAsInteger(10, major);
  version.split('.').second.take_while(llvm::isDigit).getAsInteger(10, minor);
  return minor | major << 16;
}

/// The version of an image's ABI, from the ELF's identification.
std::uint32_t abiOf(llvm::StringRef image) {
  constexpr std::size_t kAbiVersion = 8;
  const std::uint8_t version =
      image.size() > kAbiVersion ? static_cast<std::uint8_t>(image[kAbiVersion]) : 0;
  return version | 1U << 16;
}

std::string headerOf(const Member &member, std::size_t payload, std::size_t compressed) {
  const auto capability = capabilityOf(member.machine);
  IMBREX_CHECK(capability, "{0} is no machine of this kind of package", member.machine);
  const std::int32_t number = capability->number();
  const bool isLong = member.isAssembly || number >= kFirstWithCompatibility;
  const std::string extra = isLong && !member.isAssembly ? compatibilityOf(member.content) : "";
  const std::size_t length =
      isLong ? llvm::alignTo(kOptions + kNoOptions + extra.size(), 16) : kPlainHeader;
  std::string header(length, '\0');
  const std::size_t stored = compressed != 0 ? compressed : payload;
  put<std::uint16_t>(header, 0, member.isAssembly ? kPtx : kElf);
  put<std::uint16_t>(header, 2, kMemberVersion);
  put<std::uint32_t>(header, 4, static_cast<std::uint32_t>(length));
  put<std::uint64_t>(header, 8, llvm::alignTo(stored, kEntryAlignment));
  put<std::uint32_t>(header, 16, static_cast<std::uint32_t>(compressed));
  put<std::uint32_t>(header, 20, isLong ? kPlainHeader : 0);
  put<std::uint32_t>(header, 24,
                     member.isAssembly ? versionOf(member.content) : abiOf(member.content));
  put<std::uint32_t>(header, 28, static_cast<std::uint32_t>(number));
  put<std::uint64_t>(header, 40,
                     k64Bit | kLinux | (compressed != 0 ? kZstd : 0) |
                         kFlagOf[static_cast<std::size_t>(capability->features)] |
                         (extra.empty() ? 0 : kHasCompatibility));
  put<std::uint64_t>(header, 56, compressed != 0 ? payload : 0);
  if (!isLong) return header;
  put<std::uint32_t>(header, 64, kOptions);
  put<std::uint32_t>(header, 68, static_cast<std::uint32_t>(extra.size()));
  header.replace(kOptions + kNoOptions, extra.size(), extra);
  return header;
}

std::string compress(llvm::StringRef bytes) {
  llvm::SmallVector<std::uint8_t, 0> compressed;
  llvm::compression::zstd::compress(llvm::arrayRefFromStringRef(bytes), compressed,
                                    llvm::compression::zstd::BestSizeCompression);
  return llvm::toStringRef(compressed).str();
}

/// A member's header and payload, padded.
std::string entryOf(const Member &member, bool compressed) {
  std::string payload = member.content;
  if (member.isAssembly) payload.push_back('\0');
  const std::string stored = compressed ? compress(payload) : payload;
  std::string entry = headerOf(member, payload.size(), compressed ? stored.size() : 0);
  entry += stored;
  entry.resize(llvm::alignTo(entry.size(), kEntryAlignment), '\0');
  return entry;
}

Features featuresOf(std::uint64_t flags) {
  std::size_t features = kFlagOf.size() - 1;
  while ((flags & kFlagOf[features]) != kFlagOf[features]) --features;
  return static_cast<Features>(features);
}

Result<Member> memberOf(llvm::StringRef header, llvm::StringRef payload) {
  const auto flags = get<std::uint64_t>(header, 40);
  const auto kind = get<std::uint16_t>(header, 0);
  if (kind != kPtx && kind != kElf) return malformed("a member of it is neither code nor an image");
  const auto capability = capabilityOf(get<std::uint32_t>(header, 28), featuresOf(flags));
  if (!capability) return malformed("a member of it is for a machine that there can't be");
  Member member{.machine = nameOf(*capability), .isAssembly = kind == kPtx};
  if ((flags & kZstd) != 0) {
    const llvm::StringRef stored = payload.take_front(get<std::uint32_t>(header, 16));
    const std::uint64_t size = get<std::uint64_t>(header, 56);
    if (size > kMostBytes) return malformed("a member of it is larger than any code");
    llvm::SmallVector<std::uint8_t, 0> plain;
    llvm::Error error =
        llvm::compression::zstd::decompress(llvm::arrayRefFromStringRef(stored), plain, size);
    if (error) return malformed(llvm::toString(std::move(error)));
    member.content = llvm::toStringRef(plain).str();
  } else {
    member.content = payload.str();
  }
  if (member.isAssembly) member.content = member.content.c_str(); // up to the zero at its end
  return member;
}

} // namespace

std::string writeFatbin(llvm::ArrayRef<Member> members, bool compressed) {
  std::string body;
  for (const Member &member : members) body += entryOf(member, compressed);
  std::string package(kHeader, '\0');
  put<std::uint32_t>(package, 0, kFatbinMagic);
  put<std::uint16_t>(package, 4, kVersion);
  put<std::uint16_t>(package, 6, kHeader);
  put<std::uint64_t>(package, 8, body.size());
  return package + body;
}

bool isForMachineAlone(llvm::StringRef image) {
  // Records of a format, an attribute and 16 bits; of format 4 these are the bytes behind it. What
  // nvcc 13 makes for sm_100a begins with an attribute 9 that is 1, for sm_100f and sm_100 with 0.
  constexpr std::uint16_t kFeatures = 0x0902, kNotOwn = 0;
  const std::string records = compatibilityOf(image);
  return records.size() < 4 || get<std::uint16_t>(records, 0) != kFeatures ||
         get<std::uint16_t>(records, 2) != kNotOwn;
}

bool isFatbin(llvm::StringRef package) {
  return package.size() >= kHeader && get<std::uint32_t>(package, 0) == kFatbinMagic;
}

Result<std::vector<Member>> readFatbin(llvm::StringRef package) {
  if (!isFatbin(package)) return malformed("it does not begin as one");
  if (get<std::uint64_t>(package, 8) != package.size() - kHeader) return malformed("it is cut off");
  std::vector<Member> members;
  for (llvm::StringRef rest = package.drop_front(kHeader); !rest.empty();) {
    if (rest.size() < kPlainHeader) return malformed("a header in it is cut off");
    const std::uint64_t length = get<std::uint32_t>(rest, 4), size = get<std::uint64_t>(rest, 8);
    if (length < kPlainHeader || length > rest.size() || size > rest.size() - length)
      return malformed("a member of it is cut off");
    auto member = memberOf(rest, rest.substr(length, size));
    if (!member) return member.failure();
    members.push_back(std::move(*member));
    rest = rest.drop_front(length + size);
  }
  return members;
}

} // namespace imbrex::package
