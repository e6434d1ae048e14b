#include "backend/emulate/emulate.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/Transforms/Utils/Cloning.h"
#include "tests/codegen/compiled_table.h"
#include "tests/codegen/pipelined_kernels.h"
#include "tests/codegen/table_launch.h"

#include <doctest/doctest.h>

#include <array>
#include <set>

/// All that orders threads and copies in the code of pipelined loops is needed, and known to be: of
/// each instruction that is taken away the emulator tells, and the compiler refuses the code.
namespace imbrex::testing {
namespace {

using llvm::Instruction;

bool calls(const Instruction &instruction, llvm::StringRef name) {
  const auto *call = llvm::dyn_cast<llvm::IntrinsicInst>(&instruction);
  return call && call->getCalledFunction()->getName().starts_with(name);
}

void remove(Instruction &instruction) {
  // A question whether a phase is over is answered.
  if (instruction.getType()->isIntegerTy(1))
    instruction.replaceAllUsesWith(llvm::ConstantInt::getTrue(instruction.getContext()));
  instruction.eraseFromParent();
}

/// A sort of instruction, by what the names of its intrinsics begin with.
struct Sort {
  const char *what;
  std::vector<llvm::StringRef> names;
  bool is(const Instruction &instruction) const {
    if (names.empty()) return llvm::isa<llvm::FenceInst>(instruction);
    return llvm::any_of(names, [&](llvm::StringRef name) { return calls(instruction, name); });
  }
};

constexpr const char *kWaits = "a wait for copies";
const std::vector<Sort> kSorts{
    {"a barrier of threads", {"llvm.nvvm.barrier.cta", "llvm.amdgcn.s.barrier"}},
    {"a barrier of lanes", {"llvm.nvvm.bar.warp"}},
    {"a fence", {}},
    {"a fence of a proxy", {"llvm.nvvm.fence"}},
    {"the end of a group", {"llvm.nvvm.cp.async.commit"}},
    {kWaits, {"llvm.nvvm.cp.async.wait", "llvm.amdgcn.s.waitcnt"}},
    {"the making of a barrier", {"llvm.nvvm.mbarrier.init"}},
    {"an arrival", {"llvm.nvvm.mbarrier.arrive"}},
    {"a wait for a phase", {"llvm.nvvm.mbarrier.try.wait"}},
};

const Sort *sortOf(const Instruction &instruction) {
  const auto found = llvm::find_if(kSorts, [&](const Sort &sort) { return sort.is(instruction); });
  return found == kSorts.end() ? nullptr : &*found;
}

/// A kernel's code for a launch.
class Ordered {
public:
  Ordered(const TableKernel &one, const target::GpuTarget &target)
      : one_(one), target_(target), kernel_(one.kernel.clone()) {
    code_ = codeOf(kernel_, target, TableLaunch(one).arguments());
    whole_ = llvm::CloneModule(*code_.module);
  }

  std::size_t count() const { return placesIn(*whole_).size(); }
  /// Takes one instruction away, in place of the one that was away.
  const Sort &without(std::size_t place) {
    code_.module = llvm::CloneModule(*whole_);
    Instruction &instruction = *placesIn(*code_.module)[place];
    const llvm::DebugLoc where = instruction.getDebugLoc();
    line_ = where ? where.getLine() : 0;
    const Sort &sort = *sortOf(instruction);
    remove(instruction);
    return sort;
  }
  /// Where it stood.
  unsigned line() const { return line_; }
  std::string emulated() const {
    Diagnostics diagnostics;
    const auto program = emulate::EmulatedProgram::compile(*code_.copy(), target_.machine(),
                                                           code_.interface, diagnostics);
    REQUIRE_MESSAGE(program, diagnostics.render());
    emulate::EmulatorOptions options;
    options.delivery = emulate::Delivery::Late;
    options.mostTurns = 100'000;
    TableLaunch launch(one_);
    program->run(one_.grid, launch.arguments(), options, diagnostics);
    return diagnostics.render();
  }
  std::string refused() const {
    const auto assembly = makeAssembly(code_, target_);
    return assembly ? "" : assembly.error().message;
  }

private:
  static std::vector<Instruction *> placesIn(llvm::Module &module) {
    std::vector<Instruction *> places;
    for (llvm::Function &function : module)
      for (Instruction &instruction : llvm::instructions(function))
        if (sortOf(instruction) != nullptr) places.push_back(&instruction);
    return places;
  }

