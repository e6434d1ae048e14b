#include "llvm/ADT/StringExtras.h"
#include "runtime/build_id.h"
#include "runtime/disk_cache.h"
#include "runtime/executable.h"
#include "tests/run/runtime/kept_folder.h"
#include "tests/run/runtime/numbers_view.h"
#include "tests/support/parsed_kernel.h"
#include <imbrex/imbrex.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <vector>

/// The processor's code that was kept on disk: every executable here is another process's, as far
/// as that folder goes.
namespace imbrex {
namespace {

using testing::CacheLog;
using testing::viewOf;

/// Another process of ours is handed one.
const auto keptIn =
    std::getenv("KEPT_IN") == nullptr ? std::make_unique<const testing::KeptFolder>() : nullptr;

ir::Kernel triple(const std::string &name, const std::string &check = "") {
  return testing::parsedKernel("kernel @" + name + R"((%x: view<f32, 1>) stage tiles {
  %0 = program_id : i32
  %1 = view.load %x, %0 : f32[64]
)" + check + R"(
  %2 = add %1, %1 : f32[64]
  %3 = add %2, %1 : f32[64]
  view.store %x, %3, %0
})");
}

/// Make an executable, run it, and say what the cache did: "hit", "miss", or what came before.
std::string launched(const ir::Kernel &kernel, std::int64_t stride = 1) {
  const CacheLog log;
  Diagnostics diagnostics;
  std::vector<float> x(static_cast<std::size_t>(64 * stride));
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i);
  const ir::Argument argument = viewOf(x.data(), 64, stride);
  const auto executable = runtime::makeExecutable(kernel, device::host(), diagnostics, argument);
  REQUIRE_MESSAGE(executable, diagnostics.render());
  REQUIRE_MESSAGE(executable->run({}, argument, diagnostics), diagnostics.render());
  for (std::size_t i = 0; i < x.size(); ++i)
    CHECK(x[i] == (i % static_cast<std::size_t>(stride) == 0 ? 3 : 1) * static_cast<float>(i));
  return CacheLog::said();
}

std::vector<runtime::DiskCache::Entry> kept() { return runtime::DiskCache::ofProcess()->entries(); }

std::string ownProgram() { return std::filesystem::read_symlink("/proc/self/exe").string(); }

/// What this program, or one like it, says as another process of the folder.
std::string saidByAnother(const std::string &test, const std::string &program = ownProgram()) {
  const std::string line = "KEPT_IN=there IMBREX_CACHE_DIR='" + keptIn->path +
                           "' IMBREX_LOG=none,cache:debug " + program + " --no-skip --test-case='" +
                           test + "' 2>&1";
  std::FILE *const pipe = popen(line.c_str(), "r");
  REQUIRE(pipe != nullptr);
  std::string said;
  std::array<char, 4096> part{};
  while (const std::size_t count = std::fread(part.data(), 1, part.size(), pipe))
    said.append(part.data(), count);
  CHECK_MESSAGE(pclose(pipe) == 0, said);
  return said;
}

/// This program as another build of it, which is all that the linker's note in it says.
void writeOtherBuild(const std::string &path) {
  std::ifstream own(ownProgram(), std::ios::binary);
  std::string program{std::istreambuf_iterator<char>(own), {}};
  const llvm::StringRef id = llvm::StringRef(runtime::buildId()).split(' ').first;
  const std::size_t note = program.find(llvm::fromHex(id));
  REQUIRE(note != std::string::npos);
  program[note] = static_cast<char>(program[note] ^ 1);
  std::ofstream(path, std::ios::binary) << program;
  std::filesystem::permissions(path, std::filesystem::perms::owner_all);
}

bool contains(const std::string &text, const char *part) {
  return text.find(part) != std::string::npos;
}

struct sorted_exp {
  void operator()(view<const f32, 1> x, view<f32, 1> y, scalar<f32> factor) const {
    const auto here = box<100>(program_id(0));
    y[here] = sort(exp(x[here] * factor));
  }
};

} // namespace

TEST_CASE("another" * doctest::skip()) {
  std::vector<float> x(1000), y(1000);
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i * 37 % 100) / 100;
  jit(sorted_exp{}, {.on = device::host()})(grid(10), std::as_const(x), y, 1.0f);
  for (const std::size_t i : {0, 1, 99, 100, 999}) std::printf("%a ", static_cast<double>(y[i]));
}

