#include "tests/support/semantics.h"

#include <limits>

namespace imbrex::semantics {
namespace {

using ir::ElementKind;

/// How often a loop ran and what its index was the last time (-1: never).
Case loop(ElementKind element, std::int64_t low, std::int64_t high, std::int64_t step,
          std::int64_t trips, std::int64_t last) {
  const std::string type(ir::info(element).name);
  const auto constant = [&](const char *name, std::int64_t value) {
    const bool isUnsigned = !ir::isSigned(element);
    return "  %" + std::string(name) + " = constant " +
           (isUnsigned ? std::to_string(static_cast<std::uint64_t>(value))
                       : std::to_string(value)) +
           " : " + type + "\n";
  };
  const auto number = [](std::int64_t value) {
    return Tile{ElementKind::I64, {1}, {static_cast<std::uint64_t>(value)}};
  };
  return {"for " + type + " from " + std::to_string(low) + " to " + std::to_string(high) + " by " +
              std::to_string(step),
          "kernel @case(%trips: ptr<i64>, %last: ptr<i64>) stage tiles {\n" + constant("low", low) +
              constant("high", high) + constant("step", step) +
              "  %zero = constant 0 : i64\n  %none = constant -1 : i64\n"
              "  %one = constant 1 : i64\n"
              "  %n, %l = for %low, %high, %step, %zero, %none (%i: " +
              type +
              ", %count: i64, %before: i64) {\n"
              "    %next = add %count, %one : i64\n"
              "    %wide = cast %i : i64\n"
              "    yield %next, %wide\n"
              "  } : i64, i64\n"
              "  store %trips, %n\n  store %last, %l\n}\n",
          {{number(7), number(trips)}, {number(7), number(last)}}};
}

void addLoops(std::vector<Case> &cases) {
  constexpr std::int64_t kLowest = std::numeric_limits<std::int64_t>::min();
  constexpr std::int64_t kHighest = std::numeric_limits<std::int64_t>::max();
  cases.push_back(loop(ElementKind::I32, 0, 10, 1, 10, 9));
  cases.push_back(loop(ElementKind::I32, 0, 10, 3, 4, 9));
  cases.push_back(loop(ElementKind::I32, 0, 9, 3, 3, 6));
  cases.push_back(loop(ElementKind::I32, 5, 5, 1, 0, -1));
  cases.push_back(loop(ElementKind::I32, 6, 5, 1, 0, -1));
  cases.push_back(loop(ElementKind::I32, 10, 0, -3, 4, 1));
  cases.push_back(loop(ElementKind::I32, 9, 0, -3, 3, 3));
  cases.push_back(loop(ElementKind::I32, 0, 10, -1, 0, -1));
  cases.push_back(loop(ElementKind::I32, 0, 10, 0, 0, -1));
  cases.push_back(loop(ElementKind::I32, 10, 0, 0, 0, -1));
  cases.push_back(loop(ElementKind::I8, 120, 127, 5, 2, 125));
  cases.push_back(loop(ElementKind::I8, -120, -128, -5, 2, -125));
  cases.push_back(loop(ElementKind::I8, -128, 127, 127, 3, 126));
  cases.push_back(loop(ElementKind::I8, 127, -128, -128, 2, -1));
  cases.push_back(loop(ElementKind::U8, 250, 255, 3, 2, 253));
  cases.push_back(loop(ElementKind::U8, 0, 255, 200, 2, 200));
  cases.push_back(loop(ElementKind::U32, 4294967294, 4294967295, 2, 1, 4294967294));
  cases.push_back(loop(ElementKind::I64, kLowest, kHighest, kHighest, 3, kHighest - 1));
  cases.push_back(loop(ElementKind::I64, kHighest, kLowest, kLowest, 2, -1));
  cases.push_back(loop(ElementKind::U64, 0, -1, kHighest, 3, -2));
  cases.push_back(loop(ElementKind::U64, 0, -1, kLowest, 2, kLowest));
}

Case control(const char *name, const std::string &ops, const std::vector<double> &after,
             ir::Grid grid = {}) {
  const auto count = std::ssize(after);
  return {name,
          "kernel @case(%y: view<i32, 1>) stage tiles {\n"
          "  %b = program_id : i32\n"
          "  %zero = constant 0 : i32\n"
          "  %one = constant 1 : i32\n"
          "  %two = constant 2 : i32\n"
          "  %five = constant 5 : i32\n"
          "  %ten = constant 10 : i32\n"
          "  %true = constant true : bool\n"
          "  %false = constant false : bool\n" +
              ops + "  %tile = broadcast %r : i32[1]\n  view.store %y, %tile, %b\n}\n",
          {{tile(ElementKind::I32, {count}, std::vector<double>(after.size(), -7)),
            tile(ElementKind::I32, {count}, after)}},
          grid};
}

void addBranches(std::vector<Case> &cases) {
  cases.push_back(control("if gives what the body that runs yields", R"(
  %even = eq %b, %zero : bool
  %r = if %even {
    yield %ten
  } else {
    %s = add %b, %five : i32
    yield %s
  } : i32
)",
                          {10, 6, 7}, {{3, 1, 1}}));
  cases.push_back(control("a body that does not run has no effect", R"(
  if %false {
    %nine = constant 9 : i32[1]
    view.store %y, %nine, %zero
    yield
  }
  %r = add %zero, %one : i32
)",
                          {1}));
  cases.push_back(control("exit_if ends its block alone", R"(
  %odd = eq %b, %one : bool
  for %zero, %ten, %one (%i: i32) {
    if %odd {
      %late = eq %i, %five : bool
      exit_if %late
      yield
    }
    yield
  }
  %r = add %b, %zero : i32
)",
                          {0, -7, 2}, {{3, 1, 1}}));
  cases.push_back(control("a grid's indices and extents", R"(
  %y1 = program_id [axis = 1] : i32
  %later = ne %y1, %zero : bool
  exit_if %later
  %nx = num_programs : i32
  %ny = num_programs [axis = 1] : i32
  %nz = num_programs [axis = 2] : i32
  %a = mul %ny, %ten : i32
  %c = add %a, %nx : i32
  %d = mul %c, %ten : i32
  %r = add %d, %nz : i32
)",
                          {211}, {{1, 2, 1}}));
  cases.push_back(control("a requirement that holds does nothing", R"(
  %first = eq %one, %one : bool
  %second = lt %zero, %two : bool
  %both = and %first, %second : bool
  require %both [text = "numbers are themselves"]
  %r = add %zero, %ten : i32
)",
                          {10}));
  cases.push_back(control("an assert that holds does nothing", R"(
  assert %true [text = "fine"]
  %r = add %zero, %two : i32
)",
                          {2}));
}

