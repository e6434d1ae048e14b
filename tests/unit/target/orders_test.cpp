#include "llvm/ADT/StringExtras.h"
#include "tests/unit/target/sample_kernel.h"

#include <doctest/doctest.h>

#include <string>

/// What a code generator makes of atomics, where LLVM's own does not do it.
using namespace imbrex;
using llvm::AtomicOrdering;
using llvm::AtomicRMWInst;
using llvm::Value;
using lower::Vocabulary;
using target::GpuTarget;
using Builder = Vocabulary::Builder;

namespace {

bool isOf(const GpuTarget &target, machine::Family family) {
  return target.machine().family == family;
}

std::string textOf(const GpuTarget &target, const sample::Body &body) {
  llvm::LLVMContext context;
  const auto module = sample::kernel(context, target, body);
  target.optimise(*module);
  const auto text = target.assembly(*module);
  REQUIRE_MESSAGE(text.ok(), (text.ok() ? "" : render(text.error())));
  return *text;
}

bool hasText(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

/// Somewhere in global memory.
Value *placeOf(const Vocabulary &words, Builder &b, Value *x) {
  Value *null =
      llvm::ConstantPointerNull::get(llvm::PointerType::get(b.getContext(), words.globalSpace()));
  return b.CreateGEP(b.getInt8Ty(), null, b.CreateShl(x, 3));
}

struct Asked {
  AtomicOrdering order;
  ir::Scope scope;
};

Value *update(const Vocabulary &words, Builder &b, AtomicRMWInst::BinOp kind, llvm::Type *type,
              Value *x, const Asked &asked) {
  Value *value = type->isFloatingPointTy() ? b.CreateUIToFP(x, type) : b.CreateZExtOrTrunc(x, type);
  Value *old = b.CreateAtomicRMW(kind, placeOf(words, b, x), value,
                                 llvm::Align(type->getPrimitiveSizeInBits() / 8), asked.order,
                                 words.syncScope(b.getContext(), asked.scope));
  if (type->isFloatingPointTy()) return b.CreateFPToUI(old, b.getInt32Ty());
  return b.CreateZExtOrTrunc(old, b.getInt32Ty());
}

constexpr Asked kUsual{AtomicOrdering::AcquireRelease, ir::Scope::Device};

} // namespace

#if IMBREX_ENABLE_NVPTX
TEST_CASE("an update in PTX has the order and the scope that are asked for") {
  struct OrderText {
    AtomicOrdering order;
    const char *text;
  };
  struct ScopeText {
    ir::Scope scope;
    const char *text;
  };
  constexpr OrderText kOrders[]{{AtomicOrdering::Monotonic, ".relaxed"},
                                {AtomicOrdering::Acquire, ".acquire"},
                                {AtomicOrdering::Release, ".release"},
                                {AtomicOrdering::AcquireRelease, ".acq_rel"}};
  constexpr ScopeText kScopes[]{
      {ir::Scope::Block, ".cta"}, {ir::Scope::Device, ".gpu"}, {ir::Scope::System, ".sys"}};
  for (const GpuTarget *target : sample::targets()) {
    if (!isOf(*target, machine::Family::Nvptx)) continue;
    CAPTURE(std::string(target->machine().name));
    for (const bool isUsed : {true, false}) {
      const std::string text = textOf(*target, [&](const Vocabulary &words, Builder &b, Value *x) {
        Value *sum = x;
        for (const OrderText &order : kOrders)
          for (const ScopeText &scope : kScopes)
            sum = b.CreateAdd(sum, update(words, b, AtomicRMWInst::Add, b.getInt32Ty(), x,
                                          {order.order, scope.scope}));
        return isUsed ? sum : x;
      });
      CAPTURE(text);
      for (const OrderText &order : kOrders)
        for (const ScopeText &scope : kScopes)
          CHECK(hasText(text, std::string("atom") + order.text + scope.text + ".global.add.u32"));
    }
  }
}

TEST_CASE("every kind of update in PTX is one instruction with its order, or a loop of such") {
  struct Row {
    AtomicRMWInst::BinOp kind;
    llvm::Type *(*type)(llvm::LLVMContext &);
    const char *text;
  };
  constexpr auto i8 = [](llvm::LLVMContext &c) -> llvm::Type * { return llvm::Type::getInt8Ty(c); };
  constexpr auto i16 = [](llvm::LLVMContext &c) -> llvm::Type * {
    return llvm::Type::getInt16Ty(c);
  };
  constexpr auto i32 = [](llvm::LLVMContext &c) -> llvm::Type * {
    return llvm::Type::getInt32Ty(c);
  };
  constexpr auto i64 = [](llvm::LLVMContext &c) -> llvm::Type * {
    return llvm::Type::getInt64Ty(c);
  };
  const Row rows[]{{AtomicRMWInst::Add, i64, "add.u64"},
                   {AtomicRMWInst::And, i32, "and.b32"},
                   {AtomicRMWInst::Or, i64, "or.b64"},
                   {AtomicRMWInst::Xor, i32, "xor.b32"},
                   {AtomicRMWInst::Max, i32, "max.s32"},
                   {AtomicRMWInst::Min, i64, "min.s64"},
                   {AtomicRMWInst::UMax, i64, "max.u64"},
                   {AtomicRMWInst::UMin, i32, "min.u32"},
                   {AtomicRMWInst::Xchg, i32, "exch.b32"},
                   {AtomicRMWInst::Xchg, i64, "exch.b64"},
                   {AtomicRMWInst::Xchg, i16, "cas.b16"},
                   {AtomicRMWInst::And, i8, "and.b32"},
                   {AtomicRMWInst::Or, i8, "or.b32"},
                   {AtomicRMWInst::FAdd, llvm::Type::getHalfTy, "add.noftz.f16"},
                   {AtomicRMWInst::FAdd, llvm::Type::getFloatTy, "add.f32"},
                   {AtomicRMWInst::FAdd, llvm::Type::getDoubleTy, "add.f64"},
                   {AtomicRMWInst::FAdd, llvm::Type::getBFloatTy, "add.noftz.bf16"}};
  for (const GpuTarget *target : sample::targets()) {
    if (!isOf(*target, machine::Family::Nvptx)) continue;
    CAPTURE(std::string(target->machine().name));
    for (const Row &row : rows) {
      const std::string text = textOf(*target, [&](const Vocabulary &words, Builder &b, Value *x) {
        return update(words, b, row.kind, row.type(b.getContext()), x, kUsual);
      });
      CAPTURE(text);
      const bool hasSums = machine::hasBf16Op(target->machine(), "add");
      const bool hasNone = std::string(row.text) == "add.noftz.bf16" && !hasSums;
      const std::string operation = hasNone ? "cas.b16" : row.text;
      CHECK(hasText(text, "atom.acq_rel.gpu.global." + operation));
      if (operation == "cas.b16") CHECK(hasText(text, "ld.relaxed.gpu.global.b16"));
      CHECK_FALSE(hasText(text, "atom.global"));
    }
  }
}
#endif

#if IMBREX_ENABLE_AMDGPU
TEST_CASE("on AMD a release waits for the cache that it writes back") {
  const sample::Body firstThing = [](const Vocabulary &words, Builder &b, Value *x) {
    words.meetAll(b);
    return update(words, b, AtomicRMWInst::Add, b.getInt32Ty(), x,
                  {AtomicOrdering::Release, ir::Scope::System});
  };
  const sample::Body inALoop = [](const Vocabulary &words, Builder &b, Value *x) {
    return update(words, b, AtomicRMWInst::FAdd, b.getHalfTy(), x,
                  {AtomicOrdering::Release, ir::Scope::System});
  };
  for (const GpuTarget *target : sample::targets()) {
    const std::string name(target->machine().name);
    CAPTURE(name);
    for (const sample::Body &body : {firstThing, inALoop}) {
      if (!isOf(*target, machine::Family::Amdgpu)) continue;
      const std::string text = textOf(*target, body);
      CAPTURE(text);
      llvm::SmallVector<llvm::StringRef, 0> lines;
      llvm::StringRef(text).split(lines, '\n');
      std::size_t writeBacks = 0;
      for (std::size_t i = 0; i < lines.size(); ++i) {
        if (!lines[i].trim().starts_with("buffer_wbl2")) continue;
        ++writeBacks;
        CHECK(lines[i + 1].trim().starts_with("s_waitcnt vmcnt(0)"));
      }
      CHECK((writeBacks > 0) == llvm::StringRef(name).starts_with("gfx9"));
    }
  }
}

TEST_CASE("on AMD what a block hands on has been done before it meets") {
  for (const ir::Scope scope : {ir::Scope::Block, ir::Scope::Device})
    for (const GpuTarget *target : sample::targets()) {
      if (!isOf(*target, machine::Family::Amdgpu)) continue;
      const std::string name(target->machine().name);
      CAPTURE(name);
      const std::string text = textOf(*target, [&](const Vocabulary &words, Builder &b, Value *x) {
        b.CreateStore(x, placeOf(words, b, x));
        words.meetAll(b);
        return update(words, b, AtomicRMWInst::Add, b.getInt32Ty(), x,
                      {AtomicOrdering::Release, scope});
      });
      CAPTURE(text);
      const std::size_t store = text.find("global_store"), meeting = text.find("s_barrier");
      REQUIRE(store < meeting);
      const std::string between = text.substr(store, meeting - store);
      const bool isInOrder = llvm::StringRef(name).starts_with("gfx9") && scope == ir::Scope::Block;
      const bool waits =
          hasText(between, "vmcnt(0)") || hasText(between, "vscnt") || hasText(between, "storecnt");
      CHECK(waits == !isInOrder);
    }
}

TEST_CASE("on AMD a product that is rounded to 16 bits keeps the sign of zero") {
  const auto rounded = [](llvm::Type *(*type)(llvm::LLVMContext &), bool isNegated) {
    return [=](const Vocabulary &, Builder &b, Value *x) {
      Value *y = b.CreateBitCast(x, b.getFloatTy());
      Value *product = b.CreateFMul(y, llvm::ConstantFP::get(b.getFloatTy(), 0.3));
      if (isNegated) product = b.CreateFNeg(b.CreateFMul(y, y));
      Value *brief = b.CreateFPTrunc(product, type(b.getContext()));
      return b.CreateZExt(b.CreateBitCast(brief, b.getInt16Ty()), b.getInt32Ty());
    };
  };
  for (const GpuTarget *target : sample::targets()) {
    if (!isOf(*target, machine::Family::Amdgpu)) continue;
    CAPTURE(std::string(target->machine().name));
    for (auto *type : {llvm::Type::getHalfTy, llvm::Type::getBFloatTy})
      for (const bool isNegated : {false, true}) {
        const std::string text = textOf(*target, rounded(type, isNegated));
        CAPTURE(text);
        if (type == llvm::Type::getHalfTy) CHECK(hasText(text, "v_fma_mixlo_f16"));
        for (const llvm::StringRef line : llvm::split(text, '\n'))
          if (line.contains("v_fma_mixlo_"))
            CHECK_FALSE(line.split(" op_sel").first.split(';').first.trim().ends_with(", 0"));
      }
  }
}
#endif
