// Products that read their factors in memory, keep panels for blocks to come, and take several
// trips of a loop as one: against the interpreter, on whole numbers, for which both are exact.

#include "backend/target/host/run/jit.h"
#include "llvm/Support/Regex.h"
#include "tests/support/looped_product.h"
#include "tests/support/parsed_kernel.h"
#include "tests/unit/host/launching.h"

#include <doctest/doctest.h>

namespace imbrex::host {
namespace {

using testing::LoopedProduct;
using testing::parsedKernel;

void compare(const LoopedProduct &product) {
  CAPTURE(testing::textOf(product));
  const auto onHost = [](const ir::Kernel &kernel, Diagnostics &diagnostics) -> testing::LaunchOf {
    std::shared_ptr<HostProgram> program = HostProgram::compile(kernel, diagnostics);
    if (!program) return nullptr;
    return [program](const ir::Grid &grid, llvm::ArrayRef<ir::Argument> arguments,
                     Diagnostics &problems) { return program->run(grid, arguments, problems); };
  };
  CHECK(testing::difference(product, onHost) == "");
}

TEST_CASE("products in loops add up what is in the boxes, wherever these are") {
  for (std::uint32_t seed = 0; seed < 60; ++seed) {
    CAPTURE(seed);
    compare(testing::randomLoopedProduct(seed));
  }
}

TEST_CASE("boxes of b that have one row of a matrix among others") {
  for (const char *row : {"%m", "%t"})
    compare({.heads = 2,
             .rows = 32,
             .columns = 64,
             .depth = 1,
             .m = 64,
             .n = 128,
             .k = 22,
             .grid = {.extents = {2, 2, 2}},
             .index = "i32",
             .high = 22,
             .first = 0,
             .rowOf = row});
}

TEST_CASE("more trips than panels are kept for") {
  for (const std::int64_t trips : {15, 16, 17, 19, 20, 23}) {
    CAPTURE(trips);
    compare({.rows = 1,
             .columns = 256,
             .depth = 128,
             .m = 3,
             .n = 256,
             .k = trips * 128 - 5,
             .grid = {.extents = {3, 1, 1}},
             .high = trips});
  }
}

TEST_CASE(
    "sums of few rows are kept from slice to slice, and stored by the last of the last trip") {
  for (const std::int64_t rows : {1, 3, 6})
    for (const std::int64_t depth : {8, 16, 24})
      for (const std::int64_t first : {0, 1}) {
        CAPTURE(rows);
        CAPTURE(depth);
        CAPTURE(first);
        compare({.rows = rows,
                 .columns = 120,
                 .depth = depth,
                 .m = 2 * rows,
                 .n = 240 - first,
                 .k = 3 * depth - first,
                 .high = 3,
                 .first = first});
      }
}

TEST_CASE("the panels of a run of trips have half of the second-level cache") {
  const ir::Kernel kernel = parsedKernel(
      testing::textOf({.rows = 32, .columns = 64, .depth = 128, .k = 4096, .high = 32}));
  const auto hasRunOf = [&](int trips, std::int64_t cacheBytes) {
    const std::string code =
        codeOf(kernel, {.bits = 256, .registers = 16, .secondLevelBytes = cacheBytes});
    return llvm::Regex("urem i64 %[^,]*, " + std::to_string(trips) + "$", llvm::Regex::Newline)
        .match(code);
  };
  constexpr std::int64_t kPanels = 32 << 10; // of 64 columns, 128 deep
  for (const int trips : {2, 3, 16}) {
    CAPTURE(trips);
    CHECK(hasRunOf(trips, 2 * kPanels * trips));
    CHECK_FALSE(hasRunOf(trips, 2 * kPanels * trips - 1));
  }
  CHECK(hasRunOf(16, 64 << 20)); // the depth that a run of so few columns has at most
}

TEST_CASE("b is read in place where its rows are near") {
  // Two panels of 64 columns with AVX-512; the third box of 32 ends with the view.
  const LoopedProduct most{
      .rows = 16, .columns = 128, .depth = 32, .m = 30, .n = 256, .k = 96, .high = 3, .first = 0};
  const auto with = [&](auto change) {
    LoopedProduct c = most;
    change(c);
    compare(c);
  };
  with([](LoopedProduct &) {});
  with([](LoopedProduct &c) { c.first = 1; });
  with([](LoopedProduct &c) { c.high = 5; });
  with([](LoopedProduct &c) { c.low = -2; });
  with([](LoopedProduct &c) { c.n = 200; }); // and columns of the second box with the view
  for (const std::int64_t more : {-70, -40, -2, 2, 40}) {
    CAPTURE(more);
    with([&](LoopedProduct &c) { c.moreK = more; });
    with([&](LoopedProduct &c) { c.moreK = more, c.low = -1, c.high = 4; });
  }
  for (const std::int64_t pad : {0, 1, 16, 200}) { // of which the last are far from each other
    CAPTURE(pad);
    with([&](LoopedProduct &c) { c.n = 240, c.padB = pad; });
  }
  for (const char *padding : {"value", "nan"}) {
    with([&](LoopedProduct &c) { c.padding = padding, c.high = 4; });
    with([&](LoopedProduct &c) { c.padding = padding, c.low = -1; });
  }
  with([](LoopedProduct &c) { c.m = 140, c.grid.extents = {9, 2, 1}; }); // by panels again
  with([](LoopedProduct &c) { c.step = 2, c.high = 4; });
  with([](LoopedProduct &c) { c.ofB = "%zero"; });
  with([](LoopedProduct &c) { c.columnOf = "%t"; });
  with([](LoopedProduct &c) { c.unitOfB = "elements", c.moreK = 40; });
  with([](LoopedProduct &c) { c.unit = "elements", c.high = 96, c.step = 32; });
  with([](LoopedProduct &c) { c.batch = 3, c.missing = 1; });
  with([](LoopedProduct &c) { c.batch = 2, c.n = 128; });
  with([](LoopedProduct &c) { c.heads = 2, c.n = 128, c.grid.extents[2] = 3; });
  with([](LoopedProduct &c) {
    c.isWritable = true, c.grid.extents = {1, 1, 1};
    c.behind = "    %two = constant 2 : f32[32x128]\n    view.store %b, %two, %t, %n\n";
  });
  with([](LoopedProduct &c) { c.element = "f64"; });
  with([](LoopedProduct &c) { c.element = "i32"; });
}

TEST_CASE("blocks that need other panels do not take the last one's") {
  // So many blocks that a thread has several in one go.
  compare({.rows = 16,
           .columns = 8,
           .depth = 4,
           .m = 900,
           .n = 20,
           .k = 8,
           .grid = {.extents = {57, 3, 1}},
           .high = 2});
  compare({.rows = 16,
           .columns = 8,
           .depth = 4,
           .m = 48,
           .n = 450,
           .k = 8,
           .grid = {.extents = {3, 57, 1}},
           .high = 2});
  compare({.rows = 16,
           .columns = 8,
           .depth = 4,
           .m = 900,
           .n = 24,
           .k = 8,
           .grid = {.extents = {60, 3, 1}},
           .high = 2,
           .rowOf = "%n",
           .columnOf = "%m"});
}

TEST_CASE("rows of a that move from trip to trip") {
  compare({.rows = 16, .m = 150, .k = 160, .high = 9, .rowOf = "%t"});
  compare({.rows = 16, .n = 300, .k = 160, .high = 9, .columnOf = "%t"});
}

TEST_CASE("boxes of a that begin before its rows") {
  compare({.low = -3, .ofB = "%zero"});
  compare({.padding = "value", .low = -3, .ofB = "%zero"});
}

TEST_CASE("boxes of a that end with their view") {
  // The third box of 32 ends there, and so does the second one of rows.
  const LoopedProduct most{.rows = 16,
                           .columns = 64,
                           .depth = 32,
                           .m = 27,
                           .n = 100,
                           .k = 83,
                           .padA = 5,
                           .padC = 3,
                           .high = 3,
                           .first = 0};
  const auto with = [&](auto change) {
    for (const bool isTransposed : {false, true})
      for (const char *element : {"f32", "bf16"}) {
        LoopedProduct c = most;
        c.isTransposed = isTransposed;
        c.element = element;
        change(c);
        compare(c);
      }
  };
  with([](LoopedProduct &) {});
  with([](LoopedProduct &c) { c.high = 5; });
  with([](LoopedProduct &c) { c.low = -1; });
  for (const std::int64_t more : {-40, -2, 2, 40}) {
    CAPTURE(more);
    with([&](LoopedProduct &c) { c.moreK = more; });
    with([&](LoopedProduct &c) { c.moreM = std::max<std::int64_t>(more, -20); });
    with([&](LoopedProduct &c) { c.moreN = more; });
  }
  with([](LoopedProduct &c) { c.padding = "value"; });
  with([](LoopedProduct &c) { c.padding = "nan"; });
  with([](LoopedProduct &c) { c.unit = "elements", c.high = 96, c.step = 32; });
  with([](LoopedProduct &c) { c.unitOfB = "elements", c.moreK = -53; });
  with([](LoopedProduct &c) { c.ofB = "%zero", c.moreK = -53; });
  with([](LoopedProduct &c) { c.batch = 3, c.missing = 1; });
  with([](LoopedProduct &c) { c.heads = 2, c.grid.extents[2] = 3; });
  with([](LoopedProduct &c) { c.first = 1; });
}

TEST_CASE("boxes that end with their view wherever in a tile of AMX") {
  if (!machine().vectors.hasAmxBf16)
    MESSAGE("SKIP: this processor has no AMX for us; products are on vectors");
  struct Ending {
    const char *element;
    std::int64_t k;
    bool isTransposed;
  };
  for (const auto &[element, k, isTransposed] :
       {Ending{"bf16", 31, false}, Ending{"i8", 65, true}, Ending{"bf16", 97, true},
        Ending{"i8", 161, false}, Ending{"bf16", 190, false}, Ending{"i8", 192, true}})
    compare({.rows = 40,
             .columns = 48,
             .depth = 64,
             .m = 77,
             .n = 90,
             .k = k,
             .padA = 5,
             .padC = 3,
             .element = element,
             .high = 3,
             .first = 0,
             .isTransposed = isTransposed});
}

TEST_CASE("sums of no product are what they begin with") {
  for (const std::int64_t first : {0, 1})
    for (const std::int64_t high : {0, 1}) compare({.high = high, .first = first});
}

TEST_CASE("a number of a trip that wraps does not adjoin the one before") {
  compare({.depth = 4,
           .k = 1024,
           .low = 2,
           .high = 200,
           .before = "    %w = cast %t : i8\n",
           .coordinate = "%w"});
}

TEST_CASE("factors that the kernel itself writes are read anew") {
  const std::string twos = "    %two = constant 2 : f32";
  const std::string ofA = twos + "[24x16]\n    view.store %a, %two, %m, %t\n";
  const std::string ofB = twos + "[16x32]\n    view.store %b, %two, %t, %n\n";
  for (const std::int32_t axis : {0, 1}) { // each block has its own rows of a, or columns of b
    const std::string &written = axis == 0 ? ofA : ofB;
    ir::Grid grid{.extents = {1, 1, 1}};
    grid.extents[static_cast<size_t>(axis)] = 2;
    compare({.grid = grid, .behind = written, .isWritable = true});
    compare({.grid = grid, .before = written, .isWritable = true});
  }
  const ir::Grid one{.extents = {1, 1, 1}};
  compare({.grid = one, .between = ofA, .isWritable = true});
  compare({.grid = one, .between = ofB, .isWritable = true});
  // The same boxes of b in later trips, with what earlier ones have left.
  compare({.k = 512,
           .grid = {.extents = {1, 1, 1}},
           .high = 100,
           .before = "    %most = constant 31 : i64\n    %w = and %t, %most : i64\n",
           .behind = twos + "[16x32]\n    view.store %b, %two, %w, %n\n",
           .coordinate = "%w",
           .isWritable = true});
}

TEST_CASE("a sum that is used besides is complete in each trip") {
  compare({.grid = {.extents = {1, 1, 1}}, .before = "    view.store %c, %s, %t, %n\n"});
  compare({.behind = "    %e = sub %first, %d : f32[24x32]\n", .yielded = "%e"});
}

TEST_CASE("blocks that end early leave nothing to those behind") {
  compare({.rows = 16,
           .m = 960,
           .n = 32,
           .grid = {.extents = {60, 1, 1}},
           .before = "    %last = constant 2 : i64\n    %late = ge %t, %last : bool\n"
                     "    %odd = constant 1 : i32\n    %o = and %m, %odd : i32\n"
                     "    %is = cast %o : bool\n    %both = and %late, %is : bool\n"
                     "    exit_if %both\n"});
}

TEST_CASE("a transpose is read where its box is, and anew where that is written") {
  compare({.isTransposed = true});
  compare({.m = 900, .grid = {.extents = {37, 2, 1}}, .isTransposed = true});
  compare({.grid = {.extents = {1, 2, 1}},
           .behind = "    %two = constant 2 : f32[32x16]\n    view.store %b, %two, %n, %t\n",
           .isTransposed = true,
           .isWritable = true});
  compare({.grid = {.extents = {1, 1, 1}},
           .between = "    %two = constant 2 : f32[32x16]\n    view.store %b, %two, %n, %t\n",
           .isTransposed = true,
           .isWritable = true});
}

TEST_CASE("boxes of several matrices are several trips deep") {
  compare({.batch = 2});
  compare({.batch = 2, .isTransposed = true});
}

} // namespace
} // namespace imbrex::host
