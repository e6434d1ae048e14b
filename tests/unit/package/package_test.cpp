#include "backend/package/bundle.h"
#include "backend/package/fatbin.h"
#include "backend/package/package.h"
#include "backend/target/gpu_target.h"
#include "llvm/Object/ELFObjectFile.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Program.h"
#include "tests/support/assembler.h"

#include <doctest/doctest.h>

#include <random>

using namespace imbrex;
using machine::Family;
using package::Member;

namespace {

/// fatbinary takes comments and needless blanks out of PTX, and so does this.
std::string condensed(llvm::StringRef ptx) {
  const auto isBlank = [](char c) { return c == ' ' || c == '\t'; };
  std::string text;
  while (!ptx.empty()) {
    llvm::StringRef line;
    std::tie(line, ptx) = ptx.split('\n');
    for (const char c : line.split("//").first)
      if (!isBlank(c) || (!text.empty() && text.back() != '\n' && !isBlank(text.back()))) text += c;
    text += '\n';
  }
  return text;
}

/// An empty kernel's image or assembly for a machine.
Member memberOf(const target::GpuTarget &target, bool isAssembly) {
  llvm::LLVMContext context;
  llvm::Module module("k", context);
  target.prepare(module);
  auto *type = llvm::FunctionType::get(llvm::Type::getVoidTy(context), false);
  llvm::Function *function =
      llvm::Function::Create(type, llvm::Function::ExternalLinkage, "k", module);
  target.vocabulary().declareKernel(*function, 32);
  lower::Vocabulary::Builder(llvm::BasicBlock::Create(context, "", function)).CreateRetVoid();
  Member member{.machine = std::string(target.machine().name), .isAssembly = isAssembly};
  if (isAssembly) {
    member.content = condensed(*target.assembly(module));
  } else {
    const auto image = target.objectOf(target.assembly(module).value())->image;
    member.content.assign(image.begin(), image.end());
  }
  return member;
}

/// Images of every machine of a family; of NVIDIA's also the assembly of two, or of all where no
/// image can be made.
std::vector<Member> everyMember(Family family) {
  std::vector<Member> members;
  for (const machine::Machine &machine : machine::allMachines()) {
    const target::GpuTarget *target = target::findGpuTarget(machine);
    if (target == nullptr || machine.family != family) continue;
    const bool hasImage = testing::canAssemble(*target);
    if (hasImage) members.push_back(memberOf(*target, false));
    if (!hasImage || machine.name == "sm_75" || machine.name == "sm_90a")
      members.push_back(memberOf(*target, true));
  }
  return members;
}

using Write = std::string (*)(llvm::ArrayRef<Member>, bool);
using Read = Result<std::vector<Member>> (*)(llvm::StringRef);

struct Format {
  Family family;
  Write write;
  Read read;
};
constexpr Format kFormats[] = {{Family::Nvptx, package::writeFatbin, package::readFatbin},
                               {Family::Amdgpu, package::writeBundle, package::readBundle}};

class Folder {
public:
  Folder() { REQUIRE(!llvm::sys::fs::createUniqueDirectory("imbrex_package", path_)); }
  ~Folder() { CHECK(!llvm::sys::fs::remove_directories(path_)); }
  std::string file(llvm::StringRef name, llvm::StringRef content = {}) const {
    const std::string path = (path_ + "/" + name).str();
    std::error_code error;
    if (!content.empty()) llvm::raw_fd_ostream(path, error) << content;
    return path;
  }

private:
  llvm::SmallString<128> path_;
};

std::string contentOf(const std::string &path) {
  auto buffer = llvm::MemoryBuffer::getFile(path, false, false);
  REQUIRE(static_cast<bool>(buffer));
  return (*buffer)->getBuffer().str();
}

void run(const std::vector<std::string> &words) {
  const std::vector<llvm::StringRef> arguments(words.begin(), words.end());
  REQUIRE(llvm::sys::ExecuteAndWait(words[0], arguments) == 0);
}

/// What fatbinary makes of the members.
std::string byFatbinary(const std::vector<Member> &members, const std::string &mode) {
  const Folder folder;
  std::vector<std::string> words{IMBREX_FATBINARY, "-64", "--compress-mode=" + mode,
                                 "--create=" + folder.file("package")};
  for (const Member &member : members) {
    const std::string name = member.machine + (member.isAssembly ? ".ptx" : ".cubin");
    words.push_back(std::string("--image3=kind=") + (member.isAssembly ? "ptx" : "elf") + ",sm=" +
                    member.machine.substr(3) + ",file=" + folder.file(name, member.content));
  }
  run(words);
  return contentOf(folder.file("package"));
}

} // namespace

TEST_CASE("an image, an assembly and a package say for which machines they are" *
          doctest::test_suite("toolkit")) {
  for (const Format &format : kFormats) {
    const std::vector<Member> members = everyMember(format.family);
    for (const Member &member : members) {
      CAPTURE(member.machine);
      const auto read = package::readCode(member.content);
      REQUIRE(read);
      CHECK(*read == std::vector<Member>{member});
    }
    for (const bool isCompressed : {false, true})
      CHECK(*package::readCode(format.write(members, isCompressed)) == members);
  }
  CHECK_FALSE(package::readCode("\177ELF"));
  CHECK_FALSE(package::readCode(".version 7.8\n.target sm_10\n"));
  CHECK_FALSE(package::readCode(""));
}

