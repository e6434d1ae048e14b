#include "backend/ir/verify.h"
#include "backend/package/archive/assumed.h"
#include "backend/package/archive/launch_program.h"
#include "backend/package/archive/library.h"
#include "backend/package/archive/names.h"
#include "backend/package/archive/tuning.h"
#include "backend/package/package.h"
#include "backend/target/codegen/loc_lines.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Object/ObjectFile.h"
#include "tests/support/assembler.h"
#include "tests/support/parsed_kernel.h"

#include <doctest/doctest.h>

#include <limits>
#include <map>
#include <set>
#include <tuple>

/// What a library has, before it is written.
namespace imbrex::archive {
namespace {

/// One with an engine that loads boxes, and one without.
const machine::Machine &kEngine = *machine::findMachine("sm_90a"),
                       &kPlain = *machine::findMachine("sm_80");
const llvm::Triple kX86("x86_64-unknown-linux-gnu"), kArm("aarch64-unknown-linux-gnu");

Library libraryOf(ir::Kernel kernel) {
  Library library{.name = "lib", .nameSpace = "lib", .triple = kX86};
  library.kernels.push_back({.name = "k", .kernel = std::move(kernel)});
  return library;
}

ir::Kernel sum() {
  return testing::parsedKernel(
      R"(kernel @sum(%x: view<const f32, 1>, %y: view<f32, 1>) stage tiles {
  %0 = program_id : i32
  %1 = view.load %x, %0 : f32[256]
  %2 = view.load %y, %0 : f32[256]
  %3 = add %1, %2 : f32[256]
  view.store %y, %3, %0
})");
}

ir::Kernel vectorAdd() {
  return testing::parsedKernel(
      R"(kernel @add(%x: view<const f32, 1>, %y: view<const f32, 1>, %z: view<f32, 1>) stage tiles {
  %0 = program_id : i32
  %1 = view.load %x, %0 : f32[1024]
  %2 = view.load %y, %0 : f32[1024]
  %3 = add %1, %2 : f32[1024]
  view.store %z, %3, %0
})");
}

ir::Kernel copyThroughPointers() {
  return testing::parsedKernel(
      R"(kernel @copy(%x: ptr<const f32>, %y: ptr<f32>, %n: i32) stage tiles {
  %0 = load %x : f32
  store %y, %0
})");
}

/// What is loaded is wanted again behind the sums: more than threads have registers for.
ir::Kernel spilling() {
  return testing::parsedKernel(
      R"(kernel @spills(%x: view<f32, 1>) stage tiles [warps = 1, registers = 32] {
  %0 = constant 0 : i64
  %1 = constant 1 : i64
  %2 = constant 2 : i64
  %3 = view.load %x, %0 : f32[1024]
  %4 = view.load %x, %1 : f32[1024]
  %5 = view.load %x, %2 : f32[1024]
  %6 = reduce %3 : f32
  %7 = broadcast %6 : f32[1024]
  %8 = mul %4, %5 : f32[1024]
  %9 = add %8, %7 : f32[1024]
  %10 = reduce %9 : f32
  %11 = broadcast %10 : f32[1024]
  %12 = mul %3, %11 : f32[1024]
  %13 = mul %4, %11 : f32[1024]
  %14 = mul %5, %11 : f32[1024]
  view.store %x, %12, %0
  view.store %x, %13, %1
  view.store %x, %14, %2
})");
}

/// A copy, of which what is done with `n` is given.
ir::Kernel copyWithNumber(const std::string &from, const std::string &what) {
  return testing::parsedKernel(
      "kernel @copy(%x: view<const i32, 1>, %y: view<i32, 1>, %n: i32) stage tiles {\n"
      "  %0 = program_id : i32\n  %1 = view.load %x, " +
      from + " : i32[256]\n  " + what + "\n  view.store %y, %3, %0\n}");
}

LibraryOptions optionsFor(const std::vector<std::string> &targets) {
  LibraryOptions options;
  for (const std::string &target : targets)
    options.targets.push_back(parseTarget(target, kX86).value());
  return options;
}

