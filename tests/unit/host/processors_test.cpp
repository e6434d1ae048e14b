#include "backend/pipeline.h"
#include "backend/target/host/dot/dot.h"
#include "backend/target/host/kernel_code.h"
#include "backend/target/host/run/jit.h"
#include "llvm-c/Disassembler.h"
#include "llvm/AsmParser/Parser.h"
#include "llvm/ExecutionEngine/Orc/JITTargetMachineBuilder.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/MC/MCSubtargetInfo.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Object/ELFObjectFile.h"
#include "llvm/Support/SourceMgr.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/Target/TargetMachine.h"
#include "llvm/TargetParser/Host.h"
#include "llvm/TargetParser/X86TargetParser.h"
#include "tests/support/looped_product.h"
#include "tests/support/parsed_kernel.h"
#include "tests/support/semantics.h"

#include <doctest/doctest.h>

#include <sstream>

/// Code for processors newer than the one that the tests run on, as text: some of their
/// instructions give other bits than docs/semantics.md says.
namespace imbrex::host {
namespace {

/// AVX512-BF16 and AVX-NE-CONVERT (Intel SDM 2, VCVTNEPS2BF16: "denormals … are treated as zero"),
/// AVX10.2 computing in bf16 likewise; and approximations, which each maker's processors have their
/// own of.
constexpr auto kOtherBits = std::to_array<std::string_view>(
    {"bf16", "vrcp", "vrsqrt", "rcpps", "rcpss", "rsqrtps", "rsqrtss", "vreduce", "vdpphps"});

const llvm::Triple kLinux("x86_64-unknown-linux-gnu");

const std::vector<std::string> kNewCpus{"sierraforest", "znver5", "sapphirerapids",
                                        "diamondrapids"};

std::unique_ptr<llvm::TargetMachine> targetMachineOf(const std::string &cpu) {
  llvm::InitializeNativeTarget();
  llvm::InitializeNativeTargetAsmPrinter();
  llvm::InitializeNativeTargetDisassembler();
  llvm::orc::JITTargetMachineBuilder builder{kLinux};
  builder.setCPU(cpu);
  return host::targetMachineOf(std::move(builder));
}

bool isX86() { return llvm::Triple(llvm::sys::getProcessTriple()).isX86(); }

/// The instructions of an object file, one a line.
std::string disassembled(llvm::MemoryBufferRef object, const std::string &cpu) {
  LLVMDisasmContextRef reader =
      LLVMCreateDisasmCPU(kLinux.str().c_str(), cpu.c_str(), nullptr, 0, nullptr, nullptr);
  REQUIRE(reader != nullptr);
  const auto file = llvm::cantFail(llvm::object::ObjectFile::createELFObjectFile(object));
  std::string text;
  for (const llvm::object::SectionRef &section : file->sections()) {
    if (!section.isText()) continue;
    const llvm::StringRef content = llvm::cantFail(section.getContents());
    std::vector<std::uint8_t> bytes(content.bytes_begin(), content.bytes_end());
    for (std::size_t at = 0; at < bytes.size();) {
      std::array<char, 256> line{};
      const std::size_t size = LLVMDisasmInstruction(reader, bytes.data() + at, bytes.size() - at,
                                                     at, line.data(), line.size());
      REQUIRE(size != 0);
      text += std::string(line.data()) + "\n";
      at += size;
    }
  }
  LLVMDisasmDispose(reader);
  return text;
}

/// The first instruction of a kind that gives other bits; empty where there is none.
std::string otherBits(const std::string &assembly) {
  for (const std::string_view name : kOtherBits)
    if (const std::size_t at = assembly.find(name); at != std::string::npos)
      return assembly.substr(assembly.rfind('\n', at) + 1, 60);
  return {};
}

/// Code of this IR, made with as little effort as the emulator's.
std::string compiled(const std::string &text, const std::string &cpu) {
  llvm::LLVMContext context;
  llvm::SMDiagnostic problem;
  const auto module = llvm::parseAssemblyString(text, problem, context);
  REQUIRE_MESSAGE(module, problem.getMessage().str());
  Compiler compiler(targetMachineOf(cpu));
  compiler.prepare(*module);
  const auto object = compiler.compile(*module, llvm::CodeGenOptLevel::None);
  return disassembled(object->getMemBufferRef(), cpu);
}

/// A minimum and a masked copy of bf16, as what a GPU's optimiser leaves: nothing rounds here.
const std::string kPassesThrough = R"(
define void @k(ptr %x, ptr %y, i1 %on) {
  %a = load bfloat, ptr %x, align 2
  br i1 %on, label %then, label %end
then:
  %b = load bfloat, ptr %y, align 2
  %less = fcmp olt bfloat %a, %b
  %min = select i1 %less, bfloat %a, bfloat %b
  br label %end
end:
  %r = phi bfloat [ %a, %0 ], [ %min, %then ]
  store bfloat %r, ptr %y, align 2
  ret void
}
)";

llvm::StringMap<bool> featuresOf(const std::string &cpu) {
  llvm::SmallVector<llvm::StringRef, 64> names;
  llvm::X86::getFeaturesForCPU(cpu, names);
  llvm::StringMap<bool> features;
  for (const llvm::StringRef name : names) features[name] = true;
  return features;
}

} // namespace

