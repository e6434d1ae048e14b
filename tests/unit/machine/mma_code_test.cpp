// Each row's intrinsic exists in LLVM with fragments of that size, and makes the instruction on the
// machines that have the row; the assembler of a machine that lacks it refuses it.

#include "backend/machine/mma.h"
#include "backend/target/codegen/code_generator.h"
#include "backend/target/gpu_target.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "tests/support/assembler.h"
#include "tests/unit/machine/matrix_call.h"

#include <doctest/doctest.h>

#include <iterator>
#include <map>
#include <set>
#include <string>
#include <vector>

using namespace imbrex;
using machine::Family;
using machine::Machine;
using machine::MatrixElement;
using machine::MmaArgument;
using machine::MmaInstruction;
using machine::MmaOperand;
using testing::intrinsicOf;
using testing::takes;

namespace {

bool isNvidia(const MmaInstruction &x) { return x.intrinsic.starts_with("nvvm"); }

/// Appends one function per row, which loads the fragments, multiplies, and stores the sums.
void appendFunction(llvm::Module &module, const MmaInstruction &x, const std::string &name) {
  llvm::IRBuilder<> b(module.getContext());
  llvm::Type *pointer = b.getPtrTy(1);
  auto *type = llvm::FunctionType::get(b.getVoidTy(), {pointer}, false);
  auto *function = llvm::Function::Create(type, llvm::GlobalValue::ExternalLinkage, name, module);
  function->setCallingConv(isNvidia(x) ? llvm::CallingConv::PTX_Kernel
                                       : llvm::CallingConv::AMDGPU_KERNEL);
  llvm::Value *memory = function->getArg(0);
  b.SetInsertPoint(llvm::BasicBlock::Create(module.getContext(), "", function));
  std::int64_t loads = 0;
  const auto load = [&](MmaOperand, std::int64_t, llvm::Type *of) {
    llvm::Value *at = b.CreateConstGEP1_64(b.getInt8Ty(), memory, 512 * ++loads);
    return b.CreateAlignedLoad(of, at, llvm::Align(64));
  };
  b.CreateStore(testing::ProductCall(b, x, load).append(), memory);
  b.CreateRetVoid();
}

/// The machine with the version of PTX that a row wants, where it has an older one.
Machine machineFor(const Machine &machine, const MmaInstruction &x) {
  Machine newer = machine;
  unsigned own = 0;
  llvm::StringRef(machine.features).drop_front(4 * !machine.features.empty()).getAsInteger(10, own);
  if (static_cast<std::int32_t>(own) >= x.ptx) return newer;
  static std::set<std::string> texts;
  newer.features = *texts.insert("+ptx" + std::to_string(x.ptx)).first;
  newer.name = *texts.insert(std::string(machine.name) + std::string(newer.features)).first;
  return newer;
}

/// The assembly of rows that need the same version.
std::string assemblyOf(const target::GpuTarget &target, const Machine &machine,
                       llvm::ArrayRef<const MmaInstruction *> rows) {
  llvm::LLVMContext context;
  llvm::Module module("rows", context);
  target.prepare(module);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    CAPTURE(std::string(rows[i]->intrinsic));
    appendFunction(module, *rows[i], "row" + std::to_string(i));
  }
  const auto text =
      target::generate(module, target::targetMachineOf(machine, module.getTargetTriple().str()),
                       llvm::CodeGenFileType::AssemblyFile);
  REQUIRE(text);
  return *text;
}

/// What stands between the label of a row's function and the next one's.
llvm::StringRef bodyOf(llvm::StringRef assembly, std::size_t row, bool isPtx) {
  const std::string name = "row" + std::to_string(row);
  const std::string begin = isPtx ? ".entry " + name + "(" : "\n" + name + ":";
  const std::size_t at = assembly.find(begin);
  REQUIRE(at != llvm::StringRef::npos);
  return assembly.substr(at, assembly.find(isPtx ? "\n}" : "s_endpgm", at) - at);
}

