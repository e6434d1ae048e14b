#pragma once

#include "backend/analysis/algebra.h"
#include "backend/ir/op.h"

#include <array>
#include <cstdint>
#include <initializer_list>

/// The language in which rewrite rules are written: `rule("x + 0 == x", …, add(x, zero), x)`.
///
/// A pattern is an expression over wildcards, constants and elementwise ops, a value at compile
/// time. Each node has a sort, which a match binds to an element type: the wildcards x, y, z and
/// the constants c, d are of sort T, p and q are bools, casts lead to U and V.
namespace imbrex::passes::rules {

enum class Sort : std::uint8_t { T, U, V, Bool };
inline constexpr std::size_t kSorts = 4;

enum class Literal : std::uint8_t { Zero, NegativeZero, One, MinusOne, AllOnes };

/// The literal's bits as an element of this kind. `AllOnes` is of integers and bools,
/// `NegativeZero` of floats.
std::uint64_t literalBits(Literal literal, ir::ElementKind kind);

/// Whether a constant may stand for a wildcard.
using ConstantTest = bool (*)(ir::ElementKind kind, std::uint64_t bits);

struct Node {
  enum class Form : std::uint8_t {
    Anything, // a wildcard; the same wildcard twice: the same value
    Constant, // a wildcard that only a constant matches
    Exactly,  // one constant
    Operation,
  };
  Form form = Form::Anything;
  Sort sort = Sort::T;
  std::uint8_t wildcard = 0;
  Literal literal = Literal::Zero;
  ConstantTest test = nullptr;
  ir::OpKind kind = ir::OpKind::Add;
  std::uint8_t operandCount = 0;
  std::array<std::uint8_t, 3> operands{}; // nodes of the same pattern
};

/// The nodes of an expression, operands before the ops that use them: the last is the root.
struct Pattern {
  static constexpr std::size_t kMostNodes = 8;
  std::array<Node, kMostNodes> nodes{};
  std::uint8_t size = 0;
  std::uint8_t exchangeable = 0; // a bit for each node whose two operands may come in either order

