#pragma once

#include "backend/ir/kernel.h"
#include "backend/passes/rules/match.h"

#include <memory>

namespace imbrex::passes::rules {

/// Puts ops into a block in their simplest known form: what a rule or constant folding can say
/// better never gets there.
class Rewriter {
public:
  explicit Rewriter(ir::Kernel &kernel) : kernel_(&kernel) {}

  ir::Kernel &kernel() const { return *kernel_; }
  const ir::Type &type(ir::ValueId value) const { return kernel_->type(value); }
  /// The op that defines a value if it is of this kind, else null.
  const ir::Op *definition(ir::ValueId value, ir::OpKind kind) const;

  void writeTo(ir::Block &block) { block_ = &block; }
  void setLocation(Location where) { where_ = where; }

  /// The value that the op's only result is, after what simpler ops it took are in the block. The
  /// op itself is freed where it is not one of them.
  ir::ValueId place(std::unique_ptr<ir::Op> op);
  ir::ValueId create(ir::OpKind kind, llvm::ArrayRef<ir::ValueId> operands, const ir::Type &result,
                     ir::Attributes attributes);
  ir::ValueId create(ir::OpKind kind, llvm::ArrayRef<ir::ValueId> operands,
                     const ir::Type &result) {
    return create(kind, operands, result, ir::defaultAttributes(kind));
  }
  ir::ValueId constant(const ir::Type &type, std::uint64_t bits) {
    return create(ir::OpKind::Constant, {}, type, ir::ConstantAttrs{bits});
  }

private:
  ir::ValueId simpler(ir::Op &op);
  ir::ValueId build(const Rule &rule, Bindings &bindings, const ir::Op &root);

  ir::Kernel *kernel_;
  ir::Block *block_ = nullptr;
  Location where_;
};

/// A law about shapes, or about any op of a family: code, where a pattern does not reach.
struct ShapeRule {
  std::string_view law;
  bool (*concerns)(ir::OpKind root);
  /// The value that the root is equal to, after `rewriter` wrote what it takes; invalid where the
  /// law says nothing.
  ir::ValueId (*apply)(Rewriter &rewriter, const ir::Op &root);
};
llvm::ArrayRef<ShapeRule> shape();

} // namespace imbrex::passes::rules
