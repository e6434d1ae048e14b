#include <imbrex/buffer.hpp>
#include <imbrex/error.hpp>

#include <doctest/doctest.h>

#include <bit>
#include <cstdint>
#include <vector>

using namespace imbrex;

namespace {

template <class F>
std::string errorOf(const F &make) {
  try {
    make();
  } catch (const error &mistake) {
    CHECK(mistake.where().file == __FILE__);
    const std::string text = mistake.what();
    return text.substr(text.find(": ") + 2);
  }
  return "none";
}

} // namespace

TEST_CASE("a large buffer begins at a huge page, if the last is not mostly empty") {
  const auto isAtHugePage = [](std::int64_t kib) {
    const buffer<i8> a(kib << 10);
    return std::bit_cast<std::uintptr_t>(a.data()) % (std::uintptr_t{2} << 20) == 0;
  };
  for (const std::int64_t kib : {2048, 3906, 4096, 4097, 5000, 9000}) CHECK(isAtHugePage(kib));
  int others = 0; // any address may happen to be one
  for (const std::int64_t kib : {2100, 2500}) others += isAtHugePage(kib) ? 1 : 0;
  CHECK(others < 2);
}

TEST_CASE("a buffer's memory is aligned, and its shape is what it was made with") {
  for (const std::int64_t n : {1, 3, 1000, 5'000'000}) {
    const buffer<f32> a(n);
    CHECK(std::bit_cast<std::uintptr_t>(a.data()) % 64 == 0);
    CHECK(a.size() == static_cast<std::size_t>(n));
    CHECK(a.bytes() == 4 * n);
  }
  const buffer<f64> b(2, 3, 4);
  CHECK(b.rank() == 3);
  CHECK(b.size() == 24);
  CHECK(b.extent(1) == 3);
  CHECK(b.stride(0) == 12);
  CHECK(b.stride(2) == 1);
  const buffer<i8> c({2, 3, 4, 5, 6});
  CHECK(c.stride(0) == 360);
  CHECK(buffer<i8>(2, 3, 4, 5).stride(0) == 60);
  CHECK(buffer<i8>(2, 3, 4, 5, 6).stride(0) == 360);
  CHECK(buffer<f32>().empty());
  CHECK(buffer<f32>(0).empty());
  CHECK(buffer<f32>(4, 0).data() == nullptr);
}

TEST_CASE("numbers become a buffer's elements as they do in a kernel") {
  buffer<f16> halves(4);
  halves.fill(0);
  halves.fill(1.5F);
  CHECK(static_cast<float>(halves[3]) == 1.5F);
  halves.copy_from(std::vector<std::int64_t>{1, 2, 3, 4});
  std::vector<std::int32_t> numbers(4);
  halves.copy_to(numbers);
  CHECK(numbers == std::vector<std::int32_t>{1, 2, 3, 4});
  buffer<bf16> others(4);
  others.copy_from(halves);
  CHECK(static_cast<float>(others[2]) == 3);
  buffer<f4e2m1> fours(4);
  fours.fill(1);
  CHECK(fours[1] == 0x22);
  buffer<f64> wide(1);
  wide.fill(1);
  CHECK(wide[0] == 1);
  CHECK(errorOf([&] {
          halves.fill(1e10);
        }).starts_with("error: the number 1e+10 does not fit into the element type f16"));
  buffer<u8> bytes(2);
  CHECK(errorOf([&] {
          bytes.fill(256);
        }).starts_with("error: the number 256 does not fit into the element type u8"));
  bytes.fill(255);
  CHECK(bytes[1] == 255);
}

TEST_CASE("a buffer moves and leaves nothing behind") {
  buffer<i32> a(4);
  a.fill(7);
  const i32 *memory = a.data();
  buffer<i32> b = std::move(a);
  CHECK(a.empty()); // NOLINT(bugprone-use-after-move): what is left is what is tested
  CHECK(a.rank() == 0);
  CHECK(b.data() == memory);
  a = std::move(b);
  CHECK(a[3] == 7);
  CHECK(b.empty()); // NOLINT(bugprone-use-after-move): likewise
}

