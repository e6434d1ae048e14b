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

#include <algorithm>
#include <iterator>
#include <memory>
#include <random>
#include <string>
#include <vector>

/// Words of bytes from several words.
namespace imbrex::target::amdgpu {
namespace {

using llvm::Value;
using Bytes = std::vector<int>; // which byte of which argument: 8 · argument + byte; -1: any

std::size_t byteCount(const Value &value) {
  return value.getType()->getPrimitiveSizeInBits().getFixedValue() / 8;
}

Bytes bytesOf(const Value &value);

/// By the words of the ISA documents (V_PERM_B32): 0 to 3 are the second operand's bytes, 4 to 7
/// the first one's.
Bytes permutedBytes(const llvm::IntrinsicInst &call) {
  REQUIRE(call.getIntrinsicID() == llvm::Intrinsic::amdgcn_perm);
  const Bytes first = bytesOf(*call.getOperand(0)), second = bytesOf(*call.getOperand(1));
  Bytes bytes;
  for (unsigned i = 0; i < 4; ++i) {
    const auto selected =
        llvm::cast<llvm::ConstantInt>(call.getOperand(2))->getZExtValue() >> (8 * i) & 0xff;
    REQUIRE(selected < 8);
    bytes.push_back((selected < 4 ? second : first).at(selected % 4));
  }
  return bytes;
}

std::ptrdiff_t placeOf(const Value &index) {
  return 4 * static_cast<std::ptrdiff_t>(llvm::cast<llvm::ConstantInt>(index).getZExtValue());
}

/// What a value's bytes are.
Bytes bytesOf(const Value &value) {
  Bytes bytes;
  if (const auto *argument = llvm::dyn_cast<llvm::Argument>(&value)) {
    for (std::size_t i = 0; i < byteCount(value); ++i)
      bytes.push_back(8 * static_cast<int>(argument->getArgNo()) + static_cast<int>(i));
    return bytes;
  }
  if (llvm::isa<llvm::PoisonValue>(value)) return Bytes(byteCount(value), -1);
  const auto &made = llvm::cast<llvm::Instruction>(value);
  Bytes first = bytesOf(*made.getOperand(0));
  if (llvm::isa<llvm::BitCastInst>(made)) return first;
  if (const auto *extract = llvm::dyn_cast<llvm::ExtractElementInst>(&made)) {
    const auto from = first.begin() + placeOf(*extract->getIndexOperand());
    return {from, from + 4};
  }
  if (const auto *insert = llvm::dyn_cast<llvm::InsertElementInst>(&made)) {
    bytes = first;
    std::ranges::copy(bytesOf(*insert->getOperand(1)),
                      bytes.begin() + placeOf(*insert->getOperand(2)));
    return bytes;
  }
  const auto *shuffle = llvm::dyn_cast<llvm::ShuffleVectorInst>(&made);
  if (!shuffle) return permutedBytes(llvm::cast<llvm::IntrinsicInst>(made));
  Bytes both = first;
  std::ranges::copy(bytesOf(*made.getOperand(1)), std::back_inserter(both));
  for (const int from : shuffle->getShuffleMask())
    bytes.push_back(from < 0 ? -1 : both.at(static_cast<std::size_t>(from)));
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
  std::vector<Bytes> before, after; ///< What is stored.
  std::size_t permutes;
};

Permuted permuted(const std::string &body) {
  const std::string text = "define void @f(<4 x i8> %a, <4 x i8> %b, <4 x i8> %c, <4 x i8> %d, <8 "
                           "x i8> %v, <8 x i8> %w, "
                           "ptr %p) {\n" +
                           body + "  ret void\n}\n";
  llvm::LLVMContext context;
  llvm::SMDiagnostic problem;
  const auto module = llvm::parseAssemblyString(text, problem, context);
  REQUIRE_MESSAGE(module, problem.getMessage().str());
  const auto stored = [&] {
    std::vector<Bytes> words;
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

/// Of vectors of `of` bytes.
std::string shuffle(const std::string &name, const std::string &first, const std::string &second,
                    const Bytes &bytes, int of = 4) {
  const std::string type = "<" + std::to_string(of) + " x i8> %";
  std::string text = "  %" + name + " = shufflevector " + type + first + ", " + type + second +
                     ", <" + std::to_string(bytes.size()) + " x i32> <";
  for (std::size_t i = 0; i < bytes.size(); ++i)
    text += std::string(i > 0 ? ", " : "") + "i32 " +
            (bytes.at(i) < 0 ? "poison" : std::to_string(bytes.at(i)));
  return text + ">\n";
}
std::string store(const std::string &name, int of = 4) {
  return "  store <" + std::to_string(of) + " x i8> %" + name + ", ptr %p\n";
}

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
  CHECK(columns.after[2] == Bytes{2, 10, 18, 26});
  CHECK(permuted(column(3)).permutes == 3);
}

TEST_CASE("vectors of words are made of words of vectors") {
  // Eight bytes, of four words that are the halves of two vectors.
  const Permuted words =
      permuted(shuffle("x", "v", "w", {0, 4, 8, 12, 1, 5, 9, 13}, 8) + store("x", 8) + column(0));
  CHECK(words.after == words.before);
  CHECK(words.after[0] == Bytes{32, 36, 40, 44, 33, 37, 41, 45});
  CHECK(words.permutes == 4 + 3);
  // A word as it is beside one that is not: nothing is gained.
  CHECK(permuted(shuffle("x", "v", "w", {0, 1, 2, 3, 1, 5, 9, 13}, 8) + store("x", 8)).permutes ==
        0);
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
      const auto any = [&] {
        return names[static_cast<std::size_t>(below(static_cast<int>(names.size())))];
      };
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
