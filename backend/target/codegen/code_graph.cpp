#include "backend/target/codegen/code_graph.h"

#include "backend/support/check.h"
#include "llvm/ADT/StringExtras.h"

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
    if (const auto label = labelIn(text)) {
      begin(label->str());
      labels_[label->str()] = graph_.size() - 1;
      return;
    }
    const CodeLine read = read_(text);
    CodeBlock &block = graph_.back();
    if (read.event) block.events.push_back(*read.event);
    if (!read.sets.empty()) block.sets.push_back(read.sets);
    if (!read.ends && read.target.empty()) return;
    block.ends = read.ends;
    isReached_ = !read.predicate.empty();
    if (!read.target.empty())
      jumps_.push_back({graph_.size() - 1, read.target, {0, read.predicate, !read.isNegated}});
    fallsBy_ = {0, read.predicate, read.isNegated};
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

  void begin(const std::string &label) {
    if (isReached_) {
      fallsBy_.to = graph_.size();
      graph_.back().next.push_back(fallsBy_);
    }
    graph_.push_back({.label = label});
    isReached_ = true;
    fallsBy_ = {};
  }

  llvm::function_ref<CodeLine(llvm::StringRef)> read_;
  CodeGraph graph_;
  std::map<std::string, std::size_t> labels_;
  std::vector<Jump> jumps_;
  bool isReached_ = true;     // what comes next, from what came last
  CodeBlock::Edge fallsBy_{}; // on which condition
};

} // namespace

std::string toText(const RingEvent &event) {
  switch (event.kind) {
  case RingEventKind::Copy: return "a copy";
  case RingEventKind::Commit: return "the end of a group";
  case RingEventKind::Wait: return "a wait for all but " + std::to_string(event.left);
  case RingEventKind::Meet: return "a meeting";
  }
  return "";
}

CodeGraph codeGraph(llvm::StringRef assembly, llvm::StringRef comment,
                    llvm::function_ref<CodeLine(llvm::StringRef)> read) {
  GraphReader reader(read);
  while (!assembly.empty()) {
    llvm::StringRef line;
    std::tie(line, assembly) = assembly.split('\n');
    line = line.split(comment).first.trim();
    if (!line.empty()) reader.line(line);
  }
  return reader.finish();
}

} // namespace imbrex::target
