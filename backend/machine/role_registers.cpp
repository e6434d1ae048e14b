#include "backend/machine/role_registers.h"

#include <algorithm>

namespace imbrex::machine {

namespace {

constexpr RegisterRules kRules;

constexpr std::int64_t roundDown(std::int64_t value, std::int64_t step) {
  return value / step * step;
}

/// The validation of one block: each check adds what it finds.
class Registers {
public:
  Registers(const std::vector<RoleRegisters> &roles, const RegisterLaunch &launch,
            const Machine &machine)
      : roles_(roles), launch_(launch), machine_(machine),
        initial_(launchRegisters(launch, machine)) {}

  std::vector<Diagnostic> check(Location where) {
    where_ = where;
    if (initial_ < kRules.least) {
      report(Diag::RegisterLaunch, launch_.threads, launch_.minBlocks, machine_.name,
             machine_.maxThreads, kRules.least);
      return std::move(found_);
    }
    for (const RoleRegisters &role : roles_) {
      if (!checkWarps(role) || role.change == RegisterChange::Keeps) continue;
      checkCount(role);
      checkDirection(role);
      checkCopies(role);
      checkWholeGroups(role);
    }
    if (!found_.empty()) return std::move(found_); // groups and pool speak of numbers that hold
    checkGroups();
    if (found_.empty()) checkPool();
    return std::move(found_);
  }

private:
  template <class... Args>
  void report(Diag kind, const Args &...arguments) {
    found_.push_back(diagnostic(kind, where_, arguments...));
  }

  std::int32_t warps() const {
    return (launch_.threads + machine_.warpSize - 1) / machine_.warpSize;
  }
  std::int32_t registersOf(const RoleRegisters &role) const {
    return role.change == RegisterChange::Keeps ? initial_ : role.registers;
  }
  std::int32_t firstGroup(const RoleRegisters &role) const {
    return role.firstWarp / kRules.groupWarps;
  }
  std::int32_t lastGroup(const RoleRegisters &role) const {
    return (role.firstWarp + role.warps - 1) / kRules.groupWarps;
  }

  bool checkWarps(const RoleRegisters &role) {
    if (role.firstWarp >= 0 && role.warps >= 1 && role.warps <= warps() - role.firstWarp)
      return true;
    report(Diag::RegisterWarps, role.name, role.firstWarp,
           std::int64_t{role.firstWarp} + role.warps - 1, warps());
    return false;
  }

  void checkCount(const RoleRegisters &role) {
    const std::int32_t count = role.registers;
    if (count % kRules.step == 0 && count >= kRules.least && count <= kRules.most) return;
    const auto near =
        std::clamp<std::int64_t>(roundDown(count, kRules.step), kRules.least, kRules.most);
    report(Diag::RegisterCount, role.name, count, kRules.step, kRules.least, kRules.most, near);
  }

  void checkDirection(const RoleRegisters &role) {
    if (role.change == RegisterChange::Releases && role.registers > initial_)
      report(Diag::RegisterDirection, role.name, "releases", role.registers, "more", initial_);
    if (role.change == RegisterChange::Takes && role.registers < initial_)
      report(Diag::RegisterDirection, role.name, "takes", role.registers, "fewer", initial_);
  }

  void checkCopies(const RoleRegisters &role) {
    if (role.plainCopies && role.registers < kRules.leastForCopies)
      report(Diag::RegisterCopies, role.name, role.registers, kRules.leastForCopies);
  }

  void checkWholeGroups(const RoleRegisters &role) {
    if (lastGroup(role) < warps() / kRules.groupWarps) return;
    report(Diag::RegisterPartialGroup, role.name, role.firstWarp, role.firstWarp + role.warps - 1,
           warps() - 1, kRules.groupWarps);
  }

  void checkGroups() {
    for (auto role = roles_.begin(); role != roles_.end(); ++role)
      for (auto other = roles_.begin(); other != role; ++other) {
        const std::int32_t group = std::max(firstGroup(*role), firstGroup(*other));
        if (registersOf(*role) == registersOf(*other) ||
            group > std::min(lastGroup(*role), lastGroup(*other)))
          continue;
        report(Diag::RegisterGroups, other->name, role->name, group * kRules.groupWarps,
               (group + 1) * kRules.groupWarps - 1, registersOf(*other), registersOf(*role),
               kRules.groupWarps);
      }
  }

