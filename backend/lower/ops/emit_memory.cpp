#include "backend/lower/memory/global_access.h"
#include "backend/lower/ops/emit_ops.h"
#include "backend/lower/values/arithmetic.h"

/// Loads and stores through pointers.
namespace imbrex::lower {

using ir::ValueId;
using llvm::Value;

namespace {

/// The address and the mask of an access whose first element is in register `r`.
GlobalAccess accessAt(Emitter &e, const ir::Op &op, std::optional<std::size_t> maskOperand,
                      std::size_t r, std::size_t width) {
  const ir::Type &pointers = e.type(op.operand(0));
  Value *inside = nullptr;
  if (pointers.rank() > 0) inside = e.isInside(e.layoutOf(op.operand(0)), pointers.shape(), r);
  Value *mask = maskOperand ? e.registers(op.operand(*maskOperand))[r] : nullptr;
  const std::int64_t bytes = ir::storageBits(pointers.element()) / 8;
  return {.address = e.registers(op.operand(0))[r],
          .mask = e.allOf({inside, mask, e.loadsIf()}),
          .alignment = bytes * static_cast<std::int64_t>(width)};
}

std::optional<std::size_t> operandAt(const ir::Op &op, std::size_t i) {
  return i < op.operands.size() ? std::optional(i) : std::nullopt;
}

} // namespace

void emitTablePointer(Emitter &e, const ir::Op &op) {
  const ViewValues &table = e.view(op.operand(0));
  const ir::ElementKind kind = e.type(op.operand(1)).element();
  Value *index = emitCast(e.b, kind, ir::ElementKind::I64, {}, e.scalar(op.operand(1)), e.natives);
  llvm::Type *pointer = llvm::PointerType::get(e.context, e.words.globalSpace());
  auto *load = llvm::cast<llvm::Instruction>(tablePointer(e.b, table, index, pointer));
  // Before a programmatic launch has waited, the one in front of it may write the table.
  if (e.kernel.attributes().programmatic)
    load->setMetadata(llvm::LLVMContext::MD_invariant_load, nullptr);
  e.define(op.result(), {load});
}

void emitLoad(Emitter &e, const ir::Op &op) {
  const ir::Type &type = e.type(op.result());
  const layout::RegisterVectors vectors = e.accessVectors(op, op.operand(0));
  const auto width = static_cast<std::size_t>(vectors.width);
  const bool isUnseen = e.unseenPadding.contains(op) && !e.loadsIf();
  Registers results(e.registerCount(op.result()));
  for (const llvm::ArrayRef<std::int32_t> vector : vectors.each()) {
    Registers others;
    if (isUnseen)
      others.assign(width, llvm::PoisonValue::get(e.laneType(type)));
    else if (const auto other = operandAt(op, 2))
      others = picked(e.registers(op.operand(*other)), vector);
    const GlobalAccess access =
        accessAt(e, op, operandAt(op, 1), static_cast<std::size_t>(vector[0]), width);
    const Registers read =
        emitRead(e, type, access, width, others, hintsOf(op.attrs<ir::MemoryAttrs>()));
    for (std::size_t i = 0; i < width; ++i) results[static_cast<std::size_t>(vector[i])] = read[i];
  }
  e.define(op.result(), std::move(results));
}

void emitStore(Emitter &e, const ir::Op &op) {
  const ValueId values = op.operand(1);
  const layout::RegisterVectors vectors = e.accessVectors(op, op.operand(0));
  Value *const owner = e.isOwner(op.operand(0));
  for (const llvm::ArrayRef<std::int32_t> vector : vectors.each()) {
    GlobalAccess access =
        accessAt(e, op, operandAt(op, 2), static_cast<std::size_t>(vector[0]), vector.size());
    access.mask = e.allOf({owner, access.mask});
    emitWrite(e, e.type(values), access, picked(e.registers(values), vector),
              hintsOf(op.attrs<ir::MemoryAttrs>()));
  }
}

} // namespace imbrex::lower
