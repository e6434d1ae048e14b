#include "backend/analysis/axis_info.h"
#include "backend/interpret/interpret.h"
#include "backend/ir/builder.h"
#include "backend/ir/text.h"
#include "backend/ir/verify.h"
#include "tests/support/random_kernel.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstring>
#include <random>

using namespace imbrex;
using namespace imbrex::ir;
using analysis::AxisAnalysis;
using analysis::AxisFacts;
using analysis::AxisInfo;

namespace {

/// Where the blocks of a launch write what a value was.
struct Probe {
  ValueId value;
  std::vector<std::byte> memory;
  std::vector<std::uint8_t> unwritten;
};

/// Random arithmetic on indices, in the widths and with the wraps that there are.
class IndexProgram {
public:
  explicit IndexProgram(std::uint32_t seed)
      : rng_(seed), kernel_("indices"), build_(kernel_, kernel_.body()) {
    kernel_.setStage(Stage::Tiles);
    for (const ElementKind kind : {ElementKind::I32, ElementKind::I64, ElementKind::U8})
      pool_.push_back(kernel_.addParameter(std::string(info(kind).name), Type::tile(kind)));
    block_ = build_.create(OpKind::ProgramId, {}, Type::tile(ElementKind::I32)).result();
    pool_.push_back(block_);
    for (int i = 0; i < 40; ++i) add();
  }

  Kernel &kernel() { return kernel_; }
  ValueId block() const { return block_; }

private:
  std::int64_t number(std::int64_t low, std::int64_t high) {
    return low + static_cast<std::int64_t>(rng_() % static_cast<std::uint64_t>(high - low + 1));
  }
  template <class T>
  T one(std::initializer_list<T> of) {
    return of.begin()[rng_() % of.size()];
  }
  Type type(ValueId value) const { return kernel_.type(value); } // more values move the others

  ValueId any() { return pool_[rng_() % pool_.size()]; }
  /// A value of this type, made of another or of a constant if there is none.
  ValueId like(const Type &wanted) {
    std::vector<ValueId> found;
    for (const ValueId value : pool_)
      if (type(value) == wanted) found.push_back(value);
    if (found.size() > 1 && rng_() % 3 != 0) return found[rng_() % found.size()];
    return build_.integer(wanted,
                          one<std::int64_t>({0, 1, 2, 3, 4, 7, 8, 12, 16, 31, 64, 127, -1, -8}));
  }
  void keep(ValueId value) { pool_.push_back(value); }

  void add() {
    const ValueId x = any();
    const Type tile = type(x);
    if (tile.element() == ElementKind::Bool) return combineBools(x);
    switch (rng_() % 9) {
    case 0: return addArange();
    case 1: return reshape(x);
    case 2: return broadcast(x);
    case 3:
      return keep(build_.cast(x, one({ElementKind::I8, ElementKind::U8, ElementKind::I16,
                                      ElementKind::I32, ElementKind::U32, ElementKind::I64})));
    case 4: return compare(x);
    case 5: return permute(x);
    case 6: return loop(x);
    default:
      return keep(build_.elementwise(
          one({OpKind::Add, OpKind::Add, OpKind::Add, OpKind::Sub, OpKind::Mul, OpKind::Mul,
               OpKind::Div, OpKind::Rem, OpKind::Shl, OpKind::Shr, OpKind::And, OpKind::Or,
               OpKind::Xor, OpKind::Min, OpKind::Max, OpKind::CeilDiv}),
          {x, like(tile)}));
    }
  }

  void addArange() {
    const bool isLong = rng_() % 6 == 0; // longer than the range of 8 bits
    const ElementKind narrow = one({ElementKind::I8, ElementKind::U8, ElementKind::I64});
    const std::int64_t extent = isLong ? 512 : one<std::int64_t>({1, 3, 8, 12, 16, 64});
    Op &op = build_.create(OpKind::Arange, {},
                           Type::tile(isLong ? ElementKind::I32 : narrow, Shape{extent}));
    std::int64_t start = one<std::int64_t>({0, 0, 0, 16, 5, 48, -16, -64});
    if (!isSigned(kernel_.type(op.result()).element())) start = std::max<std::int64_t>(start, 0);
    op.attrs<ArangeAttrs>() = {.start = start, .step = one<std::int64_t>({1, 1, 1, 0})};
    keep(op.result());
  }