std::string ptxName(MatrixElement element) {
  switch (element) {
  case MatrixElement::I8: return "s8";
  case MatrixElement::I32: return "s32";
  case MatrixElement::F8E4M3FN: return "e4m3";
  case MatrixElement::F8E5M2: return "e5m2";
  case MatrixElement::F4E2M1: return "e2m1";
  case MatrixElement::E8M0: return "ue8m0";
  case MatrixElement::F16:
  case MatrixElement::BF16:
  case MatrixElement::Tf32:
  case MatrixElement::F32:
  case MatrixElement::F64:
  case MatrixElement::U8:
  case MatrixElement::F8E4M3FNUZ:
  case MatrixElement::F8E5M2FNUZ: return std::string(machine::nameOf(element));
  }
  return "";
}

/// PTX ISA 9.0, "mma": made of the row's shape and element types alone.
std::string ptxOf(const MmaInstruction &x) {
  const std::string c = ptxName(x.sums);
  const std::string types = c + "." + ptxName(x.a) + "." + ptxName(x.b) + "." + c;
  const std::string shape = "m" + std::to_string(x.m) + "n" + std::to_string(x.n) + "k" +
                            std::to_string(x.k) + ".row.col.";
  if (!x.isScaled()) {
    const bool hasF4 = x.a == MatrixElement::F4E2M1 || x.b == MatrixElement::F4E2M1;
    return "mma.sync.aligned." + shape + (hasF4 ? "kind::f8f6f4." : "") + types + "\n";
  }
  const bool isNvf4 = x.intrinsic.find("nvf4") != std::string_view::npos;
  const std::string kind = x.k == 32 ? "mxf8f6f4" : isNvf4 ? "mxf4nvf4" : "mxf4";
  const std::string scale =
      x.scale.element == MatrixElement::E8M0 ? "ue8m0" : "u" + ptxName(x.scale.element);
  return "mma.sync.aligned." + shape + "kind::" + kind +
         ".block_scale.scale_vec::" + std::to_string(x.k / x.scale.k) + "X." + types + "." + scale;
}

std::string gcnType(const MmaInstruction &x, MatrixElement element) {
  switch (element) {
  case MatrixElement::I8:
  case MatrixElement::U8: return x.intrinsic.starts_with("amdgcn.wmma") ? "iu8" : "i8";
  case MatrixElement::Tf32: return "xf32";
  case MatrixElement::F8E4M3FN:
  case MatrixElement::F8E4M3FNUZ: return "fp8";
  case MatrixElement::F8E5M2:
  case MatrixElement::F8E5M2FNUZ: return "bf8";
  case MatrixElement::F4E2M1: return "f4";
  case MatrixElement::E8M0: return "";
  case MatrixElement::F16:
  case MatrixElement::BF16:
  case MatrixElement::F32:
  case MatrixElement::F64:
  case MatrixElement::I32: return std::string(machine::nameOf(element));
  }
  return "";
}

/// The mnemonic of the ISA documents, made of the row's shape and element types; without the
/// underscores, of which CDNA 2 and CDNA 3 have different ones.
std::string gcnOf(const MmaInstruction &x) {
  const bool isMfma = x.intrinsic.starts_with("amdgcn.mfma");
  const bool isWide = takes(x, MmaArgument::FormatA);
  std::string text = isMfma ? "vmfma" : "vwmma";
  if (x.isScaled()) text += x.scale.k == 16 ? "scale16" : "scale";
  text += gcnType(x, x.sums);
  text += std::to_string(x.m) + "x" + std::to_string(x.n) + "x" + std::to_string(x.k);
  if (isWide) return text + "f8f6f4";
  text += gcnType(x, x.a);
  if (machine::bitsOf(x.a) == 8 && x.sums != MatrixElement::I32) text += gcnType(x, x.b);
  return text;
}

std::string withoutUnderscores(llvm::StringRef text) {
  std::string letters;
  llvm::copy_if(text, std::back_inserter(letters), [](char c) { return c != '_'; });
  return letters;
}

