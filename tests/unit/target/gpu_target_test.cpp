#include "llvm/ADT/StringExtras.h"
#include "llvm/BinaryFormat/ELF.h"
#include "llvm/IR/DIBuilder.h"
#include "llvm/IR/InlineAsm.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/Object/ELFObjectFile.h"
#include "tests/support/assembler.h"
#include "tests/unit/target/sample_kernel.h"

#include <doctest/doctest.h>

#include <set>
#include <string>
#include <thread>

using namespace imbrex;
using llvm::Value;
using lower::Vocabulary;
using machine::Family;
using target::GpuTarget;
using testing::canAssemble;

namespace {

/// Uses each word of the vocabulary once.
Value *everyWord(const Vocabulary &words, Vocabulary::Builder &b, Value *x) {
  for (std::int32_t axis = 0; axis < 3; ++axis) {
    x = b.CreateAdd(x, words.blockIndex(b, axis));
    x = b.CreateXor(x, words.gridExtent(b, axis));
  }
  for (std::uint32_t mask = 1; mask < static_cast<std::uint32_t>(words.machine().warpSize);
       mask = mask * 2 + 1)
    x = b.CreateAdd(words.shuffleXor(b, x, mask), x);
  words.meetAll(b);
  x = b.CreateAdd(x, words.shuffle(b, x, b.CreateAnd(x, 31)));
  x = b.CreateAdd(x, b.CreateZExt(words.any(b, b.CreateICmpEQ(x, b.getInt32(7))), b.getInt32Ty()));
  const auto scope = words.syncScope(b.getContext(), ir::Scope::Device);
  Value *global =
      llvm::ConstantPointerNull::get(llvm::PointerType::get(b.getContext(), words.globalSpace()));
  Value *old = b.CreateAtomicRMW(llvm::AtomicRMWInst::Add, global, x, llvm::Align(4),
                                 llvm::AtomicOrdering::AcquireRelease, scope);
  return b.CreateAdd(x, old);
}

constexpr ir::OpKind kFastKinds[] = {ir::OpKind::Exp,   ir::OpKind::Exp2, ir::OpKind::Log,
                                     ir::OpKind::Log2,  ir::OpKind::Sin,  ir::OpKind::Cos,
                                     ir::OpKind::Rsqrt, ir::OpKind::Tanh, ir::OpKind::Div};

Value *everyFastOp(const Vocabulary &words, Vocabulary::Builder &b, Value *x) {
  Value *y = b.CreateBitCast(x, b.getFloatTy());
  for (const ir::OpKind kind : kFastKinds)
    if (words.hasFast(kind))
      y = words.fast(b, kind, kind == ir::OpKind::Div ? llvm::ArrayRef<Value *>{y, y} : y);
  return b.CreateBitCast(y, b.getInt32Ty());
}

Result<std::string> assemblyOf(const GpuTarget &target, const sample::Body &body) {
  llvm::LLVMContext context;
  const auto module = sample::kernel(context, target, body);
  target.optimise(*module);
  return target.assembly(*module);
}

Result<target::ObjectCode> objectOf(const GpuTarget &target, const sample::Body &body) {
  llvm::LLVMContext context;
  const auto module = sample::kernel(context, target, body);
  target.optimise(*module);
  const auto text = target.assembly(*module);
  if (!text) return text.failure();
  return target.objectOf(*text);
}

/// The machine that an image says it is for.
std::string machineOf(const std::vector<char> &image) {
  const llvm::StringRef bytes(image.data(), image.size());
  auto file = llvm::object::ObjectFile::createELFObjectFile(llvm::MemoryBufferRef(bytes, "image"));
  REQUIRE(static_cast<bool>(file));
  const auto *elf = llvm::dyn_cast<llvm::object::ELFObjectFileBase>(file->get());
  return elf->tryGetCPUName().value_or("").str();
}

bool contains(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

} // namespace

TEST_CASE("every machine has a target with its own numbers, and the CPU has none") {
  CHECK(target::findGpuTarget(machine::hostMachine()) == nullptr);
  for (const GpuTarget *target : sample::targets()) {
    CHECK(&target::gpuTarget(target->machine()) == target);
    CHECK(&target->machine() == machine::findMachine(target->machine().name));
  }
}

TEST_CASE("every word becomes code that the machine's own assembler takes" *
          doctest::test_suite("toolkit")) {
  for (const GpuTarget *target : sample::targets()) {
    CAPTURE(std::string(target->machine().name));
    const bool isAssembled = canAssemble(*target);
    for (const sample::Body &body : {sample::Body(everyWord), sample::Body(everyFastOp)}) {
      CHECK(assemblyOf(*target, body).ok());
      if (!isAssembled) continue;
      const auto object = objectOf(*target, body);
      REQUIRE_MESSAGE(object.ok(), (object.ok() ? "" : render(object.error())));
      const std::string_view name = target->machine().name;
      // LLVM 22 does not see what makes sm_100 an sm_100a; package/ does, and tests it.
      const bool hidesLetter = name.starts_with("sm_1");
      CHECK(machineOf(object->image) == name.substr(0, name.size() - (hidesLetter ? 1 : 0)));
    }
  }
}

TEST_CASE("the same kernel gives the same bytes" * doctest::test_suite("toolkit")) {
  for (const GpuTarget *target : sample::targets()) {
    CAPTURE(std::string(target->machine().name));
    CHECK(*assemblyOf(*target, everyWord) == *assemblyOf(*target, everyWord));
    if (canAssemble(*target))
      CHECK(objectOf(*target, everyWord)->image == objectOf(*target, everyWord)->image);
  }
}

TEST_CASE("many threads compile at once" * doctest::test_suite("toolkit")) {
  const std::vector<const GpuTarget *> targets = sample::targets();
  // An image, or where there is no assembler what it is made of.
  const auto codeOf = [](const GpuTarget &target) -> std::string {
    const auto object = objectOf(target, everyWord);
    return object ? std::string(object->image.begin(), object->image.end())
                  : *assemblyOf(target, everyWord);
  };
  std::vector<std::string> codes(targets.size());
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < targets.size(); ++i)
    threads.emplace_back([&, i] { codes[i] = codeOf(*targets[i]); });
  for (std::thread &thread : threads) thread.join();
  for (std::size_t i = 0; i < targets.size(); ++i) {
    CHECK(codes[i] == codeOf(*targets[i]));
    CHECK(codes[i].starts_with("\177ELF") == canAssemble(*targets[i]));
  }
}

