#include "tests/codegen/random_loops.h"

#include "tests/support/parsed_kernel.h"

#include <doctest/doctest.h>

#include <random>

namespace imbrex::testing {
namespace {

const std::string kTile = "i32[8x32]";

class Writer {
public:
  Writer(std::uint64_t seed, const LoopShape &shape) : random_(seed), shape_(shape) {}

  std::string kernel() {
    std::string sums = loops(constant("0", kTile), 1);
    for (int row = 1; row < shape_.inRow && chance(2); ++row) sums = maybeLoops(sums, 1);
    return "kernel @k(%v: view<const i32, 2>, %w: view<const i16, 2>, %p: ptr<const i32>, "
           "%n: i32, %m: i32, %up: i32, %down: i32, %out: view<i32, 2>) stage tiles {\n"
           "%zero = constant 0 : i32\n%one = constant 1 : i32\n" +
           text_ + "view.store %out, " + sums + ", %zero, %zero\n}\n";
  }

  std::vector<std::string> arguments() {
    return {"random:i32:40x200",       "random:i16:40x200",      "random:i32:4096",
            std::to_string(below(5)),  std::to_string(below(5)), std::to_string(below(4)),
            std::to_string(-below(4)), "zeros:i32:8x32"};
  }

private:
  int below(int count) { return std::uniform_int_distribution(0, count - 1)(random_); }
  bool chance(int of) { return below(of) == 0; }
  std::string pick(std::initializer_list<std::string> all) {
    return all.begin()[below(static_cast<int>(all.size()))];
  }

  std::string name() { return "%x" + std::to_string(names_++); }
  std::string define(const std::string &op, const std::string &type) {
    const std::string made = name();
    text_ += made + " = " + op + " : " + type + "\n";
    return made;
  }
  std::string constant(const std::string &value, const std::string &type) {
    return define("constant " + value, type);
  }

  /// The sums, thrice and one more: which tile came when is seen.
  std::string add(const std::string &sums, const std::string &tile) {
    const std::string thrice = define("mul " + sums + ", " + constant("3", kTile), kTile);
    return define("add " + thrice + ", " + tile, kTile);
  }

  std::string spread(const std::string &row) {
    const std::string rows = define("reshape " + row, "i32[1x32]");
    return define("broadcast " + rows, kTile);
  }

  /// By an index of i32, and those around.
  std::string load(const std::string &index) {
    const std::string row = chance(2) ? "%zero" : outer_.empty() ? "%zero" : outer_.back();
    const auto view = [&](const std::string &of, const std::string &type) {
      return define("view.load " + of + ", " + row + ", " + index, type);
    };
    switch (below(6)) {
    case 0: return define("cast " + view("%w", "i16[8x32]"), kTile);
    case 1: return define("broadcast " + view("%v", "i32[1x32]"), kTile);
    case 2: return spread(define("reduce " + view("%v", "i32[16x32]") + " [axis = 0]", "i32[32]"));
    case 3:
      return define("slice " + view("%v", "i32[16x64]") + " [offsets = [1, 3], strides = [2, 1]]",
                    kTile);
    case 4: return spread(loadByPointers(index));
    default: return view("%v", kTile);
    }
  }

  std::string loadByPointers(const std::string &index) {
    const std::string tile = "i32[32]", pointers = "ptr<const i32>[32]";
    const std::string far = define("mul " + index + ", " + constant("32", "i32"), "i32");
    const std::string first = define("broadcast " + far, tile);
    const std::string offsets = define("add " + first + ", " + define("arange", tile), tile);
    const std::string base = define("broadcast %p", pointers);
    return define("load " + define("ptr.add " + base + ", " + offsets, pointers), tile);
  }

  /// Loops that may be in a branch.
  std::string maybeLoops(const std::string &sums, int depth) {
    if (!shape_.hasConditions || !chance(3)) return loops(sums, depth);
    const std::string some = outer_.empty() ? "%m" : outer_.back();
    const std::string runs = define(pick({"lt ", "gt "}) + some + ", %n", "bool");
    const std::string result = name();
    text_ += result + " = if " + runs + " {\n";
    const std::string there = loops(sums, depth);
    text_ += "yield " + there + "\n} else {\n";
    const std::string other = chance(2) ? sums : loops(sums, depth);
    text_ += "yield " + other + "\n} : " + kTile + "\n";
    return result;
  }

  std::string loops(const std::string &sums, int depth) {
    ++loops_;
    // Often the same numbers as those of the loop around.
    if (depth == 1 || chance(2)) {
      index_ = pick({"i32", "i32", "i64", "i8", "u32"});
      low_ = chance(3) ? "1" : "0";
      high_ = pick({"%n", "%n", "%m"});
      step_ = pick({"1", "1", "1", "2", "100", "%up"});
      if (index_ != "u32" && chance(4)) {
        std::swap(low_, high_);
        step_ = pick({"-1", "-2", "%down"});
      }
    }
    const std::string low = number(low_), high = number(high_), step = number(step_);
    const std::string index = name(), carried = name(), result = name();
    text_ += result + " = for " + low + ", " + high + ", " + step + ", " + sums +
             " [pipelined = " + pick({"0", "2", "2", "3", "5", "-1"}) + "] (" + index + ": " +
             index_ + ", " + carried + ": " + kTile + ") {\n";
    const std::string next = body(index, carried, depth);
    text_ += "yield " + next + "\n} : " + kTile + "\n";
    return result;
  }

  /// A constant or a parameter, as the index has it.
  std::string number(const std::string &of) {
    if (!of.starts_with("%")) return constant(of, index_);
    return index_ == "i32" ? of : define("cast " + of, index_);
  }

  std::string body(const std::string &ofLoop, const std::string &carried, int depth) {
    const std::string type = index_,
                      index = type == "i32" ? ofLoop : define("cast " + ofLoop, "i32");
    if (chance(5)) {
      const std::string holds = define("ge " + index + ", %zero", "bool");
      text_ += "assert " + holds + " [text = \"holds\"]\n";
    }
    std::string sums = carried;
    for (int loads = below(3); loads >= 0; --loads) sums = add(sums, load(index));
    outer_.push_back(index);
    while (depth < shape_.deepest && loops_ < shape_.most && chance(2))
      sums = maybeLoops(sums, depth + 1);
    outer_.pop_back();
    if (chance(3)) sums = add(sums, load(index));
    return sums;
  }

  std::mt19937_64 random_;
  const LoopShape shape_;
  std::string text_;
  std::string index_, low_, high_, step_; // of the last loop that began
  std::vector<std::string> outer_;
  int names_ = 0, loops_ = 0;
};

} // namespace

TableKernel randomLoops(std::uint64_t seed, const LoopShape &shape) {
  Writer writer(seed, shape);
  return {.name = "loops_" + std::to_string(seed),
          .kernel = parsedKernel(writer.kernel()),
          .grid = {},
          .arguments = writer.arguments()};
}

} // namespace imbrex::testing
