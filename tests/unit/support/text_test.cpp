#include "backend/support/file_name.h"
#include "backend/support/text.h"

#include <doctest/doctest.h>

#include <array>
#include <vector>

using namespace imbrex;

TEST_CASE("fillers take arguments by number, and everything else stays as written") {
  const std::array<std::string, 2> arguments{"a", "{0}"};
  CHECK(fill("{1}-{0}-{1}", arguments) == "{0}-a-{0}");
  CHECK(fill("{2} {} { {x} {00} {0", arguments) == "{2} {} { {x} {00} {0");
  CHECK(fill("", arguments).empty());
}

TEST_CASE("a pattern wants as many arguments as its largest filler says") {
  static_assert(countFillers("none {} {x}") == 0);
  static_assert(countFillers("{0}") == 1);
  static_assert(countFillers("{3} of {0}") == 4);
}

TEST_CASE("values become the text that a reader expects") {
  CHECK(toText("text") == "text"); // and not the pointer's truth
  CHECK(toText(true) == "true");
  CHECK(toText('c') == "c");
  CHECK(toText(std::int64_t{-5}) == "-5");
  CHECK(toText(0.1) == "0.1");
  CHECK(toText(1e300) == "1e+300");
}

TEST_CASE("no name of a kernel leads a file out of its folder") {
  CHECK(fileNameFor("scale_2-x") == "scale_2-x");
  CHECK(fileNameFor("dn/../up") == "dn____up");
  CHECK(fileNameFor("say \"hi\"") == "say__hi_");
  CHECK(fileNameFor("..") == "__");
  CHECK(fileNameFor("") == "kernel");
}

TEST_CASE("the nearest word is found within a third of the letters, of equals what begins alike") {
  constexpr auto words = std::to_array<std::string_view>({"host", "interpreter", "hosts"});
  CHECK(nearest("hast", words) == "host");
  CHECK(nearest("intrepreter", words) == "interpreter");
  CHECK(nearest("emulator", words).empty());
  CHECK(nearest("hostz", words) == "host");
  CHECK(nearest("int", words) == "interpreter");
  const std::vector<std::string_view> longer{"model_80", "model_90extra", "model_90a"};
  CHECK(nearest("model_90", longer) == "model_90a");
  CHECK(nearest("model_91", longer) == "model_90a");
  // Signs between the letters, and their case, are forgotten first.
  CHECK(nearest("model90", longer) == "model_90a");
  CHECK(nearest("Model-90A", longer) == "model_90a");
  CHECK(nearest("MOD", longer) == "model_80"); // which goes on, though most letters are missing
  const std::vector<std::string_view> signs{"part942", "part9-4-all"};
  CHECK(nearest("part9-4", signs) == "part9-4-all");
  const std::vector<std::string_view> numbers{"ab_75", "ab_89", "ab_90a"};
  CHECK(nearest("ab91", numbers) == "ab_90a");
}
