#include "backend/ir/constant_text.h"
#include "backend/support/lexer.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <random>
#include <string>

using namespace imbrex;
using namespace imbrex::ir;

namespace {

bool roundTrips(ElementKind kind, std::uint64_t bits) {
  const Type type = Type::tile(kind);
  return constantFromText(type, constantToText(type, bits)) == bits;
}

} // namespace

TEST_CASE("every element of up to 16 bits reads back from its text") {
  for (const ElementKind kind : allElementKinds()) {
    if (info(kind).bits > 16) continue;
    CAPTURE(info(kind).name);
    std::uint64_t wrong = 0;
    for (std::uint64_t bits = 0; bits < std::uint64_t{1} << info(kind).bits; ++bits)
      wrong += roundTrips(kind, bits) ? 0 : 1;
    CHECK(wrong == 0);
  }
}

TEST_CASE("wider elements read back from their text, wherever their bits lie") {
  std::mt19937_64 rng(1);
  for (const ElementKind kind : allElementKinds()) {
    if (info(kind).bits <= 16) continue;
    CAPTURE(info(kind).name);
    const std::uint64_t mask = ~std::uint64_t{0} >> (64 - info(kind).bits);
    for (int i = 0; i < 3000; ++i) {
      const std::uint64_t bits = (rng() >> rng() % 64) & mask;
      CAPTURE(bits);
      REQUIRE(roundTrips(kind, bits));
      REQUIRE(roundTrips(kind, ~bits & mask));
    }
  }
}

TEST_CASE("a constant prints the shortest number that reads back") {
  const auto text = [](ElementKind kind, std::uint64_t bits) {
    return constantToText(Type::tile(kind), bits);
  };
  CHECK(text(ElementKind::F32, 0x3dcccccd) == "0.1");
  CHECK(text(ElementKind::F16, 0x2e66) == "0.1");
  CHECK(text(ElementKind::BF16, 0x4049) == "3.14");
  CHECK(text(ElementKind::F64, 1) == "5e-324");
  CHECK(text(ElementKind::F32, 0x80000000) == "-0");
  CHECK(text(ElementKind::F32, 0x7fc00000) == "nan");
  CHECK(text(ElementKind::F32, 0xffc00000) == "0xffc00000");
  CHECK(text(ElementKind::F32, 0x4b7fffff) == "16777215");
  CHECK(text(ElementKind::F8E4M3FN, 0x7e) == "448");
  CHECK(text(ElementKind::F8E4M3FNUZ, 0x80) == "nan");
  CHECK(text(ElementKind::E8M0, 0) == "5.877471754111438e-39");
  CHECK(text(ElementKind::E8M0, 255) == "nan");
  CHECK(text(ElementKind::I8, 0x80) == "-128");
  CHECK(text(ElementKind::U8, 0x80) == "128");
  CHECK(text(ElementKind::Bool, 2) == "0x2");
}

TEST_CASE("no float of up to 16 bits reads back from fewer digits of its own") {
  for (const ElementKind kind : allElementKinds()) {
    const bool isFloating = isFloat(kind) || isNarrowFloat(kind);
    if (!isFloating || info(kind).bits > 16 || kind == ElementKind::E8M0) continue;
    CAPTURE(info(kind).name);
    const Type type = Type::tile(kind);
    std::uint64_t wrong = 0, looked = 0;
    for (std::uint64_t bits = 0; bits < std::uint64_t{1} << info(kind).bits; ++bits) {
      const std::string text = constantToText(type, bits);
      const std::string mantissa = text.substr(0, text.find('e'));
      const std::size_t first = mantissa.find_first_of("123456789");
      if (text.find_first_of(".e") == std::string::npos || first == std::string::npos) continue;
      const std::string significant = mantissa.substr(first);
      const auto digits = std::ranges::count_if(significant, [](char c) { return c != '.'; });
      const double value = llvm::APFloat(floatFormat(kind),
                                         llvm::APInt(static_cast<unsigned>(info(kind).bits), bits))
                               .convertToDouble();
      for (int fewer = 1; fewer < digits; ++fewer, ++looked) {
        std::array<char, 32> shorter{};
        std::snprintf(shorter.data(), shorter.size(), "%.*g", fewer, value);
        wrong += constantFromText(type, shorter.data()) == bits ? 1 : 0;
      }
    }
    CHECK(wrong == 0);
    CHECK(looked > 0);
  }
}

TEST_CASE("a decimal rounds once, to nearest even, straight into its type") {
  const auto bits = [](ElementKind kind, std::string_view text) {
    return constantFromText(Type::tile(kind), text);
  };
  // Half of f16's step above 1, plus less than f32 can see: through f32 it would round down to 1.
  CHECK(bits(ElementKind::F16, "1.00048828125") == 0x3c00);
  CHECK(bits(ElementKind::F16, "1.0004882812500000001") == 0x3c01);
  CHECK(bits(ElementKind::F8E4M3FN, "17") == 0x58);
  CHECK(bits(ElementKind::F8E4M3FN, "19") == 0x5a);
  CHECK(bits(ElementKind::F8E4M3FN, "500") == std::nullopt);
  CHECK(bits(ElementKind::F16, "65520") == std::nullopt);
  CHECK(bits(ElementKind::F32, "1e") == std::nullopt);
  CHECK(bits(ElementKind::F32, "0x3f800000") == 0x3f800000);
  CHECK(bits(ElementKind::F32, "1e-9999") == 0);
  CHECK(bits(ElementKind::F32, std::string(10'000, '9')) == std::nullopt);
  CHECK(bits(ElementKind::U64, "18446744073709551616") == std::nullopt);
}

TEST_CASE("any bytes stand in quotes and come back") {
  std::string all;
  for (int byte = 0; byte < 256; ++byte) all += static_cast<char>(byte);
  const std::string text = quoted(all);
  CHECK(text.find('\n') == std::string::npos);
  CHECK(unescaped(text.substr(1, text.size() - 2)) == all);
  CHECK(unescaped("\\q") == std::nullopt);
  CHECK(unescaped("\\x4") == std::nullopt);
  CHECK(unescaped("\\") == std::nullopt);
}
