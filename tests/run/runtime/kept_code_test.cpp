#include "runtime/disk_cache.h"
#include "runtime/gpu_executable.h"
#include "tests/run/runtime/fake_vendor.h"
#include "tests/run/runtime/kept_folder.h"
#include "tests/run/runtime/numbers_view.h"
#include "tests/run/runtime/played_gpu.h"
#include "tests/support/assembler.h"
#include "tests/support/parsed_kernel.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

/// Code that was kept on disk, as launches take it: every executable here is another process's, as
/// far as that folder goes. The played GPU insists that the code is what the compiler makes.
namespace imbrex {
namespace {

using testing::kFake;
using testing::viewOf;

const testing::KeptFolder keptIn;

ir::Kernel triple(const std::string &name) {
  return testing::parsedKernel("kernel @" + name + R"((%x: view<f32, 1>) stage tiles {
  %0 = program_id : i32
  %1 = view.load %x, %0 : f32[64]
  %2 = add %1, %1 : f32[64]
  %3 = add %2, %1 : f32[64]
  view.store %x, %3, %0
})");
}

/// Make an executable, run it, and say what the cache did: "hit", "miss", or what came before.
std::string launched(const ir::Kernel &kernel, const std::string &isa = kFake.isa,
                     std::ptrdiff_t offset = 0, bool takesImages = true) {
  fake::State &driver = testing::freshDriver(kFake.driver);
  driver.isa = isa;
  driver.takesImages = takesImages;
  const auto gpu = testing::openGpu({kFake.driver}, 0);
  REQUIRE(gpu);
  const testing::PlayedGpu played(driver, kernel, *(*gpu)->code().machine);
  const testing::CacheLog log;
  Diagnostics diagnostics;
  std::vector<float> x(80);
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i);
  const ir::Argument argument = viewOf(x.data() + offset, 64);
  const auto executable =
      runtime::makeGpuExecutable(kernel.clone(), **gpu, diagnostics, {.launch = argument});
  REQUIRE_MESSAGE(executable, diagnostics.render());
  REQUIRE_MESSAGE(executable->run({}, argument, diagnostics), diagnostics.render());
  CHECK(played.problem() == "");
  const auto first = static_cast<std::size_t>(offset);
  CHECK(x[first + 63] == 3 * static_cast<float>(first + 63));
  return testing::CacheLog::said();
}

/// The machine whose assembly a device of that kind is handed.
std::string laterTarget(const std::string &isa) {
  testing::freshDriver(kFake.driver).isa = isa;
  const auto gpu = testing::openGpu({kFake.driver}, 0);
  REQUIRE(gpu);
  REQUIRE((*gpu)->code().asAssembly);
  return std::string((*gpu)->code().machine->name);
}

std::vector<runtime::DiskCache::Entry> kept() {
  const auto *cache = runtime::DiskCache::ofProcess();
  REQUIRE(cache != nullptr);
  return cache->entries();
}

} // namespace

TEST_CASE("code that was kept is launched as if it had been compiled" *
          doctest::test_suite("toolkit")) {
  const std::size_t before = kept().size();
  const ir::Kernel kernel = triple("kept");
  CHECK(launched(kernel) == "miss");
  CHECK(kept().size() == before + 1);
  CHECK(launched(kernel) == "hit");
  CHECK(launched(triple("kept_too")) == "miss");
  CHECK(launched(kernel, kFake.isa, 1) == "miss"); // that keeps less than others
  CHECK(launched(kernel, kFake.isa, 1) == "hit");
  CHECK(launched(kernel) == "hit");
  CHECK(kept().size() == before + 3);
}

TEST_CASE("each kind of device has code of its own" * doctest::test_suite("toolkit")) {
  const std::string other = kFake.isa == std::string_view("sm_90") ? "sm_80" : "gfx90a:xnack-";
  const ir::Kernel kernel = triple("kinds");
  CHECK(launched(kernel) == "miss");
  CHECK(launched(kernel, other) == "miss");
  CHECK(launched(kernel, other) == "hit");
}

TEST_CASE("what is damaged is compiled again" * doctest::test_suite("toolkit")) {
  const ir::Kernel kernel = triple("damaged");
  CHECK(launched(kernel) == "miss");
  for (const runtime::DiskCache::Entry &entry : kept()) {
    const std::string path = keptIn.path + "/" + entry.file;
    std::filesystem::resize_file(path, std::filesystem::file_size(path) - 1);
  }
  const std::string said = launched(kernel);
  CHECK(said.find("is damaged, and taken away") != std::string::npos);
  CHECK(said.ends_with("miss"));
  CHECK(launched(kernel) == "hit");
}

TEST_CASE("what a kernel prints and asserts keeps it from being kept" *
          doctest::test_suite("toolkit")) {
  const std::size_t before = kept().size();
  const ir::Kernel kernel = testing::parsedKernel(R"(kernel @told(%x: view<f32, 1>) stage tiles {
  %0 = program_id : i32
  %1 = view.load %x, %0 : f32[64]
  %2 = constant 0 : f32[64]
  %3 = ge %1, %2 : bool[64]
  assert %3 [text = "none below"]
  %4 = add %1, %1 : f32[64]
  %5 = add %4, %1 : f32[64]
  view.store %x, %5, %0
})");
  CHECK(launched(kernel) == "miss");
  CHECK(launched(kernel) == "miss");
  CHECK(kept().size() == before);
}

TEST_CASE("an image that the driver no longer takes is made again as it does" *
          doctest::test_suite("toolkit")) {
  if (kFake.device != std::string_view("cuda")) return; // only that driver takes anything else
  const ir::Kernel kernel = triple("refused");
  CHECK(launched(kernel) == "miss");
  CHECK(launched(kernel, kFake.isa, 0, false) == "hit");
  // What was refused is not offered again; the assembly, where no image can be made, is not
  // refused.
  const bool isImage = testing::canAssemble(target::gpuTarget(*machine::findMachine("sm_90a")));
  CHECK(launched(kernel) == (isImage ? "miss" : "hit"));
}

TEST_CASE("a device of a later kind gets the assembly, and not another's image" *
          doctest::test_suite("toolkit")) {
  if (kFake.device != std::string_view("cuda")) return;
  const ir::Kernel kernel = triple("later");
  const std::string later = "sm_110", target = laterTarget(later);
  CHECK(launched(kernel, target) == "miss");
  CHECK(launched(kernel, later) == "miss");
  CHECK(launched(kernel, later) == "hit");
  CHECK(launched(kernel, target) == "hit");
}

} // namespace imbrex
