#include "backend/package/bundle.h"

#include "backend/package/malformed.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Object/OffloadBundle.h"
#include "llvm/Support/Compression.h"
#include "llvm/Support/Endian.h"
#include "llvm/Support/MathExtras.h"

namespace imbrex::package {
namespace {

using llvm::object::CompressedOffloadBundle;

constexpr llvm::StringRef kMagic = "__CLANG_OFFLOAD_BUNDLE__";
constexpr llvm::StringRef kCompressedMagic = "CCOB";
constexpr llvm::StringRef kHostName = "host-x86_64-unknown-linux-gnu-";
constexpr llvm::StringRef kNamePrefix = "hipv4-amdgcn-amd-amdhsa--";
// So that the driver can map a member without copying it.
constexpr std::uint64_t kAlignment = 4096;
// Version 3 differs in the width of two sizes alone, and not every reader of 2 knows it.
constexpr std::uint16_t kCompressedVersion = 2;

void append(std::string &bytes, std::uint64_t number) {
  char little[sizeof number];
  llvm::support::endian::write64le(little, number);
  bytes.append(little, sizeof little);
}

/// Takes numbers and text from the front of a package.
class BundleReader {
public:
  explicit BundleReader(llvm::StringRef bytes) : rest_(bytes) {}

  std::optional<std::uint64_t> number() {
    if (rest_.size() < sizeof(std::uint64_t)) return std::nullopt;
    const std::uint64_t value = llvm::support::endian::read64le(rest_.data());
    rest_ = rest_.drop_front(sizeof value);
    return value;
  }
  std::optional<llvm::StringRef> text(std::uint64_t size) {
    if (rest_.size() < size) return std::nullopt;
    const llvm::StringRef taken = rest_.take_front(size);
    rest_ = rest_.drop_front(size);
    return taken;
  }

private:
  llvm::StringRef rest_;
};

std::string plainBundle(llvm::ArrayRef<Member> members) {
  std::vector<std::string> names{kHostName.str()};
  for (const Member &member : members) names.push_back((kNamePrefix + member.machine).str());
  std::uint64_t end = kMagic.size() + sizeof(std::uint64_t);
  for (const std::string &name : names) end += 3 * sizeof(std::uint64_t) + name.size();

  std::string package = kMagic.str();
  append(package, names.size());
  for (std::size_t i = 0; i < names.size(); ++i) {
    const std::uint64_t size = i == 0 ? 0 : members[i - 1].content.size();
    end = llvm::alignTo(end, kAlignment);
    append(package, end);
    append(package, size);
    append(package, names[i].size());
    package += names[i];
    end += size;
  }
  const auto pad = [&] { package.resize(llvm::alignTo(package.size(), kAlignment), '\0'); };
  pad(); // the host's entry is empty, and is there all the same
  for (const Member &member : members) {
    pad();
    package += member.content;
  }
  return package;
}

Result<std::vector<Member>> readPlain(llvm::StringRef package) {
  BundleReader reader(package.drop_front(kMagic.size()));
  const auto count = reader.number();
  std::vector<Member> members;
  for (std::uint64_t i = 0; i < count.value_or(0); ++i) {
    const auto at = reader.number(), size = reader.number(), length = reader.number();
    const auto name = length ? reader.text(*length) : std::nullopt;
    if (!name) return malformed("its table is cut off");
    if (*at > package.size() || *size > package.size() - *at)
      return malformed("a member of it is cut off");
    llvm::StringRef machine = *name;
    if (machine.consume_front(kNamePrefix))
      members.push_back({.machine = machine.str(), .content = package.substr(*at, *size).str()});
  }
  if (!count) return malformed("it is cut off");
  return members;
}

} // namespace

std::string writeBundle(llvm::ArrayRef<Member> members, bool compressed) {
  std::string plain = plainBundle(members);
  if (!compressed) return plain;
  llvm::compression::Params how(llvm::compression::Format::Zstd,
                                llvm::compression::zstd::BestSizeCompression);
  const auto input = llvm::MemoryBuffer::getMemBuffer(plain, "", false);
  auto package = CompressedOffloadBundle::compress(how, *input, kCompressedVersion);
  IMBREX_CHECK(static_cast<bool>(package), "LLVM cannot compress: {0}",
               llvm::toString(package.takeError()));
  return (*package)->getBuffer().str();
}

bool isBundle(llvm::StringRef package) {
  return package.starts_with(kMagic) || package.starts_with(kCompressedMagic);
}

Result<std::vector<Member>> readBundle(llvm::StringRef package) {
  if (!isBundle(package)) return malformed("it does not begin as one");
  if (package.starts_with(kMagic)) return readPlain(package);
  auto plain =
      CompressedOffloadBundle::decompress(*llvm::MemoryBuffer::getMemBuffer(package, "", false));
  if (!plain) return malformed(llvm::toString(plain.takeError()));
  const llvm::StringRef inside = (*plain)->getBuffer();
  if (!inside.starts_with(kMagic)) return malformed("it does not begin as one");
  return readPlain(inside);
}

} // namespace imbrex::package
