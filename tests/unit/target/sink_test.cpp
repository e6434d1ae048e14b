#include "backend/target/codegen/sink.h"
#include "llvm/AsmParser/Parser.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"
#include "llvm/IR/Verifier.h"
#include "llvm/Support/SourceMgr.h"

#include <doctest/doctest.h>

#include <map>
#include <string>

using namespace imbrex;

namespace {

/// The block in which each value stands when what is light has been moved.
std::map<std::string, std::string> placesOf(const char *text) {
  llvm::LLVMContext context;
  llvm::SMDiagnostic problem;
  const auto module = llvm::parseAssemblyString(text, problem, context);
  REQUIRE_MESSAGE(module, problem.getMessage().str());
  llvm::Function &function = *module->begin();
  target::sinkLightly(function);
  CHECK_FALSE(llvm::verifyFunction(function));
  std::map<std::string, std::string> places;
  for (const llvm::Instruction &instruction : llvm::instructions(function))
    if (instruction.hasName())
      places[instruction.getName().str()] = instruction.getParent()->getName().str();
  return places;
}

} // namespace

TEST_CASE("what a branch alone asks for is computed there") {
  const auto places = placesOf(R"(
define float @f(ptr %p, i64 %i, i1 %more) {
entry:
  %double = mul i64 %i, 2
  %square = mul i64 %i, %i
  %offset = add i64 %double, %square
  %at = getelementptr float, ptr %p, i64 %offset
  br i1 %more, label %load, label %end
load:
  %x = load float, ptr %at
  br label %end
end:
  %r = phi float [ 0.0, %entry ], [ %x, %load ]
  ret float %r
})");
  for (const char *name : {"double", "square", "offset", "at"}) CHECK(places.at(name) == "load");
}

TEST_CASE("a sum of two numbers that end in it is done before the next load") {
  const auto places = placesOf(R"(
define void @f(ptr %p, ptr %q, i1 %more) {
entry:
  %a = load float, ptr %p
  %b = load float, ptr %q
  %sum = fadd float %a, %b
  %half = fmul float %sum, 0.5
  br i1 %more, label %load, label %join
load:
  %x = load float, ptr %q
  br label %join
join:
  %c = phi float [ 0.0, %entry ], [ %x, %load ]
  %whole = fadd float %half, %c
  br i1 %more, label %store, label %end
store:
  store float %whole, ptr %p
  br label %end
end:
  ret void
})");
  CHECK(places.at("sum") == "entry");
  CHECK(places.at("half") == "join"); // one number for another: nothing lost
  CHECK(places.at("whole") == "join");
}

TEST_CASE("nothing moves into a loop, or past what others see") {
  const auto places = placesOf(R"(
define i32 @f(ptr %p, i32 %n) {
entry:
  %square = mul i32 %n, %n
  %old = load i32, ptr %p
  br label %loop
loop:
  %i = phi i32 [ 0, %entry ], [ %next, %loop ]
  %next = add i32 %i, %square
  store i32 %next, ptr %p
  %more = icmp ult i32 %next, 100
  br i1 %more, label %loop, label %end
end:
  ret i32 %old
})");
  CHECK(places.at("square") == "entry");
  CHECK(places.at("old") == "entry");
}

TEST_CASE("what a phi asks for goes to the end of the way that it comes from") {
  const auto places = placesOf(R"(
define i32 @f(i32 %n, i1 %c) {
entry:
  %square = mul i32 %n, %n
  br i1 %c, label %other, label %end
other:
  br label %end
end:
  %r = phi i32 [ 0, %entry ], [ %square, %other ]
  ret i32 %r
})");
  CHECK(places.at("square") == "other");
}

namespace {

/// How often a function computes this in each block, when all that is cheap has been copied there.
std::map<std::string, int> blocksWith(llvm::StringRef opcode, const char *text) {
  llvm::LLVMContext context;
  llvm::SMDiagnostic problem;
  const auto module = llvm::parseAssemblyString(text, problem, context);
  REQUIRE_MESSAGE(module, problem.getMessage().str());
  llvm::Function &function = *module->begin();
  CHECK(target::computeWhereUsed(function));
  CHECK_FALSE(llvm::verifyFunction(function));
  CHECK_FALSE(target::computeWhereUsed(function)); // there is no more to do
  std::map<std::string, int> counts;
  for (const llvm::Instruction &instruction : llvm::instructions(function))
    if (instruction.getOpcodeName() == opcode) ++counts[instruction.getParent()->getName().str()];
  return counts;
}

/// Two accesses in each of two blocks.
constexpr const char *kUsedBelow = R"(
define i1 @f(ptr %p, i64 %i, i32 %n) {
entry:
  %next = getelementptr i8, ptr %p, i64 64
  %far = getelementptr i8, ptr %p, i64 %i
  %more = icmp ult i32 %n, 7
  br i1 %more, label %one, label %other
one:
  store float 1.0, ptr %next
  store float 2.0, ptr %next
  %farther = getelementptr i8, ptr %far, i64 8
  store float 3.0, ptr %farther
  br i1 %more, label %end, label %other
other:
  store float 4.0, ptr %next
  store float 5.0, ptr %far
  br label %end
end:
  %r = phi i1 [ %more, %one ], [ false, %other ]
  ret i1 %r
})";

} // namespace

TEST_CASE("a constant distance is added in each block that uses the address, and no other") {
  // `far` stays in the entry, and `farther` where it is.
  CHECK(blocksWith("getelementptr", kUsedBelow) ==
        std::map<std::string, int>{{"entry", 1}, {"one", 2}, {"other", 1}});
}

TEST_CASE("a condition is asked in each block that branches by it") {
  CHECK(blocksWith("icmp", kUsedBelow) == std::map<std::string, int>{{"entry", 1}, {"one", 1}});
}
