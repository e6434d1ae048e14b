#include "backend/support/result.h"
#include "backend/support/typed_id.h"

#include <doctest/doctest.h>

#include <memory>
#include <set>
#include <unordered_set>

using namespace imbrex;

namespace {

Result<int> half(int n) {
  if (n % 2 != 0) return fail(Diag::UnknownVariable, {.file = "k.cpp", .line = 3}, "ODD");
  return n / 2;
}

Result<std::string> halfAsText(int n) {
  const auto result = half(n);
  if (!result) return result.failure();
  return std::to_string(*result);
}

Result<void> isEven(int n) {
  if (const auto result = half(n); !result) return result.failure();
  return {};
}

} // namespace

TEST_CASE("a result has its value, or the error with its place, which passes on to other types") {
  CHECK(half(8).value() == 4);
  CHECK(halfAsText(8).value() == "4");
  CHECK_FALSE(halfAsText(7).ok());
  CHECK(halfAsText(7).error() == half(7).error());
  CHECK(half(7).error().where == Location{.file = "k.cpp", .line = 3});
  CHECK(isEven(8).ok());
  CHECK(isEven(7).error().message == "there is no environment variable 'ODD'");
}

TEST_CASE("a value that only moves can be taken out") {
  Result<std::unique_ptr<int>> result = std::make_unique<int>(5);
  CHECK(**result == 5);
  const std::unique_ptr<int> taken = std::move(result).value();
  CHECK(*taken == 5);
}

TEST_CASE("ids order by index, hash, and none comes last") {
  using SlotId = Id<struct SlotTag>;
  static_assert(!std::is_convertible_v<SlotId, Id<struct ValueTag>>);
  static_assert(!std::is_convertible_v<int, SlotId>);
  CHECK(SlotId(1) < SlotId(2));
  CHECK(SlotId(2) < SlotId());
  CHECK_FALSE(SlotId().valid());
  CHECK(std::unordered_set<SlotId>{SlotId(3), SlotId(3)}.size() == 1);
  CHECK(toText(SlotId(3)) == "3");
}
