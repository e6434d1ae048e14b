#include "tests/support/parsed_kernel.h"
#include "tests/unit/host/loop_plan_text.h"

#include <doctest/doctest.h>

namespace imbrex::host {
namespace {

std::string planOf(const std::string &body, AliasRelation relation = AliasRelation::Disjoint) {
  const ir::Kernel kernel = testing::parsedKernel(
      "kernel @k(%x: ptr<f32>, %y: ptr<f32>, %s: f32) stage tiles {\n" + body + "}\n");
  LaunchTraits traits = usualTraits(kernel);
  for (AliasRelation &each : traits.relations) each = relation;
  return toText(planLoops(kernel, traits), kernel);
}

// Loads of 64 elements from %x and %y.
const std::string kAddresses = R"(
  %i = arange : i32[64]
  %xb = broadcast %x : ptr<f32>[64]
  %px = ptr.add %xb, %i : ptr<f32>[64]
  %yb = broadcast %y : ptr<f32>[64]
  %py = ptr.add %yb, %i : ptr<f32>[64]
)";

TEST_CASE("roots over one space share a nest until one needs another's result") {
  CHECK(planOf(kAddresses + R"(
  %a = load %px : f32[64]
  %m = reduce %a [combine = max] : f32
  %t = reduce %a : f32
  %mb = broadcast %m : f32[64]
  %d = sub %a, %mb : f32[64]
  store %py, %d
)") == "nest 64: reduce max, reduce sum\nnest 64: store\n");
}

TEST_CASE("a store does not join a reduction that says where a load before it reads") {
  CHECK(planOf(kAddresses + R"(
  %a = load %px : f32[64]
  %i32 = cast %a : i32[64]
  %m = reduce %i32 [combine = max] : i32
  %mb = broadcast %m : i32[64]
  %pm = ptr.add %yb, %mb : ptr<f32>[64]
  %d = load %pm : f32[64]
  store %py, %a
  store %px, %d
)") == "nest 64: reduce max\nnest 64: keep load\nnest 64: store, store\n");
}

TEST_CASE("a dear value that two nests need is kept by the first") {
  CHECK(planOf(kAddresses + R"(
  %a = load %px : f32[64]
  %r = sqrt %a : f32[64]
  %t = reduce %r : f32
  %tb = broadcast %t : f32[64]
  %d = div %r, %tb : f32[64]
  store %py, %d
)") == "nest 64: keep sqrt, reduce sum\nnest 64: store\n");
}

TEST_CASE("a load is kept where a write comes before its last user") {
  const std::string body = kAddresses + R"(
  %a = load %px : f32[64]
  %sb = broadcast %s : f32[64]
  store %px, %sb
  %t = reduce %a : f32
  %tb = broadcast %t : f32[64]
  %d = sub %a, %tb : f32[64]
  store %py, %d
)";
  CHECK(planOf(body) == "nest 64: keep load\nnest 64: store, reduce sum\nnest 64: store\n");
}

TEST_CASE("a load and a store that may overlap do not share a nest") {
  const std::string body = kAddresses + R"(
  %a = load %px : f32[64]
  store %py, %a
)";
  CHECK(planOf(body, AliasRelation::Disjoint) == "nest 64: store\n");
  CHECK(planOf(body, AliasRelation::Same) == "nest 64: store\n");
  CHECK(planOf(body, AliasRelation::Unknown) == "nest 64: keep load\nnest 64: store\n");
}

TEST_CASE("a chain in a loop is computed once, without a buffer on its way") {
  CHECK(planOf(kAddresses + R"(
  %zero = constant 0 : i32
  %four = constant 4 : i32
  %one = constant 1 : i32
  %first = constant 0 : f32[64]
  %most = for %zero, %four, %one, %first (%k: i32, %best: f32[64]) {
    %kb = broadcast %k : i32[64]
    %pk = ptr.add %px, %kb : ptr<f32>[64]
    %a = load %pk : f32[64]
    %r = sqrt %a : f32[64]
    %t = div %r, %a : f32[64]
    %next = max %best, %t : f32[64]
    yield %next
  } : f32[64]
  store %py, %most
)") == R"(scalar constant
scalar constant
scalar constant
nest 64: keep constant
for
  nest 64: keep max
end
nest 64: store
)");
}

TEST_CASE("what moves elements on its way to a carried tile needs no second buffer") {
  CHECK(planOf(kAddresses + R"(
  %zero = constant 0 : i32
  %four = constant 4 : i32
  %one = constant 1 : i32
  %first = constant 0 : f32[64]
  %most = for %zero, %four, %one, %first (%k: i32, %best: f32[64]) {
    %kb = broadcast %k : i32[64]
    %pk = ptr.add %px, %kb : ptr<f32>[64]
    %row = reshape %pk : ptr<f32>[1x64]
    %a = load %row : f32[1x64]
    %flat = reshape %a : f32[64]
    %next = max %best, %flat : f32[64]
    yield %next
  } : f32[64]
  store %py, %most
)") == R"(scalar constant
scalar constant
scalar constant
nest 64: keep constant
for
  nest 64: keep max
end
nest 64: store
)");
}

TEST_CASE("a carried tile whose elements change places goes through a second buffer") {
  CHECK(planOf(kAddresses + R"(
  %zero = constant 0 : i32
  %four = constant 4 : i32
  %one = constant 1 : i32
  %first = constant 0 : f32[8x8]
  %most = for %zero, %four, %one, %first (%k: i32, %best: f32[8x8]) {
    %turned = permute %best [order = [1, 0]] : f32[8x8]
    %next = add %best, %turned : f32[8x8]
    yield %next
  } : f32[8x8]
  %flat = reshape %most : f32[64]
  store %py, %flat
)") == R"(scalar constant
scalar constant
scalar constant
nest 8x8: keep constant
for
  nest 8x8: keep add
  nest 8x8: copy
end
nest 64: store
)");
}

TEST_CASE("a product adds to the buffer that its accumulator was carried in") {
  CHECK(planOf(R"(
  %zero = constant 0 : i32
  %four = constant 4 : i32
  %one = constant 1 : i32
  %a = constant 1 : f32[16x16]
  %first = constant 0 : f32[16x16]
  %sum = for %zero, %four, %one, %first (%k: i32, %acc: f32[16x16]) {
    %d = dot %a, %a, %acc : f32[16x16]
    yield %d
  } : f32[16x16]
  %all = reshape %sum : f32[256]
  %t = reduce %all : f32
  store %y, %t
)") == R"(scalar constant
scalar constant
scalar constant
nest 16x16: keep constant
for
  whole dot, 128 trips as one, from zero
end
nest 256: reduce sum
scalar store
)");
}

TEST_CASE("a product is added to what a loop carries where that is, if only the sums need it") {
  // As in attention: %m scales what %acc has.
  const auto planned = [](const std::string &body) {
    const std::string text =
        planOf("  %zero = constant 0 : i32\n  %one = constant 1 : i32\n  %four = constant 4 : i32\n"
               "  %a = constant 1 : f32[16x16]\n  %c = constant 1 : f32[16]\n"
               "  %r, %q = for %zero, %four, %one, %a, %c (%k: i32, %acc: f32[16x16], %m: f32[16]) "
               "{\n    %e = div %c, %m : f32[16]\n    %er = reshape %e : f32[16x1]\n"
               "    %eb = broadcast %er : f32[16x16]\n" +
               body +
               "    %d = dot %a, %a, %h : f32[16x16]\n    %n = mul %m, %e : f32[16]\n"
               "    yield %d, %n\n  } : f32[16x16], f32[16]\n  %v = reshape %r : f32[256]\n"
               "  %w = reduce %v : f32\n  store %y, %w\n");
    const size_t first = text.find("for\n") + 4;
    return text.substr(first, text.find("end\n", first) - first);
  };
  const std::string inPlace = "  nest 16: keep div\n  nest 16x16: keep mul\n  whole dot\n";
  CHECK(planned("    %h = mul %acc, %eb : f32[16x16]\n") == inPlace + "  nest 16: keep mul\n");
  // Where the old sums are needed besides, the new ones are carried on by a copy, and no other.
  CHECK(planned("    %g = add %acc, %eb : f32[16x16]\n    %h = mul %g, %acc : f32[16x16]\n") ==
        inPlace + "  nest 16: keep mul\n  nest 16x16: keep dot\n");
}

TEST_CASE("a product says what it reads by itself, keeps, and adds up") {
  const auto planned = [](const std::string &rows, const std::string &columns) {
    const ir::Kernel kernel = testing::parsedKernel(
        "kernel @k(%a: view<const f32, 2>, %b: view<const f32, 2>, %c: view<f32, 2>) stage tiles "
        "{\n"
        "  %m = program_id : i32\n  %n = program_id [axis = 1] : i32\n  %0 = constant 0 : i32\n"
        "  %1 = constant 1 : i32\n  %8 = constant 8 : i32\n  %z = constant 0 : f32[32x64]\n"
        "  %sum = for %0, %8, %1, %z (%k: i32, %acc: f32[32x64]) {\n"
        "    %x = view.load %a, " +
        rows +
        " : f32[32x128]\n"
        "    %y = view.load %b, " +
        columns +
        " : f32[128x64]\n"
        "    %d = dot %x, %y, %acc : f32[32x64]\n    yield %d\n  } : f32[32x64]\n"
        "  view.store %c, %sum, %m, %n\n}\n");
    const std::string text = toText(planLoops(kernel, usualTraits(kernel)), kernel);
    return text.substr(text.find("whole"), text.find("\nend") - text.find("whole"));
  };
  CHECK(planned("%m, %k", "%k, %n") ==
        "whole dot, reads 2 by itself, keeps panels, 16 trips as "
        "one, of rows that adjoin, up to where both end, from zero, stores in the last trip");
  CHECK(planned("%n, %k", "%k, %m") ==
        "whole dot, reads 2 by itself, 16 trips as one, of rows that adjoin, up to where both end, "
        "from zero, stores in the last trip");
  CHECK(
      planned("%k, %m", "%k, %n") ==
      "whole dot, reads 2 by itself, keeps panels, 16 trips as one, from zero, stores in the last "
      "trip");
}

TEST_CASE("a run of trips is the deeper, the fewer columns it has") {
  const auto trips = [](std::int64_t columns, std::int64_t depth) {
    const std::string c = std::to_string(columns), k = std::to_string(depth);
    const std::string text = planOf(
        "  %zero = constant 0 : i32\n  %one = constant 1 : i32\n  %a = constant 1 : f32[16x" + k +
        "]\n  %b = constant 1 : f32[" + k + "x" + c + "]\n  %first = constant 0 : f32[16x" + c +
        "]\n  %sum = for %zero, %one, %one, %first (%k: i32, %acc: f32[16x" + c +
        "]) {\n    %d = dot %a, %b, %acc : f32[16x" + c + "]\n    yield %d\n  } : f32[16x" + c +
        "]\n  %all = reshape %sum : f32[" + std::to_string(16 * columns) +
        "]\n  %t = reduce %all : f32\n  store %y, %t\n");
    const std::string dot = "whole dot, ";
    const size_t at = text.find(dot);
    return at == std::string::npos ? 0 : std::atoll(text.c_str() + at + dot.size());
  };
  CHECK(trips(16, 128) == 16); // no deeper than 2048
  CHECK(trips(64, 128) == 16);
  CHECK(trips(128, 128) == 8); // half a MiB of f32
  CHECK(trips(128, 512) == 2);
  CHECK(trips(512, 128) == 4); // nor less deep than 512
  CHECK(trips(128, 2048) == 0);
}

TEST_CASE("a product reads and stores matrices of boxes that have further axes of one index") {
  const auto planned = [](const std::string &factors, const std::string &sums) {
    const ir::Kernel kernel = testing::parsedKernel(
        "kernel @k(%a: view<const f32, 4>, %b: view<const f32, 4>, %c: view<f32, 4>) stage tiles "
        "{\n"
        "  %0 = constant 0 : i32\n  %m = program_id : i32\n  %z = constant 0 : f32[16x64]\n"
        "  %p = view.load %a, %0, %m, %0, %0 : f32[1x16x1x32]\n" +
        factors + "  %d = dot %x, %y, %z : f32[16x64]\n" + sums +
        "  view.store %c, %s, %0, %m, %0, %0\n}\n");
    const std::string text = toText(planLoops(kernel, usualTraits(kernel)), kernel);
    return text.substr(text.find("whole"),
                       text.find('\n', text.find("whole")) - text.find("whole"));
  };
  const std::string x = "  %x = reshape %p : f32[16x32]\n";
  const std::string q = "  %q = view.load %b, %0, %0, %0, %0 : ";
  const std::string s = "  %s = reshape %d : f32[1x16x1x64]\n";
  const char *all = "whole dot, reads 2 by itself, keeps panels, from zero, stores";
  CHECK(planned(x + q + "f32[1x32x1x64]\n  %y = reshape %q : f32[32x64]\n", s) == all);
  const std::string rows = q + "f32[1x64x1x32]\n";
  const std::string transposed = "  %r = reshape %q : f32[64x32]\n"
                                 "  %y = permute %r [order = [1, 0]] : f32[32x64]\n";
  CHECK(planned(x + rows + transposed, s) == all);
  CHECK(planned(x + rows + "  %r = permute %q [order = [2, 3, 0, 1]] : f32[1x32x1x64]\n" +
                    "  %y = reshape %r : f32[32x64]\n",
                s) == all);
  // Other elements; one that is used besides; and sums that lie side by side as columns do not.
  CHECK(planned(x + q + "f32[1x16x2x64]\n  %y = reshape %q : f32[32x64]\n", s) ==
        "whole dot, reads 1 by itself, from zero, stores");
  for (const char *besides : {"%q", "%r"})
    CHECK(planned(x + rows + transposed, std::string("  %e = reshape ") + besides +
                                             " : f32[1x32x1x64]\n" + s +
                                             "  view.store %c, %e, %0, %m, %0, %0\n") ==
          "whole dot, reads 1 by itself, from zero");
  CHECK(planned(x + rows + transposed, "  %t = permute %d [order = [1, 0]] : f32[64x16]\n"
                                       "  %s = reshape %t : f32[1x64x1x16]\n") ==
        "whole dot, reads 2 by itself, keeps panels, from zero");
}

TEST_CASE("a product of boxes that move together along k ends with its factors") {
  const auto ends = [](const std::string &ofB, bool isTransposed) {
    const ir::Kernel kernel = testing::parsedKernel(
        "kernel @k(%a: view<const f32, 3>, %b: view<const f32, 3>, %c: view<f32, 2>) stage tiles "
        "{\n"
        "  %0 = constant 0 : i32\n  %1 = constant 1 : i32\n  %8 = constant 8 : i32\n"
        "  %m = program_id : i32\n  %z = constant 0 : f32[16x64]\n"
        "  %sum = for %0, %8, %1, %z (%k: i32, %acc: f32[16x64]) {\n"
        "    %p = view.load %a, %m, %0, %k : f32[1x16x128]\n"
        "    %x = reshape %p : f32[16x128]\n    %q = view.load %b, " +
        ofB +
        (isTransposed
             ? " : f32[64x1x128]\n    %r = permute %q [order = [1, 2, 0]] : f32[1x128x64]\n"
               "    %y = reshape %r : f32[128x64]\n"
             : " : f32[128x1x64]\n    %y = reshape %q : f32[128x64]\n") +
        "    %d = dot %x, %y, %acc : f32[16x64]\n    yield %d\n  } : f32[16x64]\n"
        "  view.store %c, %sum, %0, %0\n}\n");
    const std::string text = toText(planLoops(kernel, usualTraits(kernel)), kernel);
    return text.find(", up to where both end") != std::string::npos;
  };
  CHECK(ends("%k, %m, %0", false));
  CHECK(ends("%0, %m, %k", true));
  CHECK_FALSE(ends("%0, %m, %k", false));
  CHECK_FALSE(ends("%k, %m, %0", true));
}

TEST_CASE("a product stores its sums where nothing else is in the way") {
  const auto planned = [](
                           const std::string &behind, const char *store = "%d, %0, %0",
                           void (*change)(LaunchTraits &) = [](LaunchTraits &) {}) {
    const ir::Kernel kernel = testing::parsedKernel(
        "kernel @k(%a: view<const f32, 2>, %b: view<const f32, 2>, %c: view<f32, 2>) stage tiles "
        "{\n"
        "  %0 = constant 0 : i32\n  %z = constant 0 : f32[16x16]\n"
        "  %x = view.load %a, %0, %0 : f32[16x16]\n  %y = view.load %b, %0, %0 : f32[16x16]\n"
        "  %d = dot %x, %y, %z : f32[16x16]\n" +
        behind + "  view.store %c, " + store + "\n}\n");
    LaunchTraits traits = usualTraits(kernel);
    change(traits);
    return toText(planLoops(kernel, traits), kernel).find(", stores") != std::string::npos;
  };
  CHECK(planned(""));
  CHECK_FALSE(planned("  %e = add %d, %x : f32[16x16]\n  view.store %c, %e, %0, %0\n"));
  CHECK_FALSE(planned("  %e = neg %d : f32[16x16]\n", "%e, %0, %0"));
  CHECK_FALSE(planned("  %1 = constant 1 : i32\n", "%d, %1, %0"));
  CHECK_FALSE(planned("  %old = view.load %c, %0, %0 : f32[16x16]\n"
                      "  view.store %c, %old, %0, %0\n"));
  CHECK_FALSE(planned("  %1 = constant 1 : i32\n  %is = lt %0, %1 : bool\n  assert %is\n"));
  CHECK_FALSE(planned("", "%d, %0, %0 [cache = streaming]"));
  CHECK_FALSE(planned("", "%d, %0, %0", [](LaunchTraits &t) { t.unitStrides.back() = false; }));
  CHECK_FALSE(planned("", "%d, %0, %0", [](LaunchTraits &t) { t.overlapping.back() = true; }));
}

TEST_CASE("a loop of products stores their sum where nothing of it is in the way") {
  const auto planned = [](const std::string &behind, const char *place) {
    const ir::Kernel kernel = testing::parsedKernel(
        "kernel @k(%a: view<const f32, 2>, %c: view<f32, 2>) stage tiles {\n"
        "  %0 = constant 0 : i64\n  %1 = constant 1 : i64\n  %4 = constant 4 : i64\n"
        "  %z = constant 0 : f32[16x16]\n  %x = view.load %a, %0, %0 : f32[16x16]\n"
        "  %d, %s = for %0, %4, %1, %z, %0 (%t: i64, %v: f32[16x16], %r: i64) {\n"
        "    %w = dot %x, %x, %v : f32[16x16]\n    %n = add %r, %t : i64\n" +
        behind + "    yield %w, %n\n  } : f32[16x16], i64\n  view.store %c, %d, " + place +
        ", %0\n}\n");
    const std::string text = toText(planLoops(kernel, usualTraits(kernel)), kernel);
    return text.find(", stores in the last trip") != std::string::npos;
  };
  CHECK(planned("", "%0"));
  CHECK_FALSE(planned("", "%s")); // which the loop makes
  CHECK_FALSE(planned("    %is = lt %t, %1 : bool\n    assert %is\n", "%0"));
}

/// `count` times %t = sqrt(%t) + flip(sqrt(%t)).
std::string mirrors(int count) {
  std::string body = kAddresses + "  %t0 = load %px : f32[64]\n";
  for (int i = 1; i <= count; ++i) {
    const std::string n = std::to_string(i), before = std::to_string(i - 1);
    body += "  %r" + n + " = sqrt %t" + before + " : f32[64]\n  %f" + n + " = flip %r" + n +
            " [axis = 0] : f32[64]\n  %t" + n + " = add %r" + n + ", %f" + n + " : f32[64]\n";
  }
  return planOf(body + "  store %py, %t" + std::to_string(count) + "\n");
}

TEST_CASE("what few ops compute at two points is computed twice, and what many do is kept") {
  CHECK(mirrors(2) == "nest 64: store\n");
  CHECK(mirrors(4) == "nest 64: keep sqrt\nnest 64: store\n");
  const std::string kept = "nest 64: keep sqrt\n";
  CHECK(mirrors(8) == kept + kept + kept + kept + "nest 64: store\n");
}

/// The sum of 2^halvings numbers by `split`.
std::string halvings(int halvings) {
  const auto tile = [](int size) { return "[" + std::to_string(size) + "]"; };
  std::string body;
  int size = 1 << halvings;
  body += "  %i = arange : i32" + tile(size) + "\n  %xb = broadcast %x : ptr<f32>" + tile(size) +
          "\n  %px = ptr.add %xb, %i : ptr<f32>" + tile(size) + "\n  %t" + std::to_string(size) +
          " = load %px : f32" + tile(size) + "\n";
  for (; size > 1; size /= 2) {
    const std::string n = std::to_string(size), half = std::to_string(size / 2);
    body += "  %h" + n + " = reshape %t" + n + " : f32[" + half + "x2]\n  %a" + n + ", %b" + n +
            " = split %h" + n + " : f32[" + half + "], f32[" + half + "]\n  %t" + half +
            " = add %a" + n + ", %b" + n + " : f32[" + half + "]\n";
  }
  return planOf(body + "  %yb = broadcast %y : ptr<f32>[1]\n  store %yb, %t1\n");
}

TEST_CASE("what each of many points computes once is kept where its code would be long") {
  CHECK(halvings(6) == "nest 1: store\n");
  CHECK(halvings(9) == "nest 128: keep add\nnest 1: store\n");
}

} // namespace
} // namespace imbrex::host
