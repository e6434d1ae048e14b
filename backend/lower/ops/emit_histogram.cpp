#include "backend/lower/memory/exchange.h"
#include "backend/lower/ops/emit_ops.h"

/// Counting in shared memory, in rounds of as many bins as fit there.
namespace imbrex::lower {

using ir::ElementKind;
using llvm::Value;

namespace {

constexpr std::int64_t kCountBytes = 4;

class HistogramEmitter {
public:
  HistogramEmitter(Emitter &emitter, const ir::Op &op)
      : e_(emitter), op_(op), bins_(emitter.type(op.result()).shape()[0]) {}

  void run() {
    const std::int64_t most = e_.scratchBytes() / kCountBytes;
    Registers results(e_.registerCount(op_.result()), e_.i32(0));
    for (std::int64_t first = 0; first < bins_; first += most)
      countFrom(first, std::min(most, bins_ - first), results);
    e_.define(op_.result(), std::move(results));
  }

private:
  void countFrom(std::int64_t first, std::int64_t count, Registers &results) {
    base_ = e_.beginExchange(count * kCountBytes);
    clear(count);
    e_.meet();
    add(first, count);
    e_.meet();
    const layout::LinearLayout &layout = e_.layoutOf(op_.result());
    for (std::size_t r = 0; r < results.size(); ++r) {
      Value *bin = e_.b.CreateSub(e_.coordinate(layout, r, 0), e_.i32(first));
      results[r] = e_.where(e_.b.CreateICmpULT(bin, e_.i32(count)), results[r], [&]() -> Value * {
        return e_.b.CreateAlignedLoad(e_.b.getInt32Ty(), counter(bin), llvm::Align(kCountBytes));
      });
    }
    e_.shared.end();
  }

  Value *counter(Value *bin) { return e_.b.CreateGEP(e_.b.getInt32Ty(), base_, bin); }

  void clear(std::int64_t count) {
    const std::int64_t threads = e_.kernel.threads().count();
    for (std::int64_t first = 0; first < count; first += threads) {
      Value *bin = e_.b.CreateAdd(e_.thread(), e_.i32(first));
      e_.where(e_.b.CreateICmpULT(bin, e_.i32(count)),
               [&] { e_.b.CreateAlignedStore(e_.i32(0), counter(bin), llvm::Align(kCountBytes)); });
    }
  }

  void add(std::int64_t first, std::int64_t count) {
    const ir::ValueId tile = op_.operand(0);
    const ir::Type &type = e_.type(tile);
    const layout::LinearLayout &layout = e_.layoutOf(tile);
    const llvm::SyncScope::ID block = e_.words.syncScope(e_.context, ir::Scope::Block);
    Value *const owner = e_.isOwner(tile);
    for (std::size_t r = 0; r < e_.registerCount(tile); ++r) {
      Value *wide =
          emitCast(e_.b, type.element(), ElementKind::I64, {}, e_.registers(tile)[r], e_.natives);
      Value *bin = e_.b.CreateSub(wide, e_.i64(first));
      Value *isHere = e_.b.CreateICmpULT(bin, e_.i64(count));
      Value *mask = op_.operands.size() > 1 ? e_.registers(op_.operand(1))[r] : nullptr;
      e_.where(e_.allOf({owner, e_.isInside(layout, type.shape(), r), mask, isHere}), [&] {
        e_.b.CreateAtomicRMW(llvm::AtomicRMWInst::Add, counter(bin), e_.i32(1),
                             llvm::Align(kCountBytes), llvm::AtomicOrdering::Monotonic, block);
      });
    }
  }

  Emitter &e_;
  const ir::Op &op_;
  std::int64_t bins_;
  Value *base_ = nullptr;
};

} // namespace

void emitHistogram(Emitter &e, const ir::Op &op) { HistogramEmitter(e, op).run(); }

} // namespace imbrex::lower
