#include "backend/schedule/plan/budget.h"

#include "backend/machine/role_registers.h"
#include "llvm/Support/MathExtras.h"

#include <algorithm>

namespace imbrex::schedule {

namespace {

// Parallel Thread Execution ISA 9.0: where a bulk copy of a tensor may land in shared memory, and
// the numbers of meetings.
constexpr std::uint64_t kSlotAlignment = 128;
constexpr std::int32_t kMeetingNumbers = 16;

std::int64_t bytesOfRing(const Program &program, RingId ring) {
  std::int64_t slot = 0;
  for (const Buffer &buffer : program.buffers)
    if (buffer.ring == ring && buffer.space == Space::Shared && !buffer.offset)
      slot += static_cast<std::int64_t>(
          llvm::alignTo(static_cast<std::uint64_t>(buffer.bytes), kSlotAlignment));
  return slot * program.depthOf(ring);
}

std::int64_t sharedBytes(const Program &program) {
  std::int64_t placed = 0, bytes = bytesOfRing(program, {});
  for (std::uint32_t ring = 0; ring < program.rings.size(); ++ring)
    bytes += bytesOfRing(program, RingId(ring));
  for (const Buffer &buffer : program.buffers)
    if (buffer.space == Space::Shared && buffer.offset)
      placed = std::max(placed, *buffer.offset + buffer.bytes * program.depthOf(buffer.ring));
  for (const Barrier &barrier : program.barriers)
    bytes += machine::kBarrierBytes * program.depthOf(barrier.ring);
  return placed + bytes;
}

std::int64_t tensorBytes(const Program &program) {
  std::int64_t bytes = 0;
  for (const Buffer &buffer : program.buffers)
    if (buffer.space == Space::Tensor) bytes += buffer.bytes * program.depthOf(buffer.ring);
  return bytes;
}

bool checkRegisters(const Program &program, const machine::Machine &machine, const Demand &demand,
                    std::int32_t minBlocks, Diagnostics &diagnostics) {
  const auto changes = [](const Role &role) { return role.registers > 0; };
  if (std::ranges::none_of(program.roles, changes)) return true;
  const machine::RegisterLaunch launch = {.threads = demand.warps * machine.warpSize,
                                          .minBlocks = minBlocks};
  const std::int32_t given = launchRegisters(launch, machine);
  using machine::RegisterChange;
  std::vector<machine::RoleRegisters> roles;
  for (std::size_t r = 0; r < program.roles.size(); ++r) {
    const Role &role = program.roles[r];
    const std::int32_t registers = changes(role) ? role.registers : given;
    const RegisterChange change = registers < given   ? RegisterChange::Releases
                                  : registers > given ? RegisterChange::Takes
                                                      : RegisterChange::Keeps;
    roles.push_back({.name = role.name,
                     .firstWarp = demand.firstWarps[r],
                     .warps = role.warps,
                     .change = change,
                     .registers = registers});
  }
  const std::vector<Diagnostic> wrong = validateRegisters(roles, launch, machine, program.where);
  for (const Diagnostic &one : wrong) diagnostics.add(one);
  return wrong.empty();
}

bool checkMeetings(const Program &program, Diagnostics &diagnostics) {
  std::int32_t agents = 0;
  for (const Role &role : program.roles) agents += role.warps;
  bool fits = true;
  for (const Meeting &meeting : program.meetings) {
    if (meeting.parties > agents)
      diagnostics.report(Diag::MeetingParties, meeting.where, meeting.name, meeting.parties,
                         agents);
    if (meeting.number >= kMeetingNumbers)
      diagnostics.report(Diag::MeetingNumber, meeting.where, meeting.name, meeting.number,
                         kMeetingNumbers - 1);
    fits &= meeting.parties <= agents && meeting.number < kMeetingNumbers;
  }
  return fits;
}

} // namespace

Demand demandOf(const Program &program) {
  constexpr std::uint64_t kGroup = machine::RegisterRules{}.groupWarps;
  Demand demand = {
      .sharedBytes = sharedBytes(program), .tensorBytes = tensorBytes(program), .firstWarps = {}};
  std::uint64_t next = 0;
  for (const Role &role : program.roles) {
    const auto warps = static_cast<std::uint64_t>(role.warps);
    if (warps % kGroup == 0) next = llvm::alignTo(next, kGroup);
    demand.firstWarps.push_back(static_cast<std::int32_t>(next));
    next += warps;
  }
  const bool grouped = program.roles.size() > 1;
  demand.warps = static_cast<std::int32_t>(grouped ? llvm::alignTo(next, kGroup) : next);
  return demand;
}

void handOverRegisters(Program &program, const machine::Machine &machine, std::int32_t minBlocks) {
  if (!machine.asyncCopies.haveEngine) return; // see there
  constexpr std::int32_t kGroup = machine::RegisterRules{}.groupWarps;
  const auto isWhole = [](const Role &role) { return role.warps % kGroup == 0; };
  machine::SplitRequest request{.consumerGroups = 0, .minBlocks = minBlocks};
  for (const Role &role : program.roles)
    if (isWhole(role)) request.consumerGroups += role.warps / kGroup;
  request.producerGroups = demandOf(program).warps / kGroup - request.consumerGroups;
  if (request.producerGroups == 0 || request.consumerGroups == 0) return;
  const std::vector<machine::RegisterSplit> splits = splitsFor(request, machine);
  if (splits.empty()) return;
  for (Role &role : program.roles)
    role.registers = isWhole(role) ? splits.front().consumer : splits.front().producer;
}

bool checkBudget(const Program &program, const machine::Machine &machine, std::int32_t minBlocks,
                 Diagnostics &diagnostics) {
  const Demand demand = demandOf(program);
  bool fits = checkMeetings(program, diagnostics);
  if (demand.sharedBytes > machine.sharedMemoryBytes) {
    diagnostics.report(Diag::ScheduleMemory, program.where, program.name, demand.sharedBytes,
                       machine.name, machine.sharedMemoryBytes);
    fits = false;
  }
  if (demand.tensorBytes * minBlocks > machine.tensorMemoryBytes) {
    diagnostics.report(Diag::ScheduleTensorMemory, program.where, program.name, demand.tensorBytes,
                       counted(minBlocks, "block"), machine.name, machine.tensorMemoryBytes);
    fits = false;
  }
  const std::int64_t threads = std::int64_t{demand.warps} * machine.warpSize;
  if (threads > machine.maxThreads) {
    diagnostics.report(Diag::ScheduleThreads, program.where, program.name, threads, machine.name,
                       machine.maxThreads);
    return false;
  }
  return checkRegisters(program, machine, demand, minBlocks, diagnostics) && fits;
}

} // namespace imbrex::schedule
