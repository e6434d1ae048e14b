#include "backend/target/nvptx/assembler.h"
#include "backend/target/nvptx/refusal.h"
#include "tests/unit/target/sample_kernel.h"

#include <doctest/doctest.h>

#include <string>

using namespace imbrex;

namespace {

std::string ptxFor(const target::GpuTarget &target) {
  llvm::LLVMContext context;
  const auto keep = [](const auto &, auto &, llvm::Value *x) { return x; };
  const auto module = sample::kernel(context, target, keep);
  return *target.assembly(*module);
}

} // namespace

TEST_CASE("the library and the program assemble alike" * doctest::test_suite("toolkit")) {
  for (const target::GpuTarget *target : sample::targets()) {
    if (target->machine().family != machine::Family::Nvptx) continue;
    CAPTURE(std::string(target->machine().name));
    const std::string ptx = ptxFor(*target);
    const auto inProcess = target::nvptx::assembleInProcess(ptx, target->machine());
    const auto byProgram = target::nvptx::assembleByProgram(ptx, target->machine());
    if (!inProcess || !byProgram) {
      MESSAGE("SKIP: there is no toolkit with both an assembler and nvJitLink");
      return;
    }
    REQUIRE(inProcess->ok());
    REQUIRE(byProgram->ok());
    for (const auto &made : {**inProcess, **byProgram}) {
      CHECK(made.image.size() > 1000);
      CHECK(made.remarks.find("registers") != std::string::npos);
      CHECK(made.remarks.find("0 bytes spill stores") != std::string::npos);
    }
  }
}

TEST_CASE("what an assembler says of the author's own instructions is said of the author's line") {
  constexpr llvm::StringRef kPtx = "\t.file\t1 \"/kernels/one.cpp\"\n" // line 1
                                   "\t.loc\t1 3 0\n"
                                   "\tmov.b32 %r1, 0;\n"
                                   "\t.loc\t2 7 9                          // two.cpp:7:9\n"
                                   "\t// begin inline asm\n" // line 5
                                   "\tfrob %r1;\n"
                                   "\t// end inline asm\n"
                                   "\t.loc\t1 4 0\n"
                                   "\t// begin inline asm\n"
                                   "\tmov.b32 %r1, %r2\n" // line 10
                                   "\t// end inline asm\n"
                                   "\tret;\n"
                                   "\t.file\t2 \"/kernels/two.cpp\"\n";
  const machine::Machine &machine = *machine::findMachine("sm_80");
  const auto refused = [&](const std::string &said) {
    return render(
        target::nvptx::refusalOf({.assembler = "ptxas", .machine = machine, .said = said}, kPtx)
            .error);
  };
  const auto startsWith = [](const std::string &text, std::string_view front) {
    CHECK_MESSAGE(text.starts_with(front), text);
  };
  const std::string assembly = "error: the instructions of inline_asm do not assemble: ptxas says ";
  startsWith(refused("ptxas a.ptx, line 6; error   : Not known: 'frob'\nptxas fatal : aborted\n"),
             "/kernels/two.cpp:7: " + assembly + "\"Not known: 'frob'\" to 'frob %r1;'\n");
  // Behind instructions that do not end.
  startsWith(refused("ptxas a.ptx, line 12; fatal   : Parsing error near 'ret': syntax error\n"),
             "/kernels/one.cpp:4: " + assembly +
                 "\"Parsing error near 'ret': syntax error\" to 'mov.b32 %r1, %r2'\n");
  // Of code that is not the author's, all that it says.
  for (const char *said : {"ptxas a.ptx, line 3; error   : no such register\nand more",
                           "ptxas a.ptx, line 12; error   : no such register",
                           "ptxas a.ptx, line 8; fatal   : Parsing error near 'ret': syntax error",
                           "ptxas a.ptx, line 6; warning : unusual", "ptxas fatal : no memory"})
    CHECK(refused(said) ==
          "imbrex: error: ptxas refuses the code for sm_80: " + std::string(said) + "\n");
}
