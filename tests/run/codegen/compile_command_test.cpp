#include "backend/package/bundle.h"
#include "backend/package/fatbin.h"
#include "backend/package/formats.h"
#include "backend/target/gpu_target.h"
#include "llvm/Support/JSON.h"
#include "tests/run/shell.h"
#include "tests/support/assembler.h"

#include <doctest/doctest.h>

#include <string>
#include <vector>

using namespace imbrex;
using testing::canAssemble;

namespace {

std::vector<const machine::Machine *> machines() {
  std::vector<const machine::Machine *> found;
  for (const machine::Machine &machine : machine::allMachines())
    if (target::findGpuTarget(machine) != nullptr) found.push_back(&machine);
  return found;
}

Outcome compile(const machine::Machine &machine, const std::string &rest) {
  return shell("imbrex compile scale.imx --target " + std::string(machine.name) + " " + rest);
}

} // namespace

TEST_CASE("imbrex compile makes what is asked for, for every target" *
          doctest::test_suite("toolkit")) {
  for (const machine::Machine *machine : machines()) {
    CAPTURE(std::string(machine->name));
    const bool isNvptx = machine->family == machine::Family::Nvptx;
    const Outcome ir = compile(*machine, "--emit ir");
    CHECK(ir.status == 0);
    CHECK(contains(ir.output, " stage scheduled "));
    const Outcome llvm = compile(*machine, "--emit llvm");
    CHECK(contains(llvm.output, isNvptx ? "define ptx_kernel void @scale("
                                        : "define amdgpu_kernel void @scale("));
    const Outcome assembly = compile(*machine, "--emit asm");
    CHECK(contains(assembly.output, isNvptx ? ".visible .entry scale(" : ".amdhsa_kernel scale"));
    if (!canAssemble(target::gpuTarget(*machine))) continue;
    const Outcome image = compile(*machine, isNvptx ? "--emit cubin" : "--emit hsaco");
    CHECK(image.status == 0);
    CHECK(image.output.starts_with("\x7f"
                                   "ELF"));
  }
}

TEST_CASE("the report of a kernel that scales 64 numbers" * doctest::test_suite("toolkit")) {
  for (const machine::Machine *machine : machines()) {
    CAPTURE(std::string(machine->name));
    const Outcome outcome = compile(*machine, "--json");
    REQUIRE(outcome.status == 0);
    auto parsed = llvm::json::parse(outcome.output);
    REQUIRE(static_cast<bool>(parsed));
    const llvm::json::Object &report = *parsed->getAsObject();
    CHECK(report.getString("kernel") == "scale");
    CHECK(report.getString("target") == llvm::StringRef(machine->name));
    CHECK(report.getInteger("threads").value_or(0) % machine->warpSize == 0);
    CHECK(report.getInteger("shared_memory_bytes") == 0);
    const llvm::json::Object &mix = *report.getObject("instruction_mix");
    CHECK(mix.getObject("global load") != nullptr);
    CHECK(mix.getObject("global store") != nullptr);
    CHECK(mix.getObject("float") != nullptr);
    const Outcome text = compile(*machine, "");
    CHECK(contains(text.output, "scale on " + std::string(machine->name) + ", blocks of "));
    if (!canAssemble(target::gpuTarget(*machine))) continue;
    CHECK(report.getInteger("registers").value_or(0) > 0);
    CHECK(report.getInteger("registers").value_or(99) <= 40);
    CHECK(report.getInteger("spilled_bytes") == 0);
    CHECK(report.getInteger("stack_bytes") == 0);
    CHECK(report.getInteger("image_bytes").value_or(0) > 1000);
    CHECK(report.get("no_image") == nullptr);
    CHECK(report.getObject("occupancy")->getInteger("warps_per_core").value_or(0) > 0);
    CHECK(contains(text.output, "\n  spilled bytes       0\n"));
  }
}

