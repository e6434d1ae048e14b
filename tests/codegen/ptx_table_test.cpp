#include "backend/target/codegen/temporary_file.h"
#include "backend/target/nvptx/toolkit.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Program.h"
#include "tests/codegen/compiled_table.h"
#include "tests/codegen/text_rules.h"

#include <list>

using namespace imbrex;
using namespace imbrex::testing;

namespace {

/// Without the lines of the source: each text numbers its files from 1 on, and the assembler, given
/// several texts, takes them for one.
std::string withoutPlaces(llvm::StringRef text) {
  std::string kept;
  for (const llvm::StringRef line : llvm::split(text, '\n'))
    if (!line.ltrim().starts_with(".file") && !line.ltrim().starts_with(".loc"))
      kept += line.str() + "\n";
  return kept;
}

target::TemporaryFile fileOf(llvm::StringRef suffix, llvm::StringRef content = {}) {
  auto made = target::TemporaryFile::make(suffix, content);
  REQUIRE(made.ok());
  return std::move(made).value();
}

struct Assembled {
  int status;
  std::string said;
};

/// All files at once, which takes a tenth of the time.
Assembled runAssembler(const std::string &program, const machine::Machine &machine,
                       const std::list<target::TemporaryFile> &files) {
  const target::TemporaryFile output = fileOf("cubin"), log = fileOf("log");
  const std::string name(machine.name);
  std::vector<llvm::StringRef> arguments{program, "-arch", name, "-v", "-o", output.path()};
  for (const target::TemporaryFile &file : files) arguments.push_back(file.path());
  const std::array<std::optional<llvm::StringRef>, 3> streams{"", log.path(), log.path()};
  const int status = llvm::sys::ExecuteAndWait(program, arguments, std::nullopt, streams);
  const std::vector<char> said = log.read();
  return {status, std::string(said.begin(), said.end())};
}

/// A remark of the assembler's own has a number: C7508, C7510 and so on are losses of speed.
bool hasRemark(const std::string &said) {
  return contains(said, "warning") || contains(said, "error") || contains(said, "(C7");
}

using Kernels = std::vector<TableKernel>(const machine::Machine &);

void checkKernels(Kernels &kernels, const target::GpuTarget &target, const std::string &assembler) {
  const machine::Machine &machine = target.machine();
  CAPTURE(std::string(machine.name));
  std::list<target::TemporaryFile> files;
  std::vector<TableKernel> table = kernels(machine);
  for (TableKernel &one : table) {
    CAPTURE(one.name);
    const GpuCode code = codeOf(one.kernel, target);
    const auto text = makeAssembly(code, target);
    REQUIRE_MESSAGE(text.ok(), (text.ok() ? "" : render(text.error())));
    CHECK(llvm::join(brokenInPtx(*code.module, *text), "\n") == "");
    CHECK(contains(*text, "\n.target " + std::string(machine.name) + "\n"));
    CHECK(contains(*text, "\n.visible .entry " + one.name + "("));
    files.push_back(fileOf("ptx", withoutPlaces(*text)));
  }
  if (assembler.empty()) return;
  const Assembled assembled = runAssembler(assembler, machine, files);
  CAPTURE(assembled.said);
  CHECK(assembled.status == 0);
  CHECK(!hasRemark(assembled.said));
  for (const TableKernel &one : table)
    CHECK(contains(assembled.said, "Compiling entry function '" + one.name + "' for '" +
                                       std::string(machine.name) + "'"));
}

void checkOnAll(Kernels &kernels) {
  const std::string assembler = target::nvptx::findTool("ptxas");
  if (assembler.empty()) MESSAGE("SKIP: no assembler is found: there is no program ptxas");
  for (const target::GpuTarget *target : targetsOf(machine::Family::Nvptx))
    checkKernels(kernels, *target, assembler);
}

} // namespace

TEST_CASE("every kernel of the table is PTX that the assembler takes, for every GPU of NVIDIA's") {
  checkOnAll(kernelTable);
}

TEST_CASE("a module that is used up becomes the code that its copy becomes") {
  const target::GpuTarget &target = *targetsOf(machine::Family::Nvptx).front();
  for (TableKernel &one : kernelTable(target.machine())) {
    CAPTURE(one.name);
    GpuCode code = codeOf(one.kernel, target);
    const auto copied = makeAssembly(code, target), inPlace = makeAssemblyInPlace(code, target);
    REQUIRE(copied.ok());
    REQUIRE(inPlace.ok());
    CHECK(*inPlace == *copied);
    CHECK(code.module == nullptr);
  }
}

TEST_CASE("a line of PTX that breaks a rule is told, where the module does not ask for it") {
  llvm::LLVMContext context;
  const llvm::Module none("none", context);
  for (const char *line :
       {"add.rn.ftz.f32 %r1, %r2, %r3;", "mul.f32 %r1, %r2, %r3;",
        "@%p1 add.bf16 %rs1, %rs2, %rs3;", "ex2.approx.f32 %r1, %r2;",
        "div.full.f32 %r1, %r2, %r3;", "fma.rn.f32 %r1, %r2, %r3, %r4;",
        "mad.f32 %r1, %r2, %r3, %r4;", "ld.b32 %r1, [%rd1];",
        "atom.relaxed.gpu.add.u32 %r1, [%rd1], 1;", "ld.volatile.global.b32 %r1, [%rd1];"}) {
    CAPTURE(line);
    CHECK(brokenInPtx(none, line).size() == 1);
  }
  for (const char *line :
       {"add.rn.f32 %r1, %r2, %r3;", "mad.lo.s32 %r1, %r2, %r3, %r4;", "sqrt.rn.f64 %rd1, %rd2;",
        "ld.global.v4.b32 {%r1, %r2, %r3, %r4}, [%rd1];", ".reg .b32 %r<5>;", "bra $L__BB0_2;"}) {
    CAPTURE(line);
    CHECK(brokenInPtx(none, line).empty());
  }
}

// Run by --no-skip: scripts/nightly.sh.
TEST_CASE("every kernel of the semantics page is PTX for every GPU of NVIDIA's" * doctest::skip()) {
  checkOnAll(pageKernels);
}
