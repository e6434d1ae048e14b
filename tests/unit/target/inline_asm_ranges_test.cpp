#include "backend/target/codegen/inline_asm_ranges.h"
#include "llvm/ADT/SmallVector.h"

#include <doctest/doctest.h>

using namespace imbrex;

TEST_CASE("the author's instructions stand between marks, at the line that is told above them") {
  constexpr llvm::StringRef kText = "\t.file\t1 \"/kernels\" \"one.cpp\"\n" // line 1
                                    "\t.loc\t1 3 0 prologue_end           ; one.cpp:3\n"
                                    "\t;;#BEGIN\n"
                                    "\ts_nop 0\n"
                                    "\t;;#END\n" // line 5
                                    "\t.loc\t2 7 9\n"
                                    "\t;;#BEGIN\n"
                                    "\t;;#END\n"
                                    "\t;;#BEGIN\n"
                                    "\ts_nop 1\n" // line 10
                                    "\t.file\t2 \"two.cpp\"";
  llvm::SmallVector<llvm::StringRef, 0> lines;
  kText.split(lines, '\n');
  const auto found = target::inlineAsmRangesIn(lines, {.begin = ";;#BEGIN", .end = ";;#END"});
  REQUIRE(found.size() == 3);
  const auto check = [&](std::size_t i, unsigned begin, unsigned end, std::string_view where) {
    CHECK(found[i].begin == begin);
    CHECK(found[i].end == end);
    CHECK(std::string(found[i].where.file) + ":" + std::to_string(found[i].where.line) == where);
  };
  check(0, 3, 5, "/kernels/one.cpp:3");
  check(1, 7, 8, "two.cpp:7");
  check(2, 9, 12, "two.cpp:7");
}
