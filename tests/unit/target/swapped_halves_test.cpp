#include "backend/target/amdgpu/swapped_halves.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/AsmParser/Parser.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/IntrinsicsAMDGPU.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Verifier.h"
#include "llvm/Support/SourceMgr.h"

#include <doctest/doctest.h>

#include <array>
#include <memory>
#include <string>

/// Words of halves from two words that a condition swaps.
namespace imbrex::target::amdgpu {
namespace {

struct Halves {
  std::string name;
  std::string other = "select i1 %c, i32 %y, i32 %x"; ///< What stands beside select c, x, y.
  int lower = 0, upper = 2;                           ///< As a shuffle counts them.
};

std::unique_ptr<llvm::Module> moduleOf(llvm::LLVMContext &context, const Halves &halves) {
  llvm::SMDiagnostic problem;
  auto module = llvm::parseAssemblyString(
      "define <2 x i16> @f(i32 %lane, i32 %x, i32 %y, i32 %z) {\n"
      "  %c = icmp eq i32 %lane, 0\n"
      "  %d = icmp eq i32 %lane, 1\n"
      "  %a = select i1 %c, i32 %x, i32 %y\n"
      "  %b = " +
          halves.other +
          "\n"
          "  %p = bitcast i32 %a to <2 x i16>\n"
          "  %q = bitcast i32 %b to <2 x i16>\n"
          "  %w = shufflevector <2 x i16> %p, <2 x i16> %q, <2 x i32> <i32 " +
          std::to_string(halves.lower) + ", i32 " + std::to_string(halves.upper) +
          ">\n"
          "  ret <2 x i16> %w\n"
          "}\n",
      problem, context);
  REQUIRE_MESSAGE(module, problem.getMessage().str());
  permuteSwappedHalves(*module);
  CHECK(!llvm::verifyModule(*module));
  return module;
}

const llvm::IntrinsicInst *permutationIn(const llvm::Module &module) {
  for (const llvm::Instruction &instruction : llvm::instructions(*module.getFunction("f")))
    if (const auto *call = llvm::dyn_cast<llvm::IntrinsicInst>(&instruction)) return call;
  return nullptr;
}

/// By the words of the ISA documents (V_PERM_B32): 0 to 3 are the second operand's bytes, 4 to 7
/// the first one's. Each byte as its argument's name and its number.
std::string bytesOf(const llvm::IntrinsicInst &call, bool holds) {
  REQUIRE(call.getIntrinsicID() == llvm::Intrinsic::amdgcn_perm);
  const auto *selector = llvm::cast<llvm::SelectInst>(call.getOperand(2));
  CHECK(selector->getCondition()->getName() == "c");
  const auto bytes =
      llvm::cast<llvm::ConstantInt>(holds ? selector->getTrueValue() : selector->getFalseValue())
          ->getZExtValue();
  std::string text;
  for (unsigned i = 0; i < 4; ++i) {
    const auto byte = bytes >> (8 * i) & 0xff;
    REQUIRE(byte < 8);
    text += call.getOperand(byte < 4 ? 1 : 0)->getName().str() + std::to_string(byte % 4);
  }
  return text;
}

TEST_CASE("halves of two words that a condition swaps are one permutation of both") {
  for (const int lower : {0, 1})
    for (const int upper : {2, 3}) {
      llvm::LLVMContext context;
      const auto module = moduleOf(context, {.name = "swapped", .lower = lower, .upper = upper});
      const auto *call = permutationIn(*module);
      REQUIRE(call);
      const auto half = [](const std::string &word, int of) {
        return of % 2 == 0 ? word + "0" + word + "1" : word + "2" + word + "3";
      };
      CHECK(bytesOf(*call, true) == half("x", lower) + half("y", upper));
      CHECK(bytesOf(*call, false) == half("y", lower) + half("x", upper));
    }
}

TEST_CASE("other selects and halves stay as they are") {
  const std::array others{
      Halves{.name = "not swapped", .other = "select i1 %c, i32 %x, i32 %y"},
      Halves{.name = "another condition", .other = "select i1 %d, i32 %y, i32 %x"},
      Halves{.name = "another word", .other = "select i1 %c, i32 %y, i32 %z"},
      Halves{.name = "of one word", .lower = 0, .upper = 1},
      Halves{.name = "the second word first", .lower = 2, .upper = 0},
  };
  for (const Halves &halves : others) {
    CAPTURE(halves.name);
    llvm::LLVMContext context;
    CHECK(permutationIn(*moduleOf(context, halves)) == nullptr);
  }
}

} // namespace
} // namespace imbrex::target::amdgpu