TEST_CASE("a product and a sum stay two roundings") {
  for (const GpuTarget *target : sample::targets()) {
    CAPTURE(std::string(target->machine().name));
    for (const bool isDouble : {false, true}) {
      const auto text =
          assemblyOf(*target, [&](const Vocabulary &, Vocabulary::Builder &b, Value *x) {
            Value *y = b.CreateUIToFP(x, isDouble ? b.getDoubleTy() : b.getFloatTy());
            return b.CreateFPToUI(b.CreateFAdd(b.CreateFMul(y, y), y), b.getInt32Ty());
          });
      REQUIRE(text.ok());
      for (const char *fused : {"fma.rn", "_fma_", "_fmac_", "_mad_", "_mac_"})
        CHECK_MESSAGE(!contains(*text, fused), *text);
      if (target->machine().family == Family::Nvptx)
        CHECK(contains(*text, isDouble ? "mul.rn.f64" : "mul.rn.f32"));
    }
  }
}

TEST_CASE("division and square root are rounded to the nearest, subnormals kept") {
  for (const GpuTarget *target : sample::targets()) {
    if (target->machine().family != Family::Nvptx) continue;
    const auto text = assemblyOf(*target, [](const Vocabulary &, Vocabulary::Builder &b, Value *x) {
      Value *y = b.CreateBitCast(x, b.getFloatTy());
      Value *root = b.CreateUnaryIntrinsic(llvm::Intrinsic::sqrt, y);
      return b.CreateBitCast(b.CreateFDiv(y, root), b.getInt32Ty());
    });
    CHECK(contains(*text, "sqrt.rn.f32"));
    CHECK(contains(*text, "div.rn.f32"));
    CHECK_FALSE(contains(*text, "ftz"));
  }
}

