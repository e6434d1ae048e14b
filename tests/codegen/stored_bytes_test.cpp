// A product's second factor that threads store into slots, and whose fragments run down its
// columns. Bytes are stored transposed, by whole words, which threads put together by permutes, so
// that what is read need not be moved; but where warps read columns, tiles are stored as they were
// loaded, and where they load columns, these are stored whole.

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include "tests/codegen/compiled_table.h"
#include "tests/support/parsed_kernel.h"

#include <algorithm>

using namespace imbrex;
using namespace imbrex::testing;

namespace {

bool isProduct(const std::string &instruction) {
  return instruction.starts_with("v_mfma") || instruction.starts_with("v_wmma");
}

std::vector<std::string> linesOf(const char *machine, int warps, std::string_view type,
                                 std::string_view sum) {
  ir::Kernel kernel = parsedKernel(
      llvm::formatv(
          "kernel @stored(%a: view<const {0}, 2>, %b: view<const {0}, 2>, %c: view<{1}, 2>) "
          "stage tiles [warps = {2}] {{\n%0 = constant 0 : i64\n%1 = constant 1 : i64\n"
          "%e = view.extent %a [axis = 1] : i64\n"
          "%u = constant 64 : i64\n%t = cdiv %e, %u : i64\n%z = constant {3} : {1}[128x128]\n"
          "%s = for %0, %t, %1, %z [pipelined = 2] (%k: i64, %sum: {1}[128x128]) {{\n"
          "%x = view.load %a, %0, %k : {0}[128x64]\n%y = view.load %b, %k, %0 : {0}[64x128]\n"
          "%d = dot %x, %y, %sum : {1}[128x128]\nyield %d\n} : {1}[128x128]\n"
          "view.store %c, %s, %0, %0\n}\n",
          type, sum, warps, sum == "i32" ? "0" : "0.0")
          .str());
  const target::GpuTarget &target = *target::findGpuTarget(*machine::findMachine(machine));
  const auto text = makeAssembly(codeOf(kernel, target), target);
  REQUIRE(text.ok());
  std::vector<std::string> lines;
  for (const llvm::StringRef line : llvm::split(*text, '\n')) lines.push_back(line.trim().str());
  return lines;
}

/// The instructions of the first loop that multiplies: its trips are whole.
std::vector<std::string> loopOf(llvm::ArrayRef<std::string> lines) {
  std::vector<std::string> block;
  std::string label;
  for (const llvm::StringRef line : lines) {
    if (line.starts_with(".LBB")) label = line.split(':').first.str(), block.clear();
    block.push_back(line.str());
    const bool isEnd = line.starts_with("s_cbranch") && line.ends_with(" " + label);
    if (isEnd && std::ranges::any_of(block, isProduct)) return block;
  }
  return {};
}

std::int64_t countOf(llvm::ArrayRef<std::string> lines, std::string_view beginning) {
  return llvm::count_if(lines, [&](const std::string &one) { return one.starts_with(beginning); });
}

} // namespace

TEST_CASE("bytes of a factor are stored by whole words, two permutes for each") {
  constexpr int kWarps = 4;
  for (const char *const machine : {"gfx942", "gfx1100"}) {
    CAPTURE(std::string(machine));
    if (target::findGpuTarget(*machine::findMachine(machine)) == nullptr) continue;
    const std::vector<std::string> loop = loopOf(linesOf(machine, kWarps, "i8", "i32"));
    const auto count = [&](std::string_view beginning) { return countOf(loop, beginning); };
    const std::int64_t words = 64 * 128 / 4 / (kWarps * machine::findMachine(machine)->warpSize);
    CHECK(count("v_perm_b32") == 2 * words);
    CHECK(count("ds_write_b8") + count("ds_write_b16") + count("ds_store_b8") +
              count("ds_store_b16") ==
          0);
    CHECK(count("v_mov") + count("v_dual_mov") + count("v_or") + count("v_lshl") == 0);
    // No address has the 0 added at which shared memory begins.
    CHECK(std::ranges::none_of(loop, [](const std::string &one) {
      return one.starts_with("v_add") && one.find(", 0,") != std::string::npos;
    }));
  }
}

TEST_CASE("where warps read columns, tiles are stored as they were loaded") {
  constexpr const char *kGpu = "gfx1250";
  if (target::findGpuTarget(*machine::findMachine(kGpu)) == nullptr) return;
  struct Row {
    const char *type, *sum, *read;
  };
  for (const auto &[type, sum, read] :
       {Row{"i8", "i32", "ds_load_tr8_b64"}, Row{"f8e4m3fn", "f32", "ds_load_tr8_b64"},
        Row{"bf16", "f32", "ds_load_tr16_b128"}, Row{"f16", "f32", "ds_load_tr16_b128"}}) {
    CAPTURE(std::string(type));
    const std::vector<std::string> lines = linesOf(kGpu, 4, type, sum);
    CHECK(countOf(lines, read) > 0);
    CHECK(countOf(lines, "ds_store_b128") > 0);
    CHECK(countOf(lines, "ds_store") == countOf(lines, "ds_store_b128"));
    CHECK(countOf(lines, "v_perm_b32") == 0);
  }
}

TEST_CASE("where warps load columns, threads store them as they are") {
  constexpr const char *kGpu = "gfx1201";
  if (target::findGpuTarget(*machine::findMachine(kGpu)) == nullptr) return;
  struct Row {
    const char *type, *sum, *load;
  };
  constexpr std::int64_t kLoads = 64 * 128 / 128 / 8; // of 128 threads, 8 elements each
  for (const auto &[type, sum, load] :
       {Row{"i8", "i32", "global_load_tr_b64"}, Row{"f8e4m3fn", "f32", "global_load_tr_b64"},
        Row{"bf16", "f32", "global_load_tr_b128"}, Row{"f16", "f32", "global_load_tr_b128"}}) {
    CAPTURE(std::string(type));
    const std::vector<std::string> loop = loopOf(linesOf(kGpu, 4, type, sum));
    const auto count = [&](std::string_view beginning) { return countOf(loop, beginning); };
    CHECK(count(load) == kLoads);
    CHECK(count("ds_store") == count("ds_store_b128"));
    CHECK(count("v_perm_b32") + count("v_and_or") + count("v_mov") + count("v_lshl") == 0);
    // A scalar address, 32 bits of the thread, and a constant.
    CHECK(std::ranges::none_of(loop, [&](const std::string &one) {
      return one.starts_with(load) && one.find(", off") != std::string::npos;
    }));
  }
}
