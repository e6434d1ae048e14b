#include "backend/target/amdgpu/gcn_rings.h"

#include "backend/support/check.h"
#include "backend/target/amdgpu/gcn_flags.h"
#include "backend/target/amdgpu/gcn_instruction.h"

namespace imbrex::target::amdgpu {
namespace {

bool namesLoadToLds(llvm::StringRef opcode, llvm::StringRef operands) {
  if (opcode.starts_with("global_load_lds_")) return true;
  return opcode.starts_with("buffer_load_") && operands.ends_with(" lds");
}

/// `vmcnt(2) lgkmcnt(0)`
std::optional<std::int32_t> loadsLeft(llvm::StringRef operands) {
  std::int32_t left = 0;
  const llvm::StringRef count = operands.split("vmcnt(").second.split(')').first;
  return count.getAsInteger(10, left) ? std::nullopt : std::optional(left);
}

/// Whether the wave's own accesses to LDS are over: others, whom it meets, may write there then.
class LdsAccesses {
public:
  bool areOver() const { return areOver_; }
  void begin() { areOver_ = false; }
  void read(llvm::StringRef opcode, llvm::StringRef operands) {
    if (opcode.starts_with("ds_")) areOver_ = false;
    if (opcode == "s_waitcnt" && operands.contains("lgkmcnt(0)")) areOver_ = true;
  }

private:
  bool areOver_ = false;
};

CodeLine readGcn(llvm::StringRef line, Flags &flags, LdsAccesses &accesses) {
  if (line.ends_with(":")) return flags.begin(), accesses.begin(), CodeLine{};
  const GcnInstruction instruction(line);
  const auto [opcode, operands] = instruction;
  CodeLine read = jumpOf(instruction);
  IMBREX_CHECK(!opcode.starts_with("s_setpc") && !opcode.starts_with("s_swappc"),
               "a jump by a register is not read: {0}", line);
  if (namesLoadToLds(opcode, operands)) read.event = RingEvent{RingEventKind::Copy};
  accesses.read(opcode, operands);
  if (opcode == "s_barrier" && accesses.areOver()) read.event = RingEvent{RingEventKind::Meet};
  if (opcode == "s_waitcnt")
    if (const auto left = loadsLeft(operands)) read.event = RingEvent{RingEventKind::Wait, *left};
  flags.read(opcode, operands, read);
  return read;
}

} // namespace

CodeGraph ringsOfAssembly(llvm::StringRef assembly) {
  const std::size_t begin = assembly.find("; %bb.0");
  std::string body = assembly.drop_front(std::min(begin, assembly.size())).str();
  // How LLVM writes that the lanes of a block of one wave meet, for which no instruction is needed.
  constexpr llvm::StringRef kMeeting = "; wave barrier";
  for (std::size_t at = body.find(kMeeting); at != std::string::npos; at = body.find(kMeeting, at))
    body.replace(at, kMeeting.size(), "s_barrier");
  Flags flags;
  LdsAccesses accesses;
  CodeGraph graph =
      codeGraph(body, ";", [&](llvm::StringRef line) { return readGcn(line, flags, accesses); });
  keepFlags(graph);
  return graph;
}

} // namespace imbrex::target::amdgpu
