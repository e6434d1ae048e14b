#include "backend/target/amdgpu/gcn_accesses.h"

#include "backend/target/amdgpu/gcn_instruction.h"
#include "backend/target/amdgpu/gcn_mix.h"
#include "backend/target/amdgpu/gcn_model.h"
#include "llvm/ADT/StringExtras.h"

#include <algorithm>
#include <set>

namespace imbrex::target::amdgpu {
namespace {

// --- one instruction ---

/// What it does to the memory that threads share, as far as order goes.
struct Effect {
  std::optional<AccessKind> kind = {}; ///< Of an access, or a meeting.
  bool isOfLds = false;
  bool isWrite = false;
  Pending begins = kNothing; ///< As what the access is waited for.
  Pending ends = kNothing;   ///< What is over behind this wait.
  /// Of a meeting in two instructions (gfx12) the one that says that the wave is there, and the one
  /// that waits for the others.
  bool isArrival = false, isDeparture = false;
};

bool hasWord(llvm::StringRef text, llvm::StringRef word) {
  return llvm::is_contained(llvm::split(text, ' '), word);
}

bool hasWords(llvm::StringRef text, llvm::StringRef wanted) {
  return wanted.empty() || llvm::all_of(llvm::split(wanted, ' '),
                                        [&](llvm::StringRef word) { return hasWord(text, word); });
}

/// `s_waitcnt vmcnt(0) lgkmcnt(1)`, `s_waitcnt_vscnt null, 0x0`, `s_wait_loadcnt_dscnt 0x0`
Pending endedBy(const GcnInstruction &wait, const GcnModel &model) {
  const Pending vector = model.countsStoresApart ? kLoads : kLoads | kStores;
  if (wait.opcode == "s_waitcnt")
    return static_cast<Pending>((wait.operands.contains("vmcnt(0)") ? vector : kNothing) |
                                (wait.operands.contains("lgkmcnt(0)") ? kLds : kNothing));
  if (!wait.operands.ends_with("0x0")) return kNothing;
  if (wait.opcode == "s_waitcnt_vscnt") return kStores;
  return static_cast<Pending>((wait.opcode.contains("loadcnt") ? kLoads : kNothing) |
                              (wait.opcode.contains("storecnt") ? kStores : kNothing) |
                              (wait.opcode.contains("dscnt") ? kLds : kNothing));
}

bool isCas(llvm::StringRef opcode) {
  return opcode.contains("cmpswap") || opcode.contains("cmpst");
}

Effect effectOnLds(llvm::StringRef opcode) {
  if (opcode.contains("permute") || opcode.contains("swizzle")) return {}; // between lanes
  const bool isLoad = opcode.starts_with("ds_read") || opcode.starts_with("ds_load");
  const bool isStore = opcode.starts_with("ds_write") || opcode.starts_with("ds_store");
  return {.kind = isLoad          ? AccessKind::Load
                  : isStore       ? AccessKind::Store
                  : isCas(opcode) ? AccessKind::Exchange
                                  : AccessKind::Update,
          .isOfLds = true,
          .isWrite = !isLoad,
          .begins = kLds};
}

Effect effectOnGlobal(const GcnInstruction &instruction, const GcnModel &model) {
  const auto [space, rest] = instruction.opcode.split('_');
  if (rest.starts_with("load")) return {.kind = AccessKind::Load, .begins = kLoads};
  if (rest.starts_with("store"))
    return {.kind = AccessKind::Store, .isWrite = true, .begins = kStores};
  if (!rest.starts_with("atomic")) return {}; // of caches
  bool returns = false;
  for (const llvm::StringRef word : {"glc", "sc0", "th:TH_ATOMIC_RETURN"})
    returns |= hasWord(instruction.operands, word);
  const bool isAsLoad = returns || !model.countsStoresApart;
  return {.kind = isCas(rest) ? AccessKind::Exchange : AccessKind::Update,
          .isWrite = true,
          .begins = isAsLoad ? kLoads : kStores};
}

Effect effectOf(const GcnInstruction &instruction, const GcnModel &model) {
  const llvm::StringRef opcode = instruction.opcode;
  if (opcode.starts_with("s_wait")) return {.ends = endedBy(instruction, model)};
  if (opcode == "s_barrier")
    return {.kind = AccessKind::Meeting, .isArrival = true, .isDeparture = true};
  if (opcode == "s_barrier_signal") return {.kind = AccessKind::Meeting, .isArrival = true};
  if (opcode == "s_barrier_wait") return {.kind = AccessKind::Meeting, .isDeparture = true};
  if (opcode.starts_with("ds_")) return effectOnLds(opcode);
  for (const llvm::StringRef space : {"global_", "flat_", "buffer_"})
    if (opcode.starts_with(space)) return effectOnGlobal(instruction, model);
  return {};
}

std::int32_t bitsOf(const GcnInstruction &instruction, AccessKind kind) {
  constexpr std::int32_t kByte = 8, kWord = 32;
  const llvm::StringRef opcode = instruction.opcode;
  if (kind == AccessKind::Load || kind == AccessKind::Store) return bytesMovedBy(opcode) * kByte;
  return opcode.contains("64") || opcode.contains("_x2") ? 2 * kWord : kWord;
}

MemoryScope stepOf(const GcnInstruction &instruction, const Effect &effect, const GcnModel &model) {
  if (effect.isOfLds || effect.kind == AccessKind::Meeting) return MemoryScope::System;
  MemoryScope scope = MemoryScope::None;
  for (const StepRow &row : model.steps) {
    const llvm::StringRef words = effect.kind == AccessKind::Load    ? row.load
                                  : effect.kind == AccessKind::Store ? row.store
                                                                     : row.update;
    if (hasWords(instruction.operands, words)) scope = row.scope;
  }
  return scope;
}

// --- the ways to an instruction and on from it ---

/// What is known of a wave wherever it comes from.
struct WaveState {
  Pending pending = kNothing;
  MemoryScope writtenBack = MemoryScope::None,
              done = MemoryScope::None; ///< Begun, and over, since the last write.
  MemoryScope arrived =
      MemoryScope::None; ///< What was released when the wave said that it is at a meeting.