TEST_CASE("what one process has compiled for the processor another one runs") {
  const std::string first = saidByAnother("another"), second = saidByAnother("another");
  CHECK(contains(first, "miss on disk: kernel sorted_exp"));
  CHECK(contains(second, "hit on disk: kernel sorted_exp"));
  const auto numbers = [](const std::string &said) {
    const std::size_t begin = said.find("0x");
    REQUIRE(begin != std::string::npos);
    return said.substr(begin, said.find('\n', begin) - begin);
  };
  CHECK(numbers(first) == numbers(second));
}

TEST_CASE("what one build has kept is not found by another, beside which it stays") {
  const std::string other = keptIn->path + "/other-build";
  writeOtherBuild(other);
  saidByAnother("another");
  CHECK(contains(saidByAnother("another", other), "miss on disk: kernel sorted_exp"));
  CHECK(contains(saidByAnother("another", other), "hit on disk: kernel sorted_exp"));
  CHECK(contains(saidByAnother("another"), "hit on disk: kernel sorted_exp"));
}

TEST_CASE("code for the processor that was kept runs as if it had been compiled") {
  const std::size_t before = kept().size();
  const ir::Kernel kernel = triple("kept");
  CHECK(launched(kernel) == "miss");
  CHECK(launched(kernel) == "hit");
  CHECK(launched(kernel, 2) == "miss"); // that has other traits
  CHECK(launched(kernel, 3) == "hit");  // which are the same again
  CHECK(launched(triple("kept_too")) == "miss");
  CHECK(kept().size() == before + 3);
  // As `imbrex cache` lists them.
  CHECK(std::ranges::any_of(kept(), [](const runtime::DiskCache::Entry &entry) {
    return entry.key.starts_with("kernel kept_too\ntarget host\n");
  }));
}

TEST_CASE("of a launch with other traits, later, only that is compiled") {
  const CacheLog log;
  Diagnostics diagnostics;
  std::vector<float> x(128);
  const ir::Argument dense = viewOf(x.data(), 64), strided = viewOf(x.data(), 64, 2);
  for (const char *expected : {"miss", "hit"}) {
    const auto executable = runtime::makeExecutable(triple("later"), device::host(), diagnostics);
    REQUIRE(executable);
    REQUIRE(executable->run({}, dense, diagnostics));
    CHECK(CacheLog::lines().size() == 1);
    REQUIRE(executable->run({}, strided, diagnostics));
    CHECK(CacheLog::lines().size() == 2);
    for (const std::string &line : CacheLog::lines()) CHECK(line.starts_with(expected));
    CacheLog::lines().clear();
  }
}

TEST_CASE("what is no code is taken away") {
  const ir::Kernel kernel = triple("strange");
  CHECK(launched(kernel) == "miss");
  const auto entries = kept();
  for (const char *content : {"", "scratch", "scratch one\n", "other 1\n"}) {
    CAPTURE(content);
    for (const runtime::DiskCache::Entry &entry : entries) {
      runtime::DiskCache::ofProcess()->forget(entry.key);
      runtime::DiskCache::ofProcess()->keep(entry.key, content);
    }
    CHECK(launched(kernel) == "miss");
    CHECK(launched(kernel) == "hit");
  }
}

TEST_CASE("of what asserts, and of what is wrong, nothing is kept") {
  const std::size_t before = kept().size();
  const ir::Kernel asserting = triple("asserting", R"(  %c = constant 0 : f32[64]
  %d = ge %1, %c : bool[64]
  assert %d [text = "none below"]
)");
  CHECK(launched(asserting) == "miss");
  CHECK(launched(asserting) == "miss");
  const ir::Kernel foreign = testing::parsedKernel(R"(kernel @swap(%y: ptr<u32>) stage tiles {
  %0 = load %y : u32
  %1 = inline_asm %0 [text = "bswap $0", constraints = "=r,0", target = "another-machine"] : u32
  store %y, %1
})");
  for (int i = 0; i < 2; ++i) {
    Diagnostics diagnostics;
    CHECK(runtime::makeExecutable(foreign, device::host(), diagnostics) == nullptr);
    CHECK(diagnostics.hasErrors());
  }
  CHECK(kept().size() == before);
}

} // namespace imbrex
