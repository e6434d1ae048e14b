#include "backend/exchange_order.h"
#include "backend/target/amdgpu/linker.h"
#include "llvm/Object/ELFObjectFile.h"
#include "tests/codegen/compiled_table.h"
#include "tests/codegen/gcn_assembler.h"

using namespace imbrex;
using namespace imbrex::testing;

namespace {

/// The machine that an image says it is for.
std::string machineOf(llvm::StringRef image) {
  auto file = llvm::object::ObjectFile::createELFObjectFile(llvm::MemoryBufferRef(image, "image"));
  REQUIRE(static_cast<bool>(file));
  const auto *elf = llvm::cast<llvm::object::ELFObjectFileBase>(file->get());
  return elf->tryGetCPUName().value_or("").str();
}

/// The instructions of an image, one a line. Instructions and not bytes are compared: in the upper
/// half of a literal of 16 bits, and in fields that an instruction does not read, LLVM's code
/// generator and its assembler write different things.
std::string instructionsOf(const GcnAssembler &assembler, llvm::StringRef image) {
  const llvm::StringRef bytes = sectionOf(image, ".text");
  REQUIRE(!bytes.empty());
  std::string text;
  REQUIRE(assembler.disassemble(bytes, text) == "");
  return text;
}

/// Every instruction of the image is one of the machine's, and what is read as its text becomes it
/// again.
void checkRoundTrip(const GcnAssembler &assembler, llvm::StringRef image) {
  const std::string instructions = instructionsOf(assembler, image);
  llvm::SmallVector<char, 0> object;
  REQUIRE(assembler.assemble(instructions, object) == "");
  CHECK(instructionsOf(assembler, {object.data(), object.size()}) == instructions);
}

/// The assembly that is printed is the image that is made without it.
void checkAssembly(const GcnAssembler &assembler, const machine::Machine &machine,
                   const std::string &text, llvm::StringRef image) {
  llvm::SmallVector<char, 0> object;
  REQUIRE(assembler.assemble(text, object) == "");
  const auto linked = target::amdgpu::link({object.data(), object.size()}, machine);
  REQUIRE_MESSAGE(linked.ok(), (linked.ok() ? "" : render(linked.error())));
  const llvm::StringRef other(linked->image.data(), linked->image.size());
  CHECK(instructionsOf(assembler, other) == instructionsOf(assembler, image));
  CHECK(sectionOf(other, ".rodata") == sectionOf(image, ".rodata"));
}

using Kernels = std::vector<TableKernel>(const machine::Machine &);

void checkKernels(Kernels &kernels, const target::GpuTarget &target, std::size_t number,
                  std::size_t targets) {
  const machine::Machine &machine = target.machine();
  CAPTURE(std::string(machine.name));
  const GcnAssembler assembler(machine);
  std::size_t row = 0;
  for (TableKernel &one : kernels(machine)) {
    CAPTURE(one.name);
    const GpuCode code = codeOf(one.kernel, target);
    CHECK(disorderIn(*code.module, target).value_or("") == "");
    const auto object = target.object(*code.copy());
    REQUIRE_MESSAGE(object.ok(), (object.ok() ? "" : render(object.error())));
    const llvm::StringRef image(object->image.data(), object->image.size());
    CHECK(machineOf(image) == machine.name);
    checkRoundTrip(assembler, image);
    // Code generation is what takes the time, so that the text of each is made for one machine.
    if (row++ % targets != number) continue;
    // Of a copy too: a copied module has its uses in another order, by which registers are dealt.
    const auto text = target.assembly(*code.copy());
    REQUIRE(text.ok());
    checkAssembly(assembler, machine, *text, image);
  }
}

void checkOnAll(Kernels &kernels) {
  const auto targets = targetsOf(machine::Family::Amdgpu);
  for (std::size_t i = 0; i < targets.size(); ++i)
    checkKernels(kernels, *targets[i], i, targets.size());
}

} // namespace

TEST_CASE("every kernel of the table is code for every GPU of AMD's that reads back as written") {
  checkOnAll(kernelTable);
}

// Run by --no-skip: scripts/nightly.sh.
TEST_CASE("every kernel of the semantics page is code for every GPU of AMD's" * doctest::skip()) {
  checkOnAll(pageKernels);
}
