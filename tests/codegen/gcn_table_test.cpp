#include "backend/target/amdgpu/assembler.h"
#include "backend/target/amdgpu/code.h"
#include "backend/target/amdgpu/linker.h"
#include "backend/validate/access_order.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/DebugInfo/DWARF/DWARFContext.h"
#include "llvm/Object/ELFObjectFile.h"
#include "tests/codegen/compiled_table.h"
#include "tests/codegen/gcn_disassembler.h"
#include "tests/codegen/text_rules.h"
#include "tests/support/made_object.h"
#include "tests/support/parsed_kernel.h"

#include <map>

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

llvm::StringRef asText(const std::vector<char> &image) { return {image.data(), image.size()}; }

/// What LLVM knows of a machine, and what reads its instructions.
struct Tools {
  explicit Tools(const machine::Machine &of)
      : machine(target::targetMachineOf(of, "amdgcn-amd-amdhsa")), disassembler(machine) {}
  llvm::TargetMachine &machine;
  GcnDisassembler disassembler;
};

/// The instructions of an image, one a line. Instructions and not bytes are compared: in the upper
/// half of a literal of 16 bits, and in fields that an instruction does not read, LLVM's code
/// generator and its assembler write different things.
std::string instructionsOf(const Tools &tools, llvm::StringRef image) {
  const llvm::StringRef bytes = sectionOf(image, ".text");
  REQUIRE(!bytes.empty());
  std::string text;
  REQUIRE(tools.disassembler.disassemble(bytes, text) == "");
  return text;
}

/// The line of the source that each address of an image is of, as its debug information says; not
/// where what is of no line begins, such as the padding in front of a loop, which either puts
/// elsewhere.
std::map<std::uint64_t, std::uint32_t> linesOf(llvm::StringRef image) {
  std::map<std::uint64_t, std::uint32_t> lines;
  auto file = llvm::object::ObjectFile::createELFObjectFile(llvm::MemoryBufferRef(image, "image"));
  REQUIRE(static_cast<bool>(file));
  const auto context = llvm::DWARFContext::create(**file);
  for (const auto &unit : context->compile_units())
    for (const auto &row : context->getLineTableForUnit(unit.get())->Rows)
      if (!row.EndSequence && row.Line != 0) lines[row.Address.Address] = row.Line;
  CHECK(!lines.empty());
  return lines;
}

/// Every instruction of the image is one of the machine's, and what is read as its text becomes it
/// again.
void checkRoundTrip(const Tools &tools, llvm::StringRef image) {
  const std::string instructions = instructionsOf(tools, image);
  const auto object = target::amdgpu::assemble(instructions, tools.machine);
  REQUIRE_MESSAGE(object.ok(), (object.ok() ? "" : render(object.error())));
  CHECK(instructionsOf(tools, {object->data(), object->size()}) == instructions);
}

/// The image that is made of the assembly is the one that LLVM's code generator makes without it.
void checkAssembler(const Tools &tools, const GpuCode &code, const target::GpuTarget &target,
                    llvm::StringRef image) {
  const auto module = code.copy();
  assignAccessNumbers(*module,
                      target); // of which each has a place of its own in the debug information
  const auto object =
      target::amdgpu::generateCode(*module, tools.machine, llvm::CodeGenFileType::ObjectFile);
  REQUIRE(object.ok());
  const auto linked = target::amdgpu::link(*object, target.machine());
  REQUIRE_MESSAGE(linked.ok(), (linked.ok() ? "" : render(linked.error())));
  const llvm::StringRef other = asText(linked->image);
  CHECK(instructionsOf(tools, other) == instructionsOf(tools, image));
  CHECK(sectionOf(other, ".rodata") == sectionOf(image, ".rodata"));
  CHECK(sectionOf(other, ".note") == sectionOf(image, ".note"));
  CHECK(linesOf(other) == linesOf(image));
}

using Kernels = std::vector<TableKernel>(const machine::Machine &);