/// The code's image is of the machine that it is said to be for; so is a package of it.
void checkImages(const Library &library) {
  for (const LibraryCode &code : library.kernels[0].codes) {
    if (code.target.isHost()) continue;
    CAPTURE(toText(code.target));
    const auto members = package::readCode(code.gpu.image);
    REQUIRE(members.ok());
    REQUIRE(members->size() == 1);
    CHECK(members->front().machine == code.target.name);
    CHECK(members->front().isAssembly == code.target.isAssembly);
  }
}

/// Of an ELF file: its sections by name.
std::map<std::string, std::string> sectionsOf(llvm::StringRef image) {
  std::map<std::string, std::string> sections;
  auto file = llvm::object::ObjectFile::createELFObjectFile({image, "image"});
  REQUIRE(static_cast<bool>(file));
  for (const llvm::object::SectionRef &section : (*file)->sections())
    sections[llvm::cantFail(section.getName()).str()] = llvm::cantFail(section.getContents()).str();
  return sections;
}

/// The same code with lines and without.
void checkLines(const std::vector<std::string> &targets) {
  LibraryOptions options = optionsFor(targets);
  Library bare = libraryOf(sum()), lined = libraryOf(sum());
  Diagnostics diagnostics;
  REQUIRE(compileLibrary(bare, options, diagnostics));
  options.keepsLines = true;
  REQUIRE(compileLibrary(lined, options, diagnostics));
  REQUIRE(bare.kernels[0].codes.size() == lined.kernels[0].codes.size());
  const auto lineSections = [](const auto &sections) {
    return llvm::count_if(sections, [](const auto &section) {
      const llvm::StringRef name = section.first;
      return name.starts_with(".debug_line") || name.contains("debug_ptx_txt");
    });
  };
  for (std::size_t i = 0; i < bare.kernels[0].codes.size(); ++i) {
    const LibraryCode &one = bare.kernels[0].codes[i], &other = lined.kernels[0].codes[i];
    CAPTURE(toText(one.target));
    if (one.target.isAssembly) {
      CHECK_FALSE(target::namesLines(one.gpu.image));
      CHECK(target::namesLines(other.gpu.image));
      CHECK(one.gpu.image == target::withoutLines(other.gpu.image));
      continue;
    }
    const auto sections = sectionsOf(one.gpu.image), with = sectionsOf(other.gpu.image);
    CHECK(lineSections(sections) == 0);
    CHECK(lineSections(with) > 0);
    for (const auto &[name, content] : sections)
      if (llvm::StringRef(name).starts_with(".text")) CHECK(content == with.at(name));
  }
}

void checkSpills(const std::string &target) {
  Library library = libraryOf(spilling());
  Diagnostics diagnostics;
  REQUIRE(compileLibrary(library, optionsFor({target}), diagnostics));
  REQUIRE(!diagnostics.all().empty());
  // Of each code that is kept, by what tells it from the kernel's others.
  std::vector<std::string> expected, told;
  const std::vector<LibraryCode> &codes = library.kernels[0].codes;
  for (const LibraryCode &code : codes)
    if (code.gpu.resources->spilledBytes > 0)
      expected.push_back("kernel 'spills' (" + library.kernels[0].name + "; of f32; assuming " +
                         std::to_string(code.assumptions.count()) + " of " +
                         std::to_string(codes.front().assumptions.count()) + ") on " + target +
                         " keeps ");
  for (const Diagnostic &said : diagnostics.all()) {
    CHECK(said.kind == Diag::RegistersSpilled);
    CHECK(said.where.line > 1);
    told.push_back(said.message.substr(0, said.message.find(" keeps ") + 7));
  }
  CHECK(told == expected);
}

std::set<std::string> targetsIn(const Library &library) {
  std::set<std::string> targets;
  for (const LibraryCode &code : library.kernels[0].codes) targets.insert(toText(code.target));
  return targets;
}

} // namespace

TEST_CASE("a target's text is what a library can have code for") {
  CHECK(toText(parseTarget("host", kX86).value()) == "host:x86-64-v3");
  CHECK(toText(parseTarget("host", kArm).value()) == "host:armv8-a");
  for (const char *text :
       {"sm_90a", "ptx:sm_80", "gfx942", "gfx11-generic", "host:x86-64-v4", "host:sapphirerapids"})
    CHECK(toText(parseTarget(text, kX86).value()) == text);
  CHECK(render(parseTarget("host:armv8-a", kX86).error()) ==
        "imbrex: error: there is no target 'host:armv8-a' for x86_64-unknown-linux-gnu\n"
        "  hint: there are host:x86-64, host:x86-64-v2, host:x86-64-v3, host:x86-64-v4, "
        "host:sapphirerapids\n");
}

