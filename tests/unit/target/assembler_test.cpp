#include "backend/target/nvptx/assembler.h"
#include "backend/target/nvptx/refusal.h"
#include "backend/target/nvptx/resources.h"
#include "backend/target/nvptx/spills.h"
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

namespace {

/// A kernel that loads 64 numbers on line 7, and stores them on line 9 when all have been loaded,
/// with 24 registers.
std::string crowdedPtx(std::string_view machine) {
  std::string loads, stores;
  for (int i = 0; i < 64; ++i) {
    const std::string at = "[%rd1+" + std::to_string(4 * i) + "]", r = "%r" + std::to_string(i);
    loads += "\tld.volatile.global.u32 " + r + ", " + at + ";\n";
    stores += "\tst.volatile.global.u32 " + at + ", " + r + ";\n";
  }
  return ".version 8.8\n.target " + std::string(machine) +
         "\n.address_size 64\n.visible .entry k(.param .u64 p)\n.maxntid 32\n.maxnreg 24\n{\n"
         "\t.reg .b64 %rd<2>;\n\t.reg .b32 %r<64>;\n\t.loc 1 5 0\n\tld.param.u64 %rd1, [p];\n"
         "\t.loc 1 7 0\n" +
         loads + "\t.loc 1 9 0\n" + stores + "\tret;\n}\n\t.file 1 \"/kernels/one.cpp\"\n";
}

} // namespace

TEST_CASE("as many bytes are found to be spilled as ptxas tells, and the line where they are") {
  for (const machine::Machine &machine : machine::allMachines()) {
    if (machine.family != machine::Family::Nvptx) continue;
    CAPTURE(std::string(machine.name));
    const auto object = target::nvptx::assembleByProgram(crowdedPtx(machine.name), machine);
    if (!object) {
      MESSAGE("SKIP: the toolkit is not installed");
      return;
    }
    REQUIRE_MESSAGE(object->ok(), render(object->error()));
    const auto resources = target::nvptx::resourcesOf((*object)->remarks);
    REQUIRE(resources);
    CHECK(resources->spilledBytes > 100);
    const target::SpilledLines spilled = target::nvptx::spillsIn((*object)->image);
    CHECK(spilled.total() == resources->spilledBytes);
    CHECK(toText(spilled.most()) == "/kernels/one.cpp:7");
  }
  const std::vector<char> noImage{'n', 'o'};
  CHECK(target::nvptx::spillsIn(noImage).total() == 0);
}
