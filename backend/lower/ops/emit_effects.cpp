#include "backend/lower/memory/exchange.h"
#include "backend/lower/observations.h"
#include "backend/lower/ops/emit_ops.h"
#include "backend/lower/values/inline_assembly.h"

/// print, assert and inline assembly.
namespace imbrex::lower {

using ir::ValueId;
using llvm::AtomicOrdering;
using llvm::Value;

namespace {

/// Words of the observation buffer.
class ObservationWriter {
public:
  explicit ObservationWriter(Emitter &emitter) : e_(emitter) {}

  Value *word(Value *index) { return e_.b.CreateGEP(e_.b.getInt64Ty(), e_.observations(), index); }
  Value *header(observations::HeaderWord which) { return word(e_.i64(which)); }
  void write(Value *index, Value *content) {
    e_.b.CreateAlignedStore(content, word(index), llvm::Align(8));
  }
  /// x | y << 32 of this block.
  Value *blockXy() {
    Value *x = e_.b.CreateZExt(e_.blockIndex(0), e_.b.getInt64Ty());
    Value *y = e_.b.CreateZExt(e_.blockIndex(1), e_.b.getInt64Ty());
    constexpr std::uint64_t kHalf = 32;
    return e_.b.CreateOr(x, e_.b.CreateShl(y, kHalf));
  }
  Value *blockZ() { return e_.b.CreateZExt(e_.blockIndex(2), e_.b.getInt64Ty()); }
  llvm::SyncScope::ID device() { return e_.words.syncScope(e_.context, ir::Scope::Device); }

private:
  Emitter &e_;
};

/// i64: the row-major index of the element in a register.
Value *elementIndex(Emitter &e, ValueId tile, std::size_t r) {
  const ir::Shape &shape = e.type(tile).shape();
  Value *index = e.i32(0);
  for (std::int32_t axis = 0; axis < shape.rank(); ++axis)
    index = e.b.CreateAdd(e.b.CreateMul(index, e.i32(shape[axis])),
                          e.coordinate(e.layoutOf(tile), r, axis));
  return e.b.CreateZExt(index, e.b.getInt64Ty());
}

/// Where an element is this thread's to tell: it is no padding, and no other thread's copy.
Value *isOwnElement(Emitter &e, ValueId tile, std::size_t r) {
  Value *inside = e.kernel.layoutOf(tile).valid()
                      ? e.isInside(e.layoutOf(tile), e.type(tile).shape(), r)
                      : nullptr;
  return e.allOf({e.isOwner(tile), inside});
}

Value *bitsAsWord(Emitter &e, Value *element) {
  llvm::Type *const type = element->getType();
  if (type->isPointerTy()) return e.b.CreatePtrToInt(element, e.b.getInt64Ty());
  Value *bits = e.b.CreateBitCast(element, e.b.getIntNTy(type->getScalarSizeInBits()));
  return e.b.CreateZExt(bits, e.b.getInt64Ty());
}

} // namespace

/// Thread 0 asks for room; when there is, all threads write their elements. Else it writes that no
/// record is there, if there is room for that.
void emitPrint(Emitter &e, const ir::Op &op) {
  ObservationWriter record(e);
  std::uint64_t size = observations::kRecordWords;
  for (const ValueId operand : op.operands)
    size += static_cast<std::uint64_t>(e.type(operand).shape().elements());
  Value *const isFirst = e.b.CreateICmpEQ(e.thread(), e.i32(0));
  Value *asked = e.where(isFirst, e.i64(0), [&]() -> Value * {
    return e.b.CreateAtomicRMW(llvm::AtomicRMWInst::Add, record.header(observations::kAsked),
                               e.i64(static_cast<std::int64_t>(size)), llvm::Align(8),
                               AtomicOrdering::Monotonic, record.device());
  });
  Value *const begin = fetchFromThreads(e, asked, e.i32(0))[0][0];
  Value *const room =
      e.b.CreateAlignedLoad(e.b.getInt64Ty(), record.header(observations::kRoom), llvm::Align(8));
  Value *const end = e.b.CreateAdd(begin, e.i64(static_cast<std::int64_t>(size)));
  Value *const at = e.b.CreateAdd(begin, e.i64(observations::kHeaderWords));
  Value *const isGiven = e.b.CreateICmpULE(end, room);
  // An earlier launch's record may lie there still, which would be taken for this one's.
  e.where(e.allOf({isFirst, e.b.CreateNot(isGiven), e.b.CreateICmpULT(begin, room)}),
          [&] { record.write(at, e.i64(0)); });
  e.where(isGiven, [&] {
    e.where(isFirst, [&] {
      record.write(at, e.i64(std::int64_t{e.addSite(op)} + 1));
      record.write(e.b.CreateAdd(at, e.i64(1)), record.blockXy());
      record.write(e.b.CreateAdd(at, e.i64(2)), record.blockZ());
    });
    Value *first = e.b.CreateAdd(at, e.i64(observations::kRecordWords));
    for (const ValueId operand : op.operands) {
      for (std::size_t r = 0; r < e.registerCount(operand); ++r)
        e.where(isOwnElement(e, operand, r), [&] {
          Value *index = e.type(operand).rank() > 0 ? elementIndex(e, operand, r) : e.i64(0);
          record.write(e.b.CreateAdd(first, index), bitsAsWord(e, e.registers(operand)[r]));
        });
      first = e.b.CreateAdd(first, e.i64(e.type(operand).shape().elements()));
    }
  });
}

/// The first thread that finds a false element says so; then the whole block ends.
void emitAssert(Emitter &e, const ir::Op &op) {
  ObservationWriter record(e);
  const ValueId tile = op.operand(0);
  const std::int64_t site = e.addSite(op);
  Value *fails = e.b.getFalse();
  for (std::size_t r = 0; r < e.registerCount(tile); ++r) {
    Value *isFalse = e.allOf({e.b.CreateNot(e.registers(tile)[r]), isOwnElement(e, tile, r)});
    fails = e.b.CreateOr(fails, isFalse);
    e.where(isFalse, [&] {
      Value *won = e.b.CreateExtractValue(
          e.b.CreateAtomicCmpXchg(record.header(observations::kFailedSite), e.i64(0),
                                  e.i64(site + 1), llvm::Align(8), AtomicOrdering::Monotonic,
                                  AtomicOrdering::Monotonic, record.device()),
          1);
      e.where(won, [&] {
        Value *index = e.type(tile).rank() > 0 ? elementIndex(e, tile, r) : e.i64(0);
        record.write(e.i64(observations::kFailedXy), record.blockXy());
        record.write(e.i64(observations::kFailedZ), record.blockZ());
        record.write(e.i64(observations::kFailedElement), index);
      });
    });
  }
  e.endBlockIf(anyInBlock(e, fails));
}

/// The author's instructions, once for each element.
void emitInlineAsm(Emitter &e, const ir::Op &op) {
  llvm::InlineAsm *const code = assemblyOf(e.context, e.kernel, op);
  // By it LLVM says which instructions an error is about.
  llvm::MDNode *const number =
      llvm::MDNode::get(e.context, llvm::ConstantAsMetadata::get(e.b.getInt64(e.nextAssembly())));
  std::size_t count = 1;
  for (const auto &values :
       {llvm::ArrayRef<ValueId>(op.operands), llvm::ArrayRef<ValueId>(op.results)})
    for (const ValueId value : values) count = std::max(count, e.registerCount(value));
  std::vector<Registers> results(op.results.size());
  for (std::size_t r = 0; r < count; ++r) {
    llvm::SmallVector<Value *, 4> operands;
    for (const ValueId operand : op.operands) {
      const Registers &registers = e.registers(operand);
      operands.push_back(registers[registers.size() == 1 ? 0 : r]);
    }
    llvm::CallInst *called = e.b.CreateCall(code, operands);
    called->setMetadata("srcloc", number);
    for (std::size_t i = 0; i < results.size(); ++i)
      results[i].push_back(
          results.size() == 1 ? called : e.b.CreateExtractValue(called, static_cast<unsigned>(i)));
  }
  for (std::size_t i = 0; i < results.size(); ++i) e.define(op.result(i), std::move(results[i]));
}

} // namespace imbrex::lower
