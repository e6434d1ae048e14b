#include "backend/passes/load_bytes.h"

#include "backend/ir/builder.h"
#include "backend/passes/rewriting.h"
#include "llvm/ADT/STLExtras.h"

#include <map>
#include <utility>
#include <vector>

namespace imbrex::passes {
namespace {

using namespace ir;

bool hasPairs(const Type &type) {
  return type.isTile() && type.rank() > 0 && type.element() == ElementKind::F4E2M1 &&
         type.shape()[type.rank() - 1] % 2 == 0;
}

Shape ofPairs(const Shape &shape) {
  const std::int32_t last = shape.rank() - 1;
  return shape.withAxis(last, shape[last] / 2);
}

class ByteLoader {
public:
  ByteLoader(Kernel &kernel, const PassContext &context) : kernel_(kernel), context_(context) {
    walk(kernel.body(), [&](Op &op) {
      for (const ValueId operand : op.operands) users_[operand].push_back(&op);
    });
  }

  void run() {
    std::vector<Op *> loads;
    walk(kernel_.body(), [&](Op &op) {
      if (op.kind == OpKind::ViewLoad && canLoad(op) && wantsBytes(op.result()))
        loads.push_back(&op);
    });
    if (loads.empty()) return;
    for (Op *load : loads) rewrite(*load);
    dropReplaced(kernel_.body());
    Block &body = kernel_.body();
    std::move(views_.begin(), views_.end(), std::inserter(body.ops, body.ops.begin()));
  }

private:
  /// Whether the bytes of its box are whole bytes of memory, and zero outside of the view.
  bool canLoad(const Op &load) const {
    if (!hasPairs(kernel_.type(load.result()))) return false;
    const auto &attrs = load.attrs<ViewAttrs>();
    const auto assumed = context_.assumptions.of(kernel_, load.operand(0));
    return attrs.unit == BoxUnit::Tiles && attrs.padding == Padding::Zero &&
           assumed.hasUnitStride && assumed.sharedRowBytes > 0;
  }

  bool isToBytes(const Op &op) const {
    return op.kind == OpKind::Bitcast && kernel_.type(op.result()).element() == ElementKind::U8;
  }

  bool wantsBytes(ValueId nibbles) const {
    const auto users = users_.find(nibbles);
    return users != users_.end() && llvm::all_of(users->second, [&](const Op *op) {
             if (isToBytes(*op)) return true;
             const bool isRow = op->kind == OpKind::Reshape &&
                                hasPairs(kernel_.type(op->result())) &&
                                kernel_.type(op->result()).rank() == 1;
             return isRow && wantsBytes(op->result());
           });
  }

  /// In place: a reshape of nibbles becomes one of bytes, and bitcasts are gone.
  void rewrite(Op &op) {
    const ValueId nibbles = op.result();
    if (op.kind == OpKind::ViewLoad) op.operands[0] = bytesOf(op.operand(0));
    const Shape shape = ofPairs(kernel_.type(nibbles).shape());
    op.results.clear();
    kernel_.addResults(op, {Type::tile(ElementKind::U8, shape)});
    kernel_.setDefinition(nibbles, nullptr);
    for (Op *user : users_.at(nibbles)) {
      llvm::replace(user->operands, nibbles, op.result());
      if (user->kind == OpKind::Reshape)
        rewrite(*user);
      else
        replaced_.replace(user->result(), op.result());
    }
  }

  ValueId bytesOf(ValueId view) {
    const auto [found, isNew] = bytes_.try_emplace(view);
    if (!isNew) return found->second;
    const Type &type = kernel_.type(view);
    views_.push_back(makeOp(kernel_, OpKind::ViewBytes, view,
                            Type::view(ElementKind::U8, type.rank(), type.isConst()), NoneAttrs{},
                            kernel_.where()));
    return found->second = views_.back()->result();
  }

  void dropReplaced(Block &block) {
    llvm::erase_if(block.ops, [&](const std::unique_ptr<Op> &op) {
      if (!op->results.empty() && replaced_[op->result(0)] != op->result(0)) {
        forget(kernel_, *op);
        return true;
      }
      replaced_.applyTo(*op);
      for (Block &region : op->regions) dropReplaced(region);
      return false;
    });
  }

  Kernel &kernel_;
  const PassContext &context_;
  std::map<ValueId, std::vector<Op *>> users_;
  std::map<ValueId, ValueId> bytes_; // of views
  std::vector<std::unique_ptr<Op>> views_;
  Replacements replaced_;
};

} // namespace

void loadBytes(Kernel &kernel, const PassContext &context) { ByteLoader(kernel, context).run(); }

} // namespace imbrex::passes
