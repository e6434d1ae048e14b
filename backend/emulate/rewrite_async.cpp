#include "backend/emulate/calls.h"
#include "backend/emulate/rewrite_calls.h"
#include "llvm/IR/IntrinsicsNVPTX.h"

namespace imbrex::emulate {
namespace {

using llvm::CallInst;
using llvm::Value;
using Builder = llvm::IRBuilder<>;

/// The accesses of a copy of so many bytes, which must be aligned to their number (PTX ISA 9.0,
/// 9.7.9.25.3.1, "cp.async").
CopySite copySite(const Rewriting &rewriting, const CallInst &call, std::uint32_t bytes) {
  CopySite facts;
  facts.from.bytes = facts.to.bytes = bytes;
  facts.from.alignment = facts.to.alignment = bytes;
  facts.from.space = Space::Global;
  facts.from.parameter = parameterBehind(rewriting, call.getArgOperand(1));
  facts.to.space = Space::Shared;
  facts.to.manner = Manner::Write;
  return facts;
}

/// `taken`: the operand that says how many bytes are read; -1: all.
bool startCopy(Rewriting &rewriting, Builder &b, CallInst &call, std::uint32_t bytes, int taken) {
  Value *count = taken < 0 ? b.getInt32(bytes) : call.getArgOperand(static_cast<unsigned>(taken));
  createCall(b, calls::startCopy,
             {addSite(rewriting, call, nameOf(call), copySite(rewriting, call, bytes)),
              toWord(rewriting, b, call.getArgOperand(0)),
              toWord(rewriting, b, call.getArgOperand(1)), count});
  return true;
}

bool commit(Builder &b) {
  createCall(b, calls::commitCopies, {});
  return true;
}

bool await(Rewriting &rewriting, Builder &b, CallInst &call, Value *groups) {
  createCall(b, calls::awaitCopies,
             {addSite(rewriting, call, nameOf(call), ControlSite{}), groups});
  return true;
}

} // namespace

RewriteTable asyncRewrites() {
  return {
#define IMBREX_COPY_CALL(intrinsic, bytes, taken)                                                  \
  {llvm::Intrinsic::intrinsic,                                                                     \
   [](Rewriting &r, Builder &b, CallInst &c) { return startCopy(r, b, c, bytes, taken); }},
#define IMBREX_COMMIT_CALL(intrinsic)                                                              \
  {llvm::Intrinsic::intrinsic, [](Rewriting &, Builder &b, CallInst &) { return commit(b); }},
#define IMBREX_AWAIT_CALL(intrinsic, groups)                                                       \
  {llvm::Intrinsic::intrinsic, [](Rewriting &r, Builder &b, CallInst &c) {                         \
     return await(r, b, c, toWord(r, b, c.getArgOperand(groups)));                                 \
   }},
#define IMBREX_AWAIT_ALL_CALL(intrinsic)                                                           \
  {llvm::Intrinsic::intrinsic, [](Rewriting &r, Builder &b, CallInst &c) {                         \
     return commit(b) && await(r, b, c, b.getInt64(0));                                            \
   }},
#include "backend/emulate/async_calls.def"
  };
}

} // namespace imbrex::emulate
