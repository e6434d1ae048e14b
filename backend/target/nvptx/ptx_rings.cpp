#include "backend/target/nvptx/ptx_rings.h"

#include "backend/support/check.h"
#include "backend/target/codegen/assembly_text.h"
#include "backend/target/nvptx/ptx_conditions.h"
#include "backend/target/nvptx/ptx_instruction.h"
#include "backend/target/nvptx/ptx_values.h"

#include <algorithm>

namespace imbrex::target::nvptx {
namespace {

/// The arrays of shared memory, in the order of their addresses, and whether others lie in them.
struct SharedArrays {
  explicit SharedArrays(llvm::StringRef ptx) {
    for (const llvm::StringRef line : llvm::split(ptx, '\n')) {
      if (!line.contains(".shared .align") || !line.contains(".b8 ")) continue;
      names.push_back(line.split(".b8 ").second.split('[').first);
      if (line.contains(".extern")) whole = names.back();
    }
  }

  llvm::SmallVector<llvm::StringRef> names;
  llvm::StringRef whole; ///< Of which the launch says how large it is: all there is.
};

class PtxReader {
public:
  explicit PtxReader(llvm::StringRef ptx)
      : hasBarriers_(ptx.contains("mbarrier.")), values_(hasBarriers_ ? ptx : ""), arrays_(ptx) {
    if (hasBarriers_) findBarriers(ptx);
  }

  CodeLine read(llvm::StringRef line) {
    CodeLine read = readInstruction(line);
    if (hasBarriers_) values_.line(line);
    return read;
  }

private:
  /// A barrier: which array, and how far behind its beginning.
  using Place = std::pair<std::ptrdiff_t, std::int64_t>;

  std::optional<Place> placeOf(const PtxValue &value) const {
    const auto found = llvm::find(arrays_.names, value.array);
    if (found == arrays_.names.end() || !value.bytes) return std::nullopt;
    return Place{found - arrays_.names.begin(), *value.bytes};
  }

  /// Where barriers are made, which is done at places that the code names.
  void findBarriers(llvm::StringRef ptx) {
    PtxValues values = values_;
    for (const llvm::StringRef line : linesOf(ptx, "//")) {
      const PtxInstruction instruction(line);
      if (instruction.opcode.starts_with("mbarrier.init"))
        if (const auto place = placeOf(values.valueOf(instruction.firstAddress())))
          barriers_.push_back(*place);
      values.line(line);
    }
    llvm::sort(barriers_);
  }

  std::int32_t barrierAt(llvm::StringRef address) const {
    PtxValue value = values_.valueOf(address);
    // Whatever index: of the array's barriers it is, if all of it is barriers.
    const bool isOfArray = !value.array.empty() && value.array != arrays_.whole;
    if (isOfArray && value.isIndexed) value.bytes = 0;
    const auto place = placeOf(value);
    const auto found = place ? llvm::find(barriers_, *place) : barriers_.end();
    return found == barriers_.end() ? kUntold
                                    : static_cast<std::int32_t>(found - barriers_.begin());
  }

  std::int64_t numberIn(llvm::StringRef operand) const {
    const PtxValue value = values_.valueOf(operand);
    return value.array.empty() ? value.bytes.value_or(kUntold) : kUntold;
  }

  std::optional<RingEvent> barrierEvent(const PtxInstruction &instruction) const {
    const llvm::StringRef opcode = instruction.opcode;
    const auto event = [&](RingEventKind kind, std::int64_t amount) {
      return RingEvent{
          .kind = kind, .barrier = barrierAt(instruction.firstAddress()), .amount = amount};
    };
    const std::int64_t amount = numberIn(instruction.lastOperand());
    if (opcode.starts_with("mbarrier.init.")) return event(RingEventKind::Make, amount);
    if (opcode.starts_with("mbarrier.arrive.expect_tx."))
      return event(RingEventKind::Expect, amount);
    if (opcode.starts_with("mbarrier.arrive.")) return event(RingEventKind::Arrive, amount);
    if (opcode.starts_with("mbarrier.try_wait.parity."))
      return event(RingEventKind::Await, kUntold);
    return std::nullopt;
  }

  std::optional<RingEvent> eventOf(const PtxInstruction &instruction) const {
    llvm::StringRef opcode = instruction.opcode;
    if (opcode.starts_with("bar.sync") || opcode.starts_with("barrier.sync") ||
        opcode.starts_with("barrier.cta.sync"))
      return RingEvent{RingEventKind::Meet};
    if (opcode.starts_with("bar.warp.sync")) return RingEvent{RingEventKind::Gather};
    if (opcode.starts_with("fence.mbarrier_init")) return RingEvent{RingEventKind::Show};
    if (opcode.starts_with("mbarrier.")) return barrierEvent(instruction);
    if (!opcode.consume_front("cp.async.")) return std::nullopt;
    if (opcode.starts_with("ca.") || opcode.starts_with("cg."))
      return RingEvent{RingEventKind::Copy};
    if (opcode.starts_with("bulk.tensor."))
      return RingEvent{.kind = RingEventKind::Box, .barrier = barrierAt(instruction.lastAddress())};
    if (opcode == "commit_group") return RingEvent{RingEventKind::Commit};
    if (opcode == "wait_all") return RingEvent{RingEventKind::Wait, 0};
    std::int32_t left = 0;
    const bool isWait = opcode == "wait_group" && !instruction.operands.getAsInteger(10, left);
    return isWait ? std::optional(RingEvent{RingEventKind::Wait, left}) : std::nullopt;
  }

  CodeLine readInstruction(llvm::StringRef line) const {
    if (!line.consume_back(";") || line.starts_with(".")) return {};
    const PtxInstruction instruction(line);
    const llvm::StringRef opcode = instruction.opcode, operands = instruction.operands;
    IMBREX_CHECK(!opcode.starts_with("brx"), "a jump by a table is not read: {0}", line);
    CodeLine read;
    read.isNegated = instruction.isNegated;
    read.event = eventOf(instruction);
    if (opcode == "bra" || opcode == "bra.uni") {
      read.target = operands.str();
      read.predicate = instruction.predicate.str();
    }
    read.ends = instruction.predicate.empty() && (opcode == "ret" || opcode == "exit");
    for (const llvm::StringRef set : instruction.registersSet()) read.sets.push_back(set.str());
    if (read.event && read.event->kind == RingEventKind::Await) read.asks = read.sets.front();
    if (opcode == "not.pred") read.negates = instruction.lastOperand().str();
    return read;
  }

  bool hasBarriers_; ///< Nothing else asks what a register holds.
  PtxValues values_;
  SharedArrays arrays_;
  llvm::SmallVector<Place> barriers_;
};

} // namespace

CodeGraph ringsOfPtx(llvm::StringRef ptx) {
  PtxReader reader(ptx);
  // In front of the body stand declarations, which may have braces and labels of their own.
  ptx = ptx.drop_front(std::min(ptx.find("\n{"), ptx.size()));
  CodeGraph graph = codeGraph(ptx, "//", [&](llvm::StringRef line) { return reader.read(line); });
  nameConditions(graph, ptx);
  return graph;
}

} // namespace imbrex::target::nvptx
