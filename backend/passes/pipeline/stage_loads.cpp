#include "backend/passes/pipeline/stage_loads.h"

#include "backend/passes/layouts/cost.h"
#include "backend/passes/pipeline/trip_writer.h"
#include "backend/passes/rewriting.h"

#include <algorithm>
#include <iterator>

namespace imbrex::passes::pipeline {
namespace {

using namespace ir;

class Stager {
public:
  Stager(Kernel &kernel, Op &loop, const LoopLoads &loads)
      : kernel_(&kernel), loop_(loop), body_(loop.regions[0]), loads_(loads),
        trips_(kernel, loop, loads) {
    for (const AheadLoad &load : loads.loads) tiles_.push_back(load.op->result());
    for (const ValueId tile : tiles_) carried_.push_back(tile);
    for (const ValueId carried : trips_.present()) carried_.push_back(carried);
  }

  /// What stands in front of the loop.
  Block run() {
    Block before;
    Builder to(*kernel_, before);
    to.setLocation(loop_.where);
    const ValueId all = trips_.wholeDistance(to);
    Renamed names = trips_.enter(to, loop_.operand(0), trips_.first());
    const std::vector<ValueId> tiles = loadIf(to, trips_.isMore(to, all, 0), names);
    const std::vector<ValueId> next = trips_.next(to, names);
    loop_.operands.append(tiles.begin(), tiles.end());
    loop_.operands.append(next.begin(), next.end());
    writeBody();
    return before;
  }

private:
  void setLayouts(llvm::ArrayRef<ValueId> values, llvm::ArrayRef<ValueId> like) {
    for (std::size_t i = 0; i < like.size(); ++i)
      kernel_->setLayout(values[i], kernel_->layoutOf(like[i]));
  }

  std::vector<Type> typesOf(llvm::ArrayRef<ValueId> values) const {
    std::vector<Type> types;
    for (const ValueId value : values) types.push_back(kernel_->type(value));
    return types;
  }

  /// The loads of a trip, if there is that trip.
  std::vector<ValueId> loadIf(Builder &to, ValueId condition, Renamed names) {
    to.setLocation(loop_.where);
    Op &branch = to.create(OpKind::If, {condition}, typesOf(tiles_));
    setLayouts(branch.results, tiles_);
    branch.regions.resize(2);
    Builder there(*kernel_, branch.regions[0]), none(*kernel_, branch.regions[1]);
    std::vector<ValueId> loaded, zeros;
    for (const AheadLoad &load : loads_.loads) {
      none.setLocation(load.op->where);
      loaded.push_back(copyOp(there, *load.op, names).result());
      zeros.push_back(none.constantBits(kernel_->type(load.op->result()), 0));
    }
    setLayouts(zeros, tiles_);
    there.create(OpKind::Yield, loaded, {});
    none.create(OpKind::Yield, zeros, {});
    return {branch.results.begin(), branch.results.end()};
  }

  void writeBody() {
    const std::vector<ValueId> arguments = addCarried(*kernel_, loop_, carried_);
    Block block;
    Builder to(*kernel_, block);
    to.setLocation(loop_.where);
    const ValueId index = body_.arguments[0];
    const ValueId left = trips_.distanceFrom(to, index);
    Renamed names = trips_.enter(to, trips_.ahead(to, index, 1),
                                 llvm::ArrayRef(arguments).drop_front(tiles_.size()));
    std::vector<ValueId> next = loadIf(to, trips_.isMore(to, left, 1), names);
    std::ranges::copy(trips_.next(to, names), std::back_inserter(next));
    takeFrom(arguments);
    std::ranges::move(body_.ops, std::back_inserter(block.ops));
    yieldOf(block).operands.append(next.begin(), next.end());
    body_.ops = std::move(block.ops);
  }

  /// The carried tiles in place of the loads.
  void takeFrom(llvm::ArrayRef<ValueId> arguments) {
    Replacements replaced;
    for (std::size_t i = 0; i < tiles_.size(); ++i) replaced.replace(tiles_[i], arguments[i]);
    llvm::erase_if(body_.ops, [&](const auto &op) {
      const bool isStaged = !op->results.empty() && std::ranges::count(tiles_, op->result()) > 0;
      if (isStaged) forget(*kernel_, *op);
      return isStaged;
    });
    walk(body_, [&](Op &op) { replaced.applyTo(op); });
  }

  Kernel *kernel_;
  Op &loop_;
  Block &body_;
  const LoopLoads &loads_;
  TripWriter trips_;
  std::vector<ValueId> tiles_;   // that the loads make
  std::vector<ValueId> carried_; // these, and what their addresses are made of
};

} // namespace

void stageLoads(Kernel &kernel, Block &block, std::size_t loop, const LoopLoads &loads) {
  Block before = Stager(kernel, *block.ops[loop], loads).run();
  block.ops.insert(block.ops.begin() + static_cast<std::ptrdiff_t>(loop),
                   std::make_move_iterator(before.ops.begin()),
                   std::make_move_iterator(before.ops.end()));
}

std::string tooManyRegisters(const Kernel &kernel, const LoopLoads &loads,
                             const machine::Machine &machine) {
  if (machine.maxRegistersPerThread == 0) return ""; // it does not count them
  // What a trip computes needs most of them.
  constexpr std::int64_t kShare = 4;
  const std::int64_t all = std::min<std::int64_t>(
      machine.maxRegistersPerThread, machine.registersPerCore / kernel.threads().count());
  std::int64_t words = 0;
  for (const AheadLoad &load : loads.loads) {
    const LayoutId layout = kernel.layoutOf(load.op->result());
    if (layout.valid())
      words += layouts::wordsOf(kernel.type(load.op->result()), kernel.layout(layout));
  }
  if (words <= all / kShare) return "";
  return "its tiles fill " + std::to_string(words) + " of the " + std::to_string(all) +
         " registers of a thread";
}

} // namespace imbrex::passes::pipeline