TEST_CASE(
    "what the emulator compiles is the same on new processors, which would flush subnormals") {
  if (!isX86()) {
    MESSAGE("SKIP: LLVM may have no x86 here");
    return;
  }
  CHECK(otherBits(compiled(kPassesThrough, "sapphirerapids")).find("vcvtneps2bf16") !=
        std::string::npos);
  CHECK(portableCpu(kLinux, featuresOf("nehalem")) == "x86-64");
  for (const std::string cpu : {"haswell", "znver3", "znver5", "sapphirerapids"})
    CHECK(portableCpu(kLinux, featuresOf(cpu)) == "x86-64-v3");
  for (const char *cpu : {"x86-64", "x86-64-v3"})
    CHECK(otherBits(compiled(kPassesThrough, cpu)) == "");
  CHECK(portableCompiler().machine().vectors.bits <= 256);
}

namespace {

/// Or of 8-bit floats.
bool isProductOfBf16(const ir::Kernel &kernel) {
  return ir::firstOp(kernel.body(), [&](const ir::Op &op) {
           if (op.kind != ir::OpKind::Dot) return false;
           const ir::ElementKind element = kernel.type(op.operand(0)).element();
           return element == ir::ElementKind::BF16 || ir::isNarrowFloat(element);
         }) != nullptr;
}

/// These may, as docs/semantics.md says.
std::string withoutProducts(std::string assembly) {
  for (const std::string_view product : {"vdpbf16ps", "tdpbf16ps"})
    for (std::size_t at = 0; (at = assembly.find(product, at)) != std::string::npos;)
      assembly.erase(at, product.size());
  return assembly;
}

} // namespace

TEST_CASE("two of bf16 are multiplied at a time where that is no slower than one after the other") {
  if (!isX86()) {
    MESSAGE("SKIP: LLVM may have no x86 here");
    return;
  }
  const auto ofBf16 = [](const std::string &cpu) {
    return Compiler(targetMachineOf(cpu)).machine().vectors.ofBf16;
  };
  for (const std::string cpu : {"znver4", "znver5"}) CHECK(ofBf16(cpu) == WordProduct::Bf16);
  for (const std::string cpu : {"sapphirerapids", "emeraldrapids", "graniterapids"})
    CHECK(ofBf16(cpu) == WordProduct::Single);
  CHECK(ofBf16("znver3") == WordProduct::Single);
}

TEST_CASE("tiles of AMX are for processors that have them, and products that fill one") {
  if (!isX86()) {
    MESSAGE("SKIP: LLVM may have no x86 here");
    return;
  }
  const auto isOnTiles = [](const std::string &cpu, ir::ElementKind element, std::int64_t m,
                            std::int64_t k = 32) {
    const bool areBytes = element == ir::ElementKind::I8;
    const DotShape shape{.m = m,
                         .n = 16,
                         .k = k,
                         .a = element,
                         .b = element,
                         .sum = areBytes ? ir::ElementKind::I32 : ir::ElementKind::F32};
    return isOnAmx(shape, Compiler(targetMachineOf(cpu)).machine().vectors);
  };
  for (const std::string cpu : {"sapphirerapids", "emeraldrapids", "graniterapids"}) {
    CAPTURE(cpu);
    for (const auto element : {ir::ElementKind::BF16, ir::ElementKind::I8}) {
      CHECK(isOnTiles(cpu, element, 16));
      CHECK_FALSE(isOnTiles(cpu, element, 15));
    }
    CHECK(isOnTiles(cpu, ir::ElementKind::BF16, 128, 5));
    CHECK_FALSE(isOnTiles(cpu, ir::ElementKind::BF16, 128, 4));
    CHECK(isOnTiles(cpu, ir::ElementKind::I8, 64, 9));
    CHECK_FALSE(isOnTiles(cpu, ir::ElementKind::I8, 64, 8));
    CHECK(isOnTiles(cpu, ir::ElementKind::F16, 64) == (cpu == "graniterapids"));
    CHECK_FALSE(isOnTiles(cpu, ir::ElementKind::F32, 64));
  }
  for (const std::string cpu : {"znver5", "icelake-server", "haswell"})
    CHECK_FALSE(isOnTiles(cpu, ir::ElementKind::BF16, 64));
}

