#include "llvm/IR/IntrinsicsAMDGPU.h"
#include "llvm/Support/Regex.h"
#include "tests/unit/target/sample_kernel.h"

#include <doctest/doctest.h>

#include <string>

/// Whether AMD's code branches around what a mask stands for.
using namespace imbrex;
using llvm::Value;
using lower::Vocabulary;
using target::GpuTarget;
using Builder = Vocabulary::Builder;

namespace {

std::vector<const GpuTarget *> amdTargets() {
  std::vector<const GpuTarget *> found;
  for (const GpuTarget *target : sample::targets())
    if (target->machine().family == machine::Family::Amdgpu) found.push_back(target);
  return found;
}

std::string codeOf(const GpuTarget &target, const sample::Body &body) {
  llvm::LLVMContext context;
  const auto module = sample::kernel(context, target, body);
  target.optimise(*module);
  const auto text = target.assembly(*module);
  REQUIRE_MESSAGE(text.ok(), (text.ok() ? "" : render(text.error())));
  return *text;
}

int countOf(llvm::StringRef text, llvm::StringRef part) {
  return static_cast<int>(text.count(part));
}

Value *inGlobalMemory(const Vocabulary &words, Builder &b, Value *x, int bytes) {
  auto *space = llvm::PointerType::get(b.getContext(), words.globalSpace());
  return b.CreateConstGEP1_32(
      b.getInt8Ty(), b.CreateIntToPtr(b.CreateZExt(x, b.getInt64Ty()), space), unsigned(bytes));
}

/// `made` where x is less than `limit`, else x.
template <class Make>
Value *whereLess(Builder &b, Value *x, std::uint32_t limit, Make make) {
  llvm::Function *function = b.GetInsertBlock()->getParent();
  llvm::BasicBlock *before = b.GetInsertBlock();
  auto *holds = llvm::BasicBlock::Create(b.getContext(), "holds", function);
  auto *after = llvm::BasicBlock::Create(b.getContext(), "after", function);
  b.CreateCondBr(b.CreateICmpULT(x, b.getInt32(limit)), holds, after);
  b.SetInsertPoint(holds);
  Value *made = make();
  b.CreateBr(after);
  b.SetInsertPoint(after);
  llvm::PHINode *chosen = b.CreatePHI(made->getType(), 2);
  chosen->addIncoming(x, before);
  chosen->addIncoming(made, holds);
  return chosen;
}

Value *load(Builder &b, Value *address) {
  return b.CreateAlignedLoad(b.getInt32Ty(), address, llvm::Align(4));
}

} // namespace

TEST_CASE("on AMD a masked load has no branch around it, and is waited for by itself") {
  for (const GpuTarget *target : amdTargets()) {
    CAPTURE(std::string(target->machine().name));
    const std::string text = codeOf(*target, [](const Vocabulary &words, Builder &b, Value *x) {
      Value *first = whereLess(b, x, 100, [&] { return load(b, inGlobalMemory(words, b, x, 0)); });
      Value *second =
          whereLess(b, x, 200, [&] { return load(b, inGlobalMemory(words, b, x, 4096)); });
      return b.CreateXor(b.CreateMul(first, first), second);
    });
    CAPTURE(text);
    CHECK(countOf(text, "s_cbranch_execz") == 0);
    CHECK(countOf(text, "global_load_") == 3); // the test's own too
    // The product waits for the first alone, and not for the second.
    CHECK(llvm::Regex("vmcnt\\(1\\)|s_wait_loadcnt 0x1").match(text));
  }
}

TEST_CASE("on AMD a masked load takes along what its address needs") {
  for (const GpuTarget *target : amdTargets()) {
    CAPTURE(std::string(target->machine().name));
    const std::string text = codeOf(*target, [](const Vocabulary &words, Builder &b, Value *x) {
      Value *block = words.blockIndex(b, 0);
      return whereLess(b, x, 100, [&] {
        Value *row = b.CreateShl(b.CreateMul(block, block), 2); // of the whole wave
        return load(b, inGlobalMemory(words, b, b.CreateAdd(b.CreateShl(x, 2), row), 0));
      });
    });
    CAPTURE(text);
    CHECK(countOf(text, "s_cbranch_execz") == 0);
  }
}

TEST_CASE("on AMD a branch stays around what no lane may do, and around much") {
  const auto aroundLoad = [](auto more) -> sample::Body {
    return [more](const Vocabulary &words, Builder &b, Value *x) {
      return whereLess(b, x, 100, [&] {
        Value *address = inGlobalMemory(words, b, x, 0);
        return more(words, b, load(b, address), address);
      });
    };
  };
  const auto stores = aroundLoad([](const Vocabulary &, Builder &b, Value *loaded, Value *address) {
    b.CreateAlignedStore(b.CreateMul(loaded, loaded), address, llvm::Align(4));
    return loaded;
  });
  const auto fromFirst = aroundLoad([](const Vocabulary &, Builder &b, Value *loaded, Value *) {
    return b.CreateIntrinsic(llvm::Intrinsic::amdgcn_readfirstlane, {loaded->getType()}, {loaded});
  });
  const auto computes = aroundLoad([](const Vocabulary &, Builder &b, Value *loaded, Value *) {
    for (int i = 0; i < 20; ++i) loaded = b.CreateMul(loaded, b.CreateAdd(loaded, b.getInt32(7)));
    return loaded;
  });
  for (const GpuTarget *target : amdTargets())
    for (const sample::Body &body : {stores, fromFirst, computes}) {
      CAPTURE(std::string(target->machine().name));
      const std::string text = codeOf(*target, body);
      CAPTURE(text);
      CHECK(countOf(text, "s_cbranch_execz") == 1);
    }
}

TEST_CASE("on AMD a buffer ends where distances name what is outside, whatever its words are") {
  // gfx1250 has 45 bits of the bytes: 7 above the address, and 24 of 2^31 - 1 in the third word.
  const auto ends = [](std::string_view cpu) -> const char * {
    return cpu == "gfx1250" ? "s_mov_b32 s[0-9]+, 0xffffff$" : "s_brev_b32 s[0-9]+, -2$";
  };
  const auto fourthWord = [](const machine::Machine &machine) -> const char * {
    const llvm::StringRef name(machine.name.data(), machine.name.size());
    if (name.starts_with("gfx9")) return "s_mov_b32 s[0-9]+, 0x27000$";
    if (name.starts_with("gfx10")) return "s_mov_b32 s[0-9]+, 0x31014000$";
    if (name == "gfx1250") return "s_brev_b32 s[0-9]+, 12$"; // OOB_SELECT 3
    return "s_mov_b32 s[0-9]+, 0x31004000$";
  };
  for (const GpuTarget *target : amdTargets()) {
    CAPTURE(std::string(target->machine().name));
    const std::string text = codeOf(*target, [](const Vocabulary &words, Builder &b, Value *x) {
      Value *const first = inGlobalMemory(words, b, words.blockIndex(b, 0), 0);
      return words.loadFromBuffer(b, b.getInt32Ty(),
                                  {.first = first, .ofBlock = b.getInt32(0), .ofThread = x});
    });
    CAPTURE(text);
    CHECK(llvm::Regex(ends(target->machine().cpu), llvm::Regex::Newline).match(text));
    CHECK(llvm::Regex(fourthWord(target->machine()), llvm::Regex::Newline).match(text));
    CHECK(countOf(text, "0xfe000000") == (target->machine().cpu == "gfx1250" ? 1 : 0));
  }
}