void addBreaks(std::vector<Case> &cases) {
  cases.push_back(control("while repeats until break_if, whose operands are the results", R"(
  %r = while %one (%x: i32) {
    %double = add %x, %x : i32
    %enough = gt %double, %ten : bool
    break_if %enough, %double
    yield %double
  } : i32
)",
                          {16}));
  cases.push_back(control("break_if in nested ifs leaves the loop", R"(
  %r = for %zero, %ten, %one, %zero (%i: i32, %sum: i32) {
    %late = ge %i, %two : bool
    if %late {
      %at = eq %i, %five : bool
      if %at {
        %hundred = mul %ten, %ten : i32
        %out = add %sum, %hundred : i32
        break_if %true, %out
        yield
      }
      yield
    }
    %next = add %sum, %i : i32
    yield %next
  } : i32
)",
                          {110}));
  cases.push_back(control("break_if leaves the innermost loop alone", R"(
  %r = for %zero, %five, %one, %zero (%i: i32, %sum: i32) {
    %inner = for %zero, %ten, %one, %sum (%j: i32, %s: i32) {
      %stop = ge %j, %i : bool
      break_if %stop, %s
      %t = add %s, %one : i32
      yield %t
    } : i32
    yield %inner
  } : i32
)",
                          {10}));
  cases.push_back(control("a loop without trips gives its initial values", R"(
  %r = for %zero, %zero, %one, %five (%i: i32, %sum: i32) {
    yield %ten
  } : i32
)",
                          {5}));
  cases.push_back(control("values carried in a circle change places at once", R"(
  %a, %r = for %zero, %five, %one, %one, %two (%i: i32, %u: i32, %v: i32) {
    yield %v, %u
  } : i32, i32
)",
                          {1}));
}

} // namespace

std::vector<Case> controlCases() {
  std::vector<Case> cases;
  addLoops(cases);
  addBranches(cases);
  addBreaks(cases);
  return cases;
}

} // namespace imbrex::semantics
