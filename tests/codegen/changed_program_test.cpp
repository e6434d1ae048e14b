#include "backend/ir/shared_tiles.h"
#include "backend/passes/pipeline/read_schedule.h"
#include "backend/schedule/check/check.h"
#include "backend/schedule/program/well_formed.h"
#include "llvm/ADT/STLExtras.h"
#include "tests/codegen/ring_assembly.h"

#include <doctest/doctest.h>

#include <set>

/// Were the reader of kernels (read_schedule.h) wrong, the program that it reads would be another
/// one than the code does: what is done to a program here the proof or the comparison with the
/// assembly must refuse.
namespace imbrex::testing {
namespace {

using schedule::ScheduleOpKind;

enum class Change : std::uint8_t {
  Without,
  Twice,
  WaitsForMore, // a drain, which leaves one less
  OtherPhase,   // a wait at a barrier
};

/// One op of a role, as a place in it.
struct Place {
  std::vector<schedule::ScheduleOp> *body;
  std::size_t at;

  schedule::ScheduleOp &op() const { return (*body)[at]; }
};

void collect(std::vector<schedule::ScheduleOp> &body, std::vector<Place> &into) {
  for (std::size_t i = 0; i < body.size(); ++i) {
    into.push_back({&body, i});
    collect(body[i].body, into);
  }
}

std::vector<Place> placesIn(schedule::Program &program, std::size_t role) {
  std::vector<Place> places;
  collect(program.roles[role].body, places);
  return places;
}

bool orders(ScheduleOpKind kind) {
  return llvm::is_contained({ScheduleOpKind::Meet, ScheduleOpKind::Commit, ScheduleOpKind::Drain,
                             ScheduleOpKind::Wait, ScheduleOpKind::Arrive},
                            kind);
}

/// False where there is nothing of the kind to change.
bool change(const Place &place, Change how) {
  schedule::ScheduleOp &op = place.op();
  switch (how) {
  case Change::Without: place.body->erase(place.body->begin() + std::ptrdiff_t(place.at)); break;
  case Change::Twice:
    if (!orders(op.kind)) return false;
    place.body->insert(place.body->begin() + std::ptrdiff_t(place.at), schedule::ScheduleOp(op));
    break;
  case Change::WaitsForMore:
    if (op.kind != ScheduleOpKind::Drain || op.count == 0) return false;
    --op.count;
    break;
  case Change::OtherPhase:
    if (op.kind != ScheduleOpKind::Wait) return false;
    op.flipped = !op.flipped;
    break;
  }
  return true;
}

/// What is seen by neither, and why.
struct Unseen {
  Change how;
  ScheduleOpKind kind;
  const char *target; ///< Empty: any.
  const char *why;
};
constexpr auto kUnseen = std::to_array<Unseen>({
    {Change::Without, ScheduleOpKind::Access, "",
     "nothing tells a read of a slot from another load; each is counted below"},
    {Change::Twice, ScheduleOpKind::Drain, "", "two such waits are one"},
    {Change::Twice, ScheduleOpKind::Wait, "sm_90a", "two such waits are one"},
    {Change::Twice, ScheduleOpKind::Meet, "gfx942", "a loop of meetings alone may have no trips"},
    {Change::Twice, ScheduleOpKind::Meet, "gfx950",
     "the same, of attention, which is staged there"},
    {Change::Without, ScheduleOpKind::For, "gfx942", "the same"},
    {Change::Without, ScheduleOpKind::For, "gfx950", "the same"},
    {Change::Without, ScheduleOpKind::If, "gfx942", "what an exit says is not compared"},
    {Change::Without, ScheduleOpKind::If, "sm_90a",
     "the other threads do what the first does, by the same code"},
    {Change::Without, ScheduleOpKind::Wait, "sm_90a", "the same, and they meet behind it"},
});

struct Made {
  explicit Made(const TableKernel &one, const target::GpuTarget &on)
      : target(on), code(compiled(one, on)) {
    Diagnostics diagnostics;
    auto read = passes::pipeline::readSchedule(code.kernel, target.machine(), diagnostics);
    REQUIRE_MESSAGE(read, diagnostics.render());
    schedule = std::move(*read);
    assembly = target.ringsOf(*makeAssembly(*code.code, target));
  }
  bool isRefused(const passes::pipeline::KernelSchedule &changed) const {
    Diagnostics diagnostics;
    return !schedule::verify(changed.program, diagnostics) ||
           !schedule::prove(changed.program).isSafe() ||
           differenceFrom(ringOrderOf(changed, code.kernel, target.machine()), assembly);
  }

