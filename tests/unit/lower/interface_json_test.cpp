#include "backend/lower/interface_json.h"

#include <doctest/doctest.h>

#include <random>

namespace imbrex {
namespace {

using lower::KernelInterface;
namespace json = llvm::json;

KernelInterface randomInterface(std::mt19937 &random) {
  const auto below = [&](std::int32_t most) {
    return static_cast<std::int32_t>(random() % static_cast<std::uint32_t>(most));
  };
  KernelInterface made{.name = "k" + std::to_string(random()), .words = {}};
  for (std::int32_t i = below(4); i > 0; --i) made.parameters.push_back("a\"" + std::to_string(i));
  for (std::int32_t i = below(9); i > 0; --i)
    made.words.push_back({.kind = static_cast<lower::WordKind>(below(7)),
                          .parameter = below(100),
                          .axis = below(5),
                          .bytes = 1 << below(8)});
  for (std::int32_t i = below(3); i > 0; --i) {
    lower::BoxMap &map = made.maps.emplace_back();
    map = {.parameter = below(9), .box = {}, .elementBytes = 1 << below(4), .span = below(129)};
    for (std::int32_t axis = below(6); axis > 0; --axis) map.box.push_back(below(256));
  }
  made.threads = below(1025);
  made.sharedMemoryBytes = below(1 << 18);
  made.bytesAtLaunch = below(2) * made.sharedMemoryBytes;
  return made;
}

bool areAlike(const KernelInterface &a, const KernelInterface &b) {
  const auto isSameWord = [](const lower::Word &x, const lower::Word &y) {
    return x.kind == y.kind && x.parameter == y.parameter && x.axis == y.axis && x.bytes == y.bytes;
  };
  return a.name == b.name && a.parameters == b.parameters &&
         std::ranges::equal(a.words, b.words, isSameWord) && a.maps == b.maps &&
         a.threads == b.threads && a.sharedMemoryBytes == b.sharedMemoryBytes &&
         a.bytesAtLaunch == b.bytesAtLaunch;
}

} // namespace

TEST_CASE("an interface comes back from its text") {
  std::mt19937 random(1);
  for (int i = 0; i < 200; ++i) {
    const KernelInterface interface = randomInterface(random);
    std::string text;
    llvm::raw_string_ostream(text) << json::Value(lower::toJson(interface));
    auto parsed = json::parse(text);
    REQUIRE(!!parsed);
    const auto back = lower::interfaceOf(*parsed->getAsObject());
    REQUIRE(back);
    CHECK(areAlike(*back, interface));
  }
}

TEST_CASE("what is no interface does not become one") {
  const KernelInterface interface{.name = "k", .words = {{.kind = lower::WordKind::Extent}}};
  const json::Object whole = lower::toJson(interface);
  REQUIRE(lower::interfaceOf(whole));
  for (const auto &member : whole) {
    json::Object lacking = whole, wrong = whole;
    lacking.erase(member.first);
    wrong[member.first] = json::Array{json::Array{"x"}};
    CHECK_FALSE(lower::interfaceOf(lacking));
    CHECK_FALSE(lower::interfaceOf(wrong));
  }
  for (const std::int64_t kind : {-1, 7}) {
    json::Object wrong = whole;
    wrong["words"] = json::Array{json::Array{kind, 0, 0, 8}};
    CHECK_FALSE(lower::interfaceOf(wrong));
  }
}

} // namespace imbrex
