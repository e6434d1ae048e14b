#include "backend/target/amdgpu/carried_vectors.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/AsmParser/Parser.h"
#include "llvm/IR/Constants.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Verifier.h"
#include "llvm/Support/SourceMgr.h"

#include <doctest/doctest.h>

#include <map>
#include <memory>
#include <string>
#include <vector>

/// Vectors that are carried as such. What a function gives is the same before and after.
namespace imbrex::target::amdgpu {
namespace {

using llvm::Value;
using Numbers = std::vector<std::uint32_t>;

/// Runs functions of 32-bit integers: additions, phis, and vectors that are put together and taken
/// apart.
class Machine {
public:
  std::uint32_t run(llvm::Function &function, std::uint32_t argument) {
    known_.clear();
    known_[function.getArg(0)] = {argument};
    const llvm::BasicBlock *from = nullptr, *block = &function.getEntryBlock();
    while (true) {
      std::map<const Value *, Numbers> arriving; // all at once
      for (const llvm::PHINode &phi : block->phis())
        arriving[&phi] = of(*phi.getIncomingValueForBlock(from));
      for (auto &[phi, numbers] : arriving) known_[phi] = std::move(numbers);
      for (const llvm::Instruction &instruction : *block)
        if (!llvm::isa<llvm::PHINode>(instruction) && !instruction.isTerminator())
          known_[&instruction] = resultOf(instruction);
      const llvm::Instruction &last = *block->getTerminator();
      if (const auto *end = llvm::dyn_cast<llvm::ReturnInst>(&last))
        return of(*end->getReturnValue())[0];
      const auto &branch = llvm::cast<llvm::BranchInst>(last);
      const bool isOther = branch.isConditional() && of(*branch.getCondition())[0] == 0;
      from = block;
      block = branch.getSuccessor(isOther ? 1 : 0);
    }
  }

private:
  Numbers of(const Value &value) const {
    if (const auto *number = llvm::dyn_cast<llvm::ConstantInt>(&value))
      return {static_cast<std::uint32_t>(number->getZExtValue())};
    const auto *constant = llvm::dyn_cast<llvm::Constant>(&value);
    if (constant == nullptr) return known_.at(&value);
    const auto &type = llvm::cast<llvm::FixedVectorType>(*value.getType());
    Numbers numbers;
    for (unsigned i = 0; i < type.getNumElements(); ++i) {
      const llvm::Constant *element = constant->getAggregateElement(i);
      numbers.push_back(llvm::isa<llvm::PoisonValue>(element) ? 0xdead : of(*element)[0]);
    }
    return numbers;
  }

  Numbers resultOf(const llvm::Instruction &instruction) const {
    Numbers a = of(*instruction.getOperand(0));
    const Numbers b = of(*instruction.getOperand(1));
    if (llvm::isa<llvm::ICmpInst>(instruction)) return {a[0] < b[0] ? 1U : 0U};
    if (llvm::isa<llvm::ExtractElementInst>(instruction)) return {a[b[0]]};
    if (llvm::isa<llvm::InsertElementInst>(instruction)) {
      a[of(*instruction.getOperand(2))[0]] = b[0];
      return a;
    }
    REQUIRE(instruction.getOpcode() == llvm::Instruction::Add);
    for (std::size_t i = 0; i < a.size(); ++i) a[i] += b[i];
    return a;
  }

