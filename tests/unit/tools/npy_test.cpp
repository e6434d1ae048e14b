#include "tools/imbrex/npy.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <random>

using namespace imbrex;
using namespace imbrex::tool;

namespace {

std::vector<std::byte> bytesOf(std::string_view text) {
  std::vector<std::byte> bytes(text.size());
  std::memcpy(bytes.data(), text.data(), text.size());
  return bytes;
}

/// A file of the given version with this header, as it stands, and this many bytes of data.
std::vector<std::byte> fileWith(std::string_view header, std::size_t dataBytes = 0,
                                int version = 1) {
  std::string text = "\x93NUMPY";
  text += static_cast<char>(version);
  text += '\0';
  for (int i = 0; i < (version == 1 ? 2 : 4); ++i)
    text += static_cast<char>(header.size() >> (8 * i) & 0xff);
  text += header;
  text.append(dataBytes, '\x01');
  return bytesOf(text);
}

std::string errorOf(std::span<const std::byte> file) {
  const auto array = parseNpy(file, "a.npy");
  return array ? "read" : array.error().message;
}

std::string headerWith(std::string_view element) {
  return "{'descr': '" + std::string(element) + "', 'fortran_order': False, 'shape': (2,), }";
}

} // namespace

TEST_CASE("what NumPy writes is read: versions 1 to 3, C and Fortran order, any number of axes") {
  for (int version = 1; version <= 3; ++version) {
    CAPTURE(version);
    const auto array = parseNpy(
        fileWith("{'descr': '<f4', 'fortran_order': True, 'shape': (2, 3), }   \n", 24, version),
        "a");
    REQUIRE(array.ok());
    CHECK(array->element == NpyElement{'f', 4});
    CHECK(array->fortranOrder);
    CHECK(array->shape == std::vector<std::int64_t>{2, 3});
    CHECK(array->data.size() == 24);
  }
  const auto scalar =
      parseNpy(fileWith("{'descr': '|b1', 'fortran_order': False, 'shape': (), }", 1), "a");
  REQUIRE(scalar.ok());
  CHECK(scalar->shape.empty());
  const auto python2 = parseNpy(
      fileWith("{\"shape\": (5L,), \"fortran_order\": False, \"descr\": \"<u2\"}", 10), "a");
  REQUIRE(python2.ok());
  CHECK(python2->shape == std::vector<std::int64_t>{5});
}

TEST_CASE("every element that a kernel can take has its name") {
  for (const std::string name : {"|b1", "|i1", "<i2", "<i4", "<i8", "|u1", "<u2", "<u4", "<u8",
                                 "<f2", "<f4", "<f8", "<V2", "|V1", "|f1", "=f4"}) {
    CAPTURE(name);
    const auto array = parseNpy(fileWith(headerWith(name), 2 * (name[2] - '0')), "a");
    REQUIRE(array.ok());
    CHECK(toText(array->element) == name.substr(1));
  }
}

TEST_CASE("elements that no kernel can take are refused by name") {
  CHECK(errorOf(fileWith(headerWith(">f4"), 8)) ==
        "the array in 'a.npy' has elements '>f4', which are big-endian");
  CHECK(errorOf(fileWith(headerWith("|O"), 16)) ==
        "the array in 'a.npy' has elements '|O', which are of Python objects");
  for (const char *name :
       {"<c8", "<M8[ns]", "<U4", "|S3", "<f16", "<i3", "<i0", "|V16", "<i-4", "|b2"}) {
    CAPTURE(name);
    CHECK(errorOf(fileWith(headerWith(name), 8)).find("which are not of plain numbers") !=
          std::string::npos);
  }
  CHECK(
      errorOf(fileWith("{'descr': [('x', '<f4')], 'fortran_order': False, 'shape': (1,), }", 4)) ==
      "the array in 'a.npy' has elements '[…]', which are a structure of several fields");
}

TEST_CASE("a shape is believed only if the file has its data") {
  const auto shaped = [](std::string_view shape) {
    return errorOf(fileWith(
        "{'descr': '<f4', 'fortran_order': False, 'shape': " + std::string(shape) + ", }", 8));
  };
  CHECK(shaped("(2,)") == "read");
  CHECK(shaped("(3,)") ==
        "'a.npy' is not a NumPy array: its shape needs 12 bytes of data, but 8 are there");
  CHECK(shaped("(4611686018427387904, 4)") ==
        "'a.npy' is not a NumPy array: its shape is impossible");
  CHECK(shaped("(4611686018427387903,)") ==
        "'a.npy' is not a NumPy array: its shape is impossible");
  CHECK(shaped("(-2,)") == "'a.npy' is not a NumPy array: its shape is impossible");
  CHECK(shaped("(99999999999999999999,)") ==
        "'a.npy' is not a NumPy array: its 'shape' is not a tuple");
  CHECK(shaped("(4611686018427387904, 4, 0)").find("needs 0 bytes") != std::string::npos);
}

