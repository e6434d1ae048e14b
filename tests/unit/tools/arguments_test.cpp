#include "tools/imbrex/arguments.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <random>

using namespace imbrex;
using namespace imbrex::tool;
using ir::ElementKind;
using ir::Type;

namespace {

std::string errorOf(const Type &type, std::string_view value) {
  const auto bound = bindArgument(type, {.name = "x", .value = std::string(value)});
  return bound ? "bound" : render(bound.error());
}

std::uint64_t scalar(ElementKind kind, std::string_view value) {
  const auto bound = bindArgument(Type::tile(kind), {.name = "x", .value = std::string(value)});
  REQUIRE(bound.ok());
  return bound->argument.scalar;
}

BoundArgument bind(const Type &type, std::string_view value) {
  auto bound = bindArgument(type, {.name = "x", .value = std::string(value)});
  REQUIRE(bound.ok());
  return std::move(*bound);
}

/// Binds a parameter to a file with this array.
std::string bindFile(const Type &type, const NpyArray &array, BoundArgument *made = nullptr) {
  const auto path = std::filesystem::temp_directory_path() / "imbrex_arguments_test.npy";
  REQUIRE(writeNpy(path.string(), array).ok());
  auto bound = bindArgument(type, {.name = "x", .value = "@" + path.string()});
  std::filesystem::remove(path);
  if (!bound) return render(bound.error());
  if (made) *made = std::move(*bound);
  return "bound";
}

NpyArray arrayOfBytes(NpyElement element, std::vector<std::int64_t> shape) {
  NpyArray array{.element = element, .fortranOrder = false, .shape = std::move(shape), .data = {}};
  array.data.resize(
      static_cast<std::size_t>(*countElements(array.shape, element.bytes) * element.bytes));
  for (std::size_t i = 0; i < array.data.size(); ++i) array.data[i] = static_cast<std::byte>(i);
  return array;
}

} // namespace

TEST_CASE("a scalar is read in its parameter's type") {
  CHECK(scalar(ElementKind::Bool, "true") == 1);
  CHECK(scalar(ElementKind::I8, "-128") == 0x80);
  CHECK(scalar(ElementKind::U8, "255") == 0xff);
  CHECK(scalar(ElementKind::I64, "-1") == ~std::uint64_t{0});
  CHECK(scalar(ElementKind::U64, "18446744073709551615") == ~std::uint64_t{0});
  CHECK(scalar(ElementKind::F32, "1.5") == 0x3fc00000);
  CHECK(scalar(ElementKind::F32, "-inf") == 0xff800000);
  CHECK(scalar(ElementKind::F64, "1e-3") == 0x3f50624dd2f1a9fc);
  CHECK(scalar(ElementKind::F16, "65504") == 0x7bff);
  CHECK(scalar(ElementKind::F8E4M3FN, "17") == 0x58);
}

TEST_CASE("a scalar that its type does not hold is refused") {
  CHECK(errorOf(Type::tile(ElementKind::I8), "300") ==
        "imbrex: error: the argument 'x' wants a value of type i8, not '300'\n"
        "  hint: it has 8 bits and holds no such number\n");
  CHECK(errorOf(Type::tile(ElementKind::F32), "many") ==
        "imbrex: error: the argument 'x' wants a value of type f32, not 'many'\n"
        "  hint: write a number, such as 3.5, 1e-3, inf or nan\n");
  CHECK(errorOf(Type::tile(ElementKind::F32), "-1e50") ==
        "imbrex: error: the argument 'x' wants a value of type f32, not '-1e50'\n"
        "  hint: its largest number is smaller\n");
  for (const auto &[kind, text] :
       std::vector<std::pair<ElementKind, std::string>>{{ElementKind::I8, "-129"},
                                                        {ElementKind::U8, "-1"},
                                                        {ElementKind::U8, "256"},
                                                        {ElementKind::I64, "9223372036854775808"},
                                                        {ElementKind::U64, "18446744073709551616"},
                                                        {ElementKind::U64, "-1"},
                                                        {ElementKind::I32, "1.5"},
                                                        {ElementKind::I32, ""},
                                                        {ElementKind::F32, ""},
                                                        {ElementKind::F32, "1x"},
                                                        {ElementKind::Bool, "2"}}) {
    CAPTURE(text);
    CHECK(errorOf(Type::tile(kind), text).find("wants a value of type") != std::string::npos);
  }
}