  const target::GpuTarget &target;
  Compiled code;
  passes::pipeline::KernelSchedule schedule;
  target::CodeGraph assembly;
};

/// Those of kernels that read slots, and of those the operands that are slots.
std::ptrdiff_t readsIn(const ir::Kernel &kernel) {
  std::ptrdiff_t count = 0;
  ir::walk(kernel.body(), [&](const ir::Op &op) {
    if (!ir::readsShared(kernel, op)) return;
    count += llvm::count_if(op.operands,
                            [&](ir::ValueId operand) { return kernel.type(operand).isShared(); });
  });
  return count;
}

std::ptrdiff_t readsIn(schedule::Program &program, std::size_t role) {
  std::ptrdiff_t count = 0;
  for (const Place &place : placesIn(program, role))
    if (place.op().kind == ScheduleOpKind::Access)
      count += llvm::count_if(place.op().accesses,
                              [](const schedule::Access &access) { return !access.writes; });
  return count;
}

} // namespace

TEST_CASE("a program that does not do what the kernel does is refused") {
  std::set<const Unseen *> seen;
  for (const char *name : {"sm_80", "sm_90a", "gfx942", "gfx950"}) {
    const target::GpuTarget *target = targetNamed(name);
    if (target == nullptr) return;
    for (const TableKernel &one : oneOfEach(3)) {
      const Made made(one, *target);
      if (made.schedule.program.roles.empty()) continue; // nothing of it runs ahead
      CAPTURE(name);
      CAPTURE(one.name);
      CHECK_FALSE(made.isRefused(made.schedule));
      for (std::size_t role = 0; role < made.schedule.program.roles.size(); ++role)
        for (const Change how :
             {Change::Without, Change::Twice, Change::WaitsForMore, Change::OtherPhase}) {
          auto whole = made.schedule;
          const std::size_t places = placesIn(whole.program, role).size();
          for (std::size_t i = 0; i < places; ++i) {
            auto changed = made.schedule;
            const Place place = placesIn(changed.program, role)[i];
            const ScheduleOpKind kind = place.op().kind;
            if (!change(place, how) || made.isRefused(changed)) continue;
            CAPTURE(role);
            CAPTURE(static_cast<int>(how));
            const auto *const known = llvm::find_if(kUnseen, [&](const Unseen &unseen) {
              return unseen.how == how && unseen.kind == kind &&
                     (unseen.target == std::string_view() ||
                      unseen.target == std::string_view(name));
            });
            CAPTURE(std::string(schedule::info(kind).mnemonic));
            CHECK(known != kUnseen.end());
            seen.insert(known);
          }
        }
    }
  }
  CHECK(seen.size() == kUnseen.size());
}

TEST_CASE("a program reads a slot wherever its kernel does") {
  for (const char *name : {"sm_80", "sm_90a", "gfx942", "gfx950"}) {
    const target::GpuTarget *target = targetNamed(name);
    if (target == nullptr) return;
    for (const TableKernel &one : oneOfEach(3)) {
      Made made(one, *target);
      auto &program = made.schedule.program;
      if (program.roles.empty()) continue;
      CAPTURE(name);
      CAPTURE(one.name);
      // A role that loads reads none; threads that all do the same read the same.
      for (std::size_t role = 0; role < program.roles.size(); ++role)
        CHECK(readsIn(program, role) ==
              (program.roles[role].name == "load" ? 0 : readsIn(made.code.kernel)));
    }
  }
}

} // namespace imbrex::testing
