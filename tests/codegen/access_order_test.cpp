#include "backend/validate/access_order.h"
#include "llvm/ADT/StringExtras.h"
#include "tests/codegen/compiled_table.h"

#include <functional>

/// The order of memory in assemblies, held against the modules that they are made from.
namespace imbrex::testing {
namespace {

const target::GpuTarget *namedTarget(std::string_view name) {
  return target::findGpuTarget(*machine::findMachine(name));
}

/// A kernel of the table in a machine's assembly, and what its module asks of it.
struct Assembled {
  std::vector<RequiredAccess> asked;
  llvm::SmallVector<std::string, 0> lines;
};

Assembled assembled(const std::string &kernel, const target::GpuTarget &target) {
  for (TableKernel &one : kernelTable(target.machine())) {
    if (one.name != kernel) continue;
    const GpuCode code = codeOf(one.kernel, target);
    const auto module = code.copy();
    Assembled made{.asked = assignAccessNumbers(*module, target), .lines = {}};
    const auto text = target.assembly(*module);
    REQUIRE(text.ok());
    for (const llvm::StringRef line : llvm::split(*text, '\n')) made.lines.push_back(line.str());
    return made;
  }
  FAIL("the table has no kernel ", kernel);
  return {};
}

std::string difference(const Assembled &code, const target::GpuTarget &target) {
  const auto found = differenceFrom(code.asked, target.accessesOf(llvm::join(code.lines, "\n")));
  return found ? std::to_string(found->where.line) + ": " + found->what : "";
}

bool differs(const Assembled &code, const target::GpuTarget &target) {
  return !difference(code, target).empty();
}

/// What becomes of a line; nothing where it is none that is to be changed.
using Fault = std::function<std::optional<std::string>(llvm::StringRef line)>;

/// Whether it is what LLVM leaves of the order within a block where that is one wave, which needs
/// none.
bool isIdle(llvm::ArrayRef<std::string> before) {
  for (const std::string &line : llvm::reverse(before)) {
    const llvm::StringRef text = llvm::StringRef(line).trim();
    if (text.contains("wave barrier")) return true;
    if (text.starts_with("s_wait") || text.starts_with("buffer_")) return false;
  }
  return false;
}

/// How many lines were changed, one at a time; each must be told.
std::size_t plant(const Assembled &code, const target::GpuTarget &target, const Fault &fault) {
  std::size_t planted = 0;
  for (std::size_t i = 0; i < code.lines.size(); ++i) {
    const auto changed = fault(code.lines[i]);
    if (!changed || isIdle(llvm::ArrayRef(code.lines).take_front(i))) continue;
    Assembled wrong = code;
    wrong.lines[i] = *changed;
    CAPTURE(i);
    CAPTURE(code.lines[i]);
    CAPTURE(*changed);
    CHECK(differs(wrong, target));
    ++planted;
  }
  return planted;
}

Fault replaced(llvm::StringRef word, llvm::StringRef by) {
  return [=](llvm::StringRef line) -> std::optional<std::string> {
    const bool isUpdate = line.contains("atom.") || line.contains("global_atomic");
    if (!isUpdate || !line.contains(word)) return std::nullopt;
    return (line.split(word).first + by + line.split(word).second).str();
  };
}

Fault removed(std::initializer_list<llvm::StringRef> opcodes) {
  return [opcodes = std::vector(opcodes)](llvm::StringRef line) -> std::optional<std::string> {
    line = line.split(';').first.trim();
    const bool isOne = llvm::any_of(
        opcodes, [&](llvm::StringRef opcode) { return line.split(' ').first == opcode; });
    return isOne ? std::optional<std::string>("") : std::nullopt;
  };
}

/// Behaves as another one, but loses an order on the way.
class Forgetful final : public target::GpuTarget {
public:
  explicit Forgetful(const GpuTarget &of) : of_(of) {}
  const lower::Vocabulary &vocabulary() const override { return of_.vocabulary(); }
  llvm::StringRef assemblyClasses() const override { return of_.assemblyClasses(); }
  void prepare(llvm::Module &module) const override { of_.prepare(module); }
  void optimise(llvm::Module &module) const override { of_.optimise(module); }
  Result<std::string> assembly(llvm::Module &module) const override {
    auto text = of_.assembly(module);
    constexpr std::string_view kOrder = ".acq_rel.gpu";
    if (text) text->erase(text->find(kOrder), kOrder.size());
    return text;
  }
  Result<target::ObjectCode> objectOf(const std::string &assembly) const override {
    return of_.objectOf(assembly);
  }
  target::Resources resources(const target::ObjectCode &object) const override {
    return of_.resources(object);
  }
  Location spilledAt(llvm::StringRef assembly, const target::ObjectCode &object) const override {
    return of_.spilledAt(assembly, object);
  }
  bool assemblesByItself() const override { return of_.assemblesByItself(); }
  std::optional<std::string> assemblerName() const override { return std::nullopt; }
  target::InstructionMix instructions(llvm::StringRef assembly) const override {
    return of_.instructions(assembly);
  }
  target::MeetingKind meetingAt(const llvm::Instruction &instruction) const override {
    return of_.meetingAt(instruction);
  }
  target::CodeGraph ringsOf(llvm::StringRef assembly) const override {
    return of_.ringsOf(assembly);
  }
  std::optional<target::OrderedAccess>
  accessAt(const llvm::Instruction &instruction) const override {
    return of_.accessAt(instruction);
  }
  std::vector<target::FoundAccess> accessesOf(llvm::StringRef assembly) const override {
    return of_.accessesOf(assembly);
  }

private:
  const GpuTarget &of_;
};

} // namespace

TEST_CASE("each order and each scope that is missing in PTX is told") {
  for (const char *name : {"sm_75", "sm_90a", "sm_120a"}) {
    const target::GpuTarget *target = namedTarget(name);
    if (target == nullptr) continue;
    CAPTURE(std::string(name));
    const Assembled code = assembled("atomics", *target);
    CHECK(difference(code, *target) == "");
    CHECK(plant(code, *target, replaced(".acq_rel", "")) >= 10);
    CHECK(plant(code, *target, replaced(".acq_rel", ".acquire")) >= 10);
    CHECK(plant(code, *target, replaced(".acq_rel", ".release")) >= 10);
    CHECK(plant(code, *target, replaced(".acquire", ".relaxed")) >= 1);
    CHECK(plant(code, *target, replaced(".release", ".relaxed")) >= 1);
    CHECK(plant(code, *target, replaced(".gpu", ".cta")) >= 10);
    CHECK(plant(code, *target, replaced(".sys", ".gpu")) >= 1);
    CHECK(plant(code, *target, replaced("u64", "u32")) >= 1);
    CHECK(plant(code, *target, removed({"bar.sync"})) >= 1);
    // As LLVM 22 writes them, which PTX takes for relaxed and of the device.
    CHECK(plant(code, *target, replaced(".acq_rel.gpu", "")) >= 10);
  }
}

TEST_CASE("each write-back, wait and invalidation that is missing on AMD is told") {
  for (const char *name :
       {"gfx90a", "gfx942", "gfx950", "gfx1030", "gfx1100", "gfx1201", "gfx1250"}) {
    const target::GpuTarget *target = namedTarget(name);
    if (target == nullptr) continue;
    CAPTURE(std::string(name));
    const Assembled code = assembled("atomics", *target);
    CHECK(difference(code, *target) == "");
    CHECK(plant(code, *target,
                removed({"buffer_inv", "buffer_wbinvl1_vol", "buffer_invl2", "buffer_gl1_inv",
                         "global_inv"})) >= 10);
    const bool writesBack =
        !llvm::StringRef(name).starts_with("gfx10") && !llvm::StringRef(name).starts_with("gfx11");
    CHECK((plant(code, *target, removed({"buffer_wbl2", "global_wb"})) >= 1) == writesBack);
    // LLVM 22 leaves out the waits behind some of them.
    Assembled hasty = code;
    bool isBehind = false;
    for (std::string &line : hasty.lines) {
      const llvm::StringRef text = llvm::StringRef(line).trim();
      const bool isWait = text.starts_with("s_wait");
      isBehind &= isWait;
      if (isBehind) line = "";
      isBehind |= text.starts_with("buffer_wbl2") || text.starts_with("global_wb");
    }
    CHECK(differs(hasty, *target) == writesBack);
    plant(code, *target, replaced("scope:SCOPE_DEV", ""));
    plant(code, *target, replaced("scope:SCOPE_SYS", "scope:SCOPE_DEV"));
  }
}

TEST_CASE("what is done around meetings of AMD's waves is held against them as well") {
  for (const char *name : {"gfx942", "gfx1030", "gfx1201"}) {
    const target::GpuTarget *target = namedTarget(name);
    if (target == nullptr) continue;
    CAPTURE(std::string(name));
    const Assembled code = assembled("transposed_u8", *target);
    CHECK(difference(code, *target) == "");
    CHECK(plant(code, *target,
                removed({"s_barrier", "s_barrier_signal", "s_barrier_wait", "buffer_gl0_inv",
                         "global_inv"})) >= 1);
  }
}

TEST_CASE("code that has lost an order is an error that says where") {
  const target::GpuTarget *target = namedTarget("sm_90a");
  if (target == nullptr) return;
  for (TableKernel &one : kernelTable(target->machine())) {
    if (one.name != "last_block") continue;
    const GpuCode code = codeOf(one.kernel, *target);
    REQUIRE(makeAssembly(code, *target).ok());
    const auto text = makeAssembly(code, Forgetful(*target));
    REQUIRE_FALSE(text);
    CHECK(text.error().kind == Diag::CodeUnlikeOrder);
    CHECK(contains(text.error().where.file, "memory_kernels.cpp"));
    CHECK(text.error().message ==
          "the assembly of kernel 'last_block' for sm_90a does not order memory as is asked for "
          "here: "
          "for an update of 32 bits in one step for the device that acquires for the device and "
          "releases for the device it has an update of 32 bits in one step for the device that "
          "acquires for no one and releases for no one");
  }
}

} // namespace imbrex::testing
