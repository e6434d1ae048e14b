#pragma once

#include "backend/ir/attributes.h"
#include "backend/ir/stage.h"
#include "backend/ir/types.h"
#include "backend/support/location.h"
#include "backend/support/typed_id.h"
#include "llvm/ADT/SmallVector.h"

#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

namespace imbrex::ir {

enum class OpKind : std::uint8_t {
#define IMBREX_OP(Kind, ...) Kind,
#include "backend/ir/ops.def"
};

/// What an op does besides computing its results.
enum class Effect : std::uint8_t {
  Pure,      // nothing: may be moved, merged, dropped
  Read,      // reads global memory
  Write,     // writes global memory
  Atomic,    // reads and writes global memory, indivisibly
  Observe,   // seen outside the kernel: keeps its place
  Structure, // as its regions do
  End,       // ends a region
  Leave,     // may leave a region early
  Variable,  // reads or writes a variable
  Ring,      // moves a ring on, or orders what rings hold: keeps its place
};

/// The elements that an op's operands may have.
enum class Domain : std::uint8_t {
  Any,
  Plain,    // bool, integers, floats
  Number,   // integers, floats
  Floating, // f16, bf16, f32, f64
  Integer,
  Bits, // bool, integers
};

/// How the types of operands and results hang together.
enum class TypeRule : std::uint8_t {
#define IMBREX_TYPE_RULE(Rule) Rule,
#include "backend/ir/type_rules.def"
};

/// "Any number" in the arity columns of ops.def.
inline constexpr std::int32_t kMany = std::numeric_limits<std::int32_t>::max();

/// A row of ops.def.
struct OpInfo {
  std::string_view name; // the enumerator
  std::string_view mnemonic;
  std::int32_t fewestOperands;
  std::int32_t mostOperands;
  std::int32_t results; // kMany: as the op's own types say
  std::int32_t regions;
  Effect effect;
  Domain domain;
  TypeRule typeRule;
  std::string_view attributes;
  std::string_view meaning;
};

const OpInfo &info(OpKind kind);
std::optional<OpKind> opNamed(std::string_view mnemonic);
llvm::ArrayRef<OpKind> allOpKinds();
/// Computes each element of its result from the same element of its operands alone: arithmetic,
/// comparisons, select.
bool isElementwise(OpKind kind);
/// A quotient, a remainder, a root: a loop, or an instruction that takes as long as many others.
constexpr bool isDivision(OpKind kind) {
  bool is = false;
#define IMBREX_OP(...)
#define IMBREX_ELEMENTWISE(...)
#define IMBREX_DIVISION(Kind, ...) is |= kind == OpKind::Kind;
#include "backend/ir/ops.def"
  return is;
}
/// From which stage on a kernel may have it: what is not for authors, passes make.
Stage firstStage(OpKind kind);
/// The ops that fill slots of shared memory, wait for them or take them, as an enumeration of their
/// own: whoever reads a kernel's synchronisation says of each what it is.
enum class SyncOp : std::uint8_t {
#define IMBREX_OP(...)
#define IMBREX_SYNC(Kind, ...) Kind,
#include "backend/ir/ops.def"
};
constexpr std::optional<SyncOp> syncOp(OpKind kind) {
#define IMBREX_OP(...)
#define IMBREX_SYNC(Kind, ...)                                                                     \
  if (kind == OpKind::Kind) return SyncOp::Kind;
#include "backend/ir/ops.def"
  return std::nullopt;
}
/// The attributes of a new op of this kind: the right struct, every field at its default.
Attributes defaultAttributes(OpKind kind);

using ValueId = Id<struct ValueTag>;

struct Op;

/// A body: arguments, then ops in order. A loop's or an if's body ends in yield; so does a combine
/// region. A kernel's body ends with its last op.
struct Block {
  std::vector<ValueId> arguments;
  std::vector<std::unique_ptr<Op>> ops;
};

/// One operation. Its address is stable for its life, so analyses may hold `const Op *`.
struct Op {
  OpKind kind;
  llvm::SmallVector<ValueId, 4> operands;
  llvm::SmallVector<ValueId, 2> results;
  Attributes attributes;
  std::vector<Block> regions;
  Location where;

  template <class T>
  const T &attrs() const {
    return std::get<T>(attributes);
  }
  template <class T>
  T &attrs() {
    return std::get<T>(attributes);
  }
  ValueId operand(size_t i) const { return operands[i]; }
  ValueId result(size_t i = 0) const { return results[i]; }
};

/// Whether it gives what is in global memory, and does nothing else.
inline bool isLoad(const Op &op) { return op.kind == OpKind::Load || op.kind == OpKind::ViewLoad; }

} // namespace imbrex::ir