TEST_CASE("images and assembly are of the machines that are named, compressed or not") {
  for (const bool isCompressed : {false, true}) {
    Library library = libraryOf(sum());
    LibraryOptions options =
        optionsFor({"ptx:sm_75", "ptx:sm_90a", "gfx942", "gfx950", "gfx11-generic", "host"});
    options.isCompressed = isCompressed;
    Diagnostics diagnostics;
    REQUIRE(compileLibrary(library, options, diagnostics));
    CHECK(targetsIn(library) == std::set<std::string>{"ptx:sm_75", "ptx:sm_90a", "gfx942", "gfx950",
                                                      "gfx11-generic", "host:x86-64-v3"});
    checkImages(library);
  }
}

TEST_CASE("code names no lines of the sources unless that is asked for") {
  checkLines({"ptx:sm_80", "gfx942", "gfx11-generic"});
}

TEST_CASE("what is spilled is told of its line in code without lines, too") {
  checkSpills("gfx942");
}

TEST_SUITE("toolkit") {
  TEST_CASE("images of NVIDIA's name no lines of the sources unless that is asked for") {
    if (!testing::canAssemble(target::gpuTarget(*machine::findMachine("sm_80")))) return;
    checkLines({"sm_80", "sm_90a", "sm_120a"});
    checkSpills("sm_80");
  }

  TEST_CASE("code for all of NVIDIA's GPUs takes few bytes") {
    if (!testing::canAssemble(target::gpuTarget(*machine::findMachine("sm_80")))) return;
    std::vector<std::string> targets{"ptx:sm_75"};
    for (const machine::Machine &machine : machine::allMachines())
      if (machine.family == machine::Family::Nvptx) targets.emplace_back(machine.name);
    CHECK(targets.size() > 10);
    Library library = libraryOf(vectorAdd());
    LibraryOptions options = optionsFor(targets);
    options.isCompressed = true;
    Diagnostics diagnostics;
    REQUIRE(compileLibrary(library, options, diagnostics));
    std::size_t mostAssuming = 0, all = 0;
    std::set<std::string> seen;
    for (const LibraryCode &code : library.kernels[0].codes) {
      all += code.gpu.image.size();
      if (seen.insert(toText(code.target)).second) mostAssuming += code.gpu.image.size();
    }
    CHECK(mostAssuming < 20 << 10);
    CHECK(all < 90 << 10);
    options.assumesNothing = true;
    REQUIRE(compileLibrary(library, options, diagnostics));
    CHECK(library.kernels[0].codes.size() == targets.size());
    all = 0;
    for (const LibraryCode &code : library.kernels[0].codes) all += code.gpu.image.size();
    CHECK(all < 32 << 10);
  }

  TEST_CASE("images of NVIDIA's are of the machines that are named") {
    if (!testing::canAssemble(target::gpuTarget(*machine::findMachine("sm_80")))) return;
    for (const bool isCompressed : {false, true}) {
      Library library = libraryOf(sum());
      LibraryOptions options =
          optionsFor({"sm_80", "sm_90a", "sm_100a", "sm_100f", "sm_120a", "sm_120f"});
      options.isCompressed = isCompressed;
      Diagnostics diagnostics;
      REQUIRE(compileLibrary(library, options, diagnostics));
      checkImages(library);
      for (const LibraryCode &code : library.kernels[0].codes)
        CHECK(code.gpu.resources->registers > 0);
    }
  }
}

