#include "tests/support/random_kernel.h"

#include "tests/support/random_generator.h"

namespace imbrex::testing {

using namespace ir;

Generator::Generator(std::uint32_t seed, const RandomKernelOptions &options)
    : options_(options), rng_(seed), kernel_("random" + std::to_string(seed)),
      block_(&kernel_.body()) {
  kernel_.setStage(options.stage);
  for (std::int32_t &extent : grid_.extents) extent = static_cast<std::int32_t>(number(1, 2));
  if (chance(20)) oneOf(grid_.extents) = static_cast<std::int32_t>(number(3, 6));
}

RandomKernel Generator::run() {
  for (int i = 0; i < 3; ++i) {
    const Type scalar = Type::tile(element(Domain::Any));
    keep(parameter("scalar", {.type = scalar, .scalar = bits(scalar.element())}));
  }
  // x + width (y + height z)
  const Type index = Type::tile(ElementKind::I32);
  block_number_ = emit(OpKind::ProgramId, {}, index, AxisAttrs{2}).result();
  for (const std::int32_t axis : {1, 0}) {
    const ValueId count = emit(OpKind::NumPrograms, {}, index, AxisAttrs{axis}).result();
    const ValueId at = emit(OpKind::ProgramId, {}, index, AxisAttrs{axis}).result();
    block_number_ = value(OpKind::Mul, {block_number_, count}, index);
    block_number_ = value(OpKind::Add, {block_number_, at}, index);
  }
  keep(block_number_);
  for (std::int32_t i = 0; i < options_.size; ++i) emitRandom();
  for (const ValueId variable : variables_)
    keep(value(OpKind::VarRead, variable, type(variable).held()));
  isEnding_ = true;
  // What nothing used would not be seen.
  const std::vector<std::int32_t> uses = countUses(kernel_);
  for (const ValueId value : std::vector(pool_))
    if (value.index() < uses.size() && uses[value.index()] == 0) {
      if (fitsView(type(value)) && chance(40))
        emitViewStore(value);
      else
        emitStore(value);
    }
  return {.kernel = std::move(kernel_), .arguments = std::move(arguments_), .grid = grid_};
}

namespace {

/// What an author can write; and conversions of layouts, of which nothing comes, so that a seed
/// is the kernel that it was.
const std::vector<OpKind> &kindsOfAuthors() {
  static const std::vector<OpKind> kinds = [] {
    std::vector<OpKind> found;
    for (const OpKind kind : allOpKinds())
      if (firstStage(kind) < Stage::Laid || kind == OpKind::ConvertLayout) found.push_back(kind);
    return found;
  }();
  return kinds;
}

} // namespace

void Generator::emitRandom() {
  if (chance(8)) return emitOwnAccesses();
  if (chance(80)) return emitKind(oneOf(llvm::ArrayRef(kindsOfAuthors())));
  // What one in a hundred would be too seldom.
  emitKind(one({OpKind::For, OpKind::While, OpKind::If, OpKind::BreakIf, OpKind::Reduce,
                OpKind::Scan, OpKind::Load, OpKind::ViewLoad, OpKind::Store, OpKind::Dot,
                OpKind::Permute, OpKind::VarRead, OpKind::VarWrite, OpKind::VarWrite}));
}

void Generator::emitKind(OpKind kind) {
  const bool isTraced = options_.stage == Stage::Traced;
  switch (kind) {
  case OpKind::Constant: return emitConstant();
  case OpKind::Arange: return emitArange();
  case OpKind::ProgramId:
  case OpKind::NumPrograms:
    keep(emit(kind, {}, Type::tile(ElementKind::I32),
              AxisAttrs{static_cast<std::int32_t>(number(0, 2))})
             .result());
    return;
#define IMBREX_OP(...)
#define IMBREX_ELEMENTWISE(Kind, ...) case OpKind::Kind:
#include "backend/ir/ops.def"
    return emitElementwise(kind);
  case OpKind::Cast: return emitCast();
  case OpKind::Bitcast: return emitBitcast();
  case OpKind::Broadcast: return emitBroadcast();
  case OpKind::Reshape: return emitReshape();
  case OpKind::Permute: return emitPermute();
  case OpKind::Join: return emitJoin();
  case OpKind::Split: return emitSplit();
  case OpKind::Concat: return emitConcat();
  case OpKind::Slice: return emitSlice();
  case OpKind::Flip: return emitFlip();
  case OpKind::PointerAdd: return emitPointerWalk();
  case OpKind::Load: return emitLoad();
  case OpKind::Store: return emitStore(tile(Domain::Any));
  case OpKind::AtomicRmw: return chance(70) ? emitAtomicRmw() : emitSharedAdd();
  case OpKind::AtomicCas: return emitAtomicCas();
  case OpKind::ViewLoad: return emitViewLoad();
  case OpKind::ViewStore: {
    const ValueId value = tile(Domain::Any, 1);
    return fitsView(type(value)) ? emitViewStore(value) : emitStore(value);
  }
  case OpKind::ViewExtent:
  case OpKind::ViewStride: return emitViewQuestion(kind);
  case OpKind::ViewData: return emitViewData();
  case OpKind::ViewBytes: return emitViewBytes();
  case OpKind::TablePointer: return emitTablePointer();
  case OpKind::Reduce: return emitReduce();
  case OpKind::Scan: return emitScan();
  case OpKind::Sort: return emitSort();
  case OpKind::Histogram: return emitHistogram();
  case OpKind::Gather: return emitGather();
  case OpKind::Dot: return emitDot();
  case OpKind::DotScaled: return emitDotScaled();
  case OpKind::Philox: return emitPhilox();
  case OpKind::Print: return options_.runnable ? void() : emitPrint();
  case OpKind::Assert: return emitAssert();
  case OpKind::Require: return emitRequire();
  case OpKind::InlineAsm: return options_.runnable ? void() : emitInlineAsm();
  case OpKind::For: return emitFor();
  case OpKind::While: return emitWhile();
  case OpKind::If: return emitIf();
  case OpKind::Yield: return; // every body has one
  case OpKind::BreakIf: return emitBreakIf();
  case OpKind::ExitIf: return emitExitIf();
#define IMBREX_OP(...)
#define IMBREX_LAID(Kind, ...) case OpKind::Kind:
#include "backend/ir/ops.def"
    return;
  case OpKind::VarNew: return isTraced ? emitVarNew() : void();
  case OpKind::VarRead: return isTraced ? emitVarRead() : void();
  case OpKind::VarWrite: return isTraced ? emitVarWrite() : void();
  }
}

RandomKernel randomKernel(std::uint32_t seed, const RandomKernelOptions &options) {
  return Generator(seed, options).run();
}

} // namespace imbrex::testing
