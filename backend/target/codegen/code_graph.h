#pragma once

#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/StringRef.h"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

/// A kernel's assembly, as far as it is about copies into rings of slots: what is done, and on
/// which paths through the code.
namespace imbrex::target {

enum class RingEventKind : std::uint8_t {
  Copy,   // one is started
  Commit, // those before it are a group
  Wait,   // until at most so many copies or groups are under way
  Meet,   // of all threads of the block
  Gather, // of the lanes of a warp, for one of them to speak for all
  // Of an engine beside the threads, and the barriers at which its copies end:
  Make,   // a barrier that wants so many arrivals
  Show,   // the barriers that were made, to the engine
  Await,  // until a barrier's phase is over
  Arrive, // at a barrier, so many times
  Expect, // arrive at a barrier, whose phase lasts until so many bytes more have landed
  Box,    // a copy of one by the engine is started, which ends at a barrier
};

/// Where a number cannot be told from the code.
inline constexpr std::int32_t kUntold = -1;

struct RingEvent {
  RingEventKind kind;
  std::int32_t left = 0; ///< Wait.
  /// The barriers of a block are numbered in the order of their addresses. Of one that an index
  /// chooses, that is the first it may be.
  std::int32_t barrier = kUntold;
  std::int32_t slots = 1;        ///< From which on it is one of so many, where that is known.
  std::int64_t amount = kUntold; ///< Of arrivals, or of bytes.

  friend bool operator==(const RingEvent &, const RingEvent &) = default;
};
/// "a copy", "a wait for all but 1"
std::string toText(const RingEvent &event);

/// What a predicate is set to: a constant, or what another one was when the block began.
struct PredicateDefinition {
  std::string of = {}; ///< Empty: a constant.
  bool isTrue = true;  ///< Or: it is the same as the other one, and not its opposite.
};

/// One instruction.
struct CodeLine {
  std::optional<RingEvent> event = {};
  std::string asks = {};      ///< The register that tells whether the event is: a question so far.
  std::string target = {};    ///< The label that it jumps to.
  std::string predicate = {}; ///< The register that decides whether it jumps; empty: it does.
  bool isNegated = false;     ///< It jumps where the predicate does not hold.
  bool ends = false;          ///< The thread ends here.
  std::vector<std::string> sets = {}; ///< The registers that it sets, as far as predicates depend.
  std::string negates = {};           ///< It sets the first to the opposite of this one.
  std::map<std::string, PredicateDefinition> makes = {}; ///< Those of them that are known then.
};

/// Instructions that are run one after the other.
struct CodeBlock {
  struct Edge {
    std::size_t to = 0;
    std::string predicate = {}; ///< Empty: nobody knows what decides.
    bool holds = true;          ///< On this edge the predicate does, or does not.
    /// What a question in the block, asked again on other paths, has been answered with.
    std::optional<RingEvent> event = {};
  };
  std::string label;
  std::size_t begin = 0,
              end = 0; ///< Of its instructions' lines, by the number of lines read before.
  std::vector<RingEvent> events = {};
  std::vector<std::string> sets = {};
  std::map<std::string, PredicateDefinition> makes =
      {}; ///< Those of them that are known at the end.
  std::vector<Edge> next = {};
  bool ends = false;
};
/// The first is entered first.
using CodeGraph = std::vector<CodeBlock>;

/// Of an assembly with one kernel: `LABEL:` begins a block, and `read` knows the instructions. It
/// is given lines without comments, those with labels, too; of what is no instruction it says
/// nothing.
CodeGraph codeGraph(llvm::StringRef assembly, llvm::StringRef comment,
                    llvm::function_ref<CodeLine(llvm::StringRef)> read);

} // namespace imbrex::target