TEST_CASE("an array is made of a word") {
  const auto ones = bind(Type::view(ElementKind::F32, 2, false), "ones:f32:2x3");
  CHECK(ones.argument.bytes == 24);
  CHECK(ones.argument.extents == std::array<std::int64_t, 5>{2, 3});
  CHECK(ones.argument.strides == std::array<std::int64_t, 5>{3, 1});
  for (int i = 0; i < 6; ++i) CHECK(reinterpret_cast<const float *>(ones.argument.data)[i] == 1);

  const auto counted = bind(Type::pointerTile(ElementKind::I64), "arange:4");
  for (int i = 0; i < 4; ++i)
    CHECK(reinterpret_cast<const std::int64_t *>(counted.argument.data)[i] == i);
  CHECK(arrayOf(counted).shape == std::vector<std::int64_t>{4});

  const auto random = bind(Type::view(ElementKind::U8, 1, false), "random:1000");
  for (int i = 0; i < 1000; ++i) CHECK(static_cast<int>(random.argument.data[i]) <= 100);
  CHECK(bind(Type::view(ElementKind::F64, 1, false), "empty:0").argument.bytes == 0);
}

TEST_CASE("two f4e2m1 share a byte") {
  const auto ones = bind(Type::view(ElementKind::F4E2M1, 2, false), "ones:3x4");
  CHECK(ones.argument.bytes == 6);
  CHECK(ones.argument.extents == std::array<std::int64_t, 5>{3, 4});
  CHECK(ones.argument.strides == std::array<std::int64_t, 5>{4, 1});
  CHECK(ones.argument.data[0] == std::byte{0x22});
  CHECK(errorOf(Type::view(ElementKind::F4E2M1, 1, false), "ones:3").find("can't be 3") !=
        std::string::npos);
  NpyArray array = arrayOfBytes({'u', 1}, {2, 2});
  array.fortranOrder = true;
  CHECK(bindFile(Type::view(ElementKind::F4E2M1, 2, false), array).find("in Fortran order") !=
        std::string::npos);
}

TEST_CASE("a file's array keeps its order") {
  NpyArray array = arrayOfBytes({'f', 4}, {2, 3});
  BoundArgument bound;
  CHECK(bindFile(Type::view(ElementKind::F32, 2, true), array, &bound) == "bound");
  CHECK(bound.argument.strides == std::array<std::int64_t, 5>{3, 1});
  array.fortranOrder = true;
  CHECK(bindFile(Type::view(ElementKind::F32, 2, true), array, &bound) == "bound");
  CHECK(bound.argument.strides == std::array<std::int64_t, 5>{1, 2});
  const NpyArray again = arrayOf(bound);
  CHECK(again.data == array.data);
  CHECK(again.fortranOrder);
  CHECK(bindFile(Type::tile(ElementKind::U16), arrayOfBytes({'u', 2}, {}), &bound) == "bound");
  CHECK(bound.argument.scalar == 0x0100);
}

TEST_CASE("types that NumPy lacks come as integers or bytes of their size") {
  const Type bf16 = Type::view(ElementKind::BF16, 1, true),
             f8 = Type::view(ElementKind::F8E5M2, 1, true);
  CHECK(bindFile(bf16, arrayOfBytes({'u', 2}, {4})) == "bound");
  CHECK(bindFile(bf16, arrayOfBytes({'V', 2}, {4})) == "bound");
  CHECK(bindFile(f8, arrayOfBytes({'f', 1}, {4})) == "bound");
  CHECK(bindFile(bf16, arrayOfBytes({'f', 2}, {4})) ==
        "imbrex: error: the argument 'x' wants elements of type bf16, in NumPy 'u2', not 'f2'\n"
        "  hint: convert the array by astype('u2') before it is saved\n");
  CHECK(bindFile(Type::view(ElementKind::F16, 1, true), arrayOfBytes({'u', 2}, {4})) != "bound");
}

