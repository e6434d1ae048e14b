#include "backend/emulate/rewrite/rewrite_calls.h"
#include "backend/emulate/rewrite/words.h"
#include "llvm/IR/IntrinsicsAMDGPU.h"
#include "llvm/TargetParser/TargetParser.h"

#include <algorithm>

namespace imbrex::emulate {
namespace {

using llvm::CallInst;
using llvm::Value;

/// Whether the cache policy asks for a swizzled buffer (LLVM 22, IntrinsicsAMDGPU.td).
bool isSwizzled(const Rewriting &rewriting, const CallInst &call) {
  const bool isGfx12 = llvm::AMDGPU::getIsaVersion(rewriting.machine.cpu).Major >= 12;
  const auto *policy = llvm::cast<llvm::ConstantInt>(call.getArgOperand(call.arg_size() - 1));
  return (policy->getZExtValue() & (isGfx12 ? 1u << 6 : 1u << 3)) != 0;
}

/// Operands: what is stored, if anything; the buffer, its offset, the scalar offset, the policy.
template <AccessMode mode>
Value *rewriteAccess(MachineCall &c) {
  const bool stores = mode == AccessMode::Write;
  const unsigned first = stores ? 1 : 0;
  llvm::Type *type = stores ? c.operand(0)->getType() : c.call.getType();
  AccessSite facts;
  facts.mode = mode;
  facts.space = Space::Global;
  facts.bytes = static_cast<std::uint32_t>(
      c.rewriting.module.getDataLayout().getTypeStoreSize(type).getFixedValue());
  facts.alignment = std::min(facts.bytes, 4u);
  if (isSwizzled(c.rewriting, c.call) || facts.bytes > 16) return nullptr;
  Words words(c.rewriting, c.b);
  if (stores) words.store(c.operand(0), 0);
  Value *done = createCall(c.b, stores ? calls::storeBuffer : calls::loadBuffer,
                           {c.site(stores ? "store to a buffer" : "load from a buffer", facts),
                            c.word(first), c.operand(first + 1), c.operand(first + 2)});
  return stores ? done : words.load(type, 0);
}

} // namespace

RewriteTable bufferRewrites() {
  return {{llvm::Intrinsic::amdgcn_raw_ptr_buffer_load, rewriteAccess<AccessMode::Read>},
          {llvm::Intrinsic::amdgcn_raw_ptr_buffer_store, rewriteAccess<AccessMode::Write>}};
}

KindsOfCalls bufferKinds() {
  return {{llvm::Intrinsic::amdgcn_raw_ptr_buffer_load, InstructionKind::GlobalLoad},
          {llvm::Intrinsic::amdgcn_raw_ptr_buffer_store, InstructionKind::GlobalStore}};
}

} // namespace imbrex::emulate