  const TableKernel &one_;
  const target::GpuTarget &target_;
  ir::Kernel kernel_;
  GpuCode code_;
  std::unique_ptr<llvm::Module> whole_;
  unsigned line_ = 0;
};

/// What no run can show to be needed, and why it is there. The compiler refuses the code without it
/// all the same.
struct Unseen {
  llvm::StringRef target, kernel, what, why;
};

constexpr llvm::StringRef kOwnReads =
    "each thread reads what it has copied itself. LLVM has been told that loads to LDS are apart "
    "from reads (lds_loads.h), so that only the fences keep it from moving one over the other, and "
    "only the wait in front of the barrier lets a wave's reads end before the slot is filled; the "
    "emulator runs what was written before all that";
constexpr auto kUnseen = std::to_array<Unseen>({
    {"gfx950", "rows", "a barrier of threads", kOwnReads},
    {"gfx950", "rows", "a fence", kOwnReads},
    {"gfx950", "steps", "a barrier of threads", kOwnReads},
    {"gfx950", "steps", "a fence", kOwnReads},
});

/// Of each kind of loop the launch in which each slot is filled again, or a step goes on.
bool isLong(llvm::StringRef kernel) {
  return llvm::is_contained(
      {"product_3_88", "attention_3_56_40", "stream_3_868", "rows_3_276", "steps_3_29"}, kernel);
}

void checkWithoutEach(const std::string &name) {
  const machine::Machine *machine = machine::findMachine(name);
  REQUIRE(machine != nullptr);
  const target::GpuTarget *target = target::findGpuTarget(*machine);
  if (target == nullptr) {
    MESSAGE("SKIP: no code for ", name, " in this build");
    return;
  }
  std::set<const Unseen *> unseen;
  std::set<std::string> sorts;
  for (const TableKernel &one : pipelinedKernels(3)) {
    if (!isLong(one.name)) continue;
    CAPTURE(one.name);
    Ordered code(one, *target);
    REQUIRE(code.emulated() == "");
    REQUIRE(code.refused() == "");
    for (std::size_t place = 0; place < code.count(); ++place) {
      const Sort &sort = code.without(place);
      // One wait for all loads in place of one for each, which are there all the same.
      const bool isForLoads =
          llvm::StringRef(sort.what) == kWaits && machine->asyncCopies.leastBytes == 0;
      if (isForLoads) continue;
      CAPTURE(sort.what);
      CAPTURE(code.line());
      sorts.insert(sort.what);
      const auto row = llvm::find_if(kUnseen, [&](const Unseen &of) {
        return of.target == name && of.what == sort.what &&
               llvm::StringRef(one.name).starts_with(of.kernel);
      });
      const bool isUnseen = code.emulated().empty();
      CHECK(isUnseen == (row != kUnseen.end()));
      if (isUnseen && row != kUnseen.end()) unseen.insert(&*row);
      CHECK(code.refused() != "");
    }
  }
  const auto isHere = [&](const Unseen &of) { return of.target == name; };
  CHECK(static_cast<std::ptrdiff_t>(unseen.size()) == llvm::count_if(kUnseen, isHere));
  const bool hasFences = machine->family == machine::Family::Amdgpu;
  CHECK(sorts.contains("a fence") == hasFences);
  CHECK(sorts.contains("a fence of a proxy") == machine->asyncCopies.haveEngine);
  CHECK(sorts.contains("a barrier of lanes") == machine->asyncCopies.haveEngine);
  CHECK(sorts.contains("a wait for copies") == (machine->asyncCopies.leastBytes > 0));
}

} // namespace

TEST_CASE("without any one of its fences and barriers, or waits, code for sm_80 is refused") {
  checkWithoutEach("sm_80");
}
TEST_CASE("without any one of its fences and barriers, or waits, code for sm_120a is refused") {
  checkWithoutEach("sm_120a");
}
TEST_CASE("without any one of its fences and barriers, or waits, code for sm_90a is refused") {
  checkWithoutEach("sm_90a");
}
TEST_CASE("without any one of its fences and barriers, or waits, code for gfx950 is refused") {
  checkWithoutEach("gfx950");
}
TEST_CASE("without any one of its fences and barriers, or waits, code for gfx942 is refused") {
  checkWithoutEach("gfx942");
}

} // namespace imbrex::testing
