#include "backend/emulate/model/matrix_moves.h"
#include "backend/emulate/model/matrix_product.h"
#include "backend/emulate/rewrite/rewrite_calls.h"
#include "backend/support/lifetime.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/Intrinsics.h"
#include "llvm/IR/IntrinsicsAMDGPU.h"
#include "llvm/IR/IntrinsicsNVPTX.h"

#include <map>
#include <memory>
#include <optional>

namespace imbrex::emulate {
namespace {

using llvm::CallInst;
using llvm::Value;
using machine::MmaArgument;
using machine::MmaInstruction;
using machine::MmaOperand;

// --- registers that lanes exchange ---

/// Where the parts of an operand go, and results are: words of the thread.
class Words {
public:
  Words(const Rewriting &rewriting, Builder &b)
      : layout_(rewriting.module.getDataLayout()), b_(b), words_(createCall(b, calls::words, {})) {}

  /// The word behind it.
  std::uint64_t store(Value *value, std::uint64_t word) {
    const auto bits = static_cast<unsigned>(layout_.getTypeSizeInBits(value->getType()));
    Value *plain = b_.CreateBitCast(value, b_.getIntNTy(bits));
    b_.CreateAlignedStore(plain, at(word), llvm::Align(4));
    return word + bits / 32;
  }

  /// A value, or a structure of values, from a word on.
  Value *load(llvm::Type *type, std::uint64_t word) {
    auto *members = llvm::dyn_cast<llvm::StructType>(type);
    if (members == nullptr) {
      const auto bits = static_cast<unsigned>(layout_.getTypeSizeInBits(type));
      return b_.CreateBitCast(b_.CreateAlignedLoad(b_.getIntNTy(bits), at(word), llvm::Align(4)),
                              type);
    }
    Value *all = llvm::PoisonValue::get(type);
    for (unsigned i = 0; i < members->getNumElements(); ++i) {
      llvm::Type *member = members->getElementType(i);
      all = b_.CreateInsertValue(all, load(member, word), i);
      word += layout_.getTypeSizeInBits(member) / 32;
    }
    return all;
  }

private:
  Value *at(std::uint64_t word) { return b_.CreateConstGEP1_64(b_.getInt32Ty(), words_, word); }

  const llvm::DataLayout &layout_;
  Builder &b_;
  Value *words_;
};

void meet(Rewriting &rewriting, Builder &b, const CallInst &call, MatrixExchange exchange) {
  std::vector<Value *> words(1 + kMostOperands, b.getInt64(0));
  words[0] =
      addSite(rewriting, call, nameOf(call),
              WarpSite{WarpOperation::Exchange, kAllLanes, std::move(exchange)});
  createCall(b, calls::meetWarp, words);
}

// --- products ---

std::optional<MmaOperand> operandOf(MmaArgument argument) {
  switch (argument) {
  case MmaArgument::A: return MmaOperand::A;
  case MmaArgument::B: return MmaOperand::B;
  case MmaArgument::Sums: return MmaOperand::Sums;
  case MmaArgument::ScaleA: return MmaOperand::ScaleA;
  case MmaArgument::ScaleB: return MmaOperand::ScaleB;
  case MmaArgument::SignedA:
  case MmaArgument::SignedB:
  case MmaArgument::FormatA:
  case MmaArgument::FormatB:
  case MmaArgument::ScaleFormatA:
  case MmaArgument::ScaleFormatB:
  case MmaArgument::ScaleByteA:
  case MmaArgument::ScaleByteB:
  case MmaArgument::ScaleLaneA:
  case MmaArgument::ScaleLaneB:
  case MmaArgument::Zero: break;
  }
  return std::nullopt;
}

/// The arguments of a call, which a row of the table says how to take.
class ProductCall {
public:
  /// None: the call is not of this row, or its operands are not of the sizes that the row has.
  static std::optional<ProductCall> read(const Rewriting &rewriting, const CallInst &call,
                                         const MmaInstruction &row) {
    ProductCall read;
    unsigned next = 0;
    for (const MmaArgument argument : row.arguments) {
      if (next >= call.arg_size()) return std::nullopt;
      const auto operand = operandOf(argument);
      const bool ok = operand ? read.takeFragment(rewriting, call, row, *operand, next)
                              : read.takeNumber(row, argument, call.getArgOperand(next++));
      if (!ok) return std::nullopt;
    }
    const machine::Machine &machine = rewriting.machine;
    const bool ok = next == call.arg_size() &&
                    (!row.isScaled() ||
                     (hasSelectors(machine, row, MmaOperand::ScaleA, read.ofA) &&
                      hasSelectors(machine, row, MmaOperand::ScaleB, read.ofB)));
    if (!ok) return std::nullopt;
    return read;
  }

