#include "backend/analysis/algebra.h"
#include "backend/interpret/scalar.h"
#include "backend/ir/builder.h"
#include "backend/passes/canonicalise.h"
#include "backend/passes/dce.h"
#include "backend/passes/rules/rule.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <random>
#include <set>

using namespace imbrex;
using namespace imbrex::passes::rules;
using ir::ElementKind;

namespace {

using Bits = std::uint64_t;

struct Types {
  ElementKind t, u, v;
  ElementKind of(Sort sort) const {
    switch (sort) {
    case Sort::T: return t;
    case Sort::U: return u;
    case Sort::V: return v;
    case Sort::Bool: return ElementKind::Bool;
    }
    return t;
  }
};

Bits ones(ElementKind kind) { return ~Bits{0} >> (64 - ir::info(kind).bits); }

/// The elements at which laws break: all of a small type, else borders and some more.
std::vector<Bits> elements(ElementKind kind, size_t atMost) {
  const std::int32_t width = ir::info(kind).bits;
  std::vector<Bits> values;
  if (width <= 8 && (size_t{1} << width) <= atMost) {
    for (Bits bits = 0; bits <= ones(kind); ++bits) values.push_back(bits);
    return values;
  }
  const Bits top = Bits{1} << (width - 1);
  if (!ir::isInteger(kind) && kind != ElementKind::Bool) {
    const llvm::fltSemantics &format = ir::floatFormat(kind);
    const auto of = [](const llvm::APFloat &f) { return f.bitcastToAPInt().getZExtValue(); };
    values = {of(llvm::APFloat::getOne(format)), of(llvm::APFloat::getLargest(format)),
              of(llvm::APFloat::getSmallest(format)),
              of(llvm::APFloat::getSmallestNormalized(format)), interpret::nanBits(kind)};
    if (ir::isFloat(kind)) {
      for (const double f : {2.0, 0.5, 1.5, 3.0, 1e30})
        values.push_back(interpret::fromDouble(f, kind));
      values.push_back(of(llvm::APFloat::getInf(format)));
    }
    for (size_t i = values.size(); i-- > 0;) values.push_back(values[i] ^ top);
  }
  for (const Bits bits : {Bits{0}, Bits{1}, Bits{2}, Bits{3}, ones(kind), ones(kind) - 1, top,
                          top + 1, top - 1, Bits(width), Bits(width - 1)})
    values.push_back(bits & ones(kind));
  std::mt19937_64 random(1);
  while (values.size() < atMost) values.push_back(random() & ones(kind));
  values.resize(atMost);
  return values;
}

Bits evaluate(const Pattern &pattern, const Types &types,
              const std::array<Bits, kWildcards> &values, ir::Rounding rounding) {
  std::array<Bits, Pattern::kMostNodes> bits{};
  for (size_t i = 0; i < pattern.size; ++i) {
    const Node &node = pattern.nodes[i];
    if (node.form == Node::Form::Exactly) bits[i] = literalBits(node.literal, types.of(node.sort));
    if (node.form == Node::Form::Anything || node.form == Node::Form::Constant)
      bits[i] = values[node.wildcard];
    if (node.form != Node::Form::Operation) continue;
    const Node &last = pattern.nodes[node.operands[node.operandCount - 1u]];
    std::vector<Bits> operands;
    for (size_t k = 0; k < node.operandCount; ++k) operands.push_back(bits[node.operands[k]]);
    if (node.kind == ir::OpKind::Cast)
      bits[i] = interpret::convert(operands[0], types.of(last.sort), types.of(node.sort), rounding);
    else if (node.kind == ir::OpKind::Bitcast)
      bits[i] = operands[0];
    else
      bits[i] = interpret::evaluate(node.kind, types.of(last.sort), operands);
  }
  return bits[pattern.size - 1u];
}

bool isNan(Bits bits, ElementKind kind) {
  if (kind == ElementKind::Bool || ir::isInteger(kind)) return false;
  const auto width = static_cast<unsigned>(ir::info(kind).bits);
  return llvm::APFloat(ir::floatFormat(kind), llvm::APInt(width, bits)).isNaN();
}

bool uses(const Rule &rule, Sort sort) {
  return std::ranges::any_of(rule.left.nodes, [&](const Node &node) { return node.sort == sort; });
}

/// Every choice of element types that a rule admits.
std::vector<Types> admitted(const Rule &rule) {
  std::vector<Types> all;
  const llvm::ArrayRef<ElementKind> kinds = ir::allElementKinds(), one = kinds.take_front();
  for (const ElementKind t : kinds)
    for (const ElementKind u : uses(rule, Sort::U) ? kinds : one)
      for (const ElementKind v : uses(rule, Sort::V) ? kinds : one)
        if (contains(rule.domain, ir::info(t).family) && (!rule.when || rule.when(t, u, v)))
          all.push_back({t, u, v});
  return all;
}

/// The wildcards of the left side, each once; a constant's node is the one with its test.
std::vector<Node> wildcards(const Rule &rule) {
  std::vector<Node> found;
  std::set<std::uint8_t> seen;
  for (size_t i = 0; i < rule.left.size; ++i) {
    const Node &node = rule.left.nodes[i];
    const bool isWildcard = node.form == Node::Form::Anything || node.form == Node::Form::Constant;
    if (isWildcard && seen.insert(node.wildcard).second) found.push_back(node);
  }
  return found;
}

std::vector<Bits> choices(const Node &node, const Types &types, size_t atMost) {
  std::vector<Bits> values = elements(types.of(node.sort), atMost);
  if (node.test) std::erase_if(values, [&](Bits bits) { return !node.test(types.t, bits); });
  return values;
}

/// Whether both sides agree for every choice of the wildcards from `next` on.
bool holds(const Rule &rule, const Types &types, const std::vector<Node> &free,
           std::array<Bits, kWildcards> &values, size_t next = 0) {
  if (next < free.size()) {
    const size_t atMost = free.size() <= 2 ? 256 : 20;
    const bool isWide = ir::info(types.of(free[next].sort)).bits > 8;
    for (const Bits bits : choices(free[next], types, isWide && free.size() == 2 ? 48 : atMost)) {
      values[free[next].wildcard] = bits;
      if (!holds(rule, types, free, values, next + 1)) return false;
    }
    return true;
  }
  for (const auto rounding : {ir::Rounding::NearestEven, ir::Rounding::TowardZero}) {
    const Bits left = evaluate(rule.left, types, values, rounding);
    const Bits right = evaluate(rule.right, types, values, rounding);
    const ElementKind kind = types.of(rule.left.root().sort);
    if (left == right || (isNan(left, kind) && isNan(right, kind))) continue;
    CAPTURE(left);
    CAPTURE(right);
    FAIL_CHECK(rule.law << " fails for " << ir::info(types.t).name << " at " << values[0] << ", "
                        << values[1] << ", " << values[2] << ", " << values[5] << ", "
                        << values[6]);
    return false;
  }
  return true;
}

/// The left side as a kernel's code: wildcards are parameters, constants are constants. Ops may
/// have their operands in either order, where that makes no difference.
ir::Kernel kernelOf(const Rule &rule, const Types &types, bool exchange) {
  ir::Kernel kernel;
  ir::Builder build(kernel, kernel.body());
  std::array<ir::ValueId, kWildcards> bound;
  for (const Node &node : wildcards(rule)) {
    const ir::Type type = ir::Type::tile(types.of(node.sort));
    bound[node.wildcard] = node.form == Node::Form::Anything
                               ? kernel.addParameter("x" + std::to_string(node.wildcard), type)
                               : build.constantBits(type, choices(node, types, 256).back());
  }
  std::array<ir::ValueId, Pattern::kMostNodes> built;
  for (size_t i = 0; i < rule.left.size; ++i) {
    const Node &node = rule.left.nodes[i];
    const ir::Type type = ir::Type::tile(types.of(node.sort));
    std::vector<ir::ValueId> operands;
    for (size_t k = 0; k < node.operandCount; ++k) operands.push_back(built[node.operands[k]]);
    if (exchange && analysis::exchanged(node.kind) == node.kind) std::ranges::reverse(operands);
    if (node.form == Node::Form::Operation)
      built[i] = build.create(node.kind, operands, type).result();
    else if (node.form == Node::Form::Exactly)
      built[i] = build.constantBits(type, literalBits(node.literal, type.element()));
    else
      built[i] = bound[node.wildcard];
  }
  build.create(ir::OpKind::Print, built[rule.left.size - 1u], {});
  kernel.setStage(ir::Stage::Tiles);
  return kernel;
}

int costOf(const ir::Kernel &kernel) {
  int total = 0;
  for (const auto &op : kernel.body().ops)
    if (op->kind != ir::OpKind::Constant && op->kind != ir::OpKind::Print) total += cost(op->kind);
  return total;
}

} // namespace

