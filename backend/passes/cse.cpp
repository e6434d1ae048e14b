#include "backend/passes/cse.h"

#include "backend/analysis/algebra.h"
#include "backend/analysis/effects.h"
#include "backend/passes/rewriting.h"
#include "llvm/ADT/Hashing.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/ScopedHashTable.h"

namespace imbrex::passes {
namespace {

using namespace ir;

/// What an op computes: two ops with equal computations give equal values.
struct Computation {
  const Kernel *kernel = nullptr;
  const Op *op = nullptr;
  std::uint64_t memory = 0; // which state of memory it sees; 0: it reads none
  unsigned hash = 0;
};

template <class T>
llvm::hash_code hashField(const T &field) {
  if constexpr (requires { field.begin(); })
    return llvm::hash_combine_range(field.begin(), field.end());
  else
    return llvm::hash_value(field);
}

llvm::hash_code hashAttributes(const Attributes &attributes) {
  llvm::hash_code hash = llvm::hash_value(attributes.index());
  std::visit(
      [&](const auto &attrs) {
        // `visit` serves the parser, too, and is not const; here the fields are only read.
        using Attrs = std::remove_cvref_t<decltype(attrs)>;
        const_cast<Attrs &>(attrs).visit([&](std::string_view, const auto &field) {
          hash = llvm::hash_combine(hash, hashField(field));
        });
      },
      attributes);
  return hash;
}

unsigned hashOf(const Op &op, std::uint64_t memory) {
  llvm::hash_code operands = llvm::hash_value(op.operands.size());
  for (const ValueId operand : op.operands)
    operands = analysis::isCommutative(op.kind) ? llvm::hash_code(operands + operand.index())
                                                : llvm::hash_combine(operands, operand.index());
  return static_cast<unsigned>(
      llvm::hash_combine(op.kind, memory, operands, hashAttributes(op.attributes)));
}

bool sameOperands(const Op &a, const Op &b) {
  if (a.operands == b.operands) return true;
  return analysis::isCommutative(a.kind) && a.operand(0) == b.operand(1) &&
         a.operand(1) == b.operand(0);
}

bool sameResults(const Kernel &kernel, const Op &a, const Op &b) {
  return llvm::equal(a.results, b.results, [&](ValueId x, ValueId y) {
    return kernel.type(x) == kernel.type(y) && kernel.layoutOf(x) == kernel.layoutOf(y);
  });
}

} // namespace
} // namespace imbrex::passes

template <>
struct llvm::DenseMapInfo<imbrex::passes::Computation> {
  using Computation = imbrex::passes::Computation;
  static Computation getEmptyKey() { return {}; }
  static Computation getTombstoneKey() { return {nullptr, nullptr, 1, 0}; }
  static unsigned getHashValue(const Computation &c) { return c.hash; }
  static bool isEqual(const Computation &a, const Computation &b) {
    if (a.op == b.op || !a.op || !b.op) return a.op == b.op && a.memory == b.memory;
    return a.hash == b.hash && a.op->kind == b.op->kind && a.memory == b.memory &&
           imbrex::passes::sameOperands(*a.op, *b.op) && a.op->attributes == b.op->attributes &&
           imbrex::passes::sameResults(*a.kernel, *a.op, *b.op);
  }
};

namespace imbrex::passes {
namespace {

class Merger {
public:
  Merger(Kernel &kernel, Replacements &replaced, std::uint64_t &states)
      : kernel_(&kernel), replaced_(&replaced), states_(&states) {}

  void merge(Block &block) {
    const Table::ScopeTy scope(known_);
    const std::uint64_t outer = std::exchange(memory_, ++*states_);
    llvm::erase_if(block.ops, [&](const std::unique_ptr<Op> &op) {
      replaced_->applyTo(*op);
      if (!op->regions.empty()) {
        mergeRegions(*op);
        return false;
      }
      return isKnown(*op);
    });
    memory_ = outer;
  }

private:
  using Table = llvm::ScopedHashTable<Computation, const Op *>;

  void mergeRegions(Op &op) {
    for (Block &region : op.regions) {
      if (analysis::hasCombineRegion(op))
        Merger(*kernel_, *replaced_, *states_).merge(region);
      else
        merge(region);
    }
    if (analysis::effectsOf(op).writes) memory_ = ++*states_;
  }

  /// Whether an op before computed the same, and now stands for it; if not, this one may later.
  bool isKnown(Op &op) {
    const Effect effect = info(op.kind).effect;
    if (effect == Effect::Write || effect == Effect::Atomic) memory_ = ++*states_;
    if (effect != Effect::Pure && effect != Effect::Read) return false;

    const std::uint64_t memory = effect == Effect::Read ? memory_ : 0;
    const Computation computation{kernel_, &op, memory, hashOf(op, memory)};
    const Op *before = known_.lookup(computation);
    if (!before) {
      known_.insert(computation, &op);
      return false;
    }
    for (size_t i = 0; i < op.results.size(); ++i)
      replaced_->replace(op.result(i), before->result(i));
    forget(*kernel_, op);
    return true;
  }

  Kernel *kernel_;
  Replacements *replaced_;
  std::uint64_t *states_; // of memory that were seen so far
  std::uint64_t memory_ = 0;
  Table known_;
};

} // namespace

void mergeCommonValues(Kernel &kernel, const PassContext &) {
  Replacements replaced;
  std::uint64_t states = 0;
  Merger(kernel, replaced, states).merge(kernel.body());
}

} // namespace imbrex::passes
