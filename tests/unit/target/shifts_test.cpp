#include "tests/unit/target/sample_kernel.h"

#include <doctest/doctest.h>

#include <string>

/// What of shifts comes out in PTX, where LLVM's own is wrong.
using namespace imbrex;
using llvm::Value;
using Builder = lower::Vocabulary::Builder;

namespace {

/// Of each of NVIDIA's machines.
void forEachText(const std::function<Value *(Builder &, Value *)> &body,
                 const std::function<void(const std::string &)> &check) {
  for (const target::GpuTarget *target : sample::targets()) {
    if (target->machine().family != machine::Family::Nvptx) continue;
    CAPTURE(std::string(target->machine().name));
    llvm::LLVMContext context;
    const auto module = sample::kernel(
        context, *target, [&](const auto &, Builder &b, Value *x) { return body(b, x); });
    target->optimise(*module);
    const auto text = target->assembly(*module);
    REQUIRE_MESSAGE(text.ok(), (text.ok() ? "" : render(text.error())));
    CAPTURE(*text);
    check(*text);
  }
}

/// So that nothing of the number's upper half is known.
Value *wide(Builder &b, Value *x) {
  Value *const whole = b.CreateZExt(x, b.getInt64Ty());
  return b.CreateMul(whole, whole);
}

} // namespace

TEST_CASE("a shift of 64 bits looks at the whole number by which it shifts") {
  for (const auto kind : {llvm::Instruction::Shl, llvm::Instruction::LShr}) {
    forEachText(
        [&](Builder &b, Value *x) {
          Value *by = wide(b, x);
          Value *isInRange = b.CreateICmpULT(by, b.getInt64(64));
          Value *shifted = b.CreateBinOp(kind, b.CreateNot(by), by);
          Value *result = b.CreateSelect(isInRange, shifted, b.getInt64(0));
          return b.CreateTrunc(b.CreateXor(result, b.CreateLShr(result, 32)), b.getInt32Ty());
        },
        [](const std::string &text) { CHECK(text.find(".u64 \t%p") != std::string::npos); });
  }
}

TEST_CASE("a value of one bit that is shifted to the top and made wider keeps its sign") {
  forEachText(
      [&](Builder &b, Value *x) {
        Value *top = b.CreateShl(x, 31, "", false, true);
        Value *whole = b.CreateSExt(top, b.getInt64Ty()); // of which all bits are asked for
        return b.CreateTrunc(b.CreateUDiv(wide(b, x), whole), b.getInt32Ty());
      },
      [](const std::string &text) { CHECK(text.find("-2147483648") == std::string::npos); });
}