TEST_CASE("a barrier waits for what was written before it") {
  const auto writeThenWait = [](const Vocabulary &words, Vocabulary::Builder &b, Value *x) {
    llvm::Type *type = llvm::ArrayType::get(b.getInt32Ty(), 128);
    auto *shared = new llvm::GlobalVariable(*b.GetInsertBlock()->getModule(), type, false,
                                            llvm::GlobalValue::InternalLinkage,
                                            llvm::PoisonValue::get(type), "shared", nullptr,
                                            llvm::GlobalValue::NotThreadLocal, words.sharedSpace());
    b.CreateStore(x, b.CreateGEP(b.getInt32Ty(), shared, words.threadIndex(b)));
    words.meetAll(b);
    return b.CreateLoad(b.getInt32Ty(), shared);
  };
  for (const GpuTarget *target : sample::targets()) {
    const std::string name(target->machine().name);
    CAPTURE(name);
    const std::string text = *assemblyOf(*target, writeThenWait);
    CAPTURE(text);
    const bool isNvptx = target->machine().family == Family::Nvptx;
    const bool isSplit = name.starts_with("gfx12");
    const std::size_t store = text.find(isNvptx                           ? "st.shared"
                                        : name < "gfx11" || name > "gfx2" ? "ds_write"
                                                                          : "ds_store");
    const std::size_t barrier = text.find(isNvptx   ? "bar.sync"
                                          : isSplit ? "s_barrier_signal -1"
                                                    : "s_barrier\n");
    REQUIRE(store != std::string::npos);
    REQUIRE(barrier != std::string::npos);
    CHECK(store < barrier);
    CHECK(contains(text, "s_barrier_wait") == isSplit);
    // AMD's barrier itself orders nothing: the store has to be waited for.
    if (!isNvptx) CHECK(text.substr(store, barrier - store).find("s_wait") != std::string::npos);
  }
}

TEST_CASE("accesses to shared memory say how far their addresses are aligned") {
  for (const GpuTarget *target : sample::targets()) {
    CAPTURE(std::string(target->machine().name));
    llvm::LLVMContext context;
    const auto module =
        sample::kernel(context, *target, [](const auto &words, auto &b, llvm::Value *x) {
          llvm::Module &inside = *b.GetInsertBlock()->getModule();
          auto *type = llvm::ArrayType::get(b.getInt32Ty(), 512);
          auto *shared = new llvm::GlobalVariable(
              inside, type, false, llvm::GlobalValue::InternalLinkage, llvm::PoisonValue::get(type),
              "shared", nullptr, llvm::GlobalValue::NotThreadLocal, words.sharedSpace());
          shared->setAlignment(llvm::Align(16));
          llvm::Value *first = b.CreateShl(words.threadIndex(b), 2);
          for (unsigned i = 0; i < 4; ++i)
            b.CreateStore(x, b.CreateGEP(b.getInt32Ty(), shared, b.CreateOr(first, b.getInt32(i))));
          words.meetAll(b);
          return b.CreateLoad(b.getInt32Ty(), b.CreateConstGEP1_32(b.getInt32Ty(), shared, 200));
        });
    target->optimise(*module);
    std::uint64_t most = 0; // some machines store two at once already
    for (const llvm::Instruction &instruction : llvm::instructions(*module->begin()))
      if (const auto *store = llvm::dyn_cast<llvm::StoreInst>(&instruction))
        if (store->getPointerAddressSpace() == target->vocabulary().sharedSpace())
          most = std::max(most, store->getAlign().value());
    CHECK(most == 16);
  }
}

