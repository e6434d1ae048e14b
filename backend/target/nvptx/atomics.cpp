#include "backend/target/nvptx/atomics.h"

#include "backend/lower/memory/atomics.h"
#include "backend/support/check.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/IR/InlineAsm.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/Support/NVPTXAddrSpace.h"
#include "llvm/Transforms/Utils/LowerAtomic.h"

#include <string>

namespace imbrex::target::nvptx {
namespace {

using llvm::AtomicCmpXchgInst;
using llvm::AtomicOrdering;
using llvm::AtomicRMWInst;
using llvm::Value;
using Builder = llvm::IRBuilder<>;

constexpr unsigned kByteBits = 8, kWordBits = 32;

// --- the words of an instruction (PTX ISA 9.0, "atom") ---

llvm::StringRef semanticsOf(AtomicOrdering order) {
  switch (order) {
  case AtomicOrdering::NotAtomic:
  case AtomicOrdering::Unordered:
  case AtomicOrdering::Monotonic: return ".relaxed";
  case AtomicOrdering::Acquire: return ".acquire";
  case AtomicOrdering::Release: return ".release";
  case AtomicOrdering::AcquireRelease: return ".acq_rel";
  case AtomicOrdering::SequentiallyConsistent: break;
  }
  IMBREX_UNREACHABLE("lowering asks for no total order");
}

llvm::StringRef scopeOf(llvm::LLVMContext &context, llvm::SyncScope::ID scope) {
  if (scope == context.getOrInsertSyncScopeID("block")) return ".cta";
  if (scope == context.getOrInsertSyncScopeID("device")) return ".gpu";
  return ".sys";
}

llvm::StringRef spaceOf(const Value *pointer) {
  switch (pointer->getType()->getPointerAddressSpace()) {
  case llvm::NVPTXAS::ADDRESS_SPACE_GLOBAL: return ".global";
  case llvm::NVPTXAS::ADDRESS_SPACE_SHARED: return ".shared";
  default: return "";
  }
}

/// Of integers: what becomes of them, and how their type is spelled.
struct Operation {
  AtomicRMWInst::BinOp kind;
  llvm::StringRef name;
};
constexpr Operation kOperations[] = {
    {AtomicRMWInst::Add, ".add.u"},   {AtomicRMWInst::And, ".and.b"},
    {AtomicRMWInst::Or, ".or.b"},     {AtomicRMWInst::Xor, ".xor.b"},
    {AtomicRMWInst::Max, ".max.s"},   {AtomicRMWInst::Min, ".min.s"},
    {AtomicRMWInst::UMax, ".max.u"},  {AtomicRMWInst::UMin, ".min.u"},
    {AtomicRMWInst::Xchg, ".exch.b"},
};

/// ".add.u32"; empty where no instruction does it. Sums of bf16 come with the addition of bf16
/// itself, from compute capability 9.0 on; those of f16 with 7.0.
std::string operationOf(const AtomicRMWInst &update, const machine::Machine &machine) {
  const llvm::Type *type = update.getType();
  if (update.getOperation() == AtomicRMWInst::FAdd) {
    if (type->isHalfTy()) return ".add.noftz.f16";
    if (type->isFloatTy()) return ".add.f32";
    if (type->isDoubleTy()) return ".add.f64";
    return machine::hasBf16Op(machine, "add") ? ".add.noftz.bf16" : "";
  }
  const auto *known = llvm::find_if(
      kOperations, [&](const Operation &row) { return row.kind == update.getOperation(); });
  const unsigned bits = type->getScalarSizeInBits();
  if (known == std::end(kOperations) || bits < kWordBits) return "";
  return (known->name + llvm::Twine(bits)).str();
}

// --- instructions ---

/// What `atom` does to a place, and for whom.
template <class Atomic>
std::string beginningOf(Atomic &instruction, AtomicOrdering order) {
  return ("atom" + semanticsOf(order) +
          scopeOf(instruction.getContext(), instruction.getSyncScopeID()) +
          spaceOf(instruction.getPointerOperand()))
      .str();
}

llvm::StringRef registerOf(const llvm::Type *type) {
  switch (type->getScalarSizeInBits()) {
  case 16: return "h";
  case kWordBits: return "r";
  default: return "l";
  }
}

/// The old value; all values are bits.
Value *atom(Builder &b, const std::string &opcode, Value *pointer, llvm::ArrayRef<Value *> values) {
  llvm::Type *const type = values.front()->getType();
  std::string text = opcode + " $0, [$1]", constraints = ("=" + registerOf(type) + ",l").str();
  llvm::SmallVector<llvm::Type *, 3> types{pointer->getType()};
  llvm::SmallVector<Value *, 3> operands{pointer};
  for (Value *value : values) {
    text += ", $" + std::to_string(operands.size() + 1);
    constraints += "," + registerOf(type).str();
    types.push_back(type);
    operands.push_back(value);
  }
  constexpr bool kHasSideEffects = true;
  auto *call = llvm::InlineAsm::get(llvm::FunctionType::get(type, types, false), text + ";",
                                    constraints + ",~{memory}", kHasSideEffects);
  return b.CreateCall(call, operands);
}

void replace(llvm::Instruction &old, Value *by) {
  old.replaceAllUsesWith(by);
  old.eraseFromParent();
}

Value *bitsOf(Builder &b, Value *value) {
  return b.CreateBitCast(value, b.getIntNTy(value->getType()->getScalarSizeInBits()));
}

void writeUpdate(AtomicRMWInst &update, const std::string &operation) {
  Builder b(&update);
  Value *old = atom(b, beginningOf(update, update.getOrdering()) + operation,
                    update.getPointerOperand(), {bitsOf(b, update.getValOperand())});
  replace(update, b.CreateBitCast(old, update.getType()));
}

/// The word around the byte has ones, or zeros, where the operation is to change nothing.
void writeByteUpdate(AtomicRMWInst &update) {
  Builder b(&update);
  Value *const pointer = update.getPointerOperand();
  llvm::Type *const index = b.getInt64Ty();
  constexpr std::int64_t kInWord = 3;
  Value *word = b.CreateIntrinsic(llvm::Intrinsic::ptrmask, {pointer->getType(), index},
                                  {pointer, llvm::ConstantInt::getSigned(index, ~kInWord)});
  Value *byte = b.CreateTrunc(b.CreatePtrToInt(pointer, index), b.getInt32Ty());
  Value *shift = b.CreateMul(b.CreateAnd(byte, kInWord), b.getInt32(kByteBits));
  const bool isAnd = update.getOperation() == AtomicRMWInst::And;
  Value *value = b.CreateZExt(update.getValOperand(), b.getInt32Ty());
  value = b.CreateShl(isAnd ? b.CreateXor(value, 0xff) : value, shift);
  if (isAnd) value = b.CreateNot(value);
  Value *old = atom(b, beginningOf(update, update.getOrdering()) + (isAnd ? ".and.b32" : ".or.b32"),
                    word, {value});
  replace(update, b.CreateTrunc(b.CreateLShr(old, shift), update.getType()));
}

void writeExchange(AtomicCmpXchgInst &exchange) {
  Builder b(&exchange);
  Value *const expected = exchange.getCompareOperand();
  Value *old = atom(b, beginningOf(exchange, exchange.getMergedOrdering()) + ".cas.b16",
                    exchange.getPointerOperand(), {expected, exchange.getNewValOperand()});
  Value *both = b.CreateInsertValue(llvm::PoisonValue::get(exchange.getType()), old, 0);
  replace(exchange, b.CreateInsertValue(both, b.CreateICmpEQ(old, expected), 1));
}

void writeLoop(AtomicRMWInst &update) {
  llvm::BasicBlock *const before = update.getParent();
  llvm::BasicBlock *const after = before->splitBasicBlock(update.getIterator());
  before->getTerminator()->eraseFromParent();
  Builder b(before);
  b.SetCurrentDebugLocation(update.getDebugLoc());
  const lower::AtomicPlace place{.address = update.getPointerOperand(),
                                 .alignment = update.getAlign(),
                                 .ordering = update.getOrdering(),
                                 .scope = update.getSyncScopeID()};
  llvm::Type *const type = update.getType();
  Value *old =
      lower::emitAtomicLoop(b, place, b.getIntNTy(type->getScalarSizeInBits()), [&](Value *bits) {
        return bitsOf(b, llvm::buildAtomicRMWValue(update.getOperation(), b,
                                                   b.CreateBitCast(bits, type),
                                                   update.getValOperand()));
      });
  b.CreateBr(after);
  b.SetInsertPoint(&update);
  replace(update, b.CreateBitCast(old, type));
}

void prepareUpdate(AtomicRMWInst &update, const machine::Machine &machine) {
  const std::string operation = operationOf(update, machine);
  const bool isByte = update.getType()->isIntegerTy(kByteBits);
  IMBREX_CHECK(!isByte || update.getOperation() == AtomicRMWInst::And ||
                   update.getOperation() == AtomicRMWInst::Or,
               "lowering asks for no such update of a byte");
  if (!operation.empty())
    writeUpdate(update, operation);
  else if (isByte)
    writeByteUpdate(update);
  else
    writeLoop(update);
}

template <class Kind>
llvm::SmallVector<Kind *> allOf(llvm::Module &module) {
  llvm::SmallVector<Kind *> found;
  for (llvm::Function &function : module)
    for (llvm::Instruction &instruction : llvm::instructions(function))
      if (auto *one = llvm::dyn_cast<Kind>(&instruction)) found.push_back(one);
  return found;
}

} // namespace

void prepareAtomics(llvm::Module &module, const machine::Machine &machine) {
  for (AtomicRMWInst *update : allOf<AtomicRMWInst>(module)) prepareUpdate(*update, machine);
  for (AtomicCmpXchgInst *exchange : allOf<AtomicCmpXchgInst>(module))
    if (exchange->getCompareOperand()->getType()->isIntegerTy(16)) writeExchange(*exchange);
}

} // namespace imbrex::target::nvptx