TEST_CASE("what is not a header is refused") {
  CHECK(errorOf({}) == "'a.npy' is not a NumPy array: it does not begin like one");
  CHECK(errorOf(bytesOf("\x93NUMPY")) == "'a.npy' is not a NumPy array: it ends within its header");
  CHECK(errorOf(fileWith(headerWith("<f4"), 8, 4)) ==
        "'a.npy' is not a NumPy array: its format has version 4, not 1, 2 or 3");
  for (const char *header :
       {"", "{", "{}", "x", "{'descr': '<f4'}", "{'descr': '<f4', 'fortran_order': False}",
        "{'descr': 4, 'fortran_order': False, 'shape': ()}",
        "{'descr': '<f4', 'fortran_order': 0, 'shape': ()}",
        "{'descr': '<f4', 'fortran_order': False, 'shape': 3}",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (1 2)}",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (1,",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (), 'more': 1}",
        "{'descr': '<f4', 'fortran_order': False, 'shape': ()} x", "{'descr': '<f4' 'shape': ()}",
        "{'descr", "{'descr':", "{'descr': '<"}) {
    CAPTURE(header);
    CHECK(errorOf(fileWith(header, 4)).starts_with("'a.npy' is not a NumPy array: its "));
  }
}

TEST_CASE("what is written is read again") {
  for (const std::vector<std::int64_t> &shape :
       std::vector<std::vector<std::int64_t>>{{}, {0}, {7}, {2, 3}, {2, 0, 3}, {1, 2, 3, 4, 5}}) {
    NpyArray array{
        .element = {'i', 2}, .fortranOrder = shape.size() == 2, .shape = shape, .data = {}};
    array.data.resize(static_cast<std::size_t>(*countElements(shape, 2) * 2), std::byte{42});
    const std::vector<std::byte> file = printNpy(array);
    CHECK((file.size() - array.data.size()) % 64 == 0);
    const auto again = parseNpy(file, "a");
    REQUIRE(again.ok());
    CHECK(again->element == array.element);
    CHECK(again->fortranOrder == array.fortranOrder);
    CHECK(again->shape == array.shape);
    CHECK(again->data == array.data);
  }
}

TEST_CASE("a damaged file is an error or another array, never a crash") {
  const NpyArray array{.element = {'f', 4},
                       .fortranOrder = false,
                       .shape = {2, 2},
                       .data = std::vector<std::byte>(16)};
  const std::vector<std::byte> file = printNpy(array);
  for (std::size_t length = 0; length < file.size(); ++length)
    CHECK_FALSE(parseNpy(std::span(file).first(length), "a").ok());
  int errors = 0;
  for (unsigned seed = 0; seed < 5000; ++seed) {
    std::mt19937 random(seed);
    std::vector<std::byte> damaged = file;
    for (unsigned i = 0; i <= seed % 4; ++i)
      damaged[random() % (file.size() - 16)] = static_cast<std::byte>(random());
    errors += parseNpy(damaged, "a").ok() ? 0 : 1;
  }
  CHECK(errors > 2000);
}

TEST_CASE("files that are not there, folders, and places where nobody may write are errors") {
  const auto missing = readNpy("/nowhere/a.npy");
  REQUIRE_FALSE(missing.ok());
  CHECK(render(missing.error()) == "imbrex: error: cannot read '/nowhere/a.npy'\n"
                                   "  hint: does it exist, and may you read it\n");
  CHECK_FALSE(readNpy("/").ok());
  const NpyArray array{
      .element = {'f', 4}, .fortranOrder = false, .shape = {}, .data = bytesOf("abcd")};
  const auto unwritable = writeNpy("/nowhere/a.npy", array);
  REQUIRE_FALSE(unwritable.ok());
  CHECK(unwritable.error().message == "cannot write '/nowhere/a.npy'");

  const auto path = std::filesystem::temp_directory_path() / "imbrex_npy_test.npy";
  REQUIRE(writeNpy(path.string(), array).ok());
  const auto again = readNpy(path.string());
  REQUIRE(again.ok());
  CHECK(again->data == array.data);
  std::filesystem::remove(path);
}
