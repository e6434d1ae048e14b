#include "backend/target/amdgpu/byte_permutes.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/AsmParser/Parser.h"
#include "llvm/IR/Constants.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/IntrinsicsAMDGPU.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Verifier.h"
#include "llvm/Support/SourceMgr.h"

#include <doctest/doctest.h>

#include <array>
#include <memory>
#include <random>
#include <string>
#include <vector>

/// Words of bytes from several words.
namespace imbrex::target::amdgpu {
namespace {

using llvm::Value;
using Word = std::array<int, 4>; // which byte of which argument: 4 · argument + byte; -1: any

/// What a value's bytes are, by the words of the instructions: the intrinsic's from the ISA
/// documents (V_PERM_B32: 0 to 3 are the second operand's bytes, 4 to 7 the first one's).
Word bytesOf(const Value &value) {
  if (const auto *argument = llvm::dyn_cast<llvm::Argument>(&value)) {
    const int first = 4 * static_cast<int>(argument->getArgNo());
    return {first, first + 1, first + 2, first + 3};
  }
  if (llvm::isa<llvm::PoisonValue>(value)) return {-1, -1, -1, -1};
  const auto &made = llvm::cast<llvm::Instruction>(value);
  if (llvm::isa<llvm::BitCastInst>(made)) return bytesOf(*made.getOperand(0));
  const Word first = bytesOf(*made.getOperand(0)), second = bytesOf(*made.getOperand(1));
  Word bytes{};
  const auto *shuffle = llvm::dyn_cast<llvm::ShuffleVectorInst>(&made);
  if (!shuffle)
    REQUIRE(llvm::cast<llvm::IntrinsicInst>(made).getIntrinsicID() ==
            llvm::Intrinsic::amdgcn_perm);
  for (unsigned i = 0; i < 4; ++i) {
    if (shuffle) {
      const int from = shuffle->getMaskValue(i);
      bytes.at(i) = from < 0 ? -1 : (from < 4 ? first : second).at(static_cast<std::size_t>(from) % 4);
      continue;
    }
    const auto selected =
        llvm::cast<llvm::ConstantInt>(made.getOperand(2))->getZExtValue() >> (8 * i) & 0xff;
    REQUIRE(selected < 8);
    bytes.at(i) = (selected < 4 ? second : first).at(selected % 4);
  }
  return bytes;
}

std::size_t count(llvm::Module &module, bool (*is)(const llvm::Instruction &)) {
  std::size_t found = 0;
  for (llvm::Function &function : module)
    found += static_cast<std::size_t>(llvm::count_if(llvm::instructions(function), is));
  return found;
}
bool isPermute(const llvm::Instruction &instruction) {
  const auto *call = llvm::dyn_cast<llvm::IntrinsicInst>(&instruction);
  return call && call->getIntrinsicID() == llvm::Intrinsic::amdgcn_perm;
}

struct Permuted {
  std::vector<Word> before, after; ///< What is stored.
  std::size_t permutes;
};

Permuted permuted(const std::string &body) {
  const std::string text =
      "define void @f(<4 x i8> %a, <4 x i8> %b, <4 x i8> %c, <4 x i8> %d, ptr %p) {\n" + body +
      "  ret void\n}\n";
  llvm::LLVMContext context;
  llvm::SMDiagnostic problem;
  const auto module = llvm::parseAssemblyString(text, problem, context);
  REQUIRE_MESSAGE(module, problem.getMessage().str());
  const auto stored = [&] {
    std::vector<Word> words;
    for (llvm::Instruction &instruction : llvm::instructions(*module->getFunction("f")))
      if (const auto *store = llvm::dyn_cast<llvm::StoreInst>(&instruction))
        words.push_back(bytesOf(*store->getValueOperand()));
    return words;
  };
  Permuted result{.before = stored(), .after = {}, .permutes = 0};
  permuteBytes(*module);
  CHECK_FALSE(llvm::verifyModule(*module));
  result.after = stored();
  result.permutes = count(*module, isPermute);
  return result;
}

std::string shuffle(const std::string &name, const std::string &first, const std::string &second,
                    const Word &bytes) {
  std::string text = "  %" + name + " = shufflevector <4 x i8> %" + first + ", <4 x i8> %" + second +
                     ", <4 x i32> <";
  for (std::size_t i = 0; i < 4; ++i)
    text += std::string(i > 0 ? ", " : "") + "i32 " +
            (bytes.at(i) < 0 ? "poison" : std::to_string(bytes.at(i)));
  return text + ">\n";
}
std::string store(const std::string &name) { return "  store <4 x i8> %" + name + ", ptr %p\n"; }

/// As LLVM's optimiser leaves a column of four rows.
std::string column(int number) {
  const std::string n = std::to_string(number);
  return shuffle("x" + n, "a", "b", {number, 4 + number, -1, -1}) +
         shuffle("y" + n, "x" + n, "c", {0, 1, 4 + number, -1}) +
         shuffle("z" + n, "y" + n, "d", {0, 1, 2, 4 + number}) + store("z" + n);
}

} // namespace

TEST_CASE("the columns of four words take two permutes each") {
  const Permuted columns = permuted(column(0) + column(1) + column(2) + column(3));
  CHECK(columns.permutes == 8);
  CHECK(columns.after == columns.before);
  CHECK(columns.after[2] == Word{2, 6, 10, 14});
  CHECK(permuted(column(3)).permutes == 3);
}

TEST_CASE("two words are left to LLVM, and bytes that are any as well") {
  CHECK(permuted(shuffle("x", "a", "b", {0, 5, 2, 7}) + store("x")).permutes == 0);
  CHECK(permuted(shuffle("x", "a", "b", {0, 5, -1, -1}) + shuffle("y", "x", "c", {0, 1, 4, -1}) +
                 store("y"))
            .permutes == 0);
}

TEST_CASE("any bytes of any words come out as they were meant") {
  std::mt19937 rng(20261128);
  const auto below = [&](int number) {
    return std::uniform_int_distribution<int>(0, number - 1)(rng);
  };
  std::size_t permutes = 0;
  for (int i = 0; i < 500; ++i) {
    std::vector<std::string> names{"a", "b", "c", "d"};
    std::string body;
    for (int j = 0; j < 8; ++j) {
      const auto any = [&] { return names[static_cast<std::size_t>(below(static_cast<int>(names.size())))]; };
      const std::string name = "v" + std::to_string(j), first = any(), second = any();
      body += shuffle(name, first, second, {below(8), below(8), below(8), below(8)});
      if (below(2) == 0) body += store(name);
      names.push_back(name);
    }
    const Permuted words = permuted(body);
    CHECK(words.after == words.before);
    permutes += words.permutes;
  }
  CHECK(permutes > 300);
}

} // namespace imbrex::target::amdgpu