TEST_CASE("a library that assumes nothing has one code for each target, which any launch can run") {
  for (const auto make : {sum, copyThroughPointers}) {
    Library library = libraryOf(make());
    const std::vector<std::string> targets{"ptx:sm_80", "ptx:sm_90a", "gfx942", "host"};
    LibraryOptions options = optionsFor(targets);
    options.assumesNothing = true;
    Diagnostics diagnostics;
    REQUIRE(compileLibrary(library, options, diagnostics));
    std::vector<std::string> seen;
    for (const LibraryCode &code : library.kernels[0].codes) {
      seen.push_back(toText(code.target));
      CHECK(code.assumptions.count() == 0);
      CHECK_FALSE(code.assumptions.areDisjoint);
    }
    CHECK(seen == std::vector<std::string>{"ptx:sm_80", "ptx:sm_90a", "gfx942", "host:x86-64-v3"});
  }
}

TEST_CASE("of each target the code that assumes more comes first, and the last assumes nothing") {
  for (const ir::Kernel &kernel : {sum(), copyThroughPointers()})
    for (const auto &assumed : {assumedOnGpu(kernel, kEngine), assumedOnHost(kernel)}) {
      REQUIRE(assumed.size() > 1);
      CHECK(assumed.back().count() == 0);
      CHECK_FALSE(assumed.back().areDisjoint);
      for (std::size_t i = 1; i < assumed.size(); ++i) {
        CHECK(assumed[i - 1].count() >= assumed[i].count());
        CHECK(assumed[i - 1] != assumed[i]);
      }
    }
  // What makes no difference to a GPU is not asked of its launches.
  CHECK(assumedOnGpu(sum(), kEngine).front().of(0).hasBoxes);
  CHECK_FALSE(assumedOnGpu(sum(), kPlain).front().of(0).hasBoxes);
  // Pointers of which nobody knows whether they overlap have code of their own.
  const auto mayOverlap = [](const analysis::Assumptions &one) {
    return one.count() > 0 && !one.areDisjoint;
  };
  CHECK(std::ranges::count_if(assumedOnGpu(copyThroughPointers(), kEngine), mayOverlap) == 2);
  CHECK(std::ranges::count_if(assumedOnGpu(sum(), kEngine), mayOverlap) == 1);
}

/// The code that runs a launch of which so much holds.
const LibraryCode &codeFor(const analysis::Assumptions &launch, const Library &library) {
  return *llvm::find_if(library.kernels[0].codes,
                        [&](const LibraryCode &code) { return launch.cover(code.assumptions); });
}

TEST_CASE("whole numbers need not divide for the code that assumes the rest") {
  // The number is a value here, and an address there.
  const ir::Kernel added =
      copyWithNumber("%0", "%2 = broadcast %n : i32[256]\n  %3 = add %1, %2 : i32[256]");
  const ir::Kernel shifted = copyWithNumber(
      "%n [unit = elements]", "%2 = add %1, %1 : i32[256]\n  %3 = add %2, %1 : i32[256]");
  for (const bool isShifted : {false, true}) {
    CAPTURE(isShifted);
    const ir::Kernel &kernel = isShifted ? shifted : added;
    Library library = libraryOf(kernel.clone());
    Diagnostics diagnostics;
    REQUIRE(compileLibrary(library, optionsFor({"gfx942"}), diagnostics));
    analysis::Assumptions all = analysis::withoutBoxes(analysis::usualAssumptions(kernel)),
                          odd = all;
    odd.parameters[2].isDivisible = false;
    const std::string &dividing = codeFor(all, library).gpu.image,
                      &any = codeFor(odd, library).gpu.image;
    CHECK((dividing == any) == !isShifted);
    if (!isShifted) CHECK(library.kernels[0].codes.size() == 4);
    CHECK(codeFor(odd, library).assumptions.of(0).hasDivisibleRows);
    // In place as well, for which no code is lost that is the same as one that assumes more.
    odd.areDisjoint = false;
    CHECK(codeFor(odd, library).assumptions.of(0).hasDivisibleRows);
    // What would run instead of one is another code.
    for (llvm::ArrayRef<LibraryCode> codes = library.kernels[0].codes; codes.size() > 1;) {
      const LibraryCode &code = codes.front();
      codes = codes.drop_front();
      CHECK(llvm::find_if(codes, [&](const LibraryCode &weaker) {
              return code.assumptions.cover(weaker.assumptions);
            })->gpu.image != code.gpu.image);
    }
  }
}