TEST_CASE("registers that are spilled are told, with the line and a way out" *
          doctest::test_suite("toolkit")) {
  for (const char *name : {"sm_80", "sm_90a", "gfx942", "gfx1100"}) {
    const machine::Machine &machine = *machine::findMachine(name);
    const target::GpuTarget *target = target::findGpuTarget(machine);
    CAPTURE(std::string(name));
    // Only NVIDIA's assembler knows what is spilled there.
    if (target == nullptr || !canAssemble(*target)) continue;
    const std::string command = "imbrex compile spills.imx --target " + std::string(name);
    // A warp of 64 lanes needs half as many registers.
    const std::string few = machine.warpSize == 64 ? " --registers 32" : "";
    const Outcome said = shell(command + few + " 2>&1 >/dev/null");
    CHECK(said.status == 0);
    const std::string limit = machine.warpSize == 64 ? "32" : "64";
    CHECK(contains(said.output, "spills.imx:"));
    CHECK(contains(said.output, ": warning: kernel 'spills' on " + std::string(name) + " keeps "));
    CHECK(contains(said.output, " bytes of each thread in memory: " + limit +
                                    " registers have no "
                                    "room for all that is needed here\n  hint: ask for more than " +
                                    limit + " registers: there are "));
    const Outcome report = shell(command + few + " 2>/dev/null");
    CHECK(contains(report.output, "\n  asked for           1 warp, " + limit + " registers\n"));
    CHECK(contains(report.output, ", most at spills.imx:"));
    auto json = llvm::json::parse(shell(command + few + " --json 2>/dev/null").output);
    REQUIRE(static_cast<bool>(json));
    CHECK(json->getAsObject()->getInteger("spilled_bytes").value_or(0) > 0);
    CHECK(json->getAsObject()->getInteger("asked_warps") == 1);
    CHECK(json->getAsObject()->getString("spilled_at").value_or("").starts_with("spills.imx:"));
    const Outcome image =
        shell(command + few + " --emit " +
              (machine.family == machine::Family::Nvptx ? "cubin" : "hsaco") + " 2>&1 >/dev/null");
    CHECK(contains(image.output, "spills.imx:"));
    // With all the registers that there are nothing is.
    const std::string all = machine.warpSize == 64 ? "512" : "255";
    CHECK(shell(command + " --registers " + all + " 2>&1 >/dev/null").output.empty());
  }
}

TEST_CASE("whose warps would spill is told, by whoever has others") {
  if (target::findGpuTarget(*machine::findMachine("gfx1201")) == nullptr) return;
  const std::string kernel =
      "sed 's/warps = 1, registers = 64/registers = 32/; s/2048/8192/' spills.imx | imbrex ";
  const Outcome report = shell(kernel + "compile - --target gfx1201 2>&1");
  CHECK(report.status == 0);
  CHECK(contains(report.output, "\n  fitted              8 warps would spill "));
  CHECK(contains(report.output, "\n  spilled bytes       0\n"));
  auto json = llvm::json::parse(shell(kernel + "compile - --target gfx1201 --json").output);
  REQUIRE(static_cast<bool>(json));
  CHECK(json->getAsObject()->getInteger("asked_warps") == 0);
  const llvm::json::Object *fitted = json->getAsObject()->getObject("fitted");
  REQUIRE(fitted != nullptr);
  CHECK(fitted->getInteger("instead_of_warps") == 8);
  CHECK(fitted->getInteger("which_spill_bytes").value_or(0) > 0);
  // The passes alone would choose the others.
  CHECK(shell(kernel + "opt - --target gfx1201 --explain 2>&1")
            .output.starts_with("# 8 warps would spill "));
  CHECK(contains(shell(kernel + "opt - --target gfx1201 2>&1").output, " warps 16 "));
}

