#include "tests/support/semantics.h"

// Kernels as they are recorded, at stage traced: an executor may turn variables into values first.
namespace imbrex::semantics {
namespace {

using ir::ElementKind;

/// The ops leave their result in the variable %r of every block.
Case variable(const char *name, const std::string &ops, const std::vector<double> &after) {
  const auto count = std::ssize(after);
  return {name,
          "kernel @case(%y: view<i32, 1>) stage traced {\n"
          "  %b = program_id : i32\n"
          "  %zero = constant 0 : i32\n"
          "  %one = constant 1 : i32\n"
          "  %two = constant 2 : i32\n"
          "  %five = constant 5 : i32\n"
          "  %ten = constant 10 : i32\n"
          "  %r = var.new %b : var<i32>\n" +
              ops +
              "  %last = var.read %r : i32\n"
              "  %tile = broadcast %last : i32[1]\n"
              "  view.store %y, %tile, %b\n}\n",
          {{tile(ElementKind::I32, {count}, std::vector<double>(after.size(), -7)),
            tile(ElementKind::I32, {count}, after)}},
          {{static_cast<std::int32_t>(count), 1, 1}}};
}

void addStraight(std::vector<Case> &cases) {
  cases.push_back(
      variable("a variable holds its first value until it is given another", "", {0, 1, 2}));
  cases.push_back(variable("a value that was read stays when the variable changes", R"(
  %old = var.read %r : i32
  var.write %r, %ten
  %new = var.read %r : i32
  %product = mul %old, %new : i32
  var.write %r, %five
  var.write %r, %product
)",
                           {0, 10, 20}));
  cases.push_back(variable("a variable holds a tile, and of two each its own", R"(
  %ones = constant 1 : i32[6]
  %count = arange : i32[6]
  %v = var.new %ones : var<i32[6]>
  %w = var.new %count : var<i32[6]>
  %x = var.read %v : i32[6]
  %y1 = var.read %w : i32[6]
  var.write %v, %y1
  var.write %w, %x
  %x2 = var.read %v : i32[6]
  %y2 = var.read %w : i32[6]
  %difference = sub %x2, %y2 : i32[6]
  %sum = reduce %difference : i32
  var.write %r, %sum
)",
                           {9}));
}

void addBodies(std::vector<Case> &cases) {
  cases.push_back(variable("what a body writes is there behind it, and only if it ran", R"(
  %even = var.new %zero : var<i32>
  for %zero, %five, %one (%i: i32) {
    %half = rem %i, %two : i32
    %is_even = eq %half, %zero : bool
    if %is_even {
      %e = var.read %even : i32
      %e2 = add %e, %i : i32
      var.write %even, %e2
      yield
    } else {
      %o = var.read %r : i32
      %o2 = add %o, %ten : i32
      var.write %r, %o2
      yield
    }
    yield
  }
  %e3 = var.read %even : i32
  %o3 = var.read %r : i32
  %both = sub %o3, %e3 : i32
  var.write %r, %both
)",
                           {14, 15}));
  cases.push_back(variable("a variable of a body begins anew in each trip", R"(
  for %zero, %five, %one (%i: i32) {
    %inner = var.new %one : var<i32>
    %before = var.read %inner : i32
    %doubled = add %before, %before : i32
    var.write %inner, %doubled
    %now = var.read %inner : i32
    %sum = var.read %r : i32
    %more = add %sum, %now : i32
    var.write %r, %more
    yield
  }
)",
                           {10, 11}));
}

void addEnds(std::vector<Case> &cases) {
  cases.push_back(variable("a break keeps what was written before it in its trip", R"(
  %after = var.new %zero : var<i32>
  while {
    %n = var.read %r : i32
    %n2 = add %n, %one : i32
    var.write %r, %n2
    %done = ge %n2, %five : bool
    break_if %done
    %m = var.read %after : i32
    %m2 = add %m, %ten : i32
    var.write %after, %m2
    yield
  }
  %n3 = var.read %r : i32
  %m3 = var.read %after : i32
  %sum = add %n3, %m3 : i32
  var.write %r, %sum
)",
                           {45, 35, 25}));
  cases.push_back(variable("a block that ends early keeps what it had stored", R"(
  %three = constant 3 : i32[1]
  view.store %y, %three, %b
  for %zero, %five, %one (%i: i32) {
    %n = var.read %r : i32
    %n2 = add %n, %two : i32
    var.write %r, %n2
    %is_last = eq %i, %two : bool
    %is_first = eq %b, %zero : bool
    %stop = and %is_last, %is_first : bool
    exit_if %stop
    yield
  }
)",
                           {3, 11}));
}

} // namespace

std::vector<Case> variableCases() {
  std::vector<Case> cases;
  addStraight(cases);
  addBodies(cases);
  addEnds(cases);
  return cases;
}

} // namespace imbrex::semantics