  void reshape(ValueId x) {
    const Shape shape = type(x).shape();
    if (shape.rank() == 0) return;
    const std::int64_t n = shape.elements();
    for (const std::int64_t inner : {8, 4, 3, 1})
      if (n % inner == 0 && rng_() % 2 == 0)
        return keep(build_.reshape(x, rng_() % 2 == 0 ? Shape{n / inner, inner}
                                                      : Shape{inner, 1, n / inner}));
    keep(build_.reshape(x, Shape{n}));
  }

  void broadcast(ValueId x) {
    llvm::SmallVector<std::int64_t, 5> extents(type(x).shape().extents());
    if (extents.empty()) extents = {one<std::int64_t>({1, 8, 16}), one<std::int64_t>({1, 6, 32})};
    for (std::int64_t &extent : extents)
      if (extent == 1) extent = number(1, 9);
    if (Shape(extents).elements() <= 4096) keep(build_.broadcast(x, Shape(extents)));
  }

  void permute(ValueId x) {
    const Type from = type(x);
    if (from.rank() < 2) return;
    PermuteAttrs attrs;
    llvm::SmallVector<std::int64_t, 5> extents;
    for (std::int64_t axis = 0; axis < from.rank(); ++axis) attrs.order.push_back(axis);
    std::ranges::shuffle(attrs.order, rng_);
    for (const std::int64_t axis : attrs.order)
      extents.push_back(from.shape()[static_cast<std::int32_t>(axis)]);
    keep(build_.create(OpKind::Permute, x, from.withShape(Shape(extents)), attrs).result());
  }

  void compare(ValueId x) {
    const Type tile = type(x);
    const OpKind kind = one({OpKind::Lt, OpKind::Le, OpKind::Gt, OpKind::Ge, OpKind::Eq});
    const ValueId condition =
        build_.create(kind, {x, like(tile)}, tile.withElement(ElementKind::Bool)).result();
    keep(condition);
    keep(build_.elementwise(OpKind::Select, {condition, x, like(tile)}));
  }

  void combineBools(ValueId x) { keep(build_.elementwise(one({OpKind::And, OpKind::Or}), {x, x})); }

  /// Three trips that add a value to a carried one.
  void loop(ValueId x) {
    const Type index = Type::tile(ElementKind::I32);
    const ValueId other = like(type(x));
    const ValueId step = one({build_.integer(index, 1), build_.integer(index, 4)});
    Op &op = build_.create(OpKind::For,
                           {build_.integer(index, 0), build_.integer(index, 3), step, x}, type(x));
    Block &body = op.regions.emplace_back();
    body.arguments = {kernel_.newValue(index), kernel_.newValue(type(x))};
    Builder inside(kernel_, body);
    const ValueId next = inside.elementwise(one({OpKind::Add, OpKind::Mul, OpKind::Shr}),
                                            {body.arguments[1], other});
    inside.create(OpKind::Yield, next, {});
    keep(op.result());
  }