TEST_CASE("a kernel is declared for its number of threads") {
  for (const GpuTarget *target : sample::targets()) {
    CAPTURE(std::string(target->machine().name));
    llvm::LLVMContext context;
    const auto keep = [](const Vocabulary &, Vocabulary::Builder &, Value *x) { return x; };
    const auto module = sample::kernel(context, *target, keep, 96);
    const auto text = target->assembly(*module);
    REQUIRE(text.ok());
    if (target->machine().family == Family::Nvptx) {
      CHECK(contains(*text, ".reqntid 96"));
      continue;
    }
    CHECK(contains(*text, ".max_flat_workgroup_size: 96"));
    CHECK(contains(*text, ".reqd_workgroup_size:\n      - 96\n      - 1\n      - 1\n"));
    CHECK(module->getFunction("sample")
              ->getFnAttribute("amdgpu-flat-work-group-size")
              .getValueAsString() == "96,96");
  }
}

TEST_CASE("each axis of the grid has its own index and extent") {
  for (const GpuTarget *target : sample::targets()) {
    CAPTURE(std::string(target->machine().name));
    std::set<std::string> texts;
    for (std::int32_t axis = 0; axis < 3; ++axis) {
      texts.insert(*assemblyOf(
          *target, [=](const auto &words, auto &b, Value *) { return words.blockIndex(b, axis); }));
      texts.insert(*assemblyOf(
          *target, [=](const auto &words, auto &b, Value *) { return words.gridExtent(b, axis); }));
    }
    CHECK(texts.size() == 6);
  }
}

TEST_CASE("a shuffle on NVIDIA's machines reaches over the whole warp") {
  for (const GpuTarget *target : sample::targets()) {
    if (target->machine().family != Family::Nvptx) continue;
    const auto by = [&](const auto &shuffle) {
      return *assemblyOf(*target, [&](const Vocabulary &words, Vocabulary::Builder &b, Value *x) {
        return shuffle(words, b, x);
      });
    };
    CHECK(contains(by([](auto &words, auto &b, Value *x) { return words.shuffleXor(b, x, 16); }),
                   ", 16, 31, -1;"));
    CHECK(contains(by([](auto &words, auto &b, Value *x) { return words.shuffle(b, x, x); }),
                   ", 31, -1;"));
  }
}

TEST_CASE("hints change the instruction where the machine has another one") {
  for (const GpuTarget *target : sample::targets()) {
    if (target->machine().family != Family::Amdgpu) continue;
    const auto with = [&](ir::Cache cache, ir::Eviction eviction) {
      return *assemblyOf(*target, [=](const Vocabulary &words, Vocabulary::Builder &b, Value *x) {
        auto *load = llvm::cast<llvm::Instruction>(x);
        words.applyHints(*load, cache, eviction);
        return b.CreateAdd(x, b.getInt32(1));
      });
    };
    const std::string plain = with(ir::Cache::Default, ir::Eviction::Normal);
    CHECK(with(ir::Cache::All, ir::Eviction::Last) == plain);
    CHECK(with(ir::Cache::Streaming, ir::Eviction::Normal) != plain);
    CHECK(with(ir::Cache::Default, ir::Eviction::First) != plain);
  }
}

TEST_CASE("scopes have different names, and the system's is LLVM's default") {
  for (const GpuTarget *target : sample::targets()) {
    llvm::LLVMContext context;
    std::set<llvm::SyncScope::ID> ids;
    for (const ir::Scope scope : {ir::Scope::Block, ir::Scope::Device, ir::Scope::System})
      ids.insert(target->vocabulary().syncScope(context, scope));
    CHECK(ids.size() == 3);
    CHECK(ids.contains(llvm::SyncScope::System));
  }
}

TEST_CASE("what is not one of the fast ops has no fast form") {
  for (const GpuTarget *target : sample::targets())
    for (const ir::OpKind kind : {ir::OpKind::Add, ir::OpKind::Sqrt, ir::OpKind::Erf})
      CHECK_FALSE(target->vocabulary().hasFast(kind));
}

