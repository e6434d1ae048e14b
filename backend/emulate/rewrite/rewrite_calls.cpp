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

Value *MachineCall::word(unsigned number) {
  Value *value = operand(number);
  if (value->getType()->isPointerTy()) return b.CreatePtrToInt(value, b.getInt64Ty());
  const auto bits = static_cast<unsigned>(bitsOf(rewriting, value->getType()));
  return b.CreateZExt(b.CreateBitCast(value, b.getIntNTy(bits)), b.getInt64Ty());
}

namespace {

Value *fromWord(MachineCall &c, Value *word, llvm::Type *type) {
  if (type->isPointerTy()) return c.b.CreateIntToPtr(word, type);
  const auto bits = static_cast<unsigned>(bitsOf(c.rewriting, type));
  return c.b.CreateBitCast(c.b.CreateTrunc(word, c.b.getIntNTy(bits)), type);
}

bool fitsWord(const Rewriting &rewriting, llvm::Type *type) {
  if (auto *structure = llvm::dyn_cast<llvm::StructType>(type))
    return llvm::all_of(structure->elements(),
                        [&](llvm::Type *t) { return fitsWord(rewriting, t); });
  return type->isVoidTy() || bitsOf(rewriting, type) <= 64;
}

// --- each kind of call ---

Value *readRegister(MachineCall &c, Register which) {
  Value *value = createCall(c.b, calls::readRegister, {c.b.getInt32(static_cast<unsigned>(which))});
  return c.b.CreateZExtOrTrunc(value, c.call.getType());
}

/// LLVM's swizzle patterns from here on rotate within 32 lanes, or reverse bits of lane numbers.
constexpr std::uint64_t kFirstOtherSwizzle = 0xc000;

Value *meetWarp(MachineCall &c, const WarpSite &facts) {
  llvm::Type *const type = c.call.getType();
  if (!fitsWord(c.rewriting, type) || c.call.arg_size() > kMostOperands) return nullptr;
  if (facts.operation == WarpOperation::Swizzle &&
      llvm::cast<llvm::ConstantInt>(c.operand(1))->getZExtValue() >= kFirstOtherSwizzle)
    return nullptr;
  std::vector<Value *> words{c.site(c.name(), facts)};
  for (unsigned i = 0; i < c.call.arg_size(); ++i) {
    if (!fitsWord(c.rewriting, c.operand(i)->getType())) return nullptr;
    words.push_back(c.word(i));
  }
  words.resize(1 + kMostOperands, c.b.getInt64(0));
  Value *first = createCall(c.b, calls::meetWarp, words);
  if (type->isVoidTy()) return first;
  auto *pair = llvm::dyn_cast<llvm::StructType>(type);
  if (pair == nullptr) return fromWord(c, first, type);
  Value *second = createCall(c.b, calls::secondResult, {});
  Value *both = llvm::PoisonValue::get(pair);
  both = c.b.CreateInsertValue(both, fromWord(c, first, pair->getElementType(0)), 0);
  return c.b.CreateInsertValue(both, fromWord(c, second, pair->getElementType(1)), 1);
}

/// Which operands of a meeting say its number and how many threads it counts; -1: none.
struct MeetingOperands {
  int number, count;
};

Value *meetBlock(MachineCall &c, const MeetingSite &facts, MeetingOperands at) {
  const auto operand = [&](int index) -> Value * {
    return index < 0 ? c.b.getInt64(0) : c.word(static_cast<unsigned>(index));
  };
  return createCall(c.b, calls::meetBlock,
                    {c.site(c.name(), facts), operand(at.number), operand(at.count)});
}

Value *fence(MachineCall &c, MemoryScope scope) {
  return createCall(c.b, calls::fence, {c.site(c.name(), FenceSite{scope, true, true})});
}

Value *trap(MachineCall &c) { return createCall(c.b, calls::trap, {c.site(c.name())}); }

template <auto *function>
Value *giveCall(MachineCall &c) {
  const std::vector<Value *> arguments(c.call.arg_begin(), c.call.arg_end());
  Value *value = createCall(c.b, function, arguments);
  llvm::Type *const type = c.call.getType();
  return type->isPointerTy() ? c.b.CreateAddrSpaceCast(value, type) : value;
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
  {llvm::Intrinsic::intrinsic, [](MachineCall &c) { return readRegister(c, Register::which); }},
#define IMBREX_MEETING_CALL(intrinsic, action, scope, memory, number, count)                       \
  {llvm::Intrinsic::intrinsic, [](MachineCall &c) {                                                \
     return meetBlock(c, {MeetingAction::action, scope, memory}, {number, count});                 \
   }},
#define IMBREX_FENCE_CALL(intrinsic, scope)                                                        \
  {llvm::Intrinsic::intrinsic, [](MachineCall &c) { return fence(c, MemoryScope::scope); }},
#define IMBREX_HINT_CALL(intrinsic)                                                                \
  {llvm::Intrinsic::intrinsic, [](MachineCall &c) { return &c.call; }},
#define IMBREX_TRAP_CALL(intrinsic) {llvm::Intrinsic::intrinsic, trap},
#include "backend/emulate/rewrite/machine_calls.def"
#define IMBREX_WARP_CALL(intrinsic, operation, mask)                                               \
  {llvm::Intrinsic::intrinsic,                                                                     \
   [](MachineCall &c) { return meetWarp(c, {WarpOperation::operation, mask}); }},
#include "backend/emulate/rewrite/warp_calls.def"
      {llvm::Intrinsic::amdgcn_mbcnt_lo, giveCall<calls::countLanesLow>},
      {llvm::Intrinsic::amdgcn_mbcnt_hi, giveCall<calls::countLanesHigh>},
      {llvm::Intrinsic::amdgcn_implicitarg_ptr, giveCall<calls::implicitArguments>},
      {llvm::Intrinsic::amdgcn_dispatch_ptr, giveCall<calls::dispatchPacket>},
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

bool isEmptyAssembly(const CallInst &call) {
  const auto *assembly = llvm::dyn_cast<llvm::InlineAsm>(call.getCalledOperand());
  return assembly != nullptr && llvm::StringRef(assembly->getAsmString()).trim().empty();
}

/// Of an assembly of nothing, in whatever register of the machine's: what it was given.
Value *rewriteAssembly(MachineCall &c) {
  const bool isPassedOn = isEmptyAssembly(c.call) && c.call.arg_size() == 1 &&
                          c.call.getType() == c.operand(0)->getType();
  return isPassedOn ? c.operand(0) : nullptr;
}

/// Whether the call may stay as it is.
bool mayStay(const CallInst &call) {
  const llvm::Function *callee = call.getCalledFunction();
  if (callee == nullptr) return isEmptyAssembly(call);
  return callee->isIntrinsic() ? isPlain(call) : !callee->isDeclaration();
}

/// Null: it is no intrinsic of the table.
const Rewrite *rewriteOf(const RewriteTable &table, const CallInst &call) {
  const llvm::Function *callee = call.getCalledFunction();
  if (callee == nullptr) return nullptr;
  const auto found = table.find(callee->getIntrinsicID());
  return found != table.end() ? &found->second : nullptr;
}

/// False: it can't be.
bool replace(Rewriting &rewriting, CallInst &call, const Rewrite &rewrite) {
  MachineCall machineCall{rewriting, call};
  Value *value = rewrite(machineCall);
  if (value == nullptr) return false;
  if (!call.getType()->isVoidTy()) call.replaceAllUsesWith(value);
  call.eraseFromParent();
  return true;
}

void rewriteCall(Rewriting &rewriting, CallInst &call) {
  if (rewriteOf(wordRewrites(), call) != nullptr) return;
  if (replace(rewriting, call, rewriteAssembly)) return;
  const Rewrite *known = rewriteOf(rewrites(), call);
  if (!replace(rewriting, call, known != nullptr ? *known : rewriteMath) &&
      (known != nullptr || !mayStay(call)))
    reportUnknown(rewriting, call);
}

void rewriteWordCall(Rewriting &rewriting, CallInst &call) {
  const Rewrite *known = rewriteOf(wordRewrites(), call);
  if (known != nullptr && !replace(rewriting, call, *known)) reportUnknown(rewriting, call);
}

void forEachCall(Rewriting &rewriting, void (*function)(Rewriting &, CallInst &)) {
  for (llvm::Function &of : rewriting.module)
    for (llvm::Instruction &instruction : llvm::make_early_inc_range(llvm::instructions(of)))
      if (auto *call = llvm::dyn_cast<CallInst>(&instruction)) function(rewriting, *call);
}

} // namespace

void rewriteCalls(Rewriting &rewriting) { forEachCall(rewriting, rewriteCall); }

void rewriteWordCalls(Rewriting &rewriting) { forEachCall(rewriting, rewriteWordCall); }

} // namespace imbrex::emulate
