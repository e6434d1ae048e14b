#include "backend/target/codegen/code_graph.h"

#include "backend/support/check.h"
#include "backend/support/text.h"
#include "backend/target/codegen/assembly_text.h"

#include <map>

namespace imbrex::target {
namespace {

/// `$L__BB0_2:`, `.LBB0_2:`, `kernel:`
std::optional<llvm::StringRef> labelIn(llvm::StringRef line) {
  if (!line.consume_back(":") || line.empty()) return std::nullopt;
  const bool isName = llvm::all_of(
      line, [](char c) { return llvm::isAlnum(c) || c == '_' || c == '$' || c == '.'; });
  return isName ? std::optional(line) : std::nullopt;
}

class GraphReader {
public:
  explicit GraphReader(llvm::function_ref<CodeLine(llvm::StringRef)> read) : read_(read) {
    graph_.push_back({.label = "the beginning"});
  }

  void line(llvm::StringRef text) {
    const CodeLine read = read_(text);
    ++lines_;
    if (const auto label = labelIn(text)) {
      begin(label->str());
      labels_[label->str()] = graph_.size() - 1;
      return;
    }
    CodeBlock &block = graph_.back();
    block.end = lines_;
    if (read.event && read.asks.empty()) block.events.push_back(*read.event);
    block.sets.insert(block.sets.end(), read.sets.begin(), read.sets.end());
    for (const std::string &set : read.sets) block.makes.erase(set);
    block.makes.insert(read.makes.begin(), read.makes.end());
    note(read);
    if (!read.ends && read.target.empty()) return;
    block.ends = read.ends;
    isReached_ = !read.predicate.empty();
    if (!read.target.empty())
      jumps_.push_back({graph_.size() - 1, read.target, edge(read.predicate, !read.isNegated)});
    fallsBy_ = edge(read.predicate, read.isNegated);
    begin("what is behind a jump in " + block.label);
  }

  CodeGraph finish() {
    for (const Jump &jump : jumps_) {
      const auto to = labels_.find(jump.target);
      IMBREX_CHECK(to != labels_.end(), "the assembly jumps to '{0}', which is not there",
                   jump.target);
      CodeBlock::Edge edge = jump.edge;
      edge.to = to->second;
      graph_[jump.from].next.push_back(edge);
    }
    return std::move(graph_);
  }

private:
  struct Jump {
    std::size_t from;
    std::string target;
    CodeBlock::Edge edge;
  };
  /// That a predicate holds, or not, says that the event has been.
  struct Answer {
    RingEvent event;
    bool holds;
  };

  /// A question, and what its answer goes by.
  void note(const CodeLine &read) {
    const auto negated = answers_.find(read.negates);
    const auto opposite =
        negated == answers_.end()
            ? std::nullopt
            : std::optional(Answer{negated->second.event, !negated->second.holds});
    for (const std::string &set : read.sets) answers_.erase(set);
    if (opposite) answers_.emplace(read.sets.front(), *opposite);
    if (!read.asks.empty()) answers_.insert_or_assign(read.asks, Answer{*read.event, true});
  }

  CodeBlock::Edge edge(const std::string &predicate, bool holds) const {
    CodeBlock::Edge edge{.to = 0, .predicate = predicate, .holds = holds, .event = {}};
    const auto answer = answers_.find(predicate);
    if (answer != answers_.end() && answer->second.holds == holds)
      edge.event = answer->second.event;
    return edge;
  }

  void begin(const std::string &label) {
    answers_.clear();
    if (isReached_) {
      fallsBy_.to = graph_.size();
      graph_.back().next.push_back(fallsBy_);
    }
    graph_.push_back({.label = label, .begin = lines_, .end = lines_});
    isReached_ = true;
    fallsBy_ = {};
  }

  llvm::function_ref<CodeLine(llvm::StringRef)> read_;
  CodeGraph graph_;
  std::size_t lines_ = 0; // that were read
  std::map<std::string, std::size_t> labels_;
  std::vector<Jump> jumps_;
  std::map<std::string, Answer> answers_; // of the block, by predicate
  bool isReached_ = true;                 // what comes next, from what came last
  CodeBlock::Edge fallsBy_{};             // on which condition
};

std::string atBarrier(const RingEvent &event) {
  if (event.barrier == kUntold) return "a barrier";
  if (event.slots == 1) return "barrier " + std::to_string(event.barrier);
  return "one of the barriers " + std::to_string(event.barrier) + " to " +
         std::to_string(event.barrier + event.slots - 1);
}

/// "3 arrivals"; "so many" where the code does not tell.
std::string amountOf(const RingEvent &event, const std::string &unit) {
  if (event.amount == kUntold) return "so many " + unit + "s";
  return counted(event.amount, unit);
}

} // namespace

std::string toText(const RingEvent &event) {
  switch (event.kind) {
  case RingEventKind::Copy: return "a copy";
  case RingEventKind::Commit: return "the end of a group";
  case RingEventKind::Wait: return "a wait for all but " + std::to_string(event.left);
  case RingEventKind::Meet: return "a meeting";
  case RingEventKind::Gather: return "a meeting of a warp's lanes";
  case RingEventKind::Make:
    return "the making of " + atBarrier(event) + " for " + amountOf(event, "arrival");
  case RingEventKind::Show: return "the fence behind new barriers";
  case RingEventKind::Await: return "a wait at " + atBarrier(event);
  case RingEventKind::Arrive: return amountOf(event, "arrival") + " at " + atBarrier(event);
  case RingEventKind::Expect:
    return "the announcement of " + amountOf(event, "byte") + " at " + atBarrier(event);
  case RingEventKind::Box: return "the load of a box that ends at " + atBarrier(event);
  }
  return "";
}

CodeGraph codeGraph(llvm::StringRef assembly, llvm::StringRef comment,
                    llvm::function_ref<CodeLine(llvm::StringRef)> read) {
  GraphReader reader(read);
  for (const llvm::StringRef line : linesOf(assembly, comment))
    if (!line.empty()) reader.line(line);
  return reader.finish();
}

} // namespace imbrex::target
