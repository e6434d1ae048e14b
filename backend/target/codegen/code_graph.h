#pragma once

#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/StringRef.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

/// A kernel's assembly, as far as it is about copies into rings of slots: what is done, and on
/// which ways through the code.
namespace imbrex::target {

enum class RingEventKind : std::uint8_t {
  Copy,   // one is started
  Commit, // those before it are a group
  Wait,   // until at most so many copies or groups are under way
  Meet,   // of all threads of the block
};

struct RingEvent {
  RingEventKind kind;
  std::int32_t left = 0; ///< Wait.

  friend bool operator==(const RingEvent &, const RingEvent &) = default;
};
/// "a copy", "a wait for all but 1"
std::string toText(const RingEvent &event);

/// One instruction.
struct CodeLine {
  std::optional<RingEvent> event = {};
  std::string target = {};    ///< The label that it jumps to.
  std::string predicate = {}; ///< The register that decides whether it jumps; empty: it does.
  bool isNegated = false;     ///< It jumps where the predicate does not hold.
  bool ends = false;          ///< The thread ends here.
  std::string sets = {};      ///< A register that it sets and that may be a predicate.
};

/// Instructions that are run one after the other.
struct CodeBlock {
  struct Edge {
    std::size_t to = 0;
    std::string predicate = {}; ///< Empty: nobody knows what decides.
    bool holds = true;          ///< On this way the predicate does, or does not.
  };
  std::string label;
  std::vector<RingEvent> events = {};
  std::vector<std::string> sets = {};
  std::vector<Edge> next = {};
  bool ends = false;
};
/// The first is entered first.
using CodeGraph = std::vector<CodeBlock>;

/// Of an assembly with one kernel: `LABEL:` begins a block, and `read` knows the instructions. It
/// is given lines without comments; of what is no instruction it says nothing.
CodeGraph codeGraph(llvm::StringRef assembly, llvm::StringRef comment,
                    llvm::function_ref<CodeLine(llvm::StringRef)> read);

} // namespace imbrex::target