TEST_CASE("the lines of the source are in the code") {
  for (const GpuTarget *target : sample::targets()) {
    CAPTURE(std::string(target->machine().name));
    llvm::LLVMContext context;
    const auto keep = [](const Vocabulary &, Vocabulary::Builder &, Value *x) { return x; };
    const auto module = sample::kernel(context, *target, keep);
    llvm::Function &function = *module->getFunction("sample");
    module->addModuleFlag(llvm::Module::Warning, "Debug Info Version",
                          llvm::DEBUG_METADATA_VERSION);
    llvm::DIBuilder builder(*module);
    llvm::DIFile *file = builder.createFile("kernel.cpp", "/where");
    builder.createCompileUnit(llvm::DISourceLanguageName(llvm::dwarf::DW_LANG_C_plus_plus_20), file,
                              "imbrex", true, "", 0, "", llvm::DICompileUnit::LineTablesOnly);
    llvm::DISubprogram *program = builder.createFunction(
        file, "sample", "", file, 7, builder.createSubroutineType(builder.getOrCreateTypeArray({})),
        7, llvm::DINode::FlagZero, llvm::DISubprogram::SPFlagDefinition);
    function.setSubprogram(program);
    for (llvm::Instruction &instruction : function.getEntryBlock())
      instruction.setDebugLoc(llvm::DILocation::get(context, 42, 1, program));
    builder.finalize();
    target->optimise(*module);
    const auto text = target->assembly(*module);
    REQUIRE(text.ok());
    CHECK_MESSAGE(contains(*text, "kernel.cpp"), *text);
    CHECK(contains(*text, target->machine().family == Family::Nvptx ? ".loc\t1 42" : "42"));
    CHECK_FALSE(contains(*text, ", debug"));
  }
}

TEST_CASE("code that the machine cannot have is refused in words" *
          doctest::test_suite("toolkit")) {
  for (const GpuTarget *target : sample::targets()) {
    if (!canAssemble(*target)) continue;
    CAPTURE(std::string(target->machine().name));
    const auto object = objectOf(*target, [](const Vocabulary &, Vocabulary::Builder &b, Value *x) {
      auto *type = llvm::FunctionType::get(b.getVoidTy(), {}, false);
      b.CreateCall(llvm::InlineAsm::get(type, "nonsense;", "", true));
      return x;
    });
    REQUIRE_FALSE(object.ok());
    CHECK(object.error().kind == Diag::CodeRefused);
    CHECK(contains(render(object.error()), target->machine().name));
  }
}

TEST_CASE("an assembly that the machine cannot have is refused in the assembler's words") {
  for (const GpuTarget *target : sample::targets()) {
    if (target->machine().family != Family::Amdgpu) continue; // ptxas is not everywhere
    CAPTURE(std::string(target->machine().name));
    const auto object = target->objectOf("\ts_endpgm\n\tnonsense\n");
    REQUIRE_FALSE(object.ok());
    CHECK(object.error().kind == Diag::CodeRefused);
    CHECK(contains(render(object.error()),
                   "LLVM's assembler refuses the code for " + std::string(target->machine().cpu)));
    CHECK(contains(render(object.error()), ":2:2: error: invalid instruction"));
  }
}

TEST_CASE("what is not defined is found when an image is made" * doctest::test_suite("toolkit")) {
  for (const GpuTarget *target : sample::targets()) {
    if (!canAssemble(*target)) continue;
    CAPTURE(std::string(target->machine().name));
    const auto object = objectOf(*target, [](const Vocabulary &, Vocabulary::Builder &b, Value *x) {
      auto *type = llvm::FunctionType::get(b.getInt32Ty(), {b.getInt32Ty()}, false);
      llvm::Module &module = *b.GetInsertBlock()->getModule();
      return b.CreateCall(module.getOrInsertFunction("nobody_defines_this", type), {x});
    });
    REQUIRE_FALSE(object.ok());
    CHECK(contains(render(object.error()), "nobody_defines_this"));
  }
}
