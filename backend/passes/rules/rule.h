#pragma once

#include "backend/passes/rules/pattern.h"
#include "llvm/ADT/ArrayRef.h"

#include <array>
#include <string_view>

namespace imbrex::passes::rules {

/// What sort T may be bound to, as a set of families of elements; pointers count as one.
using Domain = std::uint8_t;
inline constexpr Domain kBool = 1, kSigned = 2, kUnsigned = 4, kFloat = 8, kNarrowFloat = 16;
inline constexpr Domain kPointers = 32;
inline constexpr Domain kIntegers = kSigned | kUnsigned;
inline constexpr Domain kBits = kBool | kIntegers;
inline constexpr Domain kNumbers = kIntegers | kFloat;
inline constexpr Domain kPlain = kBits | kFloat;
inline constexpr Domain kElements = kPlain | kNarrowFloat;
inline constexpr Domain kValues = kElements | kPointers;

constexpr bool contains(Domain domain, ir::ElementFamily family) {
  return (domain >> static_cast<unsigned>(family) & 1) != 0;
}
static_assert(contains(kBool, ir::ElementFamily::Bool) &&
                  contains(kSigned, ir::ElementFamily::Signed) &&
                  contains(kUnsigned, ir::ElementFamily::Unsigned) &&
                  contains(kFloat, ir::ElementFamily::Float) &&
                  contains(kNarrowFloat, ir::ElementFamily::NarrowFloat),
              "the bits of a domain follow the order of the families");

/// What else must hold of the element types that T, U and V are bound to.
using TypeTest = bool (*)(ir::ElementKind t, ir::ElementKind u, ir::ElementKind v);

/// Where the left pattern stands, the right one may: they give the same bits for every input of
/// every type in the domain (any NaN counting as every other). A test evaluates both sides of each.
struct Rule {
  std::string_view law;
  Domain domain;
  Pattern left;
  Pattern right;
  TypeTest when = nullptr;
};

constexpr Rule rule(std::string_view law, Domain domain, const Pattern &left, const Pattern &right,
                    TypeTest when = nullptr) {
  return {law, domain, left, right, when};
}

llvm::ArrayRef<Rule> arithmetic();
llvm::ArrayRef<Rule> logic();
llvm::ArrayRef<Rule> comparison();
llvm::ArrayRef<Rule> conversion();
/// The rules of every topic.
inline std::array<llvm::ArrayRef<Rule>, 4> everyTopic() {
  return {arithmetic(), logic(), comparison(), conversion()};
}

/// How much work an op stands for: only the order of these numbers counts. A difference is more
/// than a sum, because sums with constants combine; an inversion is less than what it replaces.
constexpr int cost(ir::OpKind kind) {
  if (isDivision(kind)) return 80;
  if (kind == ir::OpKind::Fma) return 25;
  if (kind == ir::OpKind::Mul) return 20;
  if (kind == ir::OpKind::Sub) return 11;
  return kind == ir::OpKind::Not ? 9 : 10;
}

/// How much work a pattern stands for, constants being free. Every rule makes this less, so that
/// rewriting ends.
constexpr int cost(const Pattern &pattern) {
  std::array<bool, Pattern::kMostNodes> isConstant{};
  int total = 0;
  for (std::size_t i = 0; i < pattern.size; ++i) {
    const Node &node = pattern.nodes[i];
    isConstant[i] = node.form != Node::Form::Anything;
    for (std::size_t k = 0; k < node.operandCount; ++k)
      isConstant[i] &= isConstant[node.operands[k]];
    if (!isConstant[i] && node.form == Node::Form::Operation) total += cost(node.kind);
  }
  return total;
}

template <std::size_t N>
consteval bool allSimplify(const std::array<Rule, N> &rules) {
  for (const Rule &r : rules)
    if (cost(r.right) >= cost(r.left)) return false;
  return true;
}

} // namespace imbrex::passes::rules