TEST_CASE("what launches ask for is said on the command line as well") {
  const machine::Machine &machine = *machine::findMachine("sm_90a");
  if (target::findGpuTarget(machine) == nullptr) return;
  const auto askedBy = [](const std::string &file, const std::string &options) {
    const Outcome ir =
        shell("imbrex compile " + file + " --target sm_90a --emit ir " + options + " 2>&1");
    CHECK(ir.status == 0);
    const std::string first = ir.output.substr(0, ir.output.find('\n'));
    return first.substr(std::min(first.find('['), first.size()));
  };
  CHECK(askedBy("scale.imx", "") == "");
  CHECK(askedBy("scale.imx", "--cluster 2") == "[cluster = [2, 1, 1]] {");
  CHECK(askedBy("scale.imx", "--cluster 1,4,2 --programmatic") ==
        "[cluster = [1, 4, 2], programmatic = true] {");
  CHECK(askedBy("scale.imx", "--cooperative --warps 2") == "[warps = 2, cooperative = true] {");
  // The code of a programmatic kernel waits for the launch in front.
  const std::string assembly = "imbrex compile scale.imx --target sm_90a --emit asm 2>&1";
  CHECK_FALSE(contains(shell(assembly).output, "griddepcontrol.wait"));
  CHECK(contains(shell(assembly + " --programmatic").output, "griddepcontrol.wait"));
  const auto refused = [](const std::string &options, int status, const std::string &part) {
    const Outcome outcome = shell("imbrex compile scale.imx " + options + " 2>&1");
    CAPTURE(outcome.output);
    CHECK(outcome.status == status);
    CHECK(contains(outcome.output, part));
  };
  for (const char *none : {"0", "2,x", "4,4,2", "1,1,1,1", "''", "17", "99999999999", "-1,-1"})
    refused("--target sm_90a --cluster=" + std::string(none), 2,
            "error: --cluster wants one to three numbers from 1 on that multiply to 16 at most");
  if (target::findGpuTarget(*machine::findMachine("sm_80")) != nullptr)
    refused("--target sm_80 --cluster 2", 1,
            "scale.imx:2: error: kernel 'scale' asks for `cluster`");
}

TEST_CASE("a number that is none, or too large, is an error as others are") {
  const auto said = [](const std::string &line) {
    const Outcome outcome = shell("imbrex " + line);
    CHECK(outcome.status == 2);
    return outcome.output;
  };
  const auto none = [](const std::string &option, const std::string &given) {
    return "imbrex: error: " + option + " wants a whole number up to 2147483647, not '" + given +
           "'\n  hint: write it in digits, such as 4\n";
  };
  CHECK(said("compile scale.imx --target sm_80 --registers 99999999999") ==
        none("--registers", "99999999999"));
  CHECK(said("compile scale.imx --target sm_80 --warps four") == none("--warps", "four"));
  CHECK(said("compile scale.imx --target sm_80 --warps 0x4") == none("--warps", "0x4"));
  // Ten, of no other base.
  CHECK(contains(said("compile scale.imx --target sm_80 --warps 010"),
                 "a number from 1 to 32, not 10"));
  CHECK(said("layout --blocked 4 --lanes x") == none("--lanes", "x"));
  CHECK(said("layout --blocked 4x4 --order 1,x") == none("--order", "x"));
  CHECK(said("check scale.imx --min-blocks 4294967296") == none("--min-blocks", "4294967296"));
}