/// What the number of a format is called behind the operands.
std::string gcnFormats(const MmaInstruction &x) {
  const bool isMfma = x.intrinsic.starts_with("amdgcn.mfma");
  const auto one = [&](const char *ofMfma, const char *ofWmma, MatrixElement element) {
    const int number = element == MatrixElement::F4E2M1 ? 4 : element == MatrixElement::F8E5M2;
    const char *names[] = {"", "BF8", "", "", "FP4"};
    if (number == 0) return std::string();
    return isMfma ? std::string(" ") + ofMfma + ":" + std::to_string(number)
                  : std::string(" ") + ofWmma + ":MATRIX_FMT_" + names[number];
  };
  return one("cbsz", "matrix_a_fmt", x.a) + one("blgp", "matrix_b_fmt", x.b);
}

bool withoutSigns(const MmaInstruction &x) {
  return !takes(x, MmaArgument::SignedA) || (x.a != MatrixElement::I8 && x.b != MatrixElement::I8);
}

/// What must stand behind the operands: formats, the signs of bytes, the format of scales.
std::vector<std::string> gcnModifiers(const MmaInstruction &x) {
  std::vector<std::string> modifiers;
  if (takes(x, MmaArgument::FormatA)) modifiers.push_back(gcnFormats(x));
  if (!withoutSigns(x))
    modifiers.push_back(std::string(" neg_lo:[") + (x.a == MatrixElement::I8 ? "1," : "0,") +
                        (x.b == MatrixElement::I8 ? "1," : "0,") + "0]");
  if (takes(x, MmaArgument::ScaleFormatA) && x.scale.element == MatrixElement::F8E4M3FN)
    modifiers.emplace_back(" matrix_a_scale_fmt:MATRIX_SCALE_FMT_E4M3"
                           " matrix_b_scale_fmt:MATRIX_SCALE_FMT_E4M3");
  return modifiers;
}

/// The line of a row's instruction.
llvm::StringRef instructionIn(llvm::StringRef body, const MmaInstruction &x) {
  const std::string wanted = gcnOf(x);
  llvm::SmallVector<llvm::StringRef> lines;
  body.split(lines, '\n');
  for (const llvm::StringRef line : lines) {
    const std::string mnemonic = withoutUnderscores(line.trim().split(' ').first);
    if (mnemonic == wanted || mnemonic == wanted + "1k") return line.trim();
  }
  return {};
}

/// The rows of a machine, by the version that they need.
std::map<std::string_view, std::vector<const MmaInstruction *>> groupsOf(const Machine &machine) {
  std::map<std::string_view, std::vector<const MmaInstruction *>> groups;
  for (const MmaInstruction *x : machine::mmaInstructionsOf(machine))
    groups[machineFor(machine, *x).features].push_back(x);
  return groups;
}

std::vector<const target::GpuTarget *> targetsOf(Family family) {
  std::vector<const target::GpuTarget *> found;
  for (const Machine &machine : machine::allMachines())
    if (const target::GpuTarget *target = target::findGpuTarget(machine);
        target != nullptr && machine.family == family)
      found.push_back(target);
  return found;
}

/// Whether LLVM may take an instruction for the machine: of other element types, which the bits of
/// the instruction do not say, or one of gfx12, of which LLVM says that gfx1250 has them too
/// (docs/matrix-units.md).
bool isKnownTo(const Machine &machine, const MmaInstruction &x) {
  if (machine.name == "gfx1250" && machine::hasInstruction(*machine::findMachine("gfx1200"), x))
    return true;
  return llvm::any_of(machine::mmaInstructionsOf(machine), [&](const MmaInstruction *y) {
    return y->intrinsic == x.intrinsic && y->form == x.form;
  });
}

} // namespace

TEST_CASE("LLVM knows the intrinsic of every row") {
  for (const MmaInstruction &x : machine::allMmaInstructions()) {
    CAPTURE(std::string(x.intrinsic));
    CHECK(intrinsicOf(x) != llvm::Intrinsic::not_intrinsic);
  }
}

TEST_CASE("a row's intrinsic becomes its mma.sync on every machine that has it") {
  for (const target::GpuTarget *target : targetsOf(Family::Nvptx)) {
    CAPTURE(std::string(target->machine().name));
    for (const auto &[features, rows] : groupsOf(target->machine())) {
      const std::string ptx =
          assemblyOf(*target, machineFor(target->machine(), *rows.front()), rows);
      for (std::size_t i = 0; i < rows.size(); ++i) {
        CAPTURE(std::string(rows[i]->intrinsic));
        const llvm::StringRef body = bodyOf(ptx, i, true);
        CHECK_MESSAGE(body.contains(ptxOf(*rows[i])), body.str());
      }
    }
  }
}

