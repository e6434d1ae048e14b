// Bytes of a product's second factor that threads store into slots, transposed: by whole words,
// which they put together by permutes, and so that what is read need not be moved.

#include "llvm/ADT/StringExtras.h"
#include "tests/codegen/compiled_table.h"
#include "tests/support/parsed_kernel.h"

#include <algorithm>

using namespace imbrex;
using namespace imbrex::testing;

namespace {

bool isProduct(const std::string &instruction) {
  return instruction.starts_with("v_mfma") || instruction.starts_with("v_wmma");
}

/// The instructions of the first loop that multiplies: its trips are whole.
std::vector<std::string> loopOf(const char *machine, int warps) {
  ir::Kernel kernel = parsedKernel(
      "kernel @bytes(%a: view<const i8, 2>, %b: view<const i8, 2>, %c: view<i32, 2>) stage tiles "
      "[warps = " +
      std::to_string(warps) +
      "] {\n%0 = constant 0 : i64\n%1 = constant 1 : i64\n%e = view.extent %a [axis = 1] : i64\n"
      "%u = constant 64 : i64\n%t = cdiv %e, %u : i64\n%z = constant 0 : i32[128x128]\n"
      "%s = for %0, %t, %1, %z [pipelined = 2] (%k: i64, %sum: i32[128x128]) {\n"
      "%x = view.load %a, %0, %k : i8[128x64]\n%y = view.load %b, %k, %0 : i8[64x128]\n"
      "%d = dot %x, %y, %sum : i32[128x128]\nyield %d\n} : i32[128x128]\n"
      "view.store %c, %s, %0, %0\n}\n");
  const target::GpuTarget &target = *target::findGpuTarget(*machine::findMachine(machine));
  const auto text = makeAssembly(codeOf(kernel, target), target);
  REQUIRE(text.ok());
  std::vector<std::string> block;
  std::string label;
  for (const llvm::StringRef line : llvm::split(*text, '\n')) {
    const llvm::StringRef word = line.trim();
    if (word.starts_with(".LBB")) label = word.split(':').first.str(), block.clear();
    block.push_back(word.str());
    const bool isEnd = word.starts_with("s_cbranch") && word.ends_with(" " + label);
    if (isEnd && std::ranges::any_of(block, isProduct)) return block;
  }
  return {};
}

} // namespace

TEST_CASE("bytes of a factor are stored by whole words, two permutes for each") {
  struct Row {
    const char *machine;
    int warps;
  };
  for (const auto &[machine, warps] : {Row{"gfx942", 4}, Row{"gfx1100", 4}, Row{"gfx1201", 4}}) {
    CAPTURE(std::string(machine));
    if (target::findGpuTarget(*machine::findMachine(machine)) == nullptr) continue;
    const std::vector<std::string> loop = loopOf(machine, warps);
    const auto count = [&](std::string_view beginning) {
      return std::ranges::count_if(
          loop, [&](const std::string &one) { return one.starts_with(beginning); });
    };
    const std::int64_t words = 64 * 128 / 4 / (warps * machine::findMachine(machine)->warpSize);
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