  std::mt19937 rng_;
  Kernel kernel_;
  Builder build_;
  ValueId block_;
  std::vector<ValueId> pool_;
};

/// Store a value where this block's elements of it go.
void addProbe(Kernel &kernel, Block &body, ValueId value, ValueId block) {
  Builder build(kernel, body);
  const Type type = kernel.type(value);
  const Type index = Type::tile(ElementKind::I32);
  const ValueId base = kernel.addParameter("probe" + std::to_string(value.index()),
                                           Type::pointerTile(type.element()));
  const std::int64_t elements = type.shape().elements();
  const ValueId first = build.elementwise(OpKind::Mul, {block, build.integer(index, elements)});
  const ValueId start = build.create(OpKind::PointerAdd, {base, first}, kernel.type(base)).result();
  const Shape line{elements};
  Op &numbers = build.create(OpKind::Arange, {}, index.withShape(line));
  const ValueId pointers =
      build
          .create(OpKind::PointerAdd, {build.broadcast(start, line), numbers.result()},
                  kernel.type(base).withShape(line))
          .result();
  const ValueId values =
      type.rank() == 0 ? build.broadcast(value, line) : build.reshape(value, line);
  build.create(OpKind::Store, {pointers, values}, {});
}

bool isCounted(const Type &type) {
  return type.isTile() && (isInteger(type.element()) || type.element() == ElementKind::Bool);
}

std::int64_t elementAt(const std::vector<std::byte> &memory, ElementKind kind, std::int64_t i) {
  const auto bytes = static_cast<std::size_t>(storageBits(kind) / 8);
  std::uint64_t bits = 0;
  std::memcpy(&bits, memory.data() + static_cast<std::size_t>(i) * bytes, bytes);
  const auto unused = static_cast<int>(64 - 8 * bytes);
  return isSigned(kind) ? static_cast<std::int64_t>(bits << unused) >> unused
                        : static_cast<std::int64_t>(bits);
}

/// What is wrong with the facts about a tile, whose elements these are; empty: nothing.
std::string wrongIn(const AxisInfo &info, const Shape &shape,
                    const std::function<std::int64_t(std::int64_t)> &element) {
  for (std::int32_t axis = 0; axis < std::max(shape.rank(), 1); ++axis) {
    const AxisFacts &facts = info[static_cast<std::size_t>(axis)];
    std::int64_t stride = 1;
    for (std::int32_t after = axis + 1; after < shape.rank(); ++after) stride *= shape[after];
    const std::int64_t certain = std::min(facts.contiguity, facts.divisibility);
    for (std::int64_t i = 0; i < shape.elements(); ++i) {
      const std::int64_t at = shape.rank() == 0 ? 0 : i / stride % shape[axis];
      const std::string place =
          " at element " + std::to_string(i) + " of axis " + std::to_string(axis);
      if (element(i) != element(i - at % facts.constancy * stride)) return "not constant" + place;
      if (element(i) != element(i - at % certain * stride) + at % certain)
        return "not contiguous" + place;
      if (at % facts.contiguity == 0 && element(i) % facts.divisibility != 0)
        return "not divisible" + place;
    }
  }
  return "";
}

struct Launch {
  std::vector<Argument> arguments;
  std::vector<std::vector<std::byte>> memory;
  std::vector<std::vector<std::uint8_t>> unwritten;
};

/// A place for what each of some blocks writes.
void addPlace(Launch &launch, const Type &type, std::int64_t blocks) {
  const auto bytes = static_cast<std::size_t>(type.shape().elements() * blocks *
                                              (storageBits(type.element()) / 8));
  auto &memory = launch.memory.emplace_back(bytes);
  auto &flags = launch.unwritten.emplace_back(bytes, 1);
  launch.arguments.push_back({.data = memory.data(),
                              .bytes = static_cast<std::int64_t>(bytes),
                              .unwritten = flags.data()});
}

/// How many facts there are at all, so that a test does not pass because nothing is known.
std::int64_t countFacts(const AxisInfo &info) {
  return std::ranges::count_if(
      info, [](const AxisFacts &facts) { return facts.contiguity > 1 || facts.constancy > 1; });
}

/// Run the kernel with a probe for each value of its own body that is counted, and compare.
std::int64_t checkFacts(const Kernel &kernel, ValueId block, std::vector<Argument> arguments,
                        Grid grid) {
  const auto assumptions = analysis::assumptionsOf(kernel, arguments, {});
  const AxisAnalysis facts(kernel, assumptions);
  Kernel probed = kernel.clone();
  std::vector<ValueId> values;
  Launch launch{.arguments = std::move(arguments), .memory = {}, .unwritten = {}};
  bool isNumbered = false; // what comes before the block's number has no place to go to
  auto ops = std::exchange(probed.body().ops, {});
  for (auto &op : ops) {
    const Op &placed = *probed.body().ops.emplace_back(std::move(op));
    for (const ValueId value : placed.results) {
      isNumbered = isNumbered || value == block;
      if (!isCounted(probed.type(value)) || !isNumbered) continue;
      values.push_back(value);
      addProbe(probed, probed.body(), value, block);
      addPlace(launch, probed.type(value), grid.blocks());
    }
  }
  Diagnostics diagnostics;
  REQUIRE_MESSAGE(verify(probed, diagnostics), diagnostics.render());
  interpret::run(probed, grid, launch.arguments, diagnostics,
                 {.races = interpret::InterpreterOptions::Races::Ignore, .print = {}});
  REQUIRE_MESSAGE(!diagnostics.hasErrors(), diagnostics.render());
  std::int64_t known = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const Type &type = kernel.type(values[i]);
    known += countFacts(facts.of(values[i]));
    for (std::int64_t b = 0; b < grid.blocks(); ++b) {
      const std::int64_t first = b * type.shape().elements();
      const auto bytes = static_cast<std::size_t>(storageBits(type.element()) / 8);
      if (launch.unwritten[i][static_cast<std::size_t>(first) * bytes] != 0)
        continue; // it had left
      const std::string wrong = wrongIn(facts.of(values[i]), type.shape(), [&](std::int64_t at) {
        return elementAt(launch.memory[i], type.element(), first + at);
      });
      REQUIRE_MESSAGE(wrong.empty(), wrong, ", value ", values[i].index(), " of block ", b, "\n",
                      print(kernel));
    }
  }
  return known;
}

} // namespace