TEST_CASE("products of f16 in AMX's tiles are those of bf16, but for the instruction") {
  if (!isX86()) {
    MESSAGE("SKIP: LLVM may have no x86 here");
    return;
  }
  const std::string cpu = "graniterapids";
  const auto codeOf = [&](const std::string &element) {
    ir::Kernel kernel = testing::parsedKernel(testing::textOf({.rows = 40,
                                                               .columns = 48,
                                                               .depth = 64,
                                                               .m = 77,
                                                               .n = 90,
                                                               .k = 190,
                                                               .element = element,
                                                               .high = 3,
                                                               .first = 0}));
    Diagnostics diagnostics;
    REQUIRE(runPasses(kernel, hostPipeline(), diagnostics));
    Compiler compiler(targetMachineOf(cpu));
    const KernelCode code = compileKernel(kernel, usualTraits(kernel), compiler);
    return disassembled(code.object->getMemBufferRef(), cpu);
  };
  std::string ofF16 = codeOf("f16");
  REQUIRE(ofF16.find("tdpfp16ps") != std::string::npos);
  for (std::size_t at = 0; (at = ofF16.find("tdpfp16ps", at)) != std::string::npos;)
    ofF16.replace(at, 9, "tdpbf16ps");
  CHECK(ofF16 == codeOf("bf16"));
}

TEST_CASE("constants are near the code that a JIT loads") {
  if (!isX86()) {
    MESSAGE("SKIP: LLVM may have no x86 here");
    return;
  }
  const std::string assembly = compiled(R"(
define void @k(ptr %x) {
  %a = load <8 x float>, ptr %x
  %b = fadd <8 x float> %a, splat (float 3.0)
  store <8 x float> %b, ptr %x
  ret void
}
)",
                                        "haswell");
  CHECK(assembly.find("(%rip)") != std::string::npos);
  CHECK(assembly.find("movabs") == std::string::npos);
}

namespace {

std::unique_ptr<llvm::MCSubtargetInfo> subtarget(const std::string &cpu,
                                                 const std::string &features = "") {
  llvm::InitializeNativeTarget();
  std::string problem;
  const llvm::Target *target = llvm::TargetRegistry::lookupTarget(kLinux, problem);
  REQUIRE_MESSAGE(target != nullptr, problem);
  return std::unique_ptr<llvm::MCSubtargetInfo>(
      target->createMCSubtargetInfo(kLinux, cpu, features));
}

} // namespace

TEST_CASE("what is found beside a processor's name gives the same code as all that is found") {
  if (!isX86()) {
    MESSAGE("SKIP: LLVM may have no x86 here");
    return;
  }
  const std::vector<std::string> cpus{"x86-64",         "haswell", "skylake-avx512", "znver3",
                                      "sapphirerapids", "znver5",  "sierraforest",   "core2"};
  for (const std::string &name : cpus)
    for (const std::string &other : cpus) {
      CAPTURE(name);
      CAPTURE(other);
      // A processor of this name, with what the other has: as LLVM finds features.
      const auto all = subtarget(other);
      llvm::StringMap<bool> found = llvm::sys::getHostCPUFeatures();
      llvm::SubtargetFeatures applied;
      for (const llvm::SubtargetFeatureKV &feature : all->getAllProcessorFeatures())
        if (const auto at = found.find(feature.Key); at != found.end()) {
          at->second = all->getFeatureBits()[feature.Value];
          applied.AddFeature(feature.Key, at->second);
        }
      const llvm::SubtargetFeatures besides = featuresBesides(kLinux, name, found);
      CHECK(besides.getFeatures().empty() == (name == other));
      CHECK(subtarget(name, besides.getString())->getFeatureBits() ==
            subtarget(name, applied.getString())->getFeatureBits());
    }
}

TEST_CASE("exponentials are scaled by an instruction where a processor has it") {
  if (!isX86()) {
    MESSAGE("SKIP: LLVM may have no x86 here");
    return;
  }
  const auto scaled = [](const std::string &cpu, const std::string &tile, const std::string &made) {
    ir::Kernel kernel =
        testing::parsedKernel("kernel @k(%p: view<" + tile.substr(0, 3) +
                              ", 1>) stage tiles {\n%0 = constant 0 : i32\n"
                              "%x = view.load %p, %0 : " +
                              tile + "\n" + made + " : " + tile + "\nview.store %p, %y, %0\n}");
    Diagnostics diagnostics;
    REQUIRE(runPasses(kernel, hostPipeline(), diagnostics));
    Compiler compiler(targetMachineOf(cpu));
    const KernelCode code = compileKernel(kernel, usualTraits(kernel), compiler);
    return llvm::StringRef(disassembled(code.object->getMemBufferRef(), cpu)).count("scalef");
  };
  for (const std::string tile : {"f32[16]", "f32[8]", "f32[4]", "f64[8]", "f64[4]", "f64[2]"}) {
    CAPTURE(tile);
    for (const std::string made : {"%y = exp %x", "%y = exp2 %x"}) {
      CAPTURE(made);
      CHECK(scaled("skylake-avx512", tile, made) > 0);
      CHECK(scaled("haswell", tile, made) == 0);
    }
    const std::string below = "%a = abs %x : " + tile + "\n%n = neg %a : " + tile + "\n%y = exp %n";
    CHECK(scaled("znver4", tile, below) > 0);
  }
}