  void join(const WaveState &other) {
    pending |= other.pending;
    writtenBack = std::min(writtenBack, other.writtenBack);
    done = std::min(done, other.done);
    arrived = std::min(arrived, other.arrived);
  }
  friend bool operator==(const WaveState &, const WaveState &) = default;
};

class GcnAccessReader {
public:
  GcnAccessReader(llvm::StringRef assembly, const GcnModel &model) : model_(model) {
    graph_ = codeGraph(assembly, ";", [&](llvm::StringRef line) { return read(line); });
    findStates();
  }

  std::vector<FoundAccess> accesses() {
    std::vector<FoundAccess> found;
    for (std::size_t i = 0; i < graph_.size(); ++i) {
      if (!before_[i]) continue; // nobody comes there
      WaveState state = *before_[i];
      for (std::size_t at = graph_[i].begin; at < graph_[i].end; ++at) {
        const Line &line = lines_[at];
        const bool isFirstHalf = line.effect.isArrival && !line.effect.isDeparture;
        const bool isNumbered = line.number != 0 && !maySpill(line);
        const bool isOrdered =
            line.effect.kind && !isFirstHalf && (isNumbered || isAlwaysOrdered(line));
        if (isOrdered) found.push_back({line.number, accessAt(i, at, state)});
        pass(state, line);
      }
    }
    return found;
  }

private:
  struct Line {
    GcnInstruction instruction;
    Effect effect;
    std::uint32_t number;
  };

  static bool isAlwaysOrdered(const Line &line) {
    return line.effect.kind != AccessKind::Load && line.effect.kind != AccessKind::Store;
  }

  /// What spills registers, which takes the place of the instruction that it is done for. No
  /// kernel's own loads and stores are of this kind.
  static bool maySpill(const Line &line) {
    return line.instruction.opcode.starts_with("buffer_") && !isAlwaysOrdered(line);
  }

