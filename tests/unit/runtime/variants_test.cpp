#include "runtime/log.h"
#include "runtime/variants.h"
#include "tests/support/parsed_kernel.h"

#include <doctest/doctest.h>

#include <atomic>
#include <latch>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

using namespace imbrex;
using namespace imbrex::runtime;

namespace {

ir::Kernel twoPointers() {
  return imbrex::testing::parsedKernel("kernel @two(%a: ptr<f32>, %b: ptr<f32>, %n: i32) stage "
                                       "tiles {\n}\n");
}

/// Of three parameters, those whose numbers have a bit set are divisible.
analysis::Assumptions divisible(unsigned bits) {
  analysis::Assumptions assumed;
  for (unsigned i = 0; i < 3; ++i) {
    analysis::ParameterAssumptions parameter;
    parameter.isDivisible = (bits >> i & 1) != 0;
    assumed.parameters.push_back(parameter);
  }
  return assumed;
}

/// Also of whether two parameters are apart, by bit 3.
analysis::Assumptions assumed(unsigned bits) {
  analysis::Assumptions all = divisible(bits);
  all.areDisjoint = (bits >> 3 & 1) != 0;
  return all;
}

/// The code is what it was made for, and how many were made.
struct Made {
  analysis::Assumptions assumptions;
};

class Maker {
public:
  Maker() : variants_(twoPointers(), "test") {}
  const Made *operator()(unsigned bits) {
    return variants_.find(assumed(bits), [&](ir::Kernel &, const analysis::Assumptions &of) {
      ++count;
      return isFailing ? nullptr : std::make_unique<Made>(Made{of});
    });
  }

  int count = 0;
  bool isFailing = false;

private:
  Variants<Made> variants_;
};

} // namespace

TEST_CASE("a launch gets the code for all that it keeps, whatever was launched before it") {
  Maker made;
  const Made *weak = made(0), *strong = made(7), *between = made(3);
  CHECK(weak->assumptions == assumed(0));
  CHECK(strong->assumptions == assumed(7));
  CHECK(between->assumptions == assumed(3));
  CHECK(made.count == 3);
  CHECK(made(0) == weak);
  CHECK(made(7) == strong);
  CHECK(made.count == 3);
}

TEST_CASE("beyond a number of them, a launch takes the strongest code that it may run") {
  Maker made;
  for (unsigned bits = 1; bits <= 8; ++bits) made(bits);
  CHECK(made.count == Variants<Made>::kMost);
  CHECK(made(15)->assumptions == assumed(7)); // three of its four bits; 8 has one
  CHECK(made(11)->assumptions == assumed(3));
  CHECK(made(12)->assumptions.cover(assumed(0)));
  CHECK(made.count == Variants<Made>::kMost);
  // Nothing that is there may be run: there is one more, for all that are left.
  CHECK(made(0)->assumptions == analysis::Assumptions{});
  CHECK(made.count == Variants<Made>::kMost + 1);
  CHECK(made(0) != nullptr);
  CHECK(made.count == Variants<Made>::kMost + 1);
}

TEST_CASE("code that a launch waits for is told, unless it is the usual") {
  Variants<Made> variants(twoPointers(), "test");
  std::vector<std::string> lines;
  set_logger([&](log_level, std::string_view topic, std::string_view text) {
    lines.push_back(std::string(topic) + ": " + std::string(text));
  });
  CHECK(set_log_filter("info"));
  for (const auto &of : {variants.usual(), analysis::Assumptions(), analysis::Assumptions()})
    variants.find(of, [&](ir::Kernel &, const analysis::Assumptions &kept) {
      return std::make_unique<Made>(Made{kept});
    });
  CHECK(set_log_filter(""));
  set_logger({});
  REQUIRE(lines.size() == 1);
  CHECK(lines[0].starts_with("variant: kernel=two device=test ms="));
  CHECK(lines[0].find(" assumed=0 usual=") != std::string::npos);
}

TEST_CASE("code that could not be made is tried again") {
  Maker made;
  made.isFailing = true;
  CHECK(made(1) == nullptr);
  made.isFailing = false;
  CHECK(made(1) != nullptr);
  CHECK(made.count == 2);
}

TEST_CASE("different code is made side by side, and each once") {
  Variants<Made> variants(twoPointers(), "test");
  std::atomic<int> count = 0;
  std::latch bothInside(2);
  const auto find = [&](unsigned bits) {
    return variants.find(assumed(bits), [&](ir::Kernel &, const analysis::Assumptions &of) {
      ++count;
      bothInside.arrive_and_wait(); // neither could leave if one waited for the other
      return std::make_unique<Made>(Made{of});
    });
  };
  std::vector<const Made *> found(8);
  {
    std::vector<std::jthread> threads;
    for (unsigned i = 0; i < found.size(); ++i)
      threads.emplace_back([&, i] { found[i] = find(i % 2); });
  }
  CHECK(count == 2);
  for (unsigned i = 0; i < found.size(); ++i) {
    CHECK(found[i] == found[i % 2]);
    CHECK(found[i]->assumptions == assumed(i % 2));
  }
}
