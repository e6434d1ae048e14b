#include "tests/unit/target/sample_kernel.h"

#include <doctest/doctest.h>

#include <string>

/// Which of AMD's machines compute on two floats at once.
using namespace imbrex;
using lower::Vocabulary;

TEST_CASE("two f32 are added by one instruction on just the machines that are said to have it") {
  int have = 0;
  for (const target::GpuTarget *target : sample::targets()) {
    if (target->machine().family != machine::Family::Amdgpu) continue;
    CAPTURE(std::string(target->machine().name));
    llvm::LLVMContext context;
    const auto module = sample::kernel(
        context, *target, [](const Vocabulary &words, Vocabulary::Builder &b, llvm::Value *x) {
          llvm::Value *pair = llvm::PoisonValue::get(llvm::FixedVectorType::get(b.getFloatTy(), 2));
          pair = b.CreateInsertElement(pair, b.CreateBitCast(x, b.getFloatTy()), std::size_t{0});
          pair = b.CreateInsertElement(pair, b.CreateUIToFP(words.threadIndex(b), b.getFloatTy()),
                                       std::size_t{1});
          llvm::Value *sums = b.CreateFAdd(pair, pair);
          return b.CreateBitCast(b.CreateFMul(b.CreateExtractElement(sums, std::size_t{0}),
                                              b.CreateExtractElement(sums, std::size_t{1})),
                                 b.getInt32Ty());
        });
    const auto text = target->assembly(*module);
    REQUIRE_MESSAGE(text.ok(), (text.ok() ? "" : render(text.error())));
    CAPTURE(*text);
    const bool has = target->vocabulary().hasFloatPairs();
    have += has ? 1 : 0;
    CHECK((text->find("v_pk_add_f32") != std::string::npos) == has);
  }
  CHECK(have > 0);
}
