#include "backend/package/archive/launch_program.h"

#include "backend/ir/requirement.h"
#include "backend/lower/values/arithmetic.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/STLExtras.h"

namespace imbrex::archive {
namespace {

/// Where the words of each parameter begin (host::argumentWords).
std::vector<std::int64_t> firstWords(const ir::Kernel &kernel) {
  std::vector<std::int64_t> first;
  std::int64_t next = 0;
  for (std::size_t i = 0; i < kernel.parameterCount(); ++i) {
    first.push_back(next);
    const ir::Type &type = kernel.type(kernel.body().arguments[i]);
    next += 1 + (type.isView() ? 2 * type.rank() : 0);
  }
  return first;
}

/// The scalars that a launch knows, by the arithmetic that all targets share.
class ScalarEmitter {
public:
  ScalarEmitter(llvm::IRBuilder<> &builder, const ir::Kernel &kernel, llvm::Value *words)
      : builder_(builder), kernel_(kernel), words_(words), first_(firstWords(kernel)) {
    for (std::size_t i = 0; i < kernel.parameterCount(); ++i) {
      const ir::ValueId parameter = kernel.body().arguments[i];
      if (kernel.type(parameter).isScalar())
        values_[parameter.index()] = fromBits(word(first_[i]), kernel.type(parameter));
    }
    // In the kernel's order operands come before what uses them.
    ir::walk(kernel.body(), [&](const ir::Op &op) {
      if (op.results.size() != 1 || ir::unknownToLaunch(kernel_, op.result()) != nullptr) return;
      values_[op.result().index()] = emit(op);
    });
  }

  llvm::Value *valueOf(ir::ValueId value) const { return values_.lookup(value.index()); }

private:
  llvm::Value *word(std::int64_t number) {
    llvm::Type *i64 = builder_.getInt64Ty();
    return builder_.CreateLoad(
        i64, builder_.CreateConstGEP1_64(i64, words_, static_cast<std::uint64_t>(number)));
  }

  llvm::Value *fromBits(llvm::Value *bits, const ir::Type &type) {
    llvm::Type *lane = lower::laneType(builder_.getContext(), type);
    if (lane->isIntegerTy()) return builder_.CreateTrunc(bits, lane);
    return builder_.CreateBitCast(
        builder_.CreateTrunc(bits, builder_.getIntNTy(lane->getScalarSizeInBits())), lane);
  }

  llvm::Value *emit(const ir::Op &op) {
    const ir::Type &type = kernel_.type(op.result());
    llvm::Type *lane = lower::laneType(builder_.getContext(), type);
    if (op.kind == ir::OpKind::Constant)
      return lower::splatBits(lane, op.attrs<ir::ConstantAttrs>().bits);
    if (op.kind == ir::OpKind::ViewExtent || op.kind == ir::OpKind::ViewStride) {
      const std::size_t parameter = kernel_.parameterNumber(op.operand(0));
      const std::int64_t rank = kernel_.type(op.operand(0)).rank();
      const std::int64_t behind = op.kind == ir::OpKind::ViewStride ? 1 + rank : 1;
      return builder_.CreateIntCast(
          word(first_[parameter] + behind + op.attrs<ir::AxisAttrs>().axis), lane,
          /*isSigned=*/true);
    }
    llvm::SmallVector<llvm::Value *, 3> operands;
    for (const ir::ValueId operand : op.operands) operands.push_back(valueOf(operand));
    if (op.kind == ir::OpKind::Bitcast) return builder_.CreateBitCast(operands[0], lane);
    const ir::ElementKind from = kernel_.type(op.operands.back()).element();
    if (op.kind == ir::OpKind::Cast)
      return lower::emitCast(builder_, from, type.element(), op.attrs<ir::CastAttrs>().rounding,
                             operands[0], {});
    return lower::emitElementwise(builder_, op.kind, from, operands, {});
  }

  llvm::IRBuilder<> &builder_;
  const ir::Kernel &kernel_;
  llvm::Value *words_;
  std::vector<std::int64_t> first_;
  llvm::DenseMap<std::uint32_t, llvm::Value *> values_;
};

} // namespace

std::vector<RequiredPart> requiredBy(const ir::Kernel &kernel) {
  std::vector<RequiredPart> parts;
  for (const ir::Op *op : ir::requirementsOf(kernel))
    for (const ir::ValueId condition : ir::conjunctsOf(kernel, op->operand(0)))
      parts.push_back({.condition = condition,
                       .written = ir::writtenOut(kernel, condition),
                       .text = op->attrs<ir::TextAttrs>().text});
  return parts;
}

llvm::Function *emitCheck(llvm::Module &module, const std::string &name, const ir::Kernel &kernel,
                          const std::vector<RequiredPart> &required) {
  llvm::LLVMContext &context = module.getContext();
  auto *i32 = llvm::Type::getInt32Ty(context);
  auto *function = llvm::Function::Create(
      llvm::FunctionType::get(i32, {llvm::PointerType::getUnqual(context)}, false),
      llvm::Function::InternalLinkage, name, module);
  llvm::IRBuilder<> builder(llvm::BasicBlock::Create(context, "", function));
  const ScalarEmitter scalars(builder, kernel, function->getArg(0));
  llvm::Value *unmet = builder.getInt32(static_cast<std::uint32_t>(-1));
  for (std::size_t i = required.size(); i-- > 0;)
    unmet = builder.CreateSelect(scalars.valueOf(required[i].condition), unmet,
                                 builder.getInt32(static_cast<std::uint32_t>(i)));
  builder.CreateRet(unmet);
  return function;
}

} // namespace imbrex::archive