TEST_CASE("code for what overlaps is not left out for code that nothing overlaps may run") {
  // Neither the length of rows nor what overlaps makes a difference to it; how rows lie does.
  const ir::Kernel kernel =
      testing::parsedKernel("kernel @one(%y: view<i32, 2>) stage tiles {\n  %0 = program_id : i32\n"
                            "  %1 = constant 1 : i32[1x1]\n  view.store %y, %1, %0, %0\n}");
  Library library = libraryOf(kernel.clone());
  Diagnostics diagnostics;
  REQUIRE(compileLibrary(library, optionsFor({"gfx942"}), diagnostics));
  analysis::Assumptions inPlace = analysis::withoutBoxes(analysis::usualAssumptions(kernel));
  inPlace.areDisjoint = false;
  CHECK(codeFor(inPlace, library).assumptions.of(0).hasUnitStride);
}

TEST_CASE("a kernel that asks for more than a launch has room for is refused") {
  std::string parameters;
  for (int i = 0; i < 33; ++i) parameters += (i == 0 ? "%p" : ", %p") + std::to_string(i) + ": i32";
  Library library = libraryOf(testing::parsedKernel(
      "kernel @many(" + parameters + ", %y: view<i32, 1>) stage tiles {\n" +
      "  %0 = broadcast %p32 : i32[4]\n  %1 = constant 0 : i32\n  view.store %y, %0, %1\n}"));
  Diagnostics diagnostics;
  CHECK_FALSE(compileLibrary(library, optionsFor({"host"}), diagnostics));
  CHECK(diagnostics.render().find("'k' has 34 parameters; kernels compiled ahead of time may have "
                                  "32") != std::string::npos);
}

/// A kernel of two configurations, as a tuning table changes it; or the table's first error.
struct Tuning {
  explicit Tuning(std::string_view table) : library(libraryOf(copyThroughPointers())) {
    library.kernels[0].configs.push_back(
        {.name = "k", .config = "wide", .kernel = copyThroughPointers()});
    library.kernels[0].configs.push_back(
        {.name = "k", .config = "flat", .kernel = copyThroughPointers()});
    Diagnostics diagnostics;
    if (!readTuning("t.json", table, optionsFor({"sm_80", "ptx:sm_80", "host"}), library,
                    diagnostics))
      error = diagnostics.render();
  }
  const std::vector<TuningRule> &rows() const { return library.kernels[0].tuned; }

  Library library;
  std::string error;
};

TEST_CASE("a tuning table says which configurations there is code of, for which targets") {
  const Tuning tuning(R"({"k": [{"targets": ["ptx:sm_80", "gfx942"], "where": {"n": [-3, null]},
                                 "config": "flat"},
                                {"targets": ["gfx942"], "config": "wide"},
                                {"where": {"n": 4}, "targets": null, "config": "flat"}]})");
  CHECK(tuning.error == "");
  REQUIRE(tuning.rows().size() == 2); // nothing is made for gfx942
  const auto &[first, second] = std::tie(tuning.rows()[0], tuning.rows()[1]);
  REQUIRE(first.targets.size() == 1);
  CHECK(toText(first.targets[0]) == "ptx:sm_80");
  REQUIRE(first.ranges.size() == 1);
  CHECK(first.ranges[0].of.name == "n");
  CHECK(first.ranges[0].of.word == 2);
  CHECK(first.ranges[0].least == -3);
  CHECK(first.ranges[0].most == std::numeric_limits<std::int64_t>::max());
  CHECK(second.targets.size() == 3);
  CHECK(second.ranges[0].least == second.ranges[0].most);
  CHECK(tuning.library.kernels[0].configs[0].targets.empty());
  CHECK(tuning.library.kernels[0].configs[1].targets.size() == 3);
}

TEST_CASE("the words of a launch are named as its requirements name them") {
  const ir::Kernel kernel =
      testing::parsedKernel("kernel @k(%n: i32, %x: view<f32, 2>, %p: ptr<f32>, %t: table<f32>, "
                            "%y: view<f32, 1>) stage tiles {\n}");
  std::string names;
  for (const GivenWord &word : givenBy(kernel))
    names += word.name + " " + std::to_string(word.word) + " ";
  CHECK(names == "n 0 x.extent(0) 2 x.extent(1) 3 x.stride(0) 4 x.stride(1) 5 t.size() 8 "
                 "y.extent(0) 10 y.stride(0) 11 ");
}