TEST_CASE("elements are reached by place, by index and as a range") {
  buffer<i32> a(2, 3);
  for (std::int64_t i = 0; i < 6; ++i) a[i] = static_cast<i32>(i);
  CHECK(a(1, 2) == 5);
  a(0, 1) = 10;
  CHECK(std::vector<i32>(a.begin(), a.end()) == std::vector<i32>{0, 10, 2, 3, 4, 5});
  CHECK(a.span().size() == 6);
  CHECK(a.view({3, 2})(2, 0) == 4);
  CHECK(a.view({3, 2}, {1, 3})(2, 1) == 5);
}

TEST_CASE("copies convert") {
  buffer<bf16> a(3);
  a.copy_from(std::vector<double>{1, -2.5, 1e9});
  CHECK(a[1].bits == 0xc020);
  std::vector<float> back(3);
  a.copy_to(back);
  CHECK(back == std::vector<float>{1, -2.5F, 998244352});
  CHECK(errorOf([&] { a.copy_from(std::vector<float>(2)); }) ==
        "error: the buffer has elements: 3, and the range that it is copied from has 2\n"
        "  hint: make both equally long; std::span(range).first(n) is the beginning of one");
  CHECK(errorOf([&] { a.copy_to(std::span(back).first(1)); }) ==
        "error: the buffer has elements: 3, and the range that it is copied to has 1\n"
        "  hint: make both equally long; std::span(range).first(n) is the beginning of one");
}

TEST_CASE("a copy of what cannot be held names the element") {
  const auto wrong = [](const std::string &element, const std::string &type = "i8") {
    return "error: element " + element + ", which " + type +
           " cannot hold\n"
           "  hint: copy to a wider element type, or clamp the numbers first";
  };
  buffer<i8> bytes(2);
  CHECK(errorOf([&] { bytes.copy_from(std::vector<int>{127, 128}); }) == wrong("1 is 128"));
  CHECK(errorOf([&] { bytes.copy_from(std::vector<int>{-129, 0}); }) == wrong("0 is -129"));
  CHECK(errorOf([&] { bytes.copy_from(std::vector<double>{-128.5, 128}); }) == wrong("1 is 128"));
  bytes.copy_from(std::vector<double>{-128.5, 127.5});
  CHECK(std::vector<int>(bytes.begin(), bytes.end()) == std::vector<int>{-128, 127});
  bytes.copy_from(std::string("ab"));
  CHECK(bytes[1] == 'b');
  buffer<u8> naturals(1);
  CHECK(errorOf([&] { naturals.copy_from(std::vector<int>{-1}); }) == wrong("0 is -1", "u8"));
  buffer<i64> wide(1);
  constexpr double kEnd = 0x1p63;
  CHECK(errorOf([&] { wide.copy_from(std::vector<double>{kEnd}); }) ==
        wrong("0 is 9223372036854775808", "i64"));
  wide.copy_from(std::vector<double>{-kEnd});
  CHECK(wide[0] == std::numeric_limits<i64>::min());
  CHECK(errorOf([&] { wide.copy_from(std::vector<float>{NAN}); }) == wrong("0 is nan", "i64"));
  buffer<f16> halves(1);
  CHECK(errorOf([&] { halves.copy_from(std::vector<double>{1e9}); }) == wrong("0 is 1e+09", "f16"));
  halves.copy_from(std::vector<float>{INFINITY});
  std::vector<std::int8_t> narrow(1);
  CHECK(errorOf([&] { halves.copy_to(narrow); }) == wrong("0 is inf"));
  std::string letters(1, 'a'); // of a type that no element has
  CHECK(errorOf([&] { halves.copy_to(letters); }) == wrong("0 is inf", "what it is copied to"));
}

