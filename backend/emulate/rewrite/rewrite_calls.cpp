#include "backend/emulate/rewrite/rewrite_calls.h"

#include "backend/emulate/rewrite/rewrite_math.h"
#include "backend/emulate/run/calls.h"
#include "backend/support/lifetime.h"
#include "llvm/IR/InlineAsm.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/IntrinsicsAMDGPU.h"
#include "llvm/IR/IntrinsicsNVPTX.h"

namespace imbrex::emulate {

using llvm::CallInst;
using llvm::Value;

// --- values as 64-bit words ---

namespace {

std::uint64_t bitsOf(const Rewriting &rewriting, llvm::Type *type) {
  return rewriting.module.getDataLayout().getTypeSizeInBits(type);
}

} // namespace

Value *toWord(const Rewriting &rewriting, Builder &b, Value *value) {
  if (value->getType()->isPointerTy()) return b.CreatePtrToInt(value, b.getInt64Ty());
  const auto bits = static_cast<unsigned>(bitsOf(rewriting, value->getType()));
  return b.CreateZExt(b.CreateBitCast(value, b.getIntNTy(bits)), b.getInt64Ty());
}

std::string nameOf(const CallInst &call) { return call.getCalledFunction()->getName().str(); }

void replaceBy(CallInst &call, Value *value) {
  if (!call.getType()->isVoidTy()) call.replaceAllUsesWith(value);
}

namespace {

Value *fromWord(const Rewriting &rewriting, Builder &b, Value *word, llvm::Type *type) {
  if (type->isPointerTy()) return b.CreateIntToPtr(word, type);
  const auto bits = static_cast<unsigned>(bitsOf(rewriting, type));
  return b.CreateBitCast(b.CreateTrunc(word, b.getIntNTy(bits)), type);
}

bool fitsWord(const Rewriting &rewriting, llvm::Type *type) {
  if (auto *structure = llvm::dyn_cast<llvm::StructType>(type))
    return llvm::all_of(structure->elements(),
                        [&](llvm::Type *t) { return fitsWord(rewriting, t); });
  return type->isVoidTy() || bitsOf(rewriting, type) <= 64;
}

// --- each kind of call ---

bool readRegister(Builder &b, CallInst &call, Register which) {
  Value *value = createCall(b, calls::readRegister, {b.getInt32(static_cast<unsigned>(which))});
  replaceBy(call, b.CreateZExtOrTrunc(value, call.getType()));
  return true;
}

/// LLVM's swizzle patterns from here on rotate within 32 lanes, or reverse bits of lane numbers.
constexpr std::uint64_t kFirstOtherSwizzle = 0xc000;

bool meetWarp(Rewriting &rewriting, Builder &b, CallInst &call, WarpSite facts) {
  if (!fitsWord(rewriting, call.getType()) || call.arg_size() > kMostOperands) return false;
  if (facts.operation == WarpOperation::Swizzle &&
      llvm::cast<llvm::ConstantInt>(call.getArgOperand(1))->getZExtValue() >= kFirstOtherSwizzle)
    return false;
  std::vector<Value *> words{addSite(rewriting, call, nameOf(call), facts)};
  for (Value *argument : call.args()) {
    if (!fitsWord(rewriting, argument->getType())) return false;
    words.push_back(toWord(rewriting, b, argument));
  }
  words.resize(1 + kMostOperands, b.getInt64(0));
  Value *first = createCall(b, calls::meetWarp, words);
  auto *pair = llvm::dyn_cast<llvm::StructType>(call.getType());
  if (pair == nullptr) {
    if (!call.getType()->isVoidTy()) replaceBy(call, fromWord(rewriting, b, first, call.getType()));
    return true;
  }
  Value *second = createCall(b, calls::secondResult, {});
  Value *both = llvm::PoisonValue::get(pair);
  both = b.CreateInsertValue(both, fromWord(rewriting, b, first, pair->getElementType(0)), 0);
  both = b.CreateInsertValue(both, fromWord(rewriting, b, second, pair->getElementType(1)), 1);
  replaceBy(call, both);
  return true;
}

/// Which operands of a barrier say its number and how many threads it counts; -1: none.
struct BarrierOperands {
  int number, count;
};

bool meetBarrier(Rewriting &rewriting, Builder &b, CallInst &call, const BarrierSite &facts,
                 BarrierOperands at) {
  const auto operand = [&](int index) -> Value * {
    if (index < 0) return b.getInt64(0);
    return toWord(rewriting, b, call.getArgOperand(static_cast<unsigned>(index)));
  };
  createCall(
      b, calls::meetBarrier,
      {addSite(rewriting, call, nameOf(call), facts), operand(at.number), operand(at.count)});
  return true;
}

bool fence(Rewriting &rewriting, Builder &b, CallInst &call, MemoryScope scope) {
  createCall(b, calls::fence,
             {addSite(rewriting, call, nameOf(call), FenceSite{scope, true, true})});
  return true;
}

bool trap(Rewriting &rewriting, Builder &b, CallInst &call) {
  createCall(b, calls::trap, {addSite(rewriting, call, nameOf(call), ControlSite{})});
  return true;
}

template <class Function>
bool giveCall(Builder &b, CallInst &call, Function *function) {
  const std::vector<Value *> arguments(call.arg_begin(), call.arg_end());
  Value *value = createCall(b, function, arguments);
  if (call.getType()->isPointerTy()) value = b.CreateAddrSpaceCast(value, call.getType());
  replaceBy(call, value);
  return true;
}

// --- the tables as one ---

namespace machine_columns {
constexpr bool Block = true, Named = false;
constexpr bool Ordered = true, Unordered = false;
} // namespace machine_columns

RewriteTable machineRewrites() {
  using namespace machine_columns;
  return {
#define IMBREX_REGISTER_CALL(intrinsic, which)                                                     \
  {llvm::Intrinsic::intrinsic,                                                                     \
   [](Rewriting &, Builder &b, CallInst &c) { return readRegister(b, c, Register::which); }},
#define IMBREX_BARRIER_CALL(intrinsic, action, scope, memory, number, count)                       \
  {llvm::Intrinsic::intrinsic, [](Rewriting &r, Builder &b, CallInst &c) {                         \
     return meetBarrier(r, b, c, {BarrierAction::action, scope, memory}, {number, count});         \
   }},
#define IMBREX_FENCE_CALL(intrinsic, scope)                                                        \
  {llvm::Intrinsic::intrinsic,                                                                     \
   [](Rewriting &r, Builder &b, CallInst &c) { return fence(r, b, c, MemoryScope::scope); }},
#define IMBREX_HINT_CALL(intrinsic)                                                                \
  {llvm::Intrinsic::intrinsic, [](Rewriting &, Builder &, CallInst &) { return true; }},
#define IMBREX_TRAP_CALL(intrinsic) {llvm::Intrinsic::intrinsic, trap},
#include "backend/emulate/rewrite/machine_calls.def"
#define IMBREX_WARP_CALL(intrinsic, operation, mask)                                               \
  {llvm::Intrinsic::intrinsic, [](Rewriting &r, Builder &b, CallInst &c) {                         \
     return meetWarp(r, b, c, {WarpOperation::operation, mask});                                   \
   }},
#include "backend/emulate/rewrite/warp_calls.def"
      {llvm::Intrinsic::amdgcn_mbcnt_lo,
       [](Rewriting &, Builder &b, CallInst &c) { return giveCall(b, c, calls::countLanesLow); }},
      {llvm::Intrinsic::amdgcn_mbcnt_hi,
       [](Rewriting &, Builder &b, CallInst &c) { return giveCall(b, c, calls::countLanesHigh); }},
      {llvm::Intrinsic::amdgcn_implicitarg_ptr,
       [](Rewriting &, Builder &b, CallInst &c) {
         return giveCall(b, c, calls::implicitArguments);
       }},
      {llvm::Intrinsic::amdgcn_dispatch_ptr,
       [](Rewriting &, Builder &b, CallInst &c) { return giveCall(b, c, calls::dispatchPacket); }},
  };
}

const RewriteTable &rewrites() {
  static const auto &table = permanent([] {
    RewriteTable all = machineRewrites();
    all.merge(asyncRewrites());
    all.merge(phaseRewrites());
    all.merge(bulkRewrites());
    return all;
  }());
  return table;
}

const RewriteTable &wordRewrites() {
  static const auto &table = permanent([] {
    RewriteTable all = matrixRewrites();
    all.merge(bufferRewrites());
    return all;
  }());
  return table;
}

/// LLVM's intrinsics that are of no machine, and touch no memory that somebody could see.
bool isPlain(const CallInst &call) {
  const llvm::StringRef name = call.getCalledFunction()->getName();
  if (name.starts_with("llvm.nvvm.") || name.starts_with("llvm.amdgcn.")) return false;
  const auto *intrinsic = llvm::cast<llvm::IntrinsicInst>(&call);
  return intrinsic->isAssumeLikeIntrinsic() || !call.mayReadOrWriteMemory();
}

Diagnostic unknownCall(const CallInst &call, const std::string &kernel) {
  if (auto *assembly = llvm::dyn_cast<llvm::InlineAsm>(call.getCalledOperand()))
    return diagnostic(Diag::EmulatedUnknownAssembly, locationOf(call),
                      std::string(assembly->getAsmString()), kernel);
  const llvm::Function *callee = call.getCalledFunction();
  return diagnostic(Diag::EmulatedUnknownCall, locationOf(call),
                    callee != nullptr ? callee->getName().str() : "a pointer", kernel,
                    "run the kernel on a device");
}

/// Once of each line: the elements of a tile are calls of their own.
void reportUnknown(Rewriting &rewriting, const CallInst &call) {
  const Diagnostic problem = unknownCall(call, rewriting.kernel.getName().str());
  if (!llvm::is_contained(rewriting.diagnostics.all(), problem)) rewriting.diagnostics.add(problem);
}

/// Whether the call may stay as it is.
bool mayStay(const CallInst &call) {
  const llvm::Function *callee = call.getCalledFunction();
  if (callee == nullptr) {
    const auto *assembly = llvm::dyn_cast<llvm::InlineAsm>(call.getCalledOperand());
    return assembly != nullptr && llvm::StringRef(assembly->getAsmString()).trim().empty();
  }
  return callee->isIntrinsic() ? isPlain(call) : !callee->isDeclaration();
}

/// Null: it is no intrinsic of the table.
const Rewrite *rewriteOf(const RewriteTable &table, const CallInst &call) {
  const llvm::Function *callee = call.getCalledFunction();
  if (callee == nullptr) return nullptr;
  const auto found = table.find(callee->getIntrinsicID());
  return found != table.end() ? &found->second : nullptr;
}

void rewriteCall(Rewriting &rewriting, CallInst &call) {
  if (rewriteOf(wordRewrites(), call) != nullptr) return;
  const Rewrite *known = rewriteOf(rewrites(), call);
  Builder b(&call);
  if (known != nullptr ? (*known)(rewriting, b, call) : rewriteMath(b, call))
    call.eraseFromParent();
  else if (known != nullptr || !mayStay(call))
    reportUnknown(rewriting, call);
}

void rewriteWordCall(Rewriting &rewriting, CallInst &call) {
  const Rewrite *known = rewriteOf(wordRewrites(), call);
  if (known == nullptr) return;
  Builder b(&call);
  if ((*known)(rewriting, b, call))
    call.eraseFromParent();
  else
    reportUnknown(rewriting, call);
}

void forEachCall(Rewriting &rewriting, void (*function)(Rewriting &, CallInst &)) {
  for (llvm::Function &of : rewriting.module) {
    llvm::SmallVector<CallInst *> calls;
    for (llvm::Instruction &instruction : llvm::instructions(of))
      if (auto *call = llvm::dyn_cast<CallInst>(&instruction)) calls.push_back(call);
    for (CallInst *call : calls) function(rewriting, *call);
  }
}

} // namespace

void rewriteCalls(Rewriting &rewriting) { forEachCall(rewriting, rewriteCall); }

void rewriteWordCalls(Rewriting &rewriting) { forEachCall(rewriting, rewriteWordCall); }

} // namespace imbrex::emulate
