#include "backend/target/amdgpu/gcn_rings.h"

#include "backend/support/check.h"
#include "backend/target/amdgpu/gcn_flags.h"
#include "backend/target/amdgpu/gcn_instruction.h"
#include "backend/target/codegen/assembly_text.h"

namespace imbrex::target::amdgpu {
namespace {

/// `vmcnt(2) lgkmcnt(0)`
std::optional<std::int32_t> loadsLeft(llvm::StringRef operands) {
  std::int32_t left = 0;
  const llvm::StringRef count = operands.split("vmcnt(").second.split(')').first;
  return count.getAsInteger(10, left) ? std::nullopt : std::optional(left);
}

/// How LLVM writes that the lanes of a block of one wave meet, for which no instruction is needed,
/// and the name of the instruction that it is taken for.
constexpr llvm::StringLiteral kLanesMeet = "; wave barrier", kWaveBarrier = "wave_barrier";

/// Whether the wave's own accesses to LDS are over: others, whom it meets, may write there then.
class LdsAccesses {
public:
  /// Of one wave's code that loads to LDS, or of other.
  explicit LdsAccesses(bool loads) : loads_(loads) {}
  void begin() { areOver_ = haveArrived_ = false; }
  /// Returns whether the wave has met the others here, behind its own accesses. From gfx12 on it
  /// says first that it is there. The only wave of a block meets nobody: it makes its accesses in
  /// their order, and LLVM need not wait for them. Loads to LDS are no accesses in that order.
  bool read(llvm::StringRef opcode, llvm::StringRef operands) {
    if (opcode.starts_with("ds_")) areOver_ = haveArrived_ = false;
    areOver_ |= endsLds(opcode, operands);
    if (opcode == "s_barrier_signal") haveArrived_ = areOver_;
    if (opcode == kWaveBarrier) return areOver_ || !loads_;
    return (opcode == "s_barrier" && areOver_) || (opcode == "s_barrier_wait" && haveArrived_);
  }

private:
  /// `s_waitcnt vmcnt(2) lgkmcnt(0)`, `s_wait_dscnt 0x0`, `s_wait_loadcnt_dscnt 0x300`: of the last
  /// two, six bits count accesses to LDS (LLVM 22, AMDGPUBaseInfo.cpp).
  static bool endsLds(llvm::StringRef opcode, llvm::StringRef operands) {
    if (opcode == "s_waitcnt") return operands.contains("lgkmcnt(0)");
    if (!opcode.starts_with("s_wait_") || !opcode.ends_with("dscnt")) return false;
    constexpr unsigned kCount = 0x3f;
    unsigned left = 0;
    return !operands.trim().getAsInteger(0, left) && (left & kCount) == 0;
  }

  const bool loads_;
  bool areOver_ = false, haveArrived_ = false;
};

bool loadsToLds(llvm::StringRef assembly) {
  return llvm::any_of(linesOf(assembly, ";"),
                      [](llvm::StringRef line) { return isLoadToLds(GcnInstruction(line)); });
}

CodeLine readGcn(llvm::StringRef line, Flags &flags, LdsAccesses &accesses) {
  if (line.ends_with(":")) return flags.begin(), accesses.begin(), CodeLine{};
  const GcnInstruction instruction(line);
  const auto [opcode, operands] = instruction;
  CodeLine read = jumpOf(instruction);
  IMBREX_CHECK(!opcode.starts_with("s_setpc") && !opcode.starts_with("s_swappc"),
               "a jump by a register is not read: {0}", line);
  if (isLoadToLds(instruction)) read.event = RingEvent{RingEventKind::Copy};
  if (accesses.read(opcode, operands)) read.event = RingEvent{RingEventKind::Meet};
  if (opcode == "s_waitcnt")
    if (const auto left = loadsLeft(operands)) read.event = RingEvent{RingEventKind::Wait, *left};
  flags.read(opcode, operands, read);
  return read;
}

} // namespace

CodeGraph ringsOfAssembly(llvm::StringRef assembly) {
  const std::size_t begin = assembly.find("; %bb.0");
  std::string body = assembly.drop_front(std::min(begin, assembly.size())).str();
  const bool isOfOneWave = body.find(kLanesMeet) != std::string::npos;
  for (std::size_t at = 0; (at = body.find(kLanesMeet, at)) != std::string::npos;)
    body.replace(at, kLanesMeet.size(), kWaveBarrier);
  Flags flags;
  LdsAccesses accesses(isOfOneWave && loadsToLds(body));
  CodeGraph graph =
      codeGraph(body, ";", [&](llvm::StringRef line) { return readGcn(line, flags, accesses); });
  keepFlags(graph);
  return graph;
}

} // namespace imbrex::target::amdgpu