  CodeLine read(llvm::StringRef text) {
    const GcnInstruction instruction(text);
    const bool isPlace = columns_.read(text);
    lines_.push_back({instruction, effectOf(instruction, model_), numberOf(instruction)});
    if (!isPlace) inClause_ = std::max(inClause_ - 1, 0);
    CodeLine jump = jumpOf(instruction);
    // A long way on: its address is computed first, as a difference of labels.
    const llvm::StringRef far = instruction.operands.split("(.L").second.split('-').first;
    if (!far.empty()) far_ = ".L" + far.str();
    if (instruction.opcode == "s_setpc_b64") jump.target = far_;
    // The author's own instructions may jump by a number.
    if (!llvm::StringRef(jump.target).starts_with(".L")) jump.target = {}, jump.predicate = {};
    return jump;
  }

  /// Of several instructions that are to be issued in a row LLVM gives the first one's place alone.
  std::uint32_t numberOf(const GcnInstruction &instruction) {
    const bool isBehindFirst = inClause_ > 0 && inClause_ < clause_;
    if (instruction.opcode == "s_clause" && !instruction.operands.getAsInteger(0, clause_))
      inClause_ = ++clause_ + 1; // itself counts as well
    return isBehindFirst ? 0 : columns_.current();
  }

  void pass(WaveState &state, const Line &line) const {
    const Effect &effect = line.effect;
    if (const MemoryScope scope = writtenBackBy(line.instruction); scope != MemoryScope::None) {
      state.writtenBack = std::max(state.writtenBack, scope);
      state.pending |= model_.writeBackCounts;
    }
    state.pending &= static_cast<Pending>(~effect.ends);
    if ((effect.ends & model_.writeBackCounts) != 0) state.done = state.writtenBack;
    // Behind a meeting a wave speaks for what the others have written, too.
    if (effect.isWrite || effect.isDeparture) state.writtenBack = state.done = MemoryScope::None;
    if (effect.isArrival || effect.isDeparture)
      state.arrived = effect.isDeparture ? MemoryScope::None : released(state, true);
    state.pending |= effect.begins;
  }

  MemoryScope writtenBackBy(const GcnInstruction &instruction) const {
    MemoryScope scope = MemoryScope::None;
    for (const OrderRow &row : model_.orders)
      if (!row.writeBack.empty() && isSame(instruction, row.writeBack)) scope = row.scope;
    return scope;
  }

  static bool isSame(const GcnInstruction &instruction, llvm::StringRef text) {
    const auto [opcode, words] = text.split(' ');
    return instruction.opcode == opcode && instruction.operands == words;
  }

  void findStates() {
    before_.resize(graph_.size());
    before_.front() = WaveState{};
    for (bool changes = true; changes;) {
      changes = false;
      for (std::size_t i = 0; i < graph_.size(); ++i) {
        if (!before_[i]) continue;
        WaveState state = *before_[i];
        for (std::size_t at = graph_[i].begin; at < graph_[i].end; ++at) pass(state, lines_[at]);
        for (const CodeBlock::Edge &edge : graph_[i].next) changes |= come(edge.to, state);
      }
    }
  }

  bool come(std::size_t block, const WaveState &state) {
    WaveState joined = before_[block].value_or(state);
    joined.join(state);
    const bool isNew = before_[block] != joined;
    before_[block] = joined;
    return isNew;
  }

  OrderedAccess accessAt(std::size_t block, std::size_t at, const WaveState &state) {
    const Line &line = lines_[at];
    const Effect &effect = line.effect;
    const bool isMeeting = effect.kind == AccessKind::Meeting;
    return {.kind = *effect.kind,
            .bits = isMeeting ? 0 : bitsOf(line.instruction, *effect.kind),
            .scope = stepOf(line.instruction, effect, model_),
            .acquires = acquired(block, at),
            .releases =
                isMeeting && !effect.isArrival ? state.arrived : released(state, isMeeting)};
  }