  std::vector<std::pair<MmaOperand, Value *>> fragments; ///< In their order.
  ScaleSelectors ofA, ofB;

private:
  /// NVIDIA's are one argument for each register, AMD's one vector.
  bool takeFragment(const Rewriting &rewriting, const CallInst &call, const MmaInstruction &row,
                    MmaOperand operand, unsigned &next) {
    const bool isScale = operand == MmaOperand::ScaleA || operand == MmaOperand::ScaleB;
    const auto wanted = static_cast<std::uint64_t>(
        isScale ? 32 : 32 * vendorFragment(rewriting.machine, row, operand).registers());
    for (std::uint64_t bits = 0; bits < wanted && next < call.arg_size();) {
      Value *value = call.getArgOperand(next++);
      fragments.emplace_back(operand, value);
      bits += rewriting.module.getDataLayout().getTypeSizeInBits(value->getType());
    }
    return next <= call.arg_size();
  }

  bool takeNumber(const MmaInstruction &row, MmaArgument argument, const Value *value) {
    const auto *constant = llvm::dyn_cast<llvm::ConstantInt>(value);
    if (constant == nullptr) return false;
    const auto number = static_cast<std::int32_t>(constant->getZExtValue());
    if (argument == MmaArgument::ScaleByteA) return ofA.byte = number, true;
    if (argument == MmaArgument::ScaleByteB) return ofB.byte = number, true;
    if (argument == MmaArgument::ScaleLaneA) return ofA.lane = number, true;
    if (argument == MmaArgument::ScaleLaneB) return ofB.lane = number, true;
    return number == machine::immediateOf(row, argument);
  }
};

using Rows = std::vector<const MmaInstruction *>;

const std::map<unsigned, Rows> &products() {
  static const auto &rows = permanent([] {
    std::map<unsigned, Rows> all;
    for (const MmaInstruction &row : machine::allMmaInstructions())
      all[llvm::Intrinsic::lookupIntrinsicID("llvm." + std::string(row.intrinsic))].push_back(&row);
    return all;
  }());
  return rows;
}

bool rewriteProduct(Rewriting &rewriting, Builder &b, CallInst &call, const Rows &rows) {
  for (const MmaInstruction *row : rows) {
    if (!machine::hasInstruction(rewriting.machine, *row)) continue;
    const auto read = ProductCall::read(rewriting, call, *row);
    if (!read) continue;
    Words words(rewriting, b);
    std::optional<MmaOperand> last;
    std::uint64_t next = 0;
    for (const auto &[operand, value] : read->fragments) {
      if (operand != last) next = wordOf(operand);
      last = operand;
      next = words.store(value, next);
    }
    meet(rewriting, b, call, MatrixProduct(rewriting.machine, *row, read->ofA, read->ofB));
    replaceBy(call, words.load(call.getType(), wordOf(MmaOperand::Sums)));
    return true;
  }
  return false;
}

// --- loads and stores ---

struct MoveCall {
  bool stores;
  std::uint32_t lanes; ///< That have addresses.
  std::uint32_t bytes; ///< At each.
  MatrixMove move;
};

const std::map<unsigned, MoveCall> &moveCalls() {
  static const auto &all = permanent(std::map<unsigned, MoveCall>{
#define IMBREX_MATRIX_LOAD(intrinsic, lanes, bytes, bits, elements, source)                        \
  {llvm::Intrinsic::intrinsic, {false, lanes, bytes, {bits, kMostLanes, elements, moves::source}}},
#define IMBREX_MATRIX_STORE(intrinsic, lanes, bytes, bits, elements, source)                       \
  {llvm::Intrinsic::intrinsic, {true, lanes, bytes, {bits, lanes, elements, moves::source}}},
#include "backend/emulate/rewrite/matrix_moves.def"
  });
  return all;
}

AccessSite accessOf(const Rewriting &rewriting, const Value *pointer, const MoveCall &move) {
  constexpr unsigned kGlobal = 1, kShared = 3; // NVPTX's and AMDGPU's alike
  const unsigned space = pointer->getType()->getPointerAddressSpace();
  AccessSite facts;
  facts.mode = move.stores ? AccessMode::Write : AccessMode::Read;
  facts.space = space == kShared   ? Space::Shared
                : space == kGlobal ? Space::Global
                                   : Space::Generic;
  facts.bytes = facts.alignment = move.bytes;
  facts.parameter = parameterBehind(rewriting, pointer);
  return facts;
}

bool rewriteMove(Rewriting &rewriting, Builder &b, CallInst &call, const MoveCall &move) {
  Value *pointer = call.getArgOperand(0);
  Value *address = toWord(rewriting, b, pointer), *lanes = b.getInt32(move.lanes);
  auto *site = addSite(rewriting, call, nameOf(call), accessOf(rewriting, pointer, move));
  Words words(rewriting, b);
  if (!move.stores) {
    createCall(b, calls::loadWords, {site, address, lanes});
    meet(rewriting, b, call, exchangeOf(move.move));
    replaceBy(call, words.load(call.getType(), 0));
    return true;
  }
  std::uint64_t next = 0;
  for (unsigned i = 1; i < call.arg_size(); ++i) next = words.store(call.getArgOperand(i), next);
  meet(rewriting, b, call, exchangeOf(move.move));
  createCall(b, calls::storeWords, {site, address, lanes});
  return true;
}

bool rewriteMatrix(Rewriting &rewriting, CallInst &call) {
  const unsigned id = call.getCalledFunction()->getIntrinsicID();
  Builder b(&call);
  if (const auto found = products().find(id); found != products().end())
    return rewriteProduct(rewriting, b, call, found->second);
  return rewriteMove(rewriting, b, call, moveCalls().at(id));
}

} // namespace

bool isMatrixIntrinsic(unsigned intrinsic) {
  return intrinsic != llvm::Intrinsic::not_intrinsic &&
         (products().contains(intrinsic) || moveCalls().contains(intrinsic));
}

InstructionKind matrixKind(unsigned intrinsic) {
  if (products().contains(intrinsic)) return InstructionKind::Matrix;
  return moveCalls().at(intrinsic).stores ? InstructionKind::SharedStore
                                          : InstructionKind::SharedLoad;
}

void rewriteMatrices(Rewriting &rewriting) {
  for (llvm::Function &function : rewriting.module) {
    llvm::SmallVector<CallInst *> calls;
    for (llvm::Instruction &instruction : llvm::instructions(function)) {
      auto *call = llvm::dyn_cast<CallInst>(&instruction);
      const llvm::Function *callee = call == nullptr ? nullptr : call->getCalledFunction();
      if (callee != nullptr && isMatrixIntrinsic(callee->getIntrinsicID())) calls.push_back(call);
    }
    for (CallInst *call : calls)
      if (rewriteMatrix(rewriting, *call))
        call->eraseFromParent();
      else
        reportUnknown(rewriting, *call);
  }
}

} // namespace imbrex::emulate