TEST_CASE("what the author asks for is what the code has, or is an error with a way out" *
          doctest::test_suite("toolkit")) {
  for (const char *name : {"sm_80", "gfx942", "gfx1100"}) {
    const machine::Machine &machine = *machine::findMachine(name);
    if (target::findGpuTarget(machine) == nullptr) continue;
    CAPTURE(std::string(name));
    for (const int warps : {1, 4, 16}) {
      const Outcome report =
          compile(machine, "--json --warps " + std::to_string(warps) + " --registers 40 2>&1");
      auto json = llvm::json::parse(report.output);
      REQUIRE(static_cast<bool>(json));
      CHECK(json->getAsObject()->getInteger("threads") == warps * machine.warpSize);
      if (canAssemble(*target::findGpuTarget(machine)))
        CHECK(json->getAsObject()->getInteger("registers").value_or(99) <= 40);
    }
    const Outcome ir = compile(machine, "--emit ir --warps 4 --registers 40");
    CHECK(contains(ir.output, " warps 4 [warps = 4, registers = 40] {\n"));
  }
  const auto refused = [](const std::string &rest, int status, const std::string &text) {
    const Outcome outcome = shell("imbrex compile scale.imx --target gfx942 " + rest + " 2>&1");
    CHECK(outcome.status == status);
    CHECK_MESSAGE(contains(outcome.output, text), outcome.output);
  };
  if (target::findGpuTarget(*machine::findMachine("gfx942")) == nullptr) return;
  refused("--warps 3", 2, "--warps");
  refused("--warps 64", 2, "--warps");
  refused("--registers 8", 2, "--registers");
  refused(
      "--warps 32", 1,
      "kernel 'scale' asks for blocks of 32 warps; a block on gfx942 has 16 of 64 lanes at most");
  refused("--warps 16 --registers 256", 1,
          "kernel 'scale' asks for 256 registers for each of 1024 threads; gfx942 has 128");
  refused("--registers 600", 1, "gfx942 has 512\n  hint: ask for at most 512, or for fewer warps");
}

TEST_CASE("without assumptions of the launches accesses are narrow") {
  const auto accesses = [](const machine::Machine &machine, const std::string &rest) {
    return shell("imbrex compile wide.imx --target " + std::string(machine.name) + rest +
                 " | grep '  global ' | sed 's/  */ /g'")
        .output;
  };
  for (const machine::Machine *machine : machines()) {
    CAPTURE(std::string(machine->name));
    CHECK(accesses(*machine, "") == " global load 2 2 x 16 B\n global store 2 2 x 16 B\n");
    CHECK(accesses(*machine, " --no-assumptions") ==
          " global load 8 8 x 4 B\n global store 8 8 x 4 B\n");
  }
}

TEST_CASE("imbrex compile --time tells the stages") {
  for (const machine::Machine *machine : machines()) {
    const Outcome outcome = compile(*machine, "--time");
    CHECK(outcome.output.starts_with("target=" + std::string(machine->name) + " passes_ms="));
    for (const char *stage : {" passes_ms=", " lower_ms=", " optimise_ms=", " order_ms=",
                              " generate_ms=", " assemble_ms="})
      CHECK(contains(outcome.output, stage));
    const Outcome json = compile(*machine, "--time --json --emit llvm 2>&1 >/dev/null");
    auto parsed = llvm::json::parse(json.output);
    REQUIRE(static_cast<bool>(parsed));
    CHECK(parsed->getAsObject()->getString("target") == llvm::StringRef(machine->name));
    const llvm::json::Object *stages = parsed->getAsObject()->getObject("stage_ms");
    REQUIRE(stages != nullptr);
    for (const char *stage : {"passes", "lower", "optimise"})
      CHECK(stages->getNumber(stage).value_or(0) > 0);
    CHECK_FALSE(stages->getNumber("assemble"));
  }
}

TEST_CASE("imbrex compile writes a file, and says when it cannot") {
  const machine::Machine &machine = *machines().front();
  const Outcome outcome = compile(machine, "--emit llvm -o /dev/stdout | head -c 11");
  CHECK(outcome.output == "; ModuleID ");
  const Outcome nowhere = compile(machine, "--emit llvm -o /nowhere/scale.ll");
  CHECK(nowhere.status == 1);
  CHECK(contains(nowhere.output, "cannot write '/nowhere/scale.ll'"));
}

