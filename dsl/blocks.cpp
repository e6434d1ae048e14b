#include "imbrex/blocks.hpp"

#include "backend/ir/kernel.h"
#include "dsl/recorder.h"
#include "dsl/traced_kernel.h"

namespace imbrex::detail {
namespace {

/// What a launch can do by itself: compute, and write to the view behind the kernel's parameters.
bool isKnownToLaunch(const ir::Kernel &blocks, const ir::Op &op) {
  if (op.kind == ir::OpKind::ViewStore) return op.operand(0) == blocks.body().arguments.back();
  const bool isOfBlock = op.kind == ir::OpKind::ProgramId || op.kind == ir::OpKind::NumPrograms;
  return ir::info(op.kind).effect == ir::Effect::Pure && op.regions.empty() && !isOfBlock &&
         op.kind != ir::OpKind::Require;
}

} // namespace

result<std::optional<traced_kernel>> checked_blocks(traced_kernel blocks, std::string_view kernel) {
  const ir::Kernel &recorded = irOf(blocks);
  const ir::Op *unknown = ir::firstOp(
      recorded.body(), [&](const ir::Op &op) { return !isKnownToLaunch(recorded, op); });
  if (unknown == nullptr) return std::optional(std::move(blocks));
  return dsl::toError(
      diagnostic(Diag::BlocksUnknown, unknown->where, kernel, ir::info(unknown->kind).mnemonic));
}

} // namespace imbrex::detail
