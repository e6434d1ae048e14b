#include "backend/passes/canonicalise.h"

#include "backend/analysis/effects.h"
#include "backend/passes/rewriting.h"
#include "backend/passes/rules/rewriter.h"

#include <utility>

namespace imbrex::passes {
namespace {

using namespace ir;

class Canonicaliser {
public:
  explicit Canonicaliser(Kernel &kernel) : rewriter_(kernel) {}

  void rewrite(Block &block) {
    std::vector<std::unique_ptr<Op>> ops = std::exchange(block.ops, {});
    block.ops.reserve(ops.size());
    for (auto &op : ops) {
      replaced_.applyTo(*op);
      for (Block &region : op->regions) rewrite(region);
      rewriter_.writeTo(block);
      if (isSimple(*op))
        place(std::move(op));
      else
        block.ops.push_back(std::move(op));
    }
  }

private:
  static bool isSimple(const Op &op) {
    return info(op.kind).effect == Effect::Pure && op.regions.empty() && op.results.size() == 1;
  }

  void place(std::unique_ptr<Op> op) {
    const ValueId before = op->result();
    rewriter_.setLocation(op->where);
    const ValueId after = rewriter_.place(std::move(op));
    if (after != before) replaced_.replace(before, after);
  }

  rules::Rewriter rewriter_;
  Replacements replaced_;
};

} // namespace

void canonicalise(Kernel &kernel, const PassContext &) {
  Canonicaliser(kernel).rewrite(kernel.body());
}

} // namespace imbrex::passes