TEST_CASE("a buffer is filled with nothing else than the number that was written") {
  buffer<u8> naturals(2);
  naturals.fill(255);
  CHECK(naturals[1] == 255);
  CHECK(errorOf([&] { naturals.fill(-1); }) ==
        "error: the number -1 is negative, but elements of type u8 are not\n"
        "  hint: take a signed element type; of a tile by a cast");
  CHECK(errorOf([&] { naturals.fill(256); }) ==
        "error: the number 256 does not fit into the element type u8\n"
        "  hint: take a wider element type; of a tile by a cast");
  CHECK(naturals[0] == 255);
}

TEST_CASE("two f4e2m1 share a byte, the first in the low nibble") {
  buffer<f4e2m1> a(5);
  CHECK(a.size() == 5);
  CHECK(a.bytes() == 3);
  a.copy_from(std::vector<float>{0.5F, 6, -1, 0, 3});
  CHECK(std::vector<int>(a.begin(), a.end()) == std::vector<int>{0x71, 0x0a, 0x05});
  std::vector<float> back(5);
  a.copy_to(back);
  CHECK(back == std::vector<float>{0.5F, 6, -1, 0, 3});
  a.fill(f4e2m1(1.5));
  CHECK(a.span()[0] == 0x33);
}

TEST_CASE("a shape that no memory can have is refused, with the line that asked for it") {
  CHECK(errorOf([] { buffer<f32> a(-1); }) ==
        "error: the array has extent -1 along axis 0\n  hint: an extent is at least 0");
  CHECK(errorOf([] { buffer<f32> a(1 << 30, 1 << 30); }) ==
        "error: the array has more elements than any memory holds\n"
        "  hint: check its extents and strides; both count elements");
  CHECK(errorOf([] { buffer<f32> a(1 << 30, 1 << 30, 1 << 30); }) ==
        "error: the array has more elements than any memory holds\n"
        "  hint: check its extents and strides; both count elements");
  CHECK(errorOf([] { buffer<f32> a(1LL << 50); }) ==
        "error: there is no memory for the 4503599627370496 bytes of the array\n"
        "  hint: check its extents, which count elements, or work on it in parts");
  CHECK(errorOf([] { buffer<f32> a({1, 1, 1, 1, 1, 1}); }) ==
        "error: the array has rank 6; a rank is 0 to 5\n"
        "  hint: reshape it so that neighbouring axes become one");
  CHECK(buffer<f32>({1LL << 50, 0, 1LL << 50}).empty());
}

TEST_CASE("a view lies within its buffer") {
  buffer<f32> a(10);
  CHECK(a.view({2, 5}).extent(1) == 5);
  CHECK(a.view({4, 4}, {2, 1}).elements() == 16);
  CHECK(errorOf([&] { (void)a.view({2, 6}); }) ==
        "error: the array reaches over 48 bytes, but its memory has 40\n"
        "  hint: check its extents and strides; both count elements");
  CHECK(errorOf([&] {
          (void)a.view({4, 4}, {3, 1});
        }).starts_with("error: the array reaches over 52"));
  CHECK(errorOf([&] {
          (void)a.view({2, 2}, {-2, 1});
        }).starts_with("error: the array has stride -2 along axis 0\n"));
  CHECK(errorOf([&] { (void)a.view({2, 2}, {1}); }) ==
        "error: there are 2 extents, but 1 strides\n"
        "  hint: give one stride, in elements, for each extent");
  CHECK(errorOf([&] { (void)a.view({3, 3}, {1LL << 60, 1}); }) ==
        "error: the array has more elements than any memory holds\n"
        "  hint: check its extents and strides; both count elements");
}

TEST_CASE("memory counts as unset until its address is given away") {
  buffer<i32> fresh(2);
  const auto &watched = fresh;
  REQUIRE(fresh.block()->unwritten() != nullptr);
  CHECK(watched.data() != nullptr);
  CHECK(fresh.block()->unwritten()[7] == 1);
  fresh[0] = 1;
  CHECK(fresh.block()->unwritten() == nullptr);
}