void checkKernels(Kernels &kernels, const target::GpuTarget &target, std::size_t number,
                  std::size_t targets) {
  const machine::Machine &machine = target.machine();
  CAPTURE(std::string(machine.name));
  const Tools tools(machine);
  std::size_t row = 0;
  for (TableKernel &one : kernels(machine)) {
    CAPTURE(one.name);
    const GpuCode code = codeOf(one.kernel, target);
    const auto text = makeAssembly(code, target);
    REQUIRE_MESSAGE(text.ok(), (text.ok() ? "" : render(text.error())));
    CHECK(llvm::join(brokenInGcn(*code.module, *text), "\n") == "");
    const auto object = makeObject(*text, target);
    REQUIRE_MESSAGE(object.ok(), (object.ok() ? "" : render(object.error())));
    const llvm::StringRef image = asText(object->image);
    CHECK(machineOf(image) == machine.name);
    checkRoundTrip(tools, image);
    // Code generation is what takes the time, so that each is made twice for one machine alone.
    if (row++ % targets == number) checkAssembler(tools, code, target, image);
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

TEST_CASE(
    "a line of AMD's assembly that breaks a rule is told, where the module does not ask for it") {
  llvm::LLVMContext context;
  const llvm::Module none("none", context);
  const std::string modes = ".amdhsa_float_round_mode_32 0\n.amdhsa_float_round_mode_16_64 0\n"
                            ".amdhsa_float_denorm_mode_32 3\n.amdhsa_float_denorm_mode_16_64 3\n";
  CHECK(brokenInGcn(none, modes).empty());
  CHECK(brokenInGcn(none, modes.substr(modes.find('\n'))).size() == 1);
  for (const char *line :
       {"v_mad_f32 v0, v1, v2, v3", "v_mac_f32_e32 v0, v1, v2", "v_exp_f32_e32 v0, v1",
        "v_rcp_f32_e32 v0, v1", "v_fma_f32 v0, v1, v2, v3",
        "v_pk_fma_f32 v[0:1], v[2:3], v[4:5], v[6:7]",
        "v_fma_mixlo_f16 v0, v1, v2, 0 op_sel_hi:[1,1,0]", "s_denorm_mode 0",
        "flat_load_b32 v0, v[2:3]"}) {
    CAPTURE(line);
    CHECK(brokenInGcn(none, modes + line).size() == 1);
  }
  for (const char *line : {"v_fma_mixlo_f16 v0, v1, v2, s0", "v_mul_f32_e32 v0, v1, v2 ; v_mad_f32",
                           "global_load_dword v0, v1, s[0:1]", "v_mad_u32_u24 v0, v1, v2, v3"}) {
    CAPTURE(line);
    CHECK(brokenInGcn(none, modes + line).empty());
  }
}

// What is printed of the author's instructions is what LLVM has read, so that reading it once more
// changes nothing: not by comments, nor where one text defines what others use.
TEST_CASE("instructions of the author's are what LLVM's code generator makes of them") {
  constexpr const char *kTexts[]{
      "v_mov_b32 $0, $1 ; a comment",
      "// one\\n/* and\\nmore */ v_mov_b32_e64 $0, $1 /* two */",
      ".macro m x\\nv_not_b32 \\\\x, \\\\x\\n.endm\\nv_mov_b32 $0, $1\\nm $0\\n.purgem m",
      "v_mov_b32 $0, $1\\ns_branch 1f\\nv_mov_b32 $0, 0\\n1:\\ns_cbranch_vccnz 1b",
      ".set five, 5\\n.rept 2\\nv_lshlrev_b32 $0, five, $1\\n.endr",
      ".if 0\\ns_nop 3\\n.else\\ns_nop 1\\n.endif\\nv_mov_b32 $0, 0x12345",
      "v_mov_b32_dpp $0, $1 quad_perm:[1,0,3,2] row_mask:0xf bank_mask:0xf",
      "v_mov_b32 $0, $1\\n;;#ASMEND\\ns_setprio 1\\n.p2align 4\\ns_nop 0",
      "v_mov_b32 $0, $1\\ns_branch 4\\n.fill 4, 4, 0xbf800000"};
  for (const char *name : {"gfx942", "gfx1100", "gfx1201"})
    for (const char *text : kTexts) {
      CAPTURE(name);
      CAPTURE(std::string(text));
      const machine::Machine &machine = *machine::findMachine(name);
      const target::GpuTarget &target = target::gpuTarget(machine);
      const std::string own = std::string(" [text = \"") + text +
                              "\", constraints = \"=v,v,~{vcc}\", target = \"" + name +
                              "\"] : i32[1024]\n";
      ir::Kernel kernel =
          parsedKernel("kernel @k(%p: view<i32, 1>) stage tiles {\n%z = constant 0 : i32\n"
                       "%x = view.load %p, %z : i32[1024]\n%a = inline_asm %x" +
                       own + "%b = inline_asm %a" + own + "view.store %p, %b, %z\n}");
      const GpuCode code = codeOf(kernel, target);
      const auto object = makeObject(code, target);
      REQUIRE_MESSAGE(object.ok(), (object.ok() ? "" : render(object.error())));
      checkAssembler(Tools(machine), code, target, asText(object->image));
    }
}

// Run by --no-skip: scripts/nightly.sh.
TEST_CASE("every kernel of the semantics page is code for every GPU of AMD's" * doctest::skip()) {
  checkOnAll(pageKernels);
}