  /// At a meeting it is enough that all is over that is to be released later: the cache is written
  /// back by the wave that does it.
  MemoryScope released(const WaveState &state, bool isMeeting) const {
    MemoryScope scope = MemoryScope::None;
    for (const OrderRow &row : model_.orders) {
      const bool isBack = isMeeting || row.writeBack.empty() || state.done >= row.scope;
      if ((state.pending & row.waits) == 0 && isBack) scope = row.scope;
    }
    return scope;
  }

  // --- behind an access ---

  /// How far what should come behind an access has come.
  struct Progress {
    std::size_t block;
    bool isOver;
    std::uint32_t invalidated; ///< A bit for each invalidation of the model.
    auto operator<=>(const Progress &) const = default;
  };

  /// The least on all ways on.
  MemoryScope acquired(std::size_t block, std::size_t at) {
    const Effect &effect = lines_[at].effect;
    MemoryScope least = MemoryScope::System;
    std::set<Progress> seen;
    Progress first{block, effect.kind == AccessKind::Meeting, 0};
    std::vector<Progress> open;
    const auto walk = [&](Progress progress, std::size_t begin) {
      if (const auto end = walkBlock(progress, begin, effect.begins)) {
        least = std::min(least, *end);
        return;
      }
      for (const CodeBlock::Edge &edge : graph_[progress.block].next) {
        Progress next = progress;
        next.block = edge.to;
        if (seen.insert(next).second) open.push_back(next);
      }
    };
    walk(first, at + 1);
    while (!open.empty()) {
      const Progress progress = open.back();
      open.pop_back();
      walk(progress, graph_[progress.block].begin);
    }
    return least;
  }

  /// What is reached at the next access; nothing where the block has none.
  std::optional<MemoryScope> walkBlock(Progress &progress, std::size_t at, Pending own) const {
    for (; at < graph_[progress.block].end; ++at) {
      const Line &line = lines_[at];
      if (line.effect.kind) return reached(progress);
      progress.isOver |= (line.effect.ends & own) == own;
      if (progress.isOver) progress.invalidated |= invalidatedBy(line.instruction);
    }
    return std::nullopt;
  }

  MemoryScope reached(const Progress &progress) const {
    MemoryScope scope = MemoryScope::None;
    for (std::size_t i = 0; i < model_.orders.size(); ++i) {
      const OrderRow &row = model_.orders[i];
      bool isReached = progress.isOver || !row.awaitsAccess;
      for (std::size_t k = 0; k < row.invalidations.size(); ++k)
        isReached &= row.invalidations[k].empty() || (progress.invalidated & bitOf(i, k)) != 0;
      if (isReached) scope = row.scope;
    }
    return scope;
  }

  std::uint32_t invalidatedBy(const GcnInstruction &instruction) const {
    std::uint32_t bits = 0;
    for (std::size_t i = 0; i < model_.orders.size(); ++i)
      for (std::size_t k = 0; k < model_.orders[i].invalidations.size(); ++k)
        if (isSame(instruction, model_.orders[i].invalidations[k])) bits |= bitOf(i, k);
    return bits;
  }

  static std::uint32_t bitOf(std::size_t row, std::size_t invalidation) {
    return 1U << (row * 2 + invalidation);
  }

  const GcnModel &model_;
  Columns columns_;
  int clause_ = 0, inClause_ = 0; // how many instructions the last one has, and are to come of it
  std::string far_;
  std::vector<Line> lines_;
  CodeGraph graph_;
  std::vector<std::optional<WaveState>> before_; // what is known before each block
};

} // namespace

std::vector<FoundAccess> accessesOfAssembly(llvm::StringRef assembly,
                                            llvm::AMDGPU::IsaVersion isa) {
  const std::size_t begin = assembly.find("; %bb.0");
  return GcnAccessReader(assembly.drop_front(std::min(begin, assembly.size())), modelOf(isa))
      .accesses();
}

} // namespace imbrex::target::amdgpu
