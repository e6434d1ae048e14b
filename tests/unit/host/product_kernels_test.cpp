// Products whose kernels are written out, as their factors are read elsewhere too, are transposed
// by permutations, or are stored as the kernel says: against the interpreter, on whole numbers.

#include "backend/interpret/interpret.h"
#include "tests/support/parsed_kernel.h"
#include "tests/unit/host/launching.h"

#include <doctest/doctest.h>

#include <random>

namespace imbrex::host {
namespace {

using testing::parsedKernel;

/// What kernels of two f32 matrices and one of sums leave, on the host and by the interpreter.
/// Twice, with other numbers: what scratch holds of one launch is not right for the other.
void compareKernel(const std::string &body, std::int64_t extent = 16, ir::Grid grid = {}) {
  CAPTURE(body);
  const ir::Kernel kernel = parsedKernel(
      "kernel @k(%a: view<const f32, 2>, %b: view<const f32, 2>, %c: view<f32, 2>) stage tiles {\n"
      "  %0 = constant 0 : i64\n  %1 = constant 1 : i64\n  %4 = constant 4 : i64\n"
      "  %z = constant 0 : f32[16x16]\n" +
      body + "}\n");
  std::mt19937 rng(17);
  const auto count = extent * extent;
  for (int launchNumber = 0; launchNumber < 2; ++launchNumber) {
    std::vector<float> a = wholeNumbers<float>(rng, count), b = wholeNumbers<float>(rng, count);
    std::vector<float> sums(a.size()), expected(a.size());
    const auto arguments = [&](std::vector<float> &of) {
      return std::vector{viewOf(a, {extent, extent}), viewOf(b, {extent, extent}),
                         viewOf(of, {extent, extent})};
    };
    launch(kernel, grid, arguments(sums));
    Diagnostics diagnostics;
    REQUIRE_MESSAGE(interpret::run(kernel, grid, arguments(expected), diagnostics),
                    diagnostics.render());
    CHECK(sums == expected);
  }
}

constexpr const char *kX = "  %x = view.load %a, %0, %0 : f32[16x16]\n";
constexpr const char *kY = "  %y = view.load %b, %0, %0 : f32[16x16]\n";

TEST_CASE("a factor that is used besides") {
  const std::string x = kX, y = kY, store = "  view.store %c, %e, %0, %0\n";
  compareKernel(x + "  %e = dot %x, %x, %z : f32[16x16]\n" + store);
  compareKernel(x + y + "  %d = dot %x, %y, %z : f32[16x16]\n  %e = add %d, %x : f32[16x16]\n" +
                store);
  compareKernel(x + y + "  %s = add %y, %x : f32[16x16]\n  %e = dot %y, %x, %s : f32[16x16]\n" +
                store);
}

TEST_CASE("a permutation that leaves b as it is transposes nothing") {
  compareKernel(std::string(kX) + kY +
                "  %p = permute %y [order = [0, 1]] : f32[16x16]\n"
                "  %e = dot %x, %p, %z : f32[16x16]\n  view.store %c, %e, %0, %0\n");
}

TEST_CASE("a transpose of an axis of one index is that of rows of one element") {
  for (const bool isRow : {false, true})
    compareKernel(std::string(kX) + "  %p = view.load %b, %0, %0 : f32[" +
                  (isRow ? "1x16" : "16x1") + "]\n" + "  %r = reshape %p : f32[16x1]\n" +
                  "  %z1 = constant 0 : f32[16x1]\n  %e = dot %x, %r, %z1 : f32[16x1]\n" +
                  "  view.store %c, %e, %0, %1\n");
}

TEST_CASE("matrices whose axes a permutation moves") {
  // Boxes of 4 x 4 x 8 and more of it: rows, matrices, columns; sums in the same order.
  const ir::Kernel kernel = parsedKernel(
      "kernel @k(%a: view<const f32, 3>, %b: view<const f32, 3>, %c: view<f32, 3>) stage tiles {\n"
      "  %0 = constant 0 : i64\n  %z = constant 0 : f32[4x16x16]\n"
      "  %m = program_id : i32\n"
      "  %x = view.load %a, %m, %0, %0 : f32[16x4x8]\n  %y = view.load %b, %0, %0, %0 : "
      "f32[16x4x8]\n"
      "  %p = permute %x [order = [1, 0, 2]] : f32[4x16x8]\n"
      "  %q = permute %y [order = [1, 2, 0]] : f32[4x8x16]\n"
      "  %d = dot %p, %q, %z : f32[4x16x16]\n"
      "  %o = permute %d [order = [1, 0, 2]] : f32[16x4x16]\n"
      "  view.store %c, %o, %m, %0, %0\n}\n");
  std::mt19937 rng(5);
  for (const std::int64_t rows : {32, 21}) {
    std::vector<float> a = wholeNumbers<float>(rng, rows * 4 * 8),
                       b = wholeNumbers<float>(rng, 512);
    std::vector<float> sums(static_cast<size_t>(rows) * 4 * 16), expected(sums.size());
    const auto arguments = [&](std::vector<float> &of) {
      return std::vector{viewOf(a, {rows, 4, 8}), viewOf(b, {16, 4, 8}), viewOf(of, {rows, 4, 16})};
    };
    launch(kernel, {.extents = {2, 1, 1}}, arguments(sums));
    Diagnostics diagnostics;
    REQUIRE_MESSAGE(
        interpret::run(kernel, {.extents = {2, 1, 1}}, arguments(expected), diagnostics),
        diagnostics.render());
    CHECK(sums == expected);
  }
}

TEST_CASE("what a loop has made of zeros is added to, and not begun anew") {
  compareKernel(std::string(kX) + kY +
                "  %s = for %0, %4, %1, %z (%t: i64, %v: f32[16x16]) {\n"
                "    %w = add %v, %x : f32[16x16]\n    yield %w\n  } : f32[16x16]\n"
                "  %e = dot %x, %y, %s : f32[16x16]\n  view.store %c, %e, %0, %0\n");
  compareKernel(std::string(kX) + kY +
                "  %d = dot %x, %x, %z : f32[16x16]\n"
                "  %e = dot %x, %y, %d : f32[16x16]\n  view.store %c, %e, %0, %0\n");
}

TEST_CASE("sums that a loop scales and carries on") {
  const auto compareBody = [](const std::string &body, const std::string &yielded) {
    compareKernel(
        std::string(kX) + kY +
        "  %n = constant -1 : f32[16x16]\n"
        "  %s, %w = for %0, %4, %1, %y, %x (%t: i64, %v: f32[16x16], %u: f32[16x16]) {\n" +
        body + "    %d = dot %x, %y, %h : f32[16x16]\n    yield " + yielded +
        "\n  } : f32[16x16], f32[16x16]\n"
        "  %e = sub %s, %w : f32[16x16]\n  view.store %c, %e, %0, %0\n");
  };
  const std::string scaled = "    %h = mul %v, %n : f32[16x16]\n";
  compareBody(scaled, "%d, %u");
  compareBody(scaled, "%d, %d");
  compareBody(scaled, "%u, %d");
  compareBody(scaled, "%d, %v");
  compareBody(scaled + "    %p = add %u, %v : f32[16x16]\n", "%d, %p");
  compareBody("    %h = flip %v [axis = 0] : f32[16x16]\n", "%d, %u");
  compareBody("    %f = flip %v [axis = 1] : f32[16x16]\n    %h = add %f, %n : f32[16x16]\n",
              "%d, %u");
  compareBody("    %f = flip %v [axis = 1] : f32[16x16]\n    %h = add %f, %v : f32[16x16]\n",
              "%d, %u");
}

TEST_CASE("several matrices of a tile are several trips deep alike") {
  compareKernel("  %zb = constant 0 : f32[2x16x16]\n"
                "  %s = for %0, %4, %1, %zb (%t: i64, %v: f32[2x16x16]) {\n"
                "    %p = view.load %a, %0, %t : f32[32x16]\n"
                "    %q = view.load %b, %t, %0 : f32[16x32]\n"
                "    %r = reshape %p : f32[2x16x16]\n    %u = reshape %q : f32[2x16x16]\n"
                "    %d = dot %r, %u, %v : f32[2x16x16]\n    yield %d\n  } : f32[2x16x16]\n"
                "  %e = reshape %s : f32[32x16]\n  view.store %c, %e, %0, %0\n",
                64);
}

TEST_CASE("sums go where they are stored, when the kernel says so") {
  const std::string product = std::string(kX) + kY + "  %d = dot %x, %y, %z : f32[16x16]\n";
  const std::string loop = std::string(kX) + kY +
                           "  %d = for %0, %4, %1, %z (%t: i64, %v: f32[16x16]) {\n"
                           "    %w = dot %x, %y, %v : f32[16x16]\n    yield %w\n"
                           "  } : f32[16x16]\n";
  const std::string store = "  view.store %c, %d, %0, %0\n";
  for (const std::string &sums : {product, loop}) {
    compareKernel(sums + store);
    // What was there before is read behind the product, and kept elsewhere.
    compareKernel("  %i = constant 3 : f32[16x16]\n  view.store %c, %i, %0, %0\n" + sums +
                      "  %old = view.load %c, %0, %0 : f32[16x16]\n" + store +
                      "  view.store %c, %old, %1, %0\n",
                  32);
    compareKernel(sums + "  %far = add %1, %1 : i64\n  view.store %c, %d, %far, %1\n", 64);
    const std::string is = "  %m = program_id : i32\n  %two = constant 2 : i32\n"
                           "  %is = ge %m, %two : bool\n";
    compareKernel(is + sums + "  exit_if %is\n  view.store %c, %d, %m, %0\n", 64,
                  {.extents = {4, 1, 1}});
    compareKernel(
        sums + store + "  %e = dot %d, %x, %z : f32[16x16]\n  view.store %c, %e, %1, %0\n", 32);
    compareKernel("  %m = program_id : i32\n" + sums + "  view.store %c, %d, %m, %0\n", 40,
                  {.extents = {4, 1, 1}});
    compareKernel(is + sums + "  if %is {\n    view.store %c, %d, %m, %0\n    yield\n  }\n", 64,
                  {.extents = {4, 1, 1}});
  }
}

TEST_CASE("sums that are stored, and stored again where something holds") {
  const ir::Kernel kernel = parsedKernel(
      "kernel @k(%a: view<const f32, 2>, %c: view<f32, 2>, %e: view<f32, 2>) stage tiles {\n"
      "  %0 = constant 0 : i64\n  %z = constant 0 : f32[16x16]\n"
      "  %m = program_id : i32\n  %is = ge %m, %m : bool\n"
      "  %x = view.load %a, %0, %0 : f32[16x16]\n  %d = dot %x, %x, %z : f32[16x16]\n"
      "  view.store %c, %d, %0, %0\n  if %is {\n    view.store %e, %d, %0, %0\n    yield\n  "
      "}\n}\n");
  std::mt19937 rng(3);
  for (int launchNumber = 0; launchNumber < 2; ++launchNumber) {
    std::vector<float> a = wholeNumbers<float>(rng, 256), sums(256), again(256);
    launch(kernel, {}, {viewOf(a, {16, 16}), viewOf(sums, {16, 16}), viewOf(again, {16, 16})});
    CHECK(again == sums);
  }
}

TEST_CASE("boxes at the edge that are padded with different numbers are different boxes") {
  compareKernel("  %m = program_id : i32\n  %q = mul %m, %m : i32\n  %pad = cast %q : f32\n  %3 = "
                "constant 3 : i64\n"
                "  %x = view.load %a, %m, %0 : f32[16x16]\n"
                "  %y = view.load %b, %0, %3, %pad [padding = value] : f32[16x16]\n"
                "  %e = dot %x, %y, %z : f32[16x16]\n  view.store %c, %e, %m, %0\n",
                3 * 16 + 5, {.extents = {60, 1, 1}});
}

} // namespace
} // namespace imbrex::host
