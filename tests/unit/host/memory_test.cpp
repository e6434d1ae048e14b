// Where nests read and write memory, and by which instructions.

#include "tests/support/parsed_kernel.h"
#include "tests/unit/host/launching.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <numeric>
#include <sstream>

namespace imbrex::host {
namespace {

/// Twice what is in a box, streamed to another view.
ir::Kernel streamed() {
  return testing::parsedKernel(
      "kernel @k(%x: view<const f32, 2>, %y: view<f32, 2>) stage tiles {\n"
      "  %m = program_id : i32\n  %0 = constant 0 : i32\n"
      "  %a = view.load %x, %m, %0 : f32[4x64]\n  %b = add %a, %a : f32[4x64]\n"
      "  view.store %y, %b, %m, %0 [cache = streaming]\n}\n");
}

std::unique_ptr<HostProgram> compiled(const ir::Kernel &kernel) {
  Diagnostics diagnostics;
  std::unique_ptr<HostProgram> program = HostProgram::compile(kernel, diagnostics);
  REQUIRE(program);
  return program;
}

void run(HostProgram &program, const ir::Grid &grid, const std::vector<ir::Argument> &arguments) {
  Diagnostics diagnostics;
  REQUIRE_MESSAGE(program.run(grid, arguments, diagnostics), diagnostics.render());
}

/// Lines that have all of these parts and this end.
std::int64_t countLines(const std::string &code, const std::vector<std::string> &parts,
                        const std::string &end = {}) {
  std::istringstream lines(code);
  std::int64_t count = 0;
  for (std::string line; std::getline(lines, line);)
    count += line.ends_with(end) && std::ranges::all_of(parts, [&](const std::string &part) {
               return line.find(part) != std::string::npos;
             });
  return count;
}

TEST_CASE("rows are streamed to memory from any address on") {
  constexpr std::int64_t kRows = 10;
  const auto program = compiled(streamed());
  for (std::int64_t first = 0; first < 16; ++first)
    for (const std::int64_t stride : {64, 65, 68, 80})
      for (const std::int64_t columns : {64, 61}) {
        CAPTURE(first);
        CAPTURE(stride);
        CAPTURE(columns);
        std::vector<float> x(kRows * 80 + 16), y(x.size(), -1);
        std::iota(x.begin(), x.end(), 1.0F);
        const auto rowsOf = [&](std::vector<float> &data) {
          ir::Argument rows = viewOf(data, {kRows, columns});
          rows.data += first * std::int64_t{sizeof(float)};
          rows.bytes -= first * std::int64_t{sizeof(float)};
          rows.strides[0] = stride;
          return rows;
        };
        run(*program, {.extents = {3, 1, 1}}, {rowsOf(x), rowsOf(y)});
        for (std::int64_t i = 0; i < std::ssize(y); ++i) {
          const std::int64_t at = i - first, row = at / stride;
          const bool isThere = at >= 0 && row < kRows && at % stride < columns;
          const auto element = static_cast<std::size_t>(i);
          CHECK(y[element] == (isThere ? 2 * x[element] : -1));
        }
      }
}

template <class T>
void checkStreamed(const std::string &element) {
  CAPTURE(element);
  for (const int columns : {4, 16, 100}) {
    const std::string tile = element + "[3x" + std::to_string(columns) + "]";
    const auto program = compiled(testing::parsedKernel(
        "kernel @k(%x: view<const f32, 2>, %y: view<" + element + ", 2>) stage tiles {\n" +
        "  %0 = constant 0 : i32\n  %a = view.load %x, %0, %0 : f32[3x" + std::to_string(columns) +
        "]\n  %b = cast %a : " + tile + "\n  view.store %y, %b, %0, %0 [cache = streaming]\n}\n"));
    for (std::size_t first = 0; first < 64 / sizeof(T); ++first) {
      const auto all = static_cast<std::size_t>(3 * columns);
      std::vector<float> x(all);
      std::iota(x.begin(), x.end(), -60.0F);
      std::vector<T> y(all + 64);
      ir::Argument to = viewOf(y, {3, columns});
      to.data += first * sizeof(T);
      to.bytes -= static_cast<std::int64_t>(first * sizeof(T));
      run(*program, {}, {viewOf(x, {3, columns}), to});
      for (std::size_t i = 0; i < all; ++i) CHECK(y[first + i] == static_cast<T>(x[i]));
    }
  }
}

TEST_CASE("elements of any width are streamed") {
  checkStreamed<double>("f64");
  checkStreamed<std::int64_t>("i64");
  checkStreamed<std::int16_t>("i16");
}

TEST_CASE("a version of its own is for what 16 bytes are a part of") {
  const std::string narrow = codeOf(
      testing::parsedKernel("kernel @k(%x: view<const f32, 2>, %y: view<f32, 2>) stage tiles {\n"
                            "  %0 = constant 0 : i32\n  %a = view.load %x, %0, %0 : f32[4x4]\n"
                            "  %b = add %a, %a : f32[4x4]\n"
                            "  view.store %y, %b, %0, %0 [cache = streaming]\n}\n"));
  CHECK(countLines(narrow, {"store <4 x float>", "!nontemporal"}) == 1);
}

TEST_CASE("what is streamed goes by vectors, or by 16 bytes where it lies so") {
  const std::string code = codeOf(streamed()); // of vectors of 32 bytes
  CHECK(countLines(code, {"store <8 x float>", "align 32", "!nontemporal"}) > 0);
  CHECK(countLines(code, {"store <8 x float>", "align 16", "!nontemporal"}) > 0);
}

TEST_CASE("no vector is accessed where the view ends before it") {
  const std::string code = codeOf(streamed());
  CHECK(countLines(code, {"call", "masked.load"}) == 1);
  CHECK(countLines(code, {"call", "masked.store"}) == 1);
  CHECK(countLines(code, {"= select i1"}, ", i64 0") == 2);
}

TEST_CASE("vectors that begin before their view have what lies inside it") {
  const auto program = compiled(testing::parsedKernel(
      "kernel @k(%x: view<const f32, 2>, %y: view<f32, 2>, %n: i32) stage tiles {\n"
      "  %0 = constant 0 : i32\n"
      "  %a = view.load %x, %n, %n [unit = elements] : f32[4x64]\n"
      "  view.store %y, %a, %0, %0\n}\n"));
  std::vector<float> x(6 * 50);
  std::iota(x.begin(), x.end(), 1.0F);
  for (std::int64_t first = -70; first < 70; ++first) {
    CAPTURE(first);
    std::vector<float> y(4 * 64, -1);
    run(*program, {}, {viewOf(x, {6, 50}), viewOf(y, {4, 64}), number(first)});
    for (std::int64_t i = 0; i < std::ssize(y); ++i) {
      const std::int64_t row = i / 64 + first, column = i % 64 + first;
      const bool isThere = row >= 0 && row < 6 && column >= 0 && column < 50;
      CHECK(y[static_cast<std::size_t>(i)] ==
            (isThere ? x[static_cast<std::size_t>(row * 50 + column)] : 0));
    }
  }
}

} // namespace
} // namespace imbrex::host