TEST_CASE("a launch computes what is required, and nothing that loops do with its arguments") {
  const ir::Kernel kernel =
      testing::parsedKernel(R"(kernel @k(%y: view<f32, 1>, %n: i32) stage tiles {
  %0 = constant 0 : i32
  %1 = constant 1 : i32
  %2 = constant 64 : i32
  %3 = div %2, %n : i32
  %4 = gt %n, %0 : bool
  require %4 [text = "n"]
  %5 = constant 0.0 : f32[64]
  %6 = for %0, %n, %1, %5 (%j: i32, %s: f32[64]) {
    %7 = mul %j, %2 : i32
    %8 = add %7, %3 : i32
    %9 = cast %8 : f32
    %10 = broadcast %9 : f32[64]
    %11 = add %s, %10 : f32[64]
    yield %11
  } : f32[64]
  view.store %y, %6, %0
})");
  const ir::Kernel check = checkKernel(kernel, requiredBy(kernel));
  Diagnostics diagnostics;
  CHECK_MESSAGE(ir::verify(check, diagnostics), diagnostics.render());
  const auto isOfNoRequirement = [](const ir::Op &op) {
    return op.kind == ir::OpKind::Mul || op.kind == ir::OpKind::Div;
  };
  CHECK(ir::firstOp(check.body(), isOfNoRequirement) == nullptr);
}

TEST_CASE("what is wrong with a tuning table is told") {
  const auto isTold = [](std::string_view table, const std::string &text) {
    const std::string error = Tuning(table).error;
    CHECK_MESSAGE(error.find(text) != std::string::npos, error);
  };
  isTold("{", "the tuning table t.json can't be read: ");
  isTold("[]", "expected object");
  isTold(R"({"k": {}})", "expected array at the table.k");
  isTold(R"({"k": [{}]})", "missing value at the table.k[0].config");
  isTold(R"({"k": [{"config": "flat", "when": {}}]})",
         "expected config, where and targets alone at the table.k[0].when");
  isTold(R"({"k": [{"config": "flat", "where": {"n": "4"}}]})",
         "expected a number or [least, most] at the table.k[0].where.n");
  isTold(R"({"k": [{"config": "flat", "where": {"n": [4]}}]})", "expected a number or");
  isTold(R"({"k": [{"config": "flat", "where": {"n": [4, 0.5]}}]})", "expected integer");
  isTold(R"({"k": [{"config": "flat", "where": {"n": [4, 3]}}]})", "nothing is in this range");
  isTold(R"({"k": [{"config": "flat", "targets": []}]})", "expected a target");
  isTold(R"({"l": []})", "in the tuning table t.json, the library has no kernel 'l'");
  isTold(R"({"k": [{"config": "k"}]})", "k[0]: 'k' has no configuration 'k'");
  isTold(R"({"k": [{"config": "flat"}, {"config": "flat", "where": {"x": 1}}]})",
         "k[1]: 'k' has no whole number 'x'");
  isTold(R"({"k": [{"config": "flat", "targets": ["sm_8O"]}]})",
         "k[0]: there is no target 'sm_8O'");
  CHECK(toText(parseTarget("sm_80", kX86, true).value()) == "ptx:sm_80");
}

TEST_CASE("parameters keep their names where C has no other use for them, and no two are alike") {
  const ir::Kernel kernel = testing::parsedKernel(
      R"(kernel @k(%blocks: i32, %blocks_: i32, %on: i32, %class: i32, %p3: i32, %imbrex_array: i32, %x: i32, %LDA: i32, %M: i32, %uint8_t: i32, %stdin: i32) stage tiles {
})");
  CHECK(parameterNames(kernel) == std::vector<std::string>{"blocks_", "blocks__", "on_", "p3",
                                                           "p3_", "p5", "x", "lda", "M", "uint8_t_",
                                                           "p10"});
  for (const char *name : {"gemm", "_x", "a1"}) CHECK(isName(name));
  for (const char *name :
       {"", "1a", "a-b", "delete", "NULL", "constexpr", "imbrex", "imbrex_stream"})
    CHECK_FALSE(isName(name));
}

} // namespace imbrex::archive