TEST_CASE("imbrex compile names what is wrong with its command line") {
  const machine::Machine &machine = *machines().front();
  const std::string name(machine.name);
  CHECK(shell("imbrex compile --target " + name).status == 2);
  const Outcome without = shell("imbrex compile scale.imx");
  CHECK(without.status == 2);
  CHECK(contains(without.output, "error: 'imbrex compile' needs a target to make code for\n"
                                 "  hint: name one by --target; `imbrex targets` lists them\n"));
  CHECK(
      contains(shell("imbrex compile scale.imx --target sm_90").output, "did you mean 'sm_90a'?"));
  CHECK(contains(shell("imbrex compile scale.imx --target A100").output, "did you mean 'sm_80'?"));
  const Outcome json = compile(machine, "--emit llvm --json");
  CHECK(json.status == 2);
  CHECK(json.output == "imbrex: error: --json means nothing without --emit report or --time\n"
                       "  hint: see --help\n");
  CHECK(compile(machine, "--emit llvm --json --time").status == 0);
  const Outcome packed = compile(machine, "--compress");
  CHECK(packed.status == 2);
  CHECK(packed.output == "imbrex: error: --compress means nothing without --emit " +
                             package::packageNamesFor(machine.family) + "\n  hint: see --help\n");
  const Outcome format = compile(machine, "--emit exe");
  CHECK(format.status == 2);
  CHECK(contains(format.output, "there is no 'exe' for " + name));
  CHECK(contains(format.output, "ir, llvm, asm"));
  CHECK(contains(shell("imbrex compile scale.imx --target sm_8").output, "no target 'sm_8'"));
  const Outcome host = shell("imbrex compile scale.imx --target host");
  CHECK(host.status == 2);
  CHECK(contains(host.output, "host is no GPU that code can be made for"));
}

TEST_CASE("each vendor's image is made for its own machines alone") {
  for (const machine::Machine *machine : machines()) {
    const bool isNvptx = machine->family == machine::Family::Nvptx;
    const Outcome outcome = compile(*machine, isNvptx ? "--emit hsaco" : "--emit cubin");
    CHECK(outcome.status == 2);
    CHECK(contains(outcome.output, "for " + std::string(machine->name)));
  }
}

TEST_CASE("instructions of the author's are for one machine") {
  const std::string kernel = R"(kernel @k(%x: ptr<i32>) stage tiles {
  %0 = constant 1 : i32
  %1 = inline_asm %0 [text = "TEXT", constraints = "CONSTRAINTS", target = "TARGET"] : i32
  store %x, %1
}
)";
  const auto with = [&](const std::string &text, const std::string &constraints,
                        std::string_view target, std::string_view compiledFor) {
    std::string source = kernel;
    source.replace(source.find("TEXT"), 4, text);
    source.replace(source.find("CONSTRAINTS"), 11, constraints);
    source.replace(source.find("TARGET"), 6, target);
    return shell("imbrex compile - --target " + std::string(compiledFor) + " --emit asm <<'END'\n" +
                 source + "END");
  };
  for (const machine::Machine *machine : machines()) {
    CAPTURE(std::string(machine->name));
    const bool isNvptx = machine->family == machine::Family::Nvptx;
    const std::string constraints = isNvptx ? "=r,r" : "=v,v";
    const std::string text = isNvptx ? "popc.b32 $0, $1;" : "v_bfrev_b32 $0, $1";
    const Outcome own = with(text, constraints, machine->name, machine->name);
    CHECK(own.status == 0);
    CHECK(contains(own.output, isNvptx ? "popc.b32" : "v_bfrev_b32"));
    const Outcome foreign = with(text, constraints, "abacus", machine->name);
    CHECK(foreign.status == 1);
    CHECK(contains(foreign.output, "inline assembly for 'abacus' cannot run on '"));
    const Outcome bad = with(text, "=r,,", machine->name, machine->name);
    CHECK(bad.status == 1);
    CHECK(contains(bad.output, "do not assemble"));
  }
}

