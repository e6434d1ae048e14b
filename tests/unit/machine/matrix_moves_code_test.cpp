// LLVM makes an instruction of each load and store that deals matrices to lanes, on the machines
// for which the emulator has a model of it (backend/emulate/rewrite/matrix_moves.def).

#include "backend/target/codegen/code_generator.h"
#include "backend/target/gpu_target.h"
#include "llvm/AsmParser/Parser.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/Support/SourceMgr.h"
#include "tests/support/assembler.h"

#include <doctest/doctest.h>

#include <string>
#include <vector>

using namespace imbrex;

namespace {

struct MoveCase {
  std::vector<std::string> machines;
  std::string intrinsic, type, mnemonic;
};

const std::vector<std::string> kFromSm75{"sm_75",   "sm_80",   "sm_89",   "sm_90a",  "sm_100a",
                                         "sm_103a", "sm_100f", "sm_120a", "sm_121a", "sm_120f"};
const std::vector<std::string> kFromSm90{"sm_90a",  "sm_100a", "sm_103a", "sm_100f",
                                         "sm_120a", "sm_121a", "sm_120f"};
const std::vector<std::string> kFromSm100{"sm_100a", "sm_103a", "sm_100f",
                                          "sm_120a", "sm_121a", "sm_120f"};
const std::vector<std::string> kGfx12{"gfx1200", "gfx1201", "gfx12-generic", "gfx1250"};

/// `registers` of 32 bits.
std::string registersOf(int registers) {
  std::string type = "{ i32";
  for (int i = 1; i < registers; ++i) type += ", i32";
  return registers == 1 ? "i32" : type + " }";
}

std::vector<MoveCase> allMoves() {
  std::vector<MoveCase> all{
      {{"gfx950"}, "amdgcn.ds.read.tr16.b64.v4i16", "<4 x i16>", "ds_read_b64_tr_b16"},
      {{"gfx950"}, "amdgcn.ds.read.tr8.b64.v2i32", "<2 x i32>", "ds_read_b64_tr_b8"},
      {{"gfx950"}, "amdgcn.ds.read.tr4.b64.v2i32", "<2 x i32>", "ds_read_b64_tr_b4"},
      {{"gfx1250"}, "amdgcn.ds.load.tr16.b128.v8i16", "<8 x i16>", "ds_load_tr16_b128"},
      {{"gfx1250"}, "amdgcn.ds.load.tr8.b64.v2i32", "<2 x i32>", "ds_load_tr8_b64"},
      {{"gfx1250"}, "amdgcn.ds.load.tr4.b64.v2i32", "<2 x i32>", "ds_load_tr4_b64"},
      {{"gfx1250"}, "amdgcn.global.load.tr4.b64.v2i32", "<2 x i32>", "global_load_tr4_b64"},
      {kGfx12, "amdgcn.global.load.tr.b128.v8i16", "<8 x i16>", "global_load_tr"},
      {kGfx12, "amdgcn.global.load.tr.b64.v2i32", "<2 x i32>", "global_load_tr"}};
  const auto add = [&](const auto &machines, const std::string &name, int registers) {
    all.push_back({machines, "nvvm." + name + ".p3", registersOf(registers),
                   name.substr(0, name.find(".b"))});
  };
  for (const int n : {1, 2, 4}) {
    const std::string x = ".x" + std::to_string(n);
    for (const std::string trans : {"", ".trans"}) {
      add(kFromSm75, "ldmatrix.sync.aligned.m8n8" + x + trans + ".b16", n);
      add(kFromSm90, "stmatrix.sync.aligned.m8n8" + x + trans + ".b16", n);
    }
    add(kFromSm100, "stmatrix.sync.aligned.m16n8" + x + ".trans.b8", n);
    add(kFromSm100, "ldmatrix.sync.aligned.m8n16" + x + ".b8x16.b4x16_p64", n);
    if (n == 4) continue;
    add(kFromSm100, "ldmatrix.sync.aligned.m16n16" + x + ".trans.b8", 2 * n);
    add(kFromSm100, "ldmatrix.sync.aligned.m16n16" + x + ".trans.b8x16.b4x16_p64", 2 * n);
  }
  return all;
}

std::string textOf(const MoveCase &move) {
  const bool isNvidia = move.intrinsic.starts_with("nvvm");
  const std::string space = move.intrinsic.find("global") != std::string::npos ? "1" : "3";
  std::string text = std::string("define ") + (isNvidia ? "ptx_kernel" : "amdgpu_kernel") +
                     " void @k(ptr addrspace(" + space + ") %p, ptr addrspace(1) %out) {\n";
  if (move.intrinsic.find("stmatrix") == std::string::npos)
    return text + "  %x = call " + move.type + " @llvm." + move.intrinsic + "(ptr addrspace(" +
           space + ") %p)\n  store " + move.type +
           " %x, ptr addrspace(1) %out, align 4\n  ret void\n}\n";
  std::string arguments = "ptr addrspace(3) %p";
  for (std::size_t at = move.type.find("i32"); at != std::string::npos;
       at = move.type.find("i32", at + 1))
    arguments += ", i32 7";
  return text + "  call void @llvm." + move.intrinsic + "(" + arguments + ")\n  ret void\n}\n";
}

std::string assemblyOf(const target::GpuTarget &target, const MoveCase &move) {
  llvm::LLVMContext context;
  llvm::SMDiagnostic problem;
  const auto module = llvm::parseAssemblyString(textOf(move), problem, context);
  REQUIRE_MESSAGE(module != nullptr, problem.getMessage().str());
  target.prepare(*module);
  const auto text = target::generate(
      *module, target::targetMachineOf(target.machine(), module->getTargetTriple().str()),
      llvm::CodeGenFileType::AssemblyFile);
  REQUIRE(text);
  return *text;
}

template <class Function>
void forEachMove(Function &&function) {
  for (const MoveCase &move : allMoves())
    for (const std::string &machine : move.machines) {
      CAPTURE(move.intrinsic);
      CAPTURE(machine);
      const target::GpuTarget *target = target::findGpuTarget(*machine::findMachine(machine));
      if (target != nullptr) function(*target, move);
    }
}

} // namespace

TEST_CASE("loads and stores that deal matrices become instructions on their machines") {
  forEachMove([](const target::GpuTarget &target, const MoveCase &move) {
    const std::string assembly = assemblyOf(target, move);
    CHECK_MESSAGE(assembly.find(move.mnemonic) != std::string::npos, assembly);
  });
}

TEST_CASE("NVIDIA's assembler takes loads and stores that deal matrices" *
          doctest::test_suite("toolkit")) {
  forEachMove([](const target::GpuTarget &target, const MoveCase &move) {
    if (target.machine().family != machine::Family::Nvptx || !testing::canAssemble(target)) return;
    const auto made = target.objectOf(assemblyOf(target, move));
    CHECK_MESSAGE(made.ok(), render(made.error()));
  });
}