TEST_CASE("an array that a parameter can't take is refused") {
  const Type matrix = Type::view(ElementKind::F32, 2, false);
  CHECK(errorOf(matrix, "ones:6") ==
        "imbrex: error: the argument 'x' wants an array of rank 2, not 1\n"
        "  hint: reshape the array before it is saved, or give it as many extents, as in "
        "zeros:128x64\n");
  CHECK(bindFile(Type::tile(ElementKind::F32), arrayOfBytes({'f', 4}, {2}))
            .find("of rank 0, not 1") != std::string::npos);
  CHECK(errorOf(matrix, "ones:f64:2x3") ==
        "imbrex: error: the argument 'x' wants elements of type f32, not f64\n"
        "  hint: without a type, as in zeros:128x64, it takes the parameter's\n");
  CHECK(errorOf(matrix, "ones:f_32:2x3") ==
        "imbrex: error: the argument 'x' names the element type 'f_32', which there is not\n"
        "  hint: did you mean 'f32'?\n");
  CHECK(errorOf(matrix, "zero:2x3") ==
        "imbrex: error: the argument 'x' can't be made of 'zero:2x3'\n"
        "  hint: write @file.npy, or zeros:f32:128x64\n");
  CHECK(errorOf(matrix, "3.5").find("can't be made of '3.5'") != std::string::npos);
  for (const char *shape :
       {"", "x", "2x", "-2x3", "2y3", "99999999999999999999x1", "2x3x", "4611686018427387904x4"}) {
    CAPTURE(shape);
    CHECK(errorOf(matrix, "ones:" + std::string(shape)).find("has no possible shape") !=
          std::string::npos);
  }
  CHECK(errorOf(matrix, "ones:99999999999x99999") ==
        "imbrex: error: there is no memory for the 39999599999600004 bytes of the argument 'x'\n"
        "  hint: check its extents, which count elements, or work on it in parts\n");
  CHECK(errorOf(matrix, "@/nowhere.npy").find("cannot read '/nowhere.npy'") != std::string::npos);
}

TEST_CASE("an assignment has a name and a value") {
  const auto good = parseAssignment("--arg", "x=@a=b.npy");
  REQUIRE(good.ok());
  CHECK(good->name == "x");
  CHECK(good->value == "@a=b.npy");
  for (const char *text : {"x", "=3", ""}) {
    const auto bad = parseAssignment("--arg", text);
    REQUIRE_FALSE(bad.ok());
    CHECK(bad.error().message == "--arg wants name=value, not '" + std::string(text) + "'");
  }
}

TEST_CASE("no text for an argument crashes") {
  constexpr std::string_view kLetters = "0123456789xf:@-+.enpyzrosaigu8";
  for (unsigned seed = 0; seed < 3000; ++seed) {
    CAPTURE(seed);
    std::mt19937 random(seed);
    std::string text = seed % 2 ? "zeros:" : "";
    for (auto i = random() % 12; i > 0; --i) text += kLetters[random() % kLetters.size()];
    // Shapes that could be real would fill the memory.
    if (std::ranges::count_if(text, [](char c) { return c >= '0' && c <= '9'; }) > 6) continue;
    for (const Type &type :
         {Type::tile(ElementKind::I16), Type::view(ElementKind::F4E2M1, 2, false),
          Type::pointerTile(ElementKind::F32)})
      (void)bindArgument(type, {.name = "x", .value = text}).ok();
  }
}

TEST_CASE("a table is made of an array for each of its pointers") {
  const Type table = Type::table(ElementKind::F32, true);
  const BoundArgument bound = bind(table, "ones:3,arange:2x2");
  CHECK(bound.argument.extents[0] == 2);
  REQUIRE(bound.argument.pointees.size() == 2);
  CHECK(bound.argument.pointees[0].bytes == 12);
  CHECK(bound.argument.pointees[1].data == bound.pointees[1].memory.data());
  const auto *addresses = reinterpret_cast<std::byte *const *>(bound.argument.data);
  CHECK(addresses[1] == bound.pointees[1].memory.data());
  CHECK(addresses[2] == nullptr);
  CHECK(bind(table, "").argument.extents[0] == 0);
  CHECK(
      errorOf(table, "ones:3,ones:i32:4").find("the argument 'x[1]' wants elements of type f32") !=
      std::string::npos);
}
