#include "backend/target/amdgpu/carried_bytes.h"
#include "llvm/AsmParser/Parser.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Verifier.h"
#include "llvm/Support/SourceMgr.h"
#include "llvm/Support/raw_ostream.h"

#include <doctest/doctest.h>

#include <memory>
#include <string>

/// Bytes that go from block to block.
namespace imbrex::target::amdgpu {
namespace {

/// A loop that hands %v of a type on: the parameter at first, then %w, which is made of it. Both
/// ways of a branch lead into the loop.
std::unique_ptr<llvm::Module> loopOf(llvm::LLVMContext &context, const std::string &type) {
  llvm::SMDiagnostic problem;
  auto module = llvm::parseAssemblyString("define " + type + " @f(" + type + R"( %given, i1 %some) {
entry:
  br i1 %some, label %loop, label %loop
loop:
  %v = phi )" + type + " [ %given, %entry ], [ %given, %entry ], [ %w, %loop ]\n  %w = add " +
                                              type + R"( %v, %given
  br i1 %some, label %loop, label %end
end:
  ret )" + type + " %v\n}\n",
                                          problem, context);
  REQUIRE_MESSAGE(module, problem.getMessage().str());
  carryBytesInWords(*module);
  REQUIRE(!llvm::verifyModule(*module));
  return module;
}

std::string textOf(const llvm::Type &type) {
  std::string text;
  llvm::raw_string_ostream(text) << type;
  return text;
}

const llvm::PHINode &phiOf(const llvm::Module &module) {
  return *std::next(module.begin()->begin())->phis().begin();
}

/// The type that %v is carried as.
std::string carriedAs(const std::string &type) {
  llvm::LLVMContext context;
  return textOf(*phiOf(*loopOf(context, type)).getType());
}

} // namespace

TEST_CASE("bytes that fill registers are carried as words, and nothing else is") {
  CHECK(carriedAs("<4 x i8>") == "i32");
  CHECK(carriedAs("<8 x i8>") == "<2 x i32>");
  CHECK(carriedAs("<2 x i8>") == "<2 x i8>");
  CHECK(carriedAs("<6 x i8>") == "<6 x i8>");
  CHECK(carriedAs("<2 x i16>") == "<2 x i16>");
  CHECK(carriedAs("i8") == "i8");
}

TEST_CASE("the words are those bytes, of every block that they come from") {
  llvm::LLVMContext context;
  const auto module = loopOf(context, "<4 x i8>");
  const llvm::PHINode &words = phiOf(*module);
  REQUIRE(words.getNumIncomingValues() == 3);
  const auto bytesFrom = [&](unsigned i) {
    return llvm::cast<llvm::BitCastInst>(words.getIncomingValue(i))->getOperand(0)->getName();
  };
  CHECK(bytesFrom(0) == "given");
  CHECK(words.getIncomingValue(1) == words.getIncomingValue(0));
  CHECK(bytesFrom(2) == "w");
  for (const llvm::Instruction &instruction : llvm::instructions(*module->getFunction("f")))
    if (const auto *sum = llvm::dyn_cast<llvm::BinaryOperator>(&instruction))
      CHECK(llvm::cast<llvm::BitCastInst>(sum->getOperand(0))->getOperand(0) == &words);
}

} // namespace imbrex::target::amdgpu