  constexpr const Node &root() const { return nodes[size - 1u]; }
};

constexpr Pattern leaf(Node node) {
  Pattern pattern;
  pattern.nodes[0] = node;
  pattern.size = 1;
  return pattern;
}

inline constexpr std::size_t kWildcards = 7;
constexpr Pattern wildcard(std::uint8_t number, Sort sort) {
  return leaf({.form = Node::Form::Anything, .sort = sort, .wildcard = number});
}
constexpr Pattern constant(std::uint8_t number, ConstantTest test = nullptr) {
  return leaf({.form = Node::Form::Constant, .wildcard = number, .test = test});
}
constexpr Pattern exactly(Literal literal, Sort sort) {
  return leaf({.form = Node::Form::Exactly, .sort = sort, .literal = literal});
}

inline constexpr Pattern x = wildcard(0, Sort::T), y = wildcard(1, Sort::T);
inline constexpr Pattern z = wildcard(2, Sort::T);
inline constexpr Pattern p = wildcard(3, Sort::Bool), q = wildcard(4, Sort::Bool);
inline constexpr Pattern c = constant(5), d = constant(6);
/// The constant c where it passes a test, once: elsewhere in the rule it is `c`.
constexpr Pattern cWhere(ConstantTest test) { return constant(5, test); }

constexpr Pattern zeroOf(Sort sort) { return exactly(Literal::Zero, sort); }
inline constexpr Pattern zero = zeroOf(Sort::T);
inline constexpr Pattern negativeZero = exactly(Literal::NegativeZero, Sort::T);
inline constexpr Pattern one = exactly(Literal::One, Sort::T);
inline constexpr Pattern minusOne = exactly(Literal::MinusOne, Sort::T);
inline constexpr Pattern allOnes = exactly(Literal::AllOnes, Sort::T);
inline constexpr Pattern yes = exactly(Literal::One, Sort::Bool);
inline constexpr Pattern no = zeroOf(Sort::Bool);

constexpr Pattern operation(ir::OpKind kind, Sort sort, std::initializer_list<Pattern> operands) {
  Pattern pattern;
  Node root{.form = Node::Form::Operation, .sort = sort, .kind = kind};
  for (const Pattern &operand : operands) {
    const std::uint8_t base = pattern.size;
    pattern.exchangeable =
        static_cast<std::uint8_t>(pattern.exchangeable | operand.exchangeable << base);
    for (std::uint8_t i = 0; i < operand.size; ++i) {
      Node node = operand.nodes[i];
      for (std::uint8_t &inner : node.operands) inner = static_cast<std::uint8_t>(inner + base);
      pattern.nodes[pattern.size++] = node;
    }
    root.operands[root.operandCount++] = static_cast<std::uint8_t>(pattern.size - 1);
  }
  if (analysis::isCommutative(kind))
    pattern.exchangeable = static_cast<std::uint8_t>(pattern.exchangeable | 1u << pattern.size);
  pattern.nodes[pattern.size++] = root;
  return pattern;
}

// One function per op, of the sort that the op's type rule gives.
#define IMBREX_UNARY(name, Kind)                                                                   \
  constexpr Pattern name(const Pattern &a) {                                                       \
    return operation(ir::OpKind::Kind, a.root().sort, {a});                                        \
  }
#define IMBREX_BINARY(name, Kind)                                                                  \
  constexpr Pattern name(const Pattern &a, const Pattern &b) {                                     \
    return operation(ir::OpKind::Kind, a.root().sort, {a, b});                                     \
  }
#define IMBREX_COMPARISON(name, Kind)                                                              \
  constexpr Pattern name(const Pattern &a, const Pattern &b) {                                     \
    return operation(ir::OpKind::Kind, Sort::Bool, {a, b});                                        \
  }
IMBREX_UNARY(neg, Neg)
IMBREX_UNARY(abs, Abs)
IMBREX_UNARY(inverted, Not)
IMBREX_UNARY(floor, Floor)
IMBREX_UNARY(ceil, Ceil)
IMBREX_UNARY(round, Round)
IMBREX_UNARY(rint, Rint)
IMBREX_UNARY(trunc, Trunc)
IMBREX_BINARY(add, Add)
IMBREX_BINARY(sub, Sub)
IMBREX_BINARY(mul, Mul)
IMBREX_BINARY(div, Div)
IMBREX_BINARY(rem, Rem)
IMBREX_BINARY(cdiv, CeilDiv)
IMBREX_BINARY(min, Min)
IMBREX_BINARY(max, Max)
IMBREX_BINARY(minNan, MinNan)
IMBREX_BINARY(maxNan, MaxNan)
IMBREX_BINARY(umulhi, MulHigh)
IMBREX_BINARY(both, And)
IMBREX_BINARY(either, Or)
IMBREX_BINARY(differ, Xor)
IMBREX_BINARY(shl, Shl)
IMBREX_BINARY(shr, Shr)
IMBREX_COMPARISON(eq, Eq)
IMBREX_COMPARISON(ne, Ne)
IMBREX_COMPARISON(lt, Lt)
IMBREX_COMPARISON(le, Le)
IMBREX_COMPARISON(gt, Gt)
IMBREX_COMPARISON(ge, Ge)
#undef IMBREX_UNARY
#undef IMBREX_BINARY
#undef IMBREX_COMPARISON

constexpr Pattern fma(const Pattern &a, const Pattern &b, const Pattern &sum) {
  return operation(ir::OpKind::Fma, a.root().sort, {a, b, sum});
}
constexpr Pattern select(const Pattern &condition, const Pattern &a, const Pattern &b) {
  return operation(ir::OpKind::Select, a.root().sort, {condition, a, b});
}
constexpr Pattern castTo(Sort sort, const Pattern &a) {
  return operation(ir::OpKind::Cast, sort, {a});
}
constexpr Pattern bitcastTo(Sort sort, const Pattern &a) {
  return operation(ir::OpKind::Bitcast, sort, {a});
}

} // namespace imbrex::passes::rules