TEST_CASE("facts hold of what index arithmetic computes") {
  std::int64_t known = 0;
  for (std::uint32_t seed = 0; seed < 500; ++seed) {
    CAPTURE(seed);
    IndexProgram program(seed);
    std::mt19937 rng(seed);
    std::vector<Argument> arguments;
    for (int i = 0; i < 3; ++i)
      arguments.push_back({.scalar = rng() % 2 == 0 ? rng() % 16 * 16 : rng() % 200});
    known += checkFacts(program.kernel(), program.block(), arguments, {.extents = {5, 1, 1}});
  }
  CHECK(known > 3000);
}

TEST_CASE("facts hold of what random kernels compute") {
  for (std::uint32_t seed = 0; seed < 300; ++seed) {
    CAPTURE(seed);
    const testing::RandomKernel random = testing::randomKernel(seed);
    const testing::RandomLaunch launch(random);
    // The block's number, x + width (y + height z), is the second sum that a random kernel
    // computes.
    std::vector<ValueId> sums;
    for (const auto &op : random.kernel.body().ops)
      if (op->kind == OpKind::Add) sums.push_back(op->result());
    checkFacts(random.kernel, sums[1], launch.arguments(), random.grid);
  }
}

namespace {

struct Bound {
  analysis::WidthLimit limit;
  std::int64_t elements;
  friend bool operator==(const Bound &, const Bound &) = default;
};

/// The bound on the only access of a kernel, along the last axis.
Bound boundIn(const std::string &ops, const analysis::Assumptions *assumed = nullptr) {
  Diagnostics diagnostics;
  const auto kernel = parse("kernel @k(%p: ptr<f32>, %a: view<const f16, 2>, %n: i32, %b: bool, "
                            "%h: view<const f4e2m1, 2>) stage tiles {\n" +
                                ops + "}\n",
                            "k.imx", diagnostics);
  REQUIRE_MESSAGE((kernel && verify(*kernel, diagnostics)), diagnostics.render());
  const auto assumptions = assumed ? *assumed : analysis::usualAssumptions(*kernel);
  const AxisAnalysis facts(*kernel, assumptions);
  const Op &access = *kernel->body().ops.back();
  const bool isLoad = access.kind == OpKind::Load || access.kind == OpKind::ViewLoad;
  const std::int32_t rank = kernel->type(isLoad ? access.result() : access.operand(1)).rank();
  const auto bound = analysis::accessBound(*kernel, access, rank - 1, facts, assumptions);
  CHECK(analysis::accessWidth(*kernel, access, rank - 1, facts, assumptions) == bound.elements);
  return {bound.limit, bound.elements};
}

std::string load(const std::string &offsets, const std::string &mask = "") {
  return "%c = constant 2 : i32\n%nn = broadcast %n : i32[64]\n%i = arange : i32[64]\n%j = " +
         offsets +
         " : i32[64]\n%pp = broadcast %p : ptr<f32>[64]\n%q = ptr.add %pp, %j : ptr<f32>[64]\n" +
         (mask.empty() ? "%x = load %q : f32[64]\n"
                       : "%m = " + mask + " : bool[64]\n%x = load %q, %m : f32[64]\n");
}

} // namespace