TEST_CASE("a package gives back its members, compressed or not, and is the same every time" *
          doctest::test_suite("toolkit")) {
  for (const Format &format : kFormats) {
    const std::vector<Member> members = everyMember(format.family);
    for (const bool compressed : {false, true}) {
      CAPTURE(compressed);
      const std::string written = format.write(members, compressed);
      CHECK(written == format.write(members, compressed));
      const auto read = format.read(written);
      REQUIRE(read.ok());
      CHECK(*read == members);
    }
    if (!members.empty() && !members.front().isAssembly) // a few lines of text are no smaller
      CHECK(format.write(members, true).size() < format.write(members, false).size() / 2);
    CHECK(format.read(format.write({}, false))->empty());
  }
}

TEST_CASE("every member of a package is for the machine that it says" *
          doctest::test_suite("toolkit")) {
  for (const Format &format : kFormats) {
    const auto read = format.read(format.write(everyMember(format.family), true));
    for (const Member &member : *read) {
      CAPTURE(member.machine);
      if (member.isAssembly) {
        CHECK(member.content.find(".target " + member.machine + "\n") != std::string::npos);
        continue;
      }
      auto file = llvm::object::ObjectFile::createELFObjectFile(
          llvm::MemoryBufferRef(member.content, "member"));
      REQUIRE(static_cast<bool>(file));
      const auto &elf = llvm::cast<llvm::object::ELFObjectFileBase>(**file);
      const bool isNvptx = format.family == Family::Nvptx;
      CHECK(elf.getEMachine() == (isNvptx ? llvm::ELF::EM_CUDA : llvm::ELF::EM_AMDGPU));
      if (isNvptx) // EF_CUDA_SM of ABI version 8 is the second byte
        CHECK((elf.getPlatformFlags() >> 8 & 0xff) == std::stoul(member.machine.substr(3)));
      else
        CHECK(elf.tryGetCPUName() == llvm::StringRef(member.machine));
    }
  }
}

TEST_CASE("the fat binary is the one that the vendor's tool makes" *
          doctest::test_suite("toolkit")) {
  const std::vector<Member> members = everyMember(Family::Nvptx);
  if (members.empty() || llvm::StringRef(IMBREX_FATBINARY).empty()) {
    MESSAGE("SKIP: fatbinary is not installed");
    return;
  }
  CHECK(package::writeFatbin(members, false) == byFatbinary(members, "none"));
  // And ours reads what it compresses.
  const auto read = package::readFatbin(byFatbinary(members, "size"));
  REQUIRE(read.ok());
  CHECK(*read == members);
}

TEST_CASE("the offload bundle is the one that clang's tool makes, and it reads ours") {
  const std::vector<Member> members = everyMember(Family::Amdgpu);
  if (members.empty() || llvm::StringRef(IMBREX_OFFLOAD_BUNDLER).empty()) {
    MESSAGE("SKIP: clang-offload-bundler is not installed");
    return;
  }
  const Folder folder;
  std::vector<std::string> words{IMBREX_OFFLOAD_BUNDLER, "-type=o", "-bundle-align=4096",
                                 "-output=" + folder.file("package"), "-input=/dev/null"};
  std::string targets = "-targets=host-x86_64-unknown-linux-gnu-";
  for (const Member &member : members) {
    words.push_back("-input=" + folder.file(member.machine, member.content));
    targets += ",hipv4-amdgcn-amd-amdhsa--" + member.machine;
  }
  words.push_back(targets);
  run(words);
  CHECK(package::writeBundle(members, false) == contentOf(folder.file("package")));
  for (const bool compressed : {false, true})
    for (const Member &member : members) {
      const std::string bundle = folder.file("bundle", package::writeBundle(members, compressed));
      run({IMBREX_OFFLOAD_BUNDLER, "-type=o", "-unbundle", "-input=" + bundle,
           "-output=" + folder.file("member"),
           "-targets=hipv4-amdgcn-amd-amdhsa--" + member.machine});
      CHECK(contentOf(folder.file("member")) == member.content);
    }
}

TEST_CASE("a package that is cut off or changed is refused or read, and never read past its end" *
          doctest::test_suite("toolkit")) {
  for (const Format &format : kFormats) {
    std::vector<Member> members = everyMember(format.family);
    if (members.empty()) continue;
    members.resize(2);
    for (const bool compressed : {false, true}) {
      const std::string whole = format.write(members, compressed);
      for (std::size_t size = 0; size < whole.size(); size += size < 300 ? 1 : 97) {
        // At its exact size on the heap, so that a sanitizer sees a read behind it.
        const std::vector<char> part(whole.begin(), whole.begin() + static_cast<long>(size));
        const auto read = format.read(llvm::StringRef(part.data(), part.size()));
        CHECK_FALSE(read.ok());
        if (!read.ok()) CHECK(read.error().kind == Diag::MalformedPackage);
      }
      std::mt19937 rng(compressed ? 1 : 2);
      for (int turn = 0; turn < 500; ++turn) {
        std::string changed = whole;
        for (int byte = 0; byte < 3; ++byte)
          changed[rng() % std::min<std::size_t>(changed.size(), 256)] = static_cast<char>(rng());
        const auto read = format.read(changed);
        if (!read.ok()) CHECK(read.error().kind == Diag::MalformedPackage);
      }
    }
  }
}
