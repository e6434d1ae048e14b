#include "backend/analysis/staged_tiles.h"

namespace imbrex::analysis {
namespace {

using namespace ir;

/// Adds what an op passes on of one of its slots.
class StagedTileFinder {
public:
  explicit StagedTileFinder(const Kernel &kernel) : kernel_(kernel) {}

  std::set<ValueId> find() {
    std::size_t before = 0;
    do {
      before = staged_.size();
      walk(kernel_.body(), [&](const Op &op) {
        if (op.kind == OpKind::If || op.kind == OpKind::For) passOn(op);
      });
    } while (staged_.size() > before);
    return std::move(staged_);
  }

private:
  bool isStaged(ValueId value) const {
    const Op *op = kernel_.definition(value);
    return (op && (isLoad(*op) || op->kind == OpKind::SharedLoad)) || staged_.contains(value);
  }

  void passOn(const Op &op) {
    for (std::size_t slot = 0; slot < op.results.size(); ++slot) {
      bool is = false;
      for (const Block &region : op.regions)
        is |= !region.ops.empty() && isStaged(region.ops.back()->operand(slot));
      if (!is) continue;
      staged_.insert(op.result(slot));
      if (op.kind == OpKind::For) staged_.insert(op.regions[0].arguments[1 + slot]);
    }
  }

  const Kernel &kernel_;
  std::set<ValueId> staged_;
};

} // namespace

std::set<ValueId> stagedTiles(const Kernel &kernel) { return StagedTileFinder(kernel).find(); }

} // namespace imbrex::analysis