  std::map<const Value *, Numbers> known_;
};

/// How many phis a function has: of numbers, but for its loops' indices, and of vectors.
struct Phis {
  std::size_t numbers = 0, vectors = 0;
  friend bool operator==(const Phis &, const Phis &) = default;
};

/// Of a function whose loops' indices are called `i…`.
Phis phisAfter(const std::string &text) {
  llvm::LLVMContext context;
  llvm::SMDiagnostic problem;
  const auto module = llvm::parseAssemblyString(text, problem, context);
  REQUIRE_MESSAGE(module, problem.getMessage().str());
  llvm::Function &function = *module->begin();
  Numbers before, after;
  for (std::uint32_t n = 0; n < 6; ++n) before.push_back(Machine().run(function, n));
  carryVectors(*module, [](const llvm::Instruction &user) {
    return user.getOpcode() == llvm::Instruction::Add && user.getType()->isVectorTy();
  });
  CHECK_FALSE(llvm::verifyFunction(function));
  for (std::uint32_t n = 0; n < 6; ++n) after.push_back(Machine().run(function, n));
  CHECK(before == after);
  Phis phis;
  for (const llvm::Instruction &instruction : llvm::instructions(function))
    if (llvm::isa<llvm::PHINode>(instruction) && !instruction.getName().starts_with("i"))
      ++(instruction.getType()->isVectorTy() ? phis.vectors : phis.numbers);
  return phis;
}

TEST_CASE("from loop to loop, past a branch that leaves one out") {
  CHECK(phisAfter(R"(
define i32 @f(i32 %n) {
entry:
  %some = icmp ult i32 1, %n
  br i1 %some, label %first, label %between
first:
  %i1 = phi i32 [ 0, %entry ], [ %next1, %first ]
  %a1 = phi i32 [ 1, %entry ], [ %x1, %first ]
  %b1 = phi i32 [ 2, %entry ], [ %y1, %first ]
  %v1 = insertelement <2 x i32> poison, i32 %a1, i32 0
  %s1 = insertelement <2 x i32> %v1, i32 %b1, i32 1
  %d1 = add <2 x i32> %s1, <i32 3, i32 4>
  %x1 = extractelement <2 x i32> %d1, i32 0
  %y1 = extractelement <2 x i32> %d1, i32 1
  %next1 = add i32 %i1, 1
  %more1 = icmp ult i32 %next1, %n
  br i1 %more1, label %first, label %between
between:
  %c = phi i32 [ 7, %entry ], [ %x1, %first ]
  %d = phi i32 [ 8, %entry ], [ %y1, %first ]
  br label %second
second:
  %i2 = phi i32 [ 0, %between ], [ %next2, %second ]
  %a2 = phi i32 [ %c, %between ], [ %x2, %second ]
  %b2 = phi i32 [ %d, %between ], [ %y2, %second ]
  %v2 = insertelement <2 x i32> poison, i32 %b2, i32 1
  %s2 = insertelement <2 x i32> %v2, i32 %a2, i32 0
  %d2 = add <2 x i32> %s2, <i32 11, i32 13>
  %x2 = extractelement <2 x i32> %d2, i32 0
  %y2 = extractelement <2 x i32> %d2, i32 1
  %next2 = add i32 %i2, 1
  %more2 = icmp ult i32 %next2, %n
  br i1 %more2, label %second, label %end
end:
  %both = add i32 %x2, %y2
  %r = add i32 %both, %c
  ret i32 %r
})") == Phis{.numbers = 0, .vectors = 3});
}

/// A loop with two numbers that become a vector, and what comes back for the next trip.
std::string loopWith(const std::string &vector, const char *first, const char *second) {
  return R"(
define i32 @f(i32 %n) {
entry:
  br label %before
before:
  %p = phi i32 [ 9, %entry ]
  %few = icmp ult i32 %n, 3
  br i1 %few, label %loop, label %loop
loop:
  %i = phi i32 [ 0, %before ], [ 0, %before ], [ %next, %loop ]
  %a = phi i32 [ %n, %before ], [ %n, %before ], [ )" +
         std::string(first) + R"(, %loop ]
  %b = phi i32 [ 2, %before ], [ 2, %before ], [ )" +
         std::string(second) + R"(, %loop ]
)" + vector +
         R"(
  %d = add <2 x i32> %s, <i32 3, i32 40>
  %x = extractelement <2 x i32> %d, i32 0
  %y = extractelement <2 x i32> %d, i32 1
  %next = add i32 %i, 1
  %more = icmp ult i32 %next, %n
  br i1 %more, label %loop, label %end
end:
  %some = add i32 %x, %b
  %all = add i32 %some, %a
  %r = add i32 %all, %p
  ret i32 %r
})";
}

constexpr const char *kBoth = "%v = insertelement <2 x i32> poison, i32 %a, i32 0\n"
                              "%s = insertelement <2 x i32> %v, i32 %b, i32 1";

TEST_CASE("what comes back is the vector only where all its elements are, in their order") {
  constexpr Phis kCarried{.numbers = 1, .vectors = 1}; // `p` besides
  for (const auto &[first, second] :
       {std::pair{"%x", "%y"}, {"%y", "%x"}, {"%x", "%x"}, {"%a", "%y"}, {"%b", "%a"}, {"%n", "7"}})
    CHECK(phisAfter(loopWith(kBoth, first, second)) == kCarried);
}

TEST_CASE("an element that is inserted twice is what it is set to last") {
  CHECK(phisAfter(loopWith("%u = insertelement <2 x i32> poison, i32 %n, i32 1\n"
                           "%v = insertelement <2 x i32> %u, i32 %a, i32 0\n"
                           "%s = insertelement <2 x i32> %v, i32 %b, i32 1",
                           "%x", "%y")) == Phis{.numbers = 1, .vectors = 1});
}

TEST_CASE("what is no whole vector of one block's phis stays as it is") {
  constexpr Phis kSame{.numbers = 3, .vectors = 0};
  for (const char *second : {"i32 %a, i32 1", "i32 %n, i32 1", "i32 %p, i32 1", "i32 %b, i32 0"}) {
    CAPTURE(second);
    const std::string vector = "%v = insertelement <2 x i32> zeroinitializer, i32 %a, i32 0\n"
                               "%s = insertelement <2 x i32> %v, ";
    CHECK(phisAfter(loopWith(vector + second, "%x", "%y")) == kSame);
  }
}

} // namespace
} // namespace imbrex::target::amdgpu