TEST_CASE("an access is as wide as addresses, masks and extents allow, and says which stops it") {
  using enum analysis::WidthLimit;
  CHECK(boundIn(load("add %i, %nn")) == Bound{Alignment, 4});
  CHECK(boundIn(load("add %i, %i")) == Bound{Contiguity, 1});
  CHECK(boundIn(load("arange [start = 2]")) == Bound{Alignment, 2});
  CHECK(boundIn(load("add %i, %nn", "lt %i, %nn")) == Bound{Alignment, 4});
  CHECK(boundIn(load("add %i, %nn", "le %i, %nn")) == Bound{Mask, 1});
  CHECK(boundIn(load("add %i, %nn", "broadcast %b")) == Bound{Alignment, 4});
  CHECK(boundIn("%i = arange : i32[6]\n%pp = broadcast %p : ptr<f32>[6]\n%q = ptr.add %pp, %i : "
                "ptr<f32>[6]\n"
                "%x = load %q : f32[6]\n") == Bound{Extent, 2});
  CHECK(boundIn("%x = load %p : f32\n") == Bound{Extent, 1});
}

TEST_CASE("what divides a number divides it in another integer type") {
  using enum analysis::WidthLimit;
  const std::string wide = "%w = cast %n : i64\n%ww = broadcast %w : i64[64]\n"
                           "%i = arange : i64[64]\n%j = add %i, %ww : i64[64]\n"
                           "%pp = broadcast %p : ptr<f32>[64]\n";
  CHECK(boundIn(wide + "%q = ptr.add %pp, %j : ptr<f32>[64]\n%m = lt %j, %ww : bool[64]\n"
                       "%x = load %q, %m : f32[64]\n") == Bound{Alignment, 4});
  CHECK(boundIn(wide + "%s = cast %j : i16[64]\n%q = ptr.add %pp, %s : ptr<f32>[64]\n"
                       "%x = load %q : f32[64]\n") == Bound{Alignment, 4});
}

TEST_CASE("a box of a view is accessed in pieces of 16 bytes if its rows and its start allow") {
  using enum analysis::WidthLimit;
  const std::string tiles = "%x = view.load %a, %n, %n : f16[4x32]\n";
  CHECK(boundIn(tiles) == Bound{Contiguity, 8});
  CHECK(
      boundIn("%c = constant 4 : i32\n%x = view.load %a, %n, %c [unit = elements] : f16[4x32]\n") ==
      Bound{Alignment, 4});
  CHECK(boundIn("%x = view.load %a, %n, %n : f16[4x3]\n") == Bound{Extent, 1});
  analysis::Assumptions usual{.parameters = {{true}, {true, true, true}, {}, {}},
                              .areDisjoint = false};
  CHECK(boundIn(tiles, &usual) == Bound{Contiguity, 8});
  for (const auto flag : {&analysis::ParameterAssumptions::isDivisible,
                          &analysis::ParameterAssumptions::hasUnitStride,
                          &analysis::ParameterAssumptions::hasDivisibleRows}) {
    analysis::Assumptions less = usual;
    less.parameters[1].*flag = false;
    CHECK(boundIn(tiles, &less).elements == 1);
  }
}

TEST_CASE("a box of half bytes is accessed in as many bytes as its rows divide by") {
  using enum analysis::WidthLimit;
  const auto bound = [](std::int64_t rowBytes, bool isDivisible) {
    analysis::Assumptions assumed;
    assumed.parameters.resize(5);
    assumed.parameters[4] = {.isDivisible = isDivisible,
                             .hasUnitStride = true,
                             .hasDivisibleRows = rowBytes == 16,
                             .sharedRowBytes = rowBytes};
    return boundIn("%x = view.load %h, %n, %n : f4e2m1[4x64]\n", &assumed);
  };
  CHECK(bound(16, true) == Bound{Contiguity, 32});
  for (const std::int64_t bytes : {8, 4, 2, 1})
    CHECK(bound(bytes, true) == Bound{Alignment, 2 * bytes});
  CHECK(bound(0, true) == Bound{Alignment, 1});
  CHECK(bound(16, false) == Bound{Alignment, 2}); // a byte is aligned wherever it is
  CHECK(bound(0, false) == Bound{Alignment, 1});
}
