#include "backend/emulate/model/matrix_moves.h"
#include "backend/emulate/model/matrix_product.h"
#include "backend/emulate/rewrite/rewrite_calls.h"
#include "backend/emulate/rewrite/words.h"
#include "backend/support/lifetime.h"
#include "llvm/IR/Intrinsics.h"
#include "llvm/IR/IntrinsicsAMDGPU.h"
#include "llvm/IR/IntrinsicsNVPTX.h"
#include "llvm/TargetParser/TargetParser.h"

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

void meet(MachineCall &c, MatrixExchange exchange) {
  std::vector<Value *> words(1 + kMostOperands, c.b.getInt64(0));
  words[0] = c.site(c.name(), WarpSite{WarpOperation::Exchange, kAllLanes, std::move(exchange)});
  createCall(c.b, calls::meetWarp, words);
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
                    (!row.isScaled() || (hasSelectors(machine, row, MmaOperand::ScaleA, read.ofA) &&
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
    // A vector may be longer than the format needs (LLVM 22, IntrinsicsAMDGPU.td).
    constexpr std::uint64_t kMost = 32 * kWordsOfOperand;
    std::uint64_t bits = 0;
    while (bits < wanted && next < call.arg_size()) {
      Value *value = call.getArgOperand(next++);
      fragments.emplace_back(operand, value);
      bits += rewriting.module.getDataLayout().getTypeSizeInBits(value->getType());
    }
    return bits >= wanted && bits <= kMost;
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

Value *rewriteProduct(MachineCall &c, const Rows &rows) {
  for (const MmaInstruction *row : rows) {
    if (!machine::hasInstruction(c.rewriting.machine, *row)) continue;
    const auto read = ProductCall::read(c.rewriting, c.call, *row);
    if (!read) continue;
    Words words(c.rewriting, c.b);
    std::optional<MmaOperand> last;
    std::uint64_t next = 0;
    for (const auto &[operand, value] : read->fragments) {
      if (operand != last) next = wordOf(operand);
      last = operand;
      next = words.store(value, next);
    }
    meet(c, MatrixProduct(c.rewriting.machine, *row, read->ofA, read->ofB));
    return words.load(c.call.getType(), wordOf(MmaOperand::Sums));
  }
  return nullptr;
}

// --- loads and stores ---

bool isFromSm(const machine::Machine &machine, int version) {
  llvm::StringRef name(machine.cpu);
  int own = 0;
  return name.consume_front("sm_") && !name.consumeInteger(10, own) && own >= version;
}

/// Which machines have a load or a store, as LLVM 22 has it.
namespace owners {
bool fromSm75(const machine::Machine &m) { return isFromSm(m, 75); }
bool fromSm90(const machine::Machine &m) { return isFromSm(m, 90); }
bool fromSm100(const machine::Machine &m) { return isFromSm(m, 100); }
bool gfx950(const machine::Machine &m) { return m.cpu == "gfx950"; }
bool gfx12(const machine::Machine &m) { return llvm::AMDGPU::getIsaVersion(m.cpu).Major == 12; }
bool gfx1250(const machine::Machine &m) {
  return gfx12(m) && llvm::AMDGPU::getIsaVersion(m.cpu).Minor >= 5;
}
} // namespace owners

struct MoveCall {
  InstructionKind kind;
  std::uint32_t lanes; ///< That have addresses.
  std::uint32_t bytes; ///< At each.
  MatrixMove move;
  bool (*isOf)(const machine::Machine &);

  bool stores() const { return kind == InstructionKind::SharedStore; }
};

const std::map<unsigned, MoveCall> &moveCalls() {
  static const auto &all = permanent(std::map<unsigned, MoveCall>{
#define IMBREX_MATRIX_LOAD(intrinsic, machines, memory, lanes, bytes, from, bits, elements,        \
                           source)                                                                 \
  {llvm::Intrinsic::intrinsic,                                                                     \
   {InstructionKind::memory##Load,                                                                 \
    lanes,                                                                                         \
    bytes,                                                                                         \
    {from, bits, kMostLanes, elements, moves::source},                                             \
    owners::machines}},
#define IMBREX_MATRIX_STORE(intrinsic, machines, lanes, bytes, bits, elements, source)             \
  {llvm::Intrinsic::intrinsic,                                                                     \
   {InstructionKind::SharedStore,                                                                  \
    lanes,                                                                                         \
    bytes,                                                                                         \
    {bits, bits, lanes, elements, moves::source},                                                  \
    owners::machines}},
#include "backend/emulate/rewrite/matrix_moves.def"
  });
  return all;
}

AccessSite accessOf(const Rewriting &rewriting, const Value *pointer, const MoveCall &move) {
  constexpr unsigned kGlobal = 1, kShared = 3; // NVPTX's and AMDGPU's alike
  const unsigned space = pointer->getType()->getPointerAddressSpace();
  AccessSite facts;
  facts.mode = move.stores() ? AccessMode::Write : AccessMode::Read;
  facts.space = space == kShared   ? Space::Shared
                : space == kGlobal ? Space::Global
                                   : Space::Generic;
  facts.bytes = facts.alignment = move.bytes;
  facts.parameter = parameterBehind(rewriting, pointer);
  return facts;
}

Value *rewriteMove(MachineCall &c, const MoveCall &move) {
  if (!move.isOf(c.rewriting.machine)) return nullptr;
  Value *address = c.word(0), *lanes = c.b.getInt32(move.lanes);
  Value *site = c.site(c.name(), accessOf(c.rewriting, c.operand(0), move));
  Words words(c.rewriting, c.b);
  if (!move.stores()) {
    createCall(c.b, calls::loadWords, {site, address, lanes});
    meet(c, exchangeOf(move.move));
    return words.load(c.call.getType(), 0);
  }
  std::uint64_t next = 0;
  for (unsigned i = 1; i < c.call.arg_size(); ++i) next = words.store(c.operand(i), next);
  meet(c, exchangeOf(move.move));
  return createCall(c.b, calls::storeWords, {site, address, lanes});
}

} // namespace

RewriteTable matrixRewrites() {
  RewriteTable table;
  for (const auto &[id, rows] : products())
    table[id] = [&rows = rows](MachineCall &c) { return rewriteProduct(c, rows); };
  for (const auto &[id, move] : moveCalls())
    table[id] = [&move = move](MachineCall &c) { return rewriteMove(c, move); };
  return table;
}

KindsOfCalls matrixKinds() {
  KindsOfCalls kinds;
  for (const auto &[id, rows] : products()) kinds[id] = InstructionKind::Matrix;
  for (const auto &[id, move] : moveCalls()) kinds[id] = move.kind;
  return kinds;
}

} // namespace imbrex::emulate