TEST_CASE("without an assembler the user is told which there are") {
  for (const machine::Machine *machine : machines()) {
    if (machine->family != machine::Family::Nvptx) continue;
    const std::string name(machine->name);
    const Outcome outcome = shell("IMBREX_TOOLKIT=/nowhere imbrex compile scale.imx --target " +
                                  name + " --emit cubin");
    CHECK(outcome.status == 1);
    CHECK(outcome.output ==
          "imbrex: error: no assembler for " + name +
              " is found: neither the program ptxas nor the library libnvJitLink.so.13\n"
              "  hint: install CUDA 13, or name its folder in IMBREX_TOOLKIT\n");
    // PTX needs none.
    CHECK(shell("IMBREX_TOOLKIT=/nowhere imbrex compile scale.imx --target " + name + " --emit ptx")
              .status == 0);
  }
}

TEST_CASE("IMBREX_TOOLKIT hides every other toolkit") {
  if (target::findGpuTarget(*machine::findMachine("sm_80")) == nullptr) return;
  const auto making = [](const std::string &environment) {
    return shell("folder=$(mktemp -d); mkdir $folder/bin; tool=$folder/bin/ptxas; "
                 "printf '#!/bin/sh\\necho I was asked\\nexit 1' >$tool; chmod +x $tool; " +
                 environment +
                 " imbrex compile scale.imx --target sm_80 --emit cubin; rm -r $folder")
        .output;
  };
  // Shadowed, no other program can be found.
  const std::string asked = "ptxas refuses the code for sm_80: I was asked";
  CHECK(contains(making("unset IMBREX_TOOLKIT; PATH=$folder/bin:$PATH;"), asked));
  CHECK(contains(making("unset IMBREX_TOOLKIT; PATH=/bin:/usr/bin CUDA_HOME=$folder"), asked));
  CHECK(contains(making("PATH=/bin:/usr/bin CUDA_PATH=$folder IMBREX_TOOLKIT=$folder"), asked));
  for (const char *ways : {"PATH=$folder/bin:$PATH", "CUDA_HOME=$folder", "CUDA_PATH=$folder",
                           "LD_LIBRARY_PATH=/usr/local/cuda/lib64", ""})
    CHECK(contains(making(std::string(ways) + " IMBREX_TOOLKIT=/nowhere"), "no assembler for"));
}

TEST_CASE("without an assembler a report says what it cannot know, and all else") {
  const auto has = [](const llvm::json::Object &report, const char *name) {
    const llvm::json::Value *value = report.get(name);
    return value != nullptr && value->kind() != llvm::json::Value::Null;
  };
  const std::string missing = "no assembler for sm_90a is found: neither the program ptxas nor the "
                              "library libnvJitLink.so.13";
  if (target::findGpuTarget(*machine::findMachine("sm_90a")) == nullptr) return;
  const std::string command = "IMBREX_TOOLKIT=/nowhere imbrex compile product.imx --target sm_90a ";
  const Outcome text = shell(command);
  CHECK(text.status == 0);
  for (const char *name : {"registers          ", "spilled bytes      ", "stack bytes        ",
                           "occupancy          ", "image bytes        "})
    CHECK(contains(text.output, "\n  " + std::string(name) + " not known\n"));
  CHECK(text.output.ends_with("what is not known only an image tells: " + missing +
                              "\n  hint: install CUDA 13, or name its folder in IMBREX_TOOLKIT\n"));
  const Outcome json = shell(command + "--json");
  CHECK(json.status == 0);
  auto parsed = llvm::json::parse(json.output);
  REQUIRE(static_cast<bool>(parsed));
  const llvm::json::Object &report = *parsed->getAsObject();
  for (const char *name : {"registers", "scalar_registers", "spilled_bytes", "stack_bytes",
                           "occupancy", "image_bytes"})
    CHECK_MESSAGE(!has(report, name), name);
  CHECK(report.getString("no_image") == llvm::StringRef(missing));
  CHECK(report.getInteger("shared_memory_bytes").value_or(0) > 0);
  CHECK(report.getInteger("instructions").value_or(0) > 0);
  CHECK(report.getInteger("assembly_bytes").value_or(0) > 0);
}

