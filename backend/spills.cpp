#include "backend/spills.h"

#include "backend/machine/occupancy.h"
#include "backend/support/text.h"
#include "llvm/ADT/bit.h"
#include "llvm/Support/FormatVariadic.h"

namespace imbrex {
std::string moreRegisters(const GpuCode &code, const machine::Machine &machine,
                          std::optional<std::int32_t> taken) {
  const lower::KernelInterface &interface = code.interface;
  const std::int32_t most = machine::registersOfThread(machine, interface.threads);
  const std::int32_t asked = interface.asked.registers;
  // A warp may load for the others, which are a power of two. They share what it gives away, and
  // that is not for the author to say.
  const std::int32_t all = interface.threads / machine.warpSize;
  const auto warps = static_cast<std::int32_t>(llvm::bit_floor(static_cast<std::uint32_t>(all)));
  if (asked > 0 && asked < most)
    return llvm::formatv("ask for more than {0} registers: there are {1}", asked, most);
  if (asked == 0 && taken && *taken + machine.registerGranule <= most && warps == all)
    return llvm::formatv(
        "ask for {0}, by `registers`: the assembler stopped at {1}, for more blocks "
        "on a core; or let blocks have more warps than {2}, by `warps`",
        most, *taken, warps);
  const bool hasMore = machine::canHaveTwice(machine, warps * machine.warpSize);
  if (hasMore && interface.asked.warps > 0)
    return llvm::formatv("ask for more than {0}, or make the tiles smaller and loop over the rest",
                         counted(interface.asked.warps, "warp"));
  if (hasMore && !code.triedOthers)
    return llvm::formatv(
        "let blocks have more warps than {0}, by `warps`, or make the tiles smaller "
        "and loop over the rest",
        warps);
  return "make the tiles smaller, and loop over the rest";
}

std::optional<Diagnostic> spillsOf(const GpuCode &code, const target::GpuTarget &target,
                                   const std::string &assembly, const target::ObjectCode &object,
                                   std::string_view which) {
  const target::Resources resources = target.resources(object);
  if (resources.spilledBytes == 0) return std::nullopt;
  const machine::Machine &machine = target.machine();
  const Location line = target.spilledAt(assembly, object);
  std::optional<std::int32_t> taken;
  if (target.leavesRegisters()) taken = resources.registers;
  return diagnostic(Diag::RegistersSpilled, line.known() ? line : code.interface.where,
                    code.interface.name, machine.name, resources.spilledBytes, resources.registers,
                    line.known() ? "here" : "at once", moreRegisters(code, machine, taken), which);
}

std::string whyOthers(const Spilling &instead) {
  return counted(instead.warps, "warp") + " would " +
         (instead.bytes ? "spill " + counted(*instead.bytes, "byte") + " of a thread"
                        : "run out of registers");
}

} // namespace imbrex