TEST_CASE("a row's intrinsic becomes its MFMA or WMMA on every machine that has it") {
  for (const target::GpuTarget *target : targetsOf(Family::Amdgpu)) {
    CAPTURE(std::string(target->machine().name));
    const auto rows = machine::mmaInstructionsOf(target->machine());
    const std::string assembly = assemblyOf(*target, target->machine(), rows);
    for (std::size_t i = 0; i < rows.size(); ++i) {
      CAPTURE(std::string(rows[i]->intrinsic));
      const llvm::StringRef body = bodyOf(assembly, i, false);
      const llvm::StringRef line = instructionIn(body, *rows[i]);
      CHECK_MESSAGE(!line.empty(), gcnOf(*rows[i]) << " is not in " << body.str());
      for (const std::string &modifier : gcnModifiers(*rows[i]))
        CHECK_MESSAGE(line.contains(modifier), modifier << " is not in " << line.str());
      CHECK(line.contains("neg_lo") == !withoutSigns(*rows[i]));
    }
  }
}

TEST_CASE("AMD's assembler refuses a row's instruction on machines that lack it") {
  const auto targets = targetsOf(Family::Amdgpu);
  std::set<std::string> tried;
  for (const target::GpuTarget *owner : targets) {
    const auto rows = machine::mmaInstructionsOf(owner->machine());
    const std::string assembly = assemblyOf(*owner, owner->machine(), rows);
    for (std::size_t i = 0; i < rows.size(); ++i) {
      CAPTURE(std::string(rows[i]->intrinsic));
      const std::string line = instructionIn(bodyOf(assembly, i, false), *rows[i]).str();
      if (!tried.insert(line).second) continue;
      CHECK_MESSAGE(owner->objectOf("\t" + line + "\n").ok(), line);
      for (const target::GpuTarget *target : targets) {
        CAPTURE(std::string(target->machine().name));
        if (isKnownTo(target->machine(), *rows[i])) continue;
        CHECK_MESSAGE(!target->objectOf("\t" + line + "\n").ok(), line);
      }
    }
  }
}

TEST_CASE("NVIDIA's assembler takes the PTX of every row" * doctest::test_suite("toolkit")) {
  for (const target::GpuTarget *target : targetsOf(Family::Nvptx)) {
    CAPTURE(std::string(target->machine().name));
    if (!testing::canAssemble(*target)) return;
    for (const auto &[features, rows] : groupsOf(target->machine())) {
      const auto made =
          target->objectOf(assemblyOf(*target, machineFor(target->machine(), *rows.front()), rows));
      CHECK_MESSAGE(made.ok(), render(made.error()));
    }
  }
}

TEST_CASE("NVIDIA's assembler refuses a row on the machine before those that have it" *
          doctest::test_suite("toolkit")) {
  const auto targets = targetsOf(Family::Nvptx);
  for (std::size_t i = 0; i + 1 < targets.size(); ++i) {
    const target::GpuTarget &older = *targets[i], &newer = *targets[i + 1];
    if (!testing::canAssemble(older)) return;
    CAPTURE(std::string(older.machine().name));
    for (const MmaInstruction *x : machine::mmaInstructionsOf(newer.machine())) {
      CAPTURE(std::string(x->intrinsic));
      const bool has = llvm::any_of(machine::mmaInstructionsOf(older.machine()),
                                    [&](auto *y) { return y->intrinsic == x->intrinsic; });
      if (has) continue;
      std::string ptx = assemblyOf(newer, machineFor(newer.machine(), *x), {x});
      const std::string target = ".target " + std::string(newer.machine().name);
      const std::size_t at = ptx.find(target);
      REQUIRE(at != std::string::npos);
      ptx.replace(at, target.size(), ".target " + std::string(older.machine().name));
      CHECK(!older.objectOf(ptx).ok());
    }
  }
}
