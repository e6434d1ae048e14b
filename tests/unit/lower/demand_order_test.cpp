#include "backend/lower/demand_order.h"
#include "llvm/AsmParser/Parser.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"
#include "llvm/IR/Verifier.h"
#include "llvm/Support/SourceMgr.h"

#include <doctest/doctest.h>

#include <string>

namespace {

/// The names of a block's instructions, in order.
std::string orderedNames(const std::string &body) {
  llvm::LLVMContext context;
  llvm::SMDiagnostic problem;
  const auto module = llvm::parseAssemblyString(
      "declare float @meet(float) convergent nounwind memory(none) willreturn\n"
      "declare { float, float } @product(float) convergent nounwind memory(none) willreturn\n"
      "define void @k(ptr %p, float %x, float %y, i1 %c) {\n" +
          body + "}\n",
      problem, context);
  REQUIRE_MESSAGE(module, problem.getMessage().str());
  llvm::Function &function = *module->getFunction("k");
  imbrex::lower::orderByDemand(function);
  CHECK_FALSE(llvm::verifyFunction(function));
  std::string names;
  for (const llvm::BasicBlock &block : function)
    for (const llvm::Instruction &instruction : block)
      if (instruction.hasName()) names += (names.empty() ? "" : " ") + instruction.getName().str();
  return names;
}

} // namespace

TEST_CASE("an element is done with before the next begins") {
  CHECK(orderedNames(R"(
    %a0 = fadd float %x, 1.0
    %a1 = fadd float %y, 1.0
    %b0 = fmul float %a0, %a0
    %b1 = fmul float %a1, %a1
    %s = fadd float %b0, %b1
    store float %s, ptr %p
    ret void
  )") == "a0 b0 a1 b1 s");
}

TEST_CASE("so it is where only other blocks ask for what comes of it") {
  CHECK(orderedNames(R"(
  entry:
    %a0 = fadd float %x, 1.0
    %a1 = fadd float %y, 1.0
    %b0 = fmul float %a0, %a0
    %b1 = fmul float %a1, %a1
    br i1 %c, label %end, label %other
  other:
    br label %end
  end:
    %q = phi float [ %b0, %entry ], [ %x, %other ]
    %s = fadd float %b1, %q
    store float %s, ptr %p
    ret void
  )") == "a0 b0 a1 b1 q s");
}

TEST_CASE("what touches memory or other lanes keeps its order") {
  CHECK(orderedNames(R"(
    %l0 = load float, ptr %p
    %m = call float @meet(float %x)
    store float %m, ptr %p
    %l1 = load float, ptr %p
    %s = fadd float %l1, %l0
    store float %s, ptr %p
    ret void
  )") == "l0 m l1 s");
}

TEST_CASE("sums of a matrix instruction are added before the next one makes others") {
  CHECK(orderedNames(R"(
  entry:
    br label %loop
  loop:
    %a = phi float [ %x, %entry ], [ %d, %loop ]
    %p0 = call { float, float } @product(float %x)
    %p1 = call { float, float } @product(float %y)
    %e0 = extractvalue { float, float } %p0, 0
    %b = fadd float %a, %e0
    %e1 = extractvalue { float, float } %p1, 0
    %d = fadd float %b, %e1
    br i1 %c, label %loop, label %end
  end:
    ret void
  )") == "a p0 e0 b p1 e1 d");
}

TEST_CASE("sums that others ask for as well, or end in what is not there yet, wait") {
  CHECK(orderedNames(R"(
    %p0 = call { float, float } @product(float %x)
    %p1 = call { float, float } @product(float %y)
    %l = load float, ptr %p
    %e0 = extractvalue { float, float } %p0, 0
    %b = fadd float %l, %e0
    %e1 = extractvalue { float, float } %p1, 0
    %d = fadd float %e1, %e1
    %s = fadd float %b, %d
    store float %s, ptr %p
    ret void
  )") == "p0 p1 l e0 b e1 d s");
}

TEST_CASE("what only other blocks ask for stays, and phis stay first") {
  CHECK(orderedNames(R"(
  entry:
    %a = fadd float %x, 1.0
    br i1 %c, label %then, label %end
  then:
    br label %end
  end:
    %q = phi float [ %a, %entry ], [ %y, %then ]
    %b = fadd float %a, %q
    %unused = fadd float %b, %b
    store float %b, ptr %p
    ret void
  )") == "a q b unused");
}
