#include "runtime/gpu/staged_arrays.h"
#include "tests/run/runtime/fake_vendor.h"
#include "tests/run/runtime/played_gpu.h"
#include "tests/support/parsed_kernel.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <memory>
#include <random>
#include <utility>
#include <vector>

/// A launch's arrays of the host's, of every size and however they overlap, on the device and back
/// (CMakeLists.txt compiles this once for each vendor).
namespace imbrex {
namespace {

using testing::kFake;

constexpr std::int64_t kOnePiece = driver::PinnedPool::kPieceBytes;
constexpr std::int64_t kLastSmall = driver::StagedCopies::kSmallBytes;
constexpr std::int64_t kMost = 3 * kOnePiece + 1;

ir::Kernel fourArrays() {
  return testing::parsedKernel(
      "kernel @four(%a: view<const u8, 1>, %b: view<u8, 1>, %c: view<const u8, 1>, %d: view<u8, 1>)"
      " stage tiles {\n}");
}

/// Sizes at which copies are made in another way, those beside them, and any.
std::int64_t someSize(std::mt19937 &random) {
  constexpr std::array kSizes{std::int64_t{0}, std::int64_t{1}, kLastSmall,
                              kOnePiece,       2 * kOnePiece,   kMost};
  const std::int64_t size = random() % 4 == 0 ? static_cast<std::int64_t>(random()) % kMost
                                              : kSizes[random() % kSizes.size()];
  return std::clamp(size + static_cast<std::int64_t>(random() % 3) - 1, std::int64_t{0}, kMost);
}

/// Memory of the host, of which four arrays may have any part; plain, or pinned by the driver.
class Arrays {
public:
  Arrays(std::mt19937 &random, const gpu::SupportedGpu &gpu)
      : gpu_(gpu), isPinned_(random() % 4 == 0), plain_(isPinned_ ? 0 : kMost),
        begin_(isPinned_ ? static_cast<std::byte *>(*gpu.allocatePinned(kMost)) : plain_.data()) {
    // No two pieces are alike: 251 divides none of their sizes.
    for (std::int64_t i = 0; i < kMost; ++i) begin_[i] = static_cast<std::byte>(i % 251);
    for (ir::Argument &one : arguments_) {
      one.bytes = someSize(random);
      const auto room = static_cast<std::uint64_t>(kMost - one.bytes + 1);
      one.data = begin_ + (random() % 4 == 0 ? 0 : random() % room);
      one.extents[0] = one.bytes;
      one.strides[0] = 1;
    }
    if (random() % 3 == 0) arguments_[3] = arguments_[random() % 3]; // the same twice
  }
  ~Arrays() {
    if (isPinned_) gpu_.releasePinned(begin_);
  }
  Arrays(const Arrays &) = delete;
  Arrays &operator=(const Arrays &) = delete;

  llvm::ArrayRef<ir::Argument> arguments() const { return arguments_; }
  std::vector<std::byte> content() const { return {begin_, begin_ + kMost}; }
  std::int64_t offsetOf(const ir::Argument &argument) const { return argument.data - begin_; }

private:
  const gpu::SupportedGpu &gpu_;
  bool isPinned_;
  std::vector<std::byte> plain_;
  std::byte *begin_;
  std::array<ir::Argument, 4> arguments_;
};

/// Plays the kernel: what it reads has to be there, and it writes some of what it may, here as well
/// as where the host's memory is `expected`.
void play(const ir::Kernel &kernel, const Arrays &arrays, const gpu::StagedArrays &staged,
          std::vector<std::byte> &expected, std::mt19937 &random) {
  for (std::size_t i = 0; i < arrays.arguments().size(); ++i) {
    CAPTURE(i);
    const ir::Argument &given = arrays.arguments()[i];
    std::byte *const there = staged.arguments()[i].data;
    std::byte *const here = expected.data() + arrays.offsetOf(given);
    const auto bytes = static_cast<std::size_t>(given.bytes);
    if (bytes > 0) REQUIRE(std::memcmp(there, here, bytes) == 0);
    if (kernel.parameterType(i).isConst()) continue;
    for (std::size_t at = 0; at < bytes; at += 1 + random() % 5000)
      there[at] = here[at] = static_cast<std::byte>(random());
  }
}

/// A launch with some arrays, during which one of the driver's calls fails. Whether that was an
/// error; else all is as if the kernel had run on the host.
bool isRefused(fake::State &driver, const ir::Kernel &kernel, const gpu::SupportedGpu &gpu,
               unsigned seed, const char *failing = "") {
  std::mt19937 random(seed);
  const Arrays arrays(random, gpu);
  driver.failing = failing;
  driver.passing = static_cast<int>(random() % 3);
  std::vector<std::byte> expected = arrays.content();
  auto staged = gpu::StagedArrays::stage(gpu, kernel, arrays.arguments(), {});
  if (!staged || !gpu.await(nullptr)) return true;
  play(kernel, arrays, *staged, expected, random);
  if (!staged->bringBack()) return true;
  CHECK((arrays.content() == expected));
  return false;
}

} // namespace

TEST_CASE("arrays of every size that overlap in any way are used as if they were the host's") {
  fake::State &driver = testing::freshDriver(kFake.driver);
  driver.isa = kFake.isa;
  {
    const ir::Kernel kernel = fourArrays();
    const auto gpu = std::move(testing::openGpu({kFake.driver}, 0).value());
    for (unsigned seed = 0; seed < 40; ++seed) {
      CAPTURE(seed);
      REQUIRE_FALSE(isRefused(driver, kernel, *gpu, seed));
      CHECK(driver.memory.empty());
      CHECK(driver.pending.empty());
    }
    CHECK(driver.pinned.size() == 1);
  }
  CHECK(driver.pinned.empty());
}

TEST_CASE("wherever the driver refuses, arrays leave nothing on the device, and the next arrive") {
  fake::State &driver = testing::freshDriver(kFake.driver);
  driver.isa = kFake.isa;
  driver.error = 1;
  constexpr std::array kCalls{"allocate",   "copyIn",    "copyOut",
                              "copyInBy",   "copyOutBy", "recordEvent",
                              "awaitEvent", "makeEvent", "allocatePinned"};
  {
    const ir::Kernel kernel = fourArrays();
    const auto gpu = std::move(testing::openGpu({kFake.driver}, 0).value());
    int refused = 0;
    for (unsigned seed = 0; seed < 54; ++seed) {
      CAPTURE(seed);
      refused += isRefused(driver, kernel, *gpu, seed, kCalls[seed % kCalls.size()]) ? 1 : 0;
      driver.failing.clear();
      CHECK(driver.memory.empty());
      CHECK(driver.pending.empty());
      CHECK(driver.here().current == 0);
      REQUIRE_FALSE(isRefused(driver, kernel, *gpu, seed));
    }
    CHECK(refused > 12);
  }
  CHECK(driver.pinned.empty());
}

} // namespace imbrex
