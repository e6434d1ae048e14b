#include "backend/loops_on_units.h"

#include "backend/analysis/matrix_product.h"
#include "backend/ir/products.h"
#include "backend/passes/pipeline/loop_costs.h"
#include "backend/passes/pipeline/read_schedule.h"
#include "backend/passes/rewriting.h"
#include "backend/schedule/timeline/timeline.h"
#include "llvm/ADT/STLExtras.h"

#include <algorithm>
#include <cmath>

namespace imbrex {
namespace {

using namespace ir;
using passes::pipeline::KernelSchedule;
using passes::pipeline::workOf;

/// Calls `see` with each product on units, and the innermost loop around it, null where there is
/// none.
void forEachProduct(const Block &body, const Op *loop,
                    llvm::function_ref<void(const Op &, const Op *)> see) {
  for (const auto &op : body.ops) {
    if (isProduct(*op) && isOnUnit(*op)) see(*op, loop);
    for (const Block &region : op->regions)
      forEachProduct(region, passes::isLoop(*op) ? op.get() : loop, see);
  }
}

void add(ProductsOnUnits &all, const Kernel &kernel, const Op &dot,
         const machine::Machine &machine) {
  const machine::MmaInstruction &unit = *analysis::unitOf(kernel, dot, machine);
  const std::int64_t count = passes::pipeline::matrixInstructionsOf(kernel, dot, machine);
  const auto same = llvm::find_if(all.products, [&](const ProductsOnUnits::Product &product) {
    return product.instruction == unit.intrinsic;
  });
  if (same == all.products.end())
    all.products.push_back({unit.intrinsic, count});
  else
    same->count += count;
  all.unitCycles += workOf(kernel, dot, machine).units;
  all.areKnown &= machine::unitCycles(machine, unit).isKnown;
}

class LoopFinder {
public:
  LoopFinder(const Kernel &kernel, const machine::Machine &machine, std::int32_t blocks)
      : kernel_(kernel), machine_(machine), blocks_(blocks) {}

  std::vector<LoopOnUnits> run() {
    forEachProduct(kernel_.body(), nullptr, [&](const Op &dot, const Op *loop) {
      if (loop) add(at(*loop), kernel_, dot, machine_);
    });
    std::vector<LoopOnUnits> loops;
    for (auto &[op, loop] : found_) loops.push_back(std::move(loop));
    return loops;
  }

private:
  static bool hasLoop(const Op &op) {
    bool found = false;
    for (const Block &region : op.regions)
      walk(region, [&](const Op &inner) { found |= passes::isLoop(inner); });
    return found;
  }

  LoopOnUnits &at(const Op &op) {
    const auto found = llvm::find_if(found_, [&](const auto &loop) { return loop.first == &op; });
    if (found != found_.end()) return found->second;
    LoopOnUnits loop;
    loop.where = op.where;
    loop.hasLoops = hasLoop(op);
    timeLoop(op, loop);
    return found_.emplace_back(&op, std::move(loop)).second;
  }

  void timeLoop(const Op &op, LoopOnUnits &loop) {
    if (!isRead_) {
      isRead_ = true;
      Diagnostics untold; // what cannot be read has been refused before, or is not told
      schedule_ = passes::pipeline::readSchedule(kernel_, machine_, untold,
                                                 passes::pipeline::ReadFor::Timeline);
    }
    if (!schedule_) return;
    const auto read =
        llvm::find_if(schedule_->loops, [&](const auto &one) { return one.op == &op; });
    if (read == schedule_->loops.end()) return;
    const auto interval =
        schedule::initiationInterval(schedule_->program, read->trips, usualTrips());
    if (!interval || interval->cyclesPerTrip <= 0) return;
    loop.cyclesPerTrip = interval->cyclesPerTrip;
    const auto units = interval->resources.find(std::string(passes::pipeline::kMatrixUnits));
    if (loop.hasLoops && units != interval->resources.end())
      loop.unitCycles = std::llround(units->second);
    constexpr double kSame = 1.02; // as a timeline calls a resource the limit
    loop.limit = interval->cyclesPerTrip <= kSame * interval->lowerBound
                     ? interval->busiest
                     : "waits, no fewer than " +
                           std::to_string(static_cast<std::int64_t>(interval->lowerBound)) +
                           " by " + interval->busiest;
    loop.shareOfCore = shareOfCore(read->trips);
  }

  std::optional<double> shareOfCore(schedule::TripsId trips) const {
    if (blocks_ == 0) return std::nullopt;
    const schedule::DealtResource units = passes::pipeline::dealtUnits(kernel_, machine_);
    const schedule::Program core = schedule::blocksOfCore(schedule_->program, blocks_, units);
    const auto interval = schedule::initiationInterval(core, trips, usualTrips());
    if (!interval || interval->cyclesPerTrip <= 0) return std::nullopt;
    double busy = 0;
    for (std::int32_t part = 0; part < units.parts; ++part)
      if (const auto of = interval->resources.find(schedule::partOf(units, part));
          of != interval->resources.end())
        busy += of->second;
    return busy / (units.parts * interval->cyclesPerTrip);
  }

  /// Of other loops; all else is done once.
  std::vector<std::int32_t> usualTrips() const {
    std::vector<std::int32_t> trips;
    for (const passes::pipeline::TripsKind kind : schedule_->trips) {
      const bool isOnce =
          kind == passes::pipeline::TripsKind::Rest || kind == passes::pipeline::TripsKind::Branch;
      trips.push_back(isOnce ? 1 : LoopOnUnits::kInnerTrips);
    }
    return trips;
  }

  const Kernel &kernel_;
  const machine::Machine &machine_;
  std::int32_t blocks_;
  std::vector<std::pair<const Op *, LoopOnUnits>> found_; // in their order
  std::optional<KernelSchedule> schedule_;
  bool isRead_ = false;
};

} // namespace

double LoopOnUnits::share() const {
  return cyclesPerTrip ? std::min(1.0, static_cast<double>(unitCycles) / *cyclesPerTrip) : 0;
}

std::vector<LoopOnUnits> loopsOnUnits(const Kernel &kernel, const machine::Machine &machine,
                                      std::int32_t blocksPerCore) {
  return LoopFinder(kernel, machine, blocksPerCore).run();
}

ProductsOnUnits productsOutsideLoops(const Kernel &kernel, const machine::Machine &machine) {
  std::vector<Location> inLoops;
  forEachProduct(kernel.body(), nullptr, [&](const Op &dot, const Op *loop) {
    if (loop) inLoops.push_back(dot.where);
  });
  ProductsOnUnits outside;
  forEachProduct(kernel.body(), nullptr, [&](const Op &dot, const Op *loop) {
    if (!loop && !llvm::is_contained(inLoops, dot.where)) add(outside, kernel, dot, machine);
  });
  return outside;
}

} // namespace imbrex