  struct Group {
    std::int32_t registers;
    std::int64_t threads;
  };
  /// Each group once, though several roles may be in it.
  std::vector<Group> groups() const {
    const std::int32_t full = kRules.groupWarps * machine_.warpSize;
    std::vector<Group> groups;
    for (std::int32_t first = 0; first < launch_.threads; first += full)
      groups.push_back({initial_, std::min(full, launch_.threads - first)});
    for (const RoleRegisters &role : roles_)
      for (std::int32_t group = firstGroup(role); group <= lastGroup(role); ++group)
        groups[static_cast<std::size_t>(group)].registers = registersOf(role);
    return groups;
  }

  void checkPool() {
    const std::int64_t pool = std::int64_t{initial_} * launch_.threads;
    std::int64_t need = 0, threadsOfMost = 0;
    std::int32_t most = 0;
    for (const Group &group : groups()) {
      need += group.registers * group.threads;
      if (group.registers > most) threadsOfMost = 0;
      most = std::max(most, group.registers);
      if (group.registers == most) threadsOfMost += group.threads;
    }
    if (need <= pool) return;
    const std::int64_t fewer = (need - pool + threadsOfMost - 1) / threadsOfMost;
    report(Diag::RegisterPool, need, launch_.threads, pool, initial_,
           launch_.minBlocks == 1 ? "one block is" : counted(launch_.minBlocks, "block") + " are",
           std::max<std::int64_t>(roundDown(most - fewer, kRules.step), initial_), most);
  }

  const std::vector<RoleRegisters> &roles_;
  const RegisterLaunch &launch_;
  const Machine &machine_;
  std::int32_t initial_;
  Location where_;
  std::vector<Diagnostic> found_;
};

} // namespace

std::int32_t launchRegisters(const RegisterLaunch &launch, const Machine &machine) {
  if (launch.threads < 1 || launch.threads > machine.maxThreads || launch.minBlocks < 1) return 0;
  const std::int64_t ofBlock = machine.registersPerCore / launch.minBlocks;
  // The launch's own bound may lie one below a step: 255 of which 256 are set aside.
  const std::int64_t most =
      (machine.maxRegistersPerThread + kRules.step - 1) / kRules.step * kRules.step;
  return static_cast<std::int32_t>(
      std::min(roundDown(ofBlock / launch.threads, kRules.step), most));
}

std::vector<Diagnostic> validateRegisters(const std::vector<RoleRegisters> &roles,
                                          const RegisterLaunch &launch, const Machine &machine,
                                          Location where) {
  return Registers(roles, launch, machine).check(where);
}

std::vector<RegisterSplit> splitsFor(const SplitRequest &request, const Machine &machine) {
  if (request.producerGroups < 1 || request.consumerGroups < 1) return {};
  const std::int64_t group = std::int64_t{kRules.groupWarps} * machine.warpSize;
  const std::int64_t producers = request.producerGroups * group;
  const std::int64_t consumers = request.consumerGroups * group;
  if (producers + consumers > machine.maxThreads) return {};
  const auto threads = static_cast<std::int32_t>(producers + consumers);
  const std::int32_t initial = launchRegisters({threads, request.minBlocks}, machine);
  const std::int64_t pool = std::int64_t{initial} * threads;

  std::vector<RegisterSplit> splits;
  const std::int32_t least = request.plainCopies ? kRules.leastForCopies : kRules.least;
  const auto stepUp = [&](std::int32_t count) {
    return (count + kRules.step - 1) / kRules.step * kRules.step;
  };
  for (std::int32_t consumer = kRules.most; consumer >= std::max(initial, kRules.least);
       consumer -= kRules.step)
    for (std::int32_t producer = std::min(initial, kRules.most); producer >= stepUp(least);
         producer -= kRules.step) {
      const std::int64_t unused = pool - producers * producer - consumers * consumer;
      if (unused >= 0) splits.push_back({producer, consumer, unused});
    }
  return splits;
}

} // namespace imbrex::machine
