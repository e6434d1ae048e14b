#include "tests/support/parsed_kernel.h"
#include "tests/unit/host/launching.h"
#include "tests/unit/host/loop_plan_text.h"

#include <doctest/doctest.h>

#include <cmath>
#include <numeric>

namespace imbrex::host {
namespace {

using testing::parsedKernel;

std::string planOf(const ir::Kernel &kernel) {
  return toText(planLoops(kernel, usualTraits(kernel)), kernel);
}

/// What the second of two walks over a box reads ahead: what stands behind "read ahead", or "".
std::string readAheadOf(const ir::Kernel &kernel) {
  const std::string plan = planOf(kernel);
  const std::string mark = "read ahead ";
  const size_t at = plan.find(mark);
  return at == std::string::npos
             ? ""
             : plan.substr(at + mark.size(), plan.find('\n', at) - at - mark.size());
}

/// A kernel that walks twice over `rows` rows of 64, whose first is `row`, of `element`.
ir::Kernel rows(const std::string &row, const std::string &attributes = "",
                const std::string &element = "f32", int count = 1) {
  const std::string tile = element + "[" + std::to_string(count) + "x64]";
  return parsedKernel("kernel @k(%in: view<const " + element + ", 2>, %out: view<" + element +
                      ", 2>, %n: i32) stage tiles {\n"
                      "  %zero = constant 0 : i32\n  %p = program_id [axis = 0] : i32\n" +
                      row + "  %x = view.load %in, %row, %zero " + attributes + " : " + tile +
                      "\n  %m = reduce %x [axis = 1] : " + element + "[" + std::to_string(count) +
                      "]\n  %r = reshape %m : " + element + "[" + std::to_string(count) +
                      "x1]\n  %b = broadcast %r : " + tile + "\n  %d = sub %x, %b : " + tile +
                      "\n  view.store %out, %d, %row, %zero " + attributes + "\n}\n");
}

TEST_CASE("the last of several walks over a box reads the next block's") {
  CHECK(planOf(rows("  %row = add %p, %zero : i32\n")) ==
        "scalar constant\nscalar program_id\nscalar add\nnest 1x64: reduce sum\n"
        "nest 1x64: view.store, read ahead view.load by 1, 0\n");
}

TEST_CASE("how far a box moves from a block to the next along x") {
  const auto by = [](const std::string &row) { return readAheadOf(rows(row)); };
  CHECK(by("  %two = constant 2 : i32\n  %a = mul %two, %p : i32\n  %row = add %n, %a : i32\n") ==
        "view.load by 2, 0");
  CHECK(by("  %c = constant -3 : i64\n  %w = cast %p : i64\n  %row = mul %w, %c : i64\n") ==
        "view.load by -3, 0");
  CHECK(readAheadOf(rows("  %row = add %p, %zero : i32\n", "[unit = elements]", "f32", 8)) ==
        "view.load by 1, 0");
}

TEST_CASE("nothing is read ahead where it is not known how far the box moves, or it stays") {
  const auto none = [](const std::string &row) { CHECK(readAheadOf(rows(row)) == ""); };
  none("  %row = mul %p, %n : i32\n");
  none("  %row = min %p, %n : i32\n");
  none("  %row = program_id [axis = 1] : i32\n");
  none("  %row = add %n, %zero : i32\n");
  none("  %big = constant 4611686018427387904 : i64\n  %w = cast %p : i64\n"
       "  %a = mul %w, %big : i64\n  %t = add %a, %a : i64\n  %row = add %t, %t : i64\n");
}

TEST_CASE("boxes that do not fit into the caches twice are not read ahead") {
  const auto of = [](int count) {
    return readAheadOf(rows("  %row = add %p, %zero : i32\n", "", "f32", count));
  };
  CHECK(of(512) == "view.load by 512, 0"); // 128 KiB
  CHECK(of(513) == "");
}

TEST_CASE("one walk is left to the processor") {
  const ir::Kernel kernel = parsedKernel(R"(
kernel @k(%in: view<const f32, 1>, %out: view<f32, 1>) stage tiles {
  %p = program_id [axis = 0] : i32
  %x = view.load %in, %p : f32[64]
  %y = add %x, %x : f32[64]
  view.store %out, %y, %p
}
)");
  CHECK(readAheadOf(kernel) == "");
}

/// Twice over 64 numbers from a pointer.
ir::Kernel pointers() {
  return parsedKernel(R"(
kernel @k(%in: ptr<const f32>, %out: ptr<f32>) stage tiles {
  %p = program_id [axis = 0] : i32
  %n = constant 64 : i32
  %first = mul %p, %n : i32
  %fb = broadcast %first : i32[64]
  %i = arange : i32[64]
  %at = add %fb, %i : i32[64]
  %inb = broadcast %in : ptr<const f32>[64]
  %pin = ptr.add %inb, %at : ptr<const f32>[64]
  %x = load %pin : f32[64]
  %m = reduce %x [combine = max] : f32
  %mb = broadcast %m : f32[64]
  %d = sub %x, %mb : f32[64]
  %outb = broadcast %out : ptr<f32>[64]
  %pout = ptr.add %outb, %at : ptr<f32>[64]
  store %pout, %d
}
)");
}

TEST_CASE("pointers are read ahead by elements") { CHECK(readAheadOf(pointers()) == "load by 64"); }

size_t countOf(const std::string &text, const std::string &part) {
  size_t count = 0;
  for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++count;
  return count;
}

TEST_CASE("each vector of the last walk is prefetched for the next block") {
  const std::string code = codeOf(pointers());
  const size_t call = code.find("call void @llvm.prefetch");
  REQUIRE(call != std::string::npos);
  // A block further on are 64 elements of four bytes.
  const std::string before = code.substr(0, call);
  CHECK(before.substr(before.rfind("getelementptr")).find("i64 256") != std::string::npos);
  // As often as the last walk's loop loads: unrolled alike.
  const std::string last = code.substr(before.rfind("vectors"));
  CHECK(countOf(last, "call void @llvm.prefetch") == countOf(last, "load <8 x float>"));
}

TEST_CASE("a product fetches the panels of the trip behind it, where they are kept") {
  const auto fetches = [](const std::string &columns) {
    return countOf(codeOf(testing::parsedKernel(
                       "kernel @k(%a: view<const f32, 2>, %b: view<const f32, 2>, %c: view<f32, 2>)"
                       " stage tiles {\n"
                       "  %m = program_id : i32\n  %0 = constant 0 : i32\n  %1 = constant 1 : i32\n"
                       "  %8 = constant 8 : i32\n  %z = constant 0 : f32[32x64]\n"
                       "  %x = view.load %a, %m, %0 : f32[32x16]\n"
                       "  %sum = for %0, %8, %1, %z (%k: i32, %acc: f32[32x64]) {\n"
                       "    %y = view.load %b, " +
                       columns +
                       " : f32[16x64]\n    %h = mul %acc, %acc : f32[32x64]\n"
                       "    %d = dot %x, %y, %h : f32[32x64]\n    yield %d\n  } : f32[32x64]\n"
                       "  view.store %c, %sum, %m, %0\n}\n")),
                   "call void @llvm.prefetch") > 0;
  };
  CHECK(fetches("%k, %0"));
  CHECK_FALSE(fetches("%k, %m")); // which the next block has others of
}

TEST_CASE("reading ahead touches no memory, wherever the next block's box would lie") {
  constexpr std::int64_t kColumns = 64;
  std::vector<float> in(kColumns), out(in.size());
  std::iota(in.begin(), in.end(), 0.0F);
  // The second block's box is 2^40 rows away, where nothing is mapped.
  const ir::Kernel kernel = rows("  %far = constant 1099511627776 : i64\n  %w = cast %p : i64\n"
                                 "  %row = mul %w, %far : i64\n");
  REQUIRE(readAheadOf(kernel) == "view.load by 1099511627776, 0");
  launch(kernel, {.extents = {1, 1, 1}},
         {viewOf(in, {1, kColumns}), viewOf(out, {1, kColumns}), number(0)});
  constexpr float kSum = kColumns * (kColumns - 1) / 2.0F;
  for (size_t i = 0; i < out.size(); ++i) CHECK(out[i] == in[i] - kSum);
}

} // namespace
} // namespace imbrex::host