TEST_CASE("both sides of each rule are equal for every type it claims") {
  for (const llvm::ArrayRef<Rule> topic : everyTopic())
    for (const Rule &rule : topic) {
      CAPTURE(rule.law);
      const std::vector<Types> all = admitted(rule);
      CHECK_FALSE(all.empty());
      for (const Types &types : all) {
        std::array<Bits, kWildcards> values{};
        if (!holds(rule, types, wildcards(rule), values)) break;
      }
    }
}

TEST_CASE("each rule makes less of the code that it is about") {
  for (const llvm::ArrayRef<Rule> topic : everyTopic())
    for (const Rule &rule : topic) {
      CAPTURE(rule.law);
      for (const bool exchange : {false, true}) {
        ir::Kernel kernel = kernelOf(rule, admitted(rule).back(), exchange);
        const int before = costOf(kernel);
        Diagnostics diagnostics;
        passes::canonicalise(kernel, diagnostics);
        passes::dropDeadCode(kernel, diagnostics);
        CHECK(costOf(kernel) < before);
      }
    }
}

TEST_CASE("no two rules have the same law") {
  std::set<std::string_view> laws;
  for (const llvm::ArrayRef<Rule> topic : everyTopic())
    for (const Rule &rule : topic) CHECK_MESSAGE(laws.insert(rule.law).second, rule.law);
}
