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
bool rewriteAccess(Rewriting &rewriting, Builder &b, CallInst &call, AccessMode mode) {
  const bool stores = mode == AccessMode::Write;
  const unsigned first = stores ? 1 : 0;
  llvm::Type *type = stores ? call.getArgOperand(0)->getType() : call.getType();
  AccessSite facts;
  facts.mode = mode;
  facts.space = Space::Global;
  facts.bytes = static_cast<std::uint32_t>(
      rewriting.module.getDataLayout().getTypeStoreSize(type).getFixedValue());
  facts.alignment = std::min(facts.bytes, 4u);
  if (isSwizzled(rewriting, call) || facts.bytes > 16) return false;
  Words words(rewriting, b);
  if (stores) words.store(call.getArgOperand(0), 0);
  createCall(b, stores ? calls::storeBuffer : calls::loadBuffer,
             {addSite(rewriting, call, stores ? "store to a buffer" : "load from a buffer", facts),
              toWord(rewriting, b, call.getArgOperand(first)), call.getArgOperand(first + 1),
              call.getArgOperand(first + 2)});
  if (!stores) replaceBy(call, words.load(type, 0));
  return true;
}

} // namespace

RewriteTable bufferRewrites() {
  return {{llvm::Intrinsic::amdgcn_raw_ptr_buffer_load,
           [](Rewriting &r, Builder &b, CallInst &c) {
             return rewriteAccess(r, b, c, AccessMode::Read);
           }},
          {llvm::Intrinsic::amdgcn_raw_ptr_buffer_store, [](Rewriting &r, Builder &b, CallInst &c) {
             return rewriteAccess(r, b, c, AccessMode::Write);
           }}};
}

KindsOfCalls bufferKinds() {
  return {{llvm::Intrinsic::amdgcn_raw_ptr_buffer_load, InstructionKind::GlobalLoad},
          {llvm::Intrinsic::amdgcn_raw_ptr_buffer_store, InstructionKind::GlobalStore}};
}

} // namespace imbrex::emulate