TEST_CASE("imbrex compile packs several targets into one file, the same every time" *
          doctest::test_suite("toolkit")) {
  const auto has = [](const char *name) {
    return target::findGpuTarget(*machine::findMachine(name)) != nullptr;
  };
  const auto pack = [](const std::string &rest) {
    const Outcome outcome = shell("imbrex compile scale.imx " + rest);
    CHECK(outcome.status == 0);
    return outcome.output;
  };
  if (has("sm_80") && canAssemble(target::gpuTarget(*machine::findMachine("sm_80")))) {
    const std::string line = "--target sm_80 --target sm_90a --emit fatbin";
    const std::string fatbin = pack(line);
    const auto members = package::readFatbin(fatbin);
    REQUIRE(members.ok());
    CHECK(package::describe(*members) == "sm_80, assembly of sm_80, sm_90a");
    CHECK(pack(line) == fatbin);
    CHECK(pack(line + " --target sm_80") == fatbin);
    CHECK(pack("--target sm_80,sm_90a --emit fatbin") == fatbin);
    CHECK(*package::readFatbin(pack(line + " --compress")) == *members);
  }
  if (has("gfx942")) {
    const std::string line = "--target gfx942 --target gfx11-generic --emit bundle";
    const std::string bundle = pack(line);
    const auto members = package::readBundle(bundle);
    REQUIRE(members.ok());
    CHECK(package::describe(*members) == "gfx942, gfx11-generic");
    CHECK(pack(line) == bundle);
    CHECK(*package::readBundle(pack(line + " --compress")) == *members);
    const Outcome piped = shell("imbrex compile - < scale.imx " + line);
    CHECK(package::describe(*package::readBundle(piped.output)) == "gfx942, gfx11-generic");
  }
}

TEST_CASE("several targets make nothing but a package, and a package is of one vendor's") {
  const std::vector<const machine::Machine *> all = machines();
  const std::string first(all.front()->name), second(all[1]->name), last(all.back()->name);
  const Outcome several =
      shell("imbrex compile scale.imx --target " + first + " --target " + second + " --emit llvm");
  CHECK(several.status == 2);
  CHECK(contains(several.output, "--emit llvm makes the code of one target, and 2 are named\n"
                                 "  hint: name one, or make a package: "));
  if (all.front()->family == all.back()->family) return;
  const Outcome mixed =
      shell("imbrex compile scale.imx --target " + first + " --target " + last + " --emit fatbin");
  CHECK(mixed.status == 2);
  CHECK(contains(mixed.output, "there is no 'fatbin' for " + last));
}

TEST_CASE("imbrex layout counts lanes and banks as the target has them") {
  CHECK(contains(shell("imbrex layout --blocked 64 --warps 1 --target gfx942").output, //
                 "lane [[1],[2],[4],[8],[16],[32]] warp"));
  CHECK(contains(shell("imbrex layout --blocked 64 --warps 2 --target sm_90a").output,
                 "lane [[1],[2],[4],[8],[16]] warp [[32]]"));
  // Elements of eight bytes: 32 banks serve half a warp of 32 lanes at a time, 64 a whole one.
  const auto cyclesOn = [](const std::string &target) {
    return shell(
               "imbrex layout 'register [] lane [[1],[2],[4],[8],[16],[32]] warp [[64]] of [128]' "
               "--to 'register [] lane [[64],[1],[2],[4],[8],[16]] warp [[32]] of [128]' "
               "--element-bytes 8 --target " +
               target + " | grep writes")
        .output;
  };
  CHECK(cyclesOn("gfx942") ==
        "  each warp: 1 writes of 1 element in 4 cycles, 0 of them by conflicts\n");
  CHECK(cyclesOn("gfx950") ==
        "  each warp: 1 writes of 1 element in 2 cycles, 0 of them by conflicts\n");
  const Outcome unknown = shell("imbrex layout --blocked 64 --target sm90a");
  CHECK(unknown.status == 2);
  CHECK(contains(unknown.output, "did you mean 'sm_90a'?"));
}