TEST_CASE("kernels for the host flush subnormals in products of bf16 alone, on any processor") {
  if (!isX86()) {
    MESSAGE("SKIP: LLVM may have no x86 here");
    return;
  }
  std::vector<ir::Kernel> kernels;
  for (auto *make : {&semantics::floatCases, &semantics::conversionCases, &semantics::axisCases,
                     &semantics::memoryCases, &semantics::productCases})
    for (const semantics::Case &one : make()) {
      if (one.text.find("f16") == std::string::npos) continue;
      Diagnostics diagnostics;
      kernels.push_back(semantics::kernelOf(one));
      REQUIRE(runPasses(kernels.back(), hostPipeline(), diagnostics));
    }
  REQUIRE(kernels.size() > 50);
  for (const std::string &cpu : kNewCpus) {
    CAPTURE(cpu);
    Compiler compiler(targetMachineOf(cpu));
    for (std::size_t i = 0; i < kernels.size(); i += 3) {
      CAPTURE(kernels[i].name());
      const KernelCode code = compileKernel(kernels[i], usualTraits(kernels[i]), compiler);
      const std::string assembly = disassembled(code.object->getMemBufferRef(), cpu);
      CHECK(otherBits(isProductOfBf16(kernels[i]) ? withoutProducts(assembly) : assembly) == "");
    }
  }
}

TEST_CASE("sums of products of bytes stay in registers") {
  if (!isX86()) {
    MESSAGE("SKIP: LLVM may have no x86 here");
    return;
  }
  Compiler compiler(targetMachineOf("haswell"));
  ir::Kernel kernel = testing::parsedKernel(R"(
kernel @k(%a: view<const i8, 2>, %b: view<const i8, 2>, %c: view<i32, 2>) stage tiles {
  %zero = constant 0 : i32
  %none = constant 0 : i32[96x64]
  %x = view.load %a, %zero, %zero : i8[96x64]
  %y = view.load %b, %zero, %zero : i8[64x64]
  %d = dot %x, %y, %none : i32[96x64]
  view.store %c, %d, %zero, %zero
})");
  Diagnostics diagnostics;
  REQUIRE(runPasses(kernel, hostPipeline(), diagnostics));
  const KernelCode code = compileKernel(kernel, usualTraits(kernel), compiler);
  std::istringstream lines(disassembled(code.object->getMemBufferRef(), "haswell"));
  int products = 0, toStack = 0;
  for (std::string line; std::getline(lines, line);) {
    products += line.find("vpmaddwd") != std::string::npos;
    toStack += line.find("%ymm") < line.find("(%rsp)") && line.ends_with("(%rsp)");
  }
  CHECK(products >= 48); // four steps of six rows and two vectors
  CHECK(toStack <= 4);
}

TEST_CASE("products of bf16 compile whatever is left of a row") {
  if (!isX86()) {
    MESSAGE("SKIP: LLVM may have no x86 here");
    return;
  }
  Compiler compiler(targetMachineOf("znver4"));
  for (const std::string depth : {"3", "9", "17", "25", "31", "41"}) {
    CAPTURE(depth);
    ir::Kernel kernel = testing::parsedKernel(
        "kernel @k(%a: view<const bf16, 2>, %b: view<const bf16, 2>, %c: view<f32, 2>) stage tiles "
        "{\n%zero = constant 0 : i32\n%none = constant 0.0 : f32[16x16]\n"
        "%x = view.load %a, %zero, %zero : bf16[16x" +
        depth +
        "]\n"
        "%y = view.load %b, %zero, %zero : bf16[16x" +
        depth +
        "]\n"
        "%t = permute %y [order = [1, 0]] : bf16[" +
        depth +
        "x16]\n"
        "%d = dot %x, %t, %none : f32[16x16]\nview.store %c, %d, %zero, %zero\n}");
    Diagnostics diagnostics;
    REQUIRE(runPasses(kernel, hostPipeline(), diagnostics));
    const KernelCode code = compileKernel(kernel, usualTraits(kernel), compiler);
    CHECK(disassembled(code.object->getMemBufferRef(), "znver4").find("vdpbf16ps") !=
          std::string::npos);
  }
}

} // namespace imbrex::host
