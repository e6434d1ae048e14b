#include "backend/pipeline.h"

#include "backend/analysis/matrix_product.h"
#include "backend/ir/products.h"
#include "backend/ir/text.h"
#include "backend/ir/verify.h"
#include "backend/pass_record.h"
#include "backend/passes/accumulate_products.h"
#include "backend/passes/canonicalise.h"
#include "backend/passes/construct_ssa.h"
#include "backend/passes/cse.h"
#include "backend/passes/dce.h"
#include "backend/passes/expand/expand_conversions.h"
#include "backend/passes/expand/expand_dots.h"
#include "backend/passes/expand/expand_math.h"
#include "backend/passes/expand/expand_products.h"
#include "backend/passes/expand/expand_random.h"
#include "backend/passes/expand/split_products.h"
#include "backend/passes/fold.h"
#include "backend/passes/layouts/assign_layouts.h"
#include "backend/passes/licm.h"
#include "backend/passes/load_bytes.h"
#include "backend/passes/loop_over_parts.h"
#include "backend/passes/pipeline/apply_plans.h"
#include "backend/passes/pipeline/carry_fragments.h"
#include "backend/passes/pipeline/count_trips.h"
#include "backend/passes/pipeline/order_products.h"
#include "backend/passes/pipeline/place_slots.h"
#include "backend/passes/pipeline/plan_loops.h"
#include "backend/passes/pipeline/split_roles.h"
#include "backend/passes/pipeline/store_factors.h"
#include "backend/passes/pipeline/study_loads.h"
#include "backend/passes/pipeline/take_turns.h"
#include "backend/passes/sort_by_parts.h"
#include "backend/passes/units/choose_units.h"
#include "backend/support/check.h"
#include "backend/support/environment.h"
#include "llvm/ADT/StringExtras.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <span>
#include <utility>
#include <vector>

namespace imbrex {
namespace {

using ir::Stage;

// Every pass, once. A header says why its pass must come where it does.
constexpr auto kPasses = std::to_array<Pass>({
    {"construct-ssa", passes::constructSsa, Stage::Traced, Stage::Tiles},
    {"canonicalise", passes::canonicalise, Stage::Tiles, Stage::Tiles},
    {"fold", passes::foldConstants, Stage::Tiles, Stage::Tiles},
    {"cse", passes::mergeCommonValues, Stage::Tiles, Stage::Tiles},
    {"licm", passes::hoistInvariants, Stage::Tiles, Stage::Tiles},
    {"dce", passes::dropDeadCode, Stage::Tiles, Stage::Tiles},
    {"accumulate-products", passes::accumulateProducts, Stage::Tiles, Stage::Tiles},
    {"sort-by-parts", passes::sortByParts, Stage::Tiles, Stage::Tiles},
    {"loop-over-parts", passes::loopOverParts, Stage::Tiles, Stage::Tiles},
    {"split-products", passes::splitProducts, Stage::Tiles, Stage::Tiles},
    {"choose-units", passes::chooseUnits, Stage::Tiles, Stage::Tiles},
    {"expand-products", passes::expandProducts, Stage::Tiles, Stage::Tiles},
    {"expand-dots", passes::expandDots, Stage::Tiles, Stage::Tiles},
    {"expand-math", passes::expandMath, Stage::Tiles, Stage::Tiles},
    {"expand-random", passes::expandRandom, Stage::Tiles, Stage::Tiles},
    {"expand-conversions", passes::expandConversions, Stage::Tiles, Stage::Tiles},
    {"load-bytes", passes::loadBytes, Stage::Tiles, Stage::Tiles},
    {"assign-layouts", passes::assignLayouts, Stage::Tiles, Stage::Laid},
    {"count-trips", passes::pipeline::countTrips, Stage::Laid, Stage::Laid},
    {"study-loads", passes::pipeline::studyLoads, Stage::Laid, Stage::Laid},
    {"plan-loops", passes::pipeline::planLoops, Stage::Laid, Stage::Laid},
    {"apply-plans", passes::pipeline::applyPlans, Stage::Laid, Stage::Scheduled},
    {"split-roles", passes::pipeline::splitRoles, Stage::Scheduled, Stage::Scheduled},
    {"store-factors", passes::pipeline::storeFactors, Stage::Scheduled, Stage::Scheduled},
    {"order-products", passes::pipeline::orderProducts, Stage::Scheduled, Stage::Scheduled},
    {"place-slots", passes::pipeline::placeSlots, Stage::Scheduled, Stage::Scheduled},
    {"take-turns", passes::pipeline::takeTurns, Stage::Scheduled, Stage::Scheduled},
    {"carry-fragments", passes::pipeline::carryFragments, Stage::Scheduled, Stage::Scheduled},
});

consteval Pass named(std::string_view name) {
  for (const Pass &pass : kPasses)
    if (pass.name == name) return pass;
  throw "no pass has this name";
}

template <class... Names>
consteval std::array<Pass, sizeof...(Names)> listed(Names... names) {
  return {named(names)...};
}

// clang-format off
// All that is done to Block IR, in order.
constexpr auto kHostPipeline = listed(
    "construct-ssa",
    "canonicalise", "fold", "cse", "licm", "dce",
    "accumulate-products",
    "expand-products", "expand-math", "expand-random", "expand-conversions",
    "canonicalise", "fold", "cse", "licm", "dce");

// The same for a GPU, whose code is made from tiles that lie on threads. What is checked of it
// then, and how it becomes code that is held against what was proven, the tables of compile.cpp
// say.
constexpr auto kGpuPipeline = listed(
    "construct-ssa",
    "canonicalise", "fold", "cse", "licm", "dce",
    "accumulate-products", "sort-by-parts", "loop-over-parts", "split-products", "choose-units",
    "expand-products", "expand-dots", "expand-math", "expand-random", "expand-conversions",
    "canonicalise", "fold", "cse", "licm", "dce",
    "load-bytes", "assign-layouts",
    // Loops that load ahead: what may run ahead, what pays, the writing of it, and what that entails.
    "count-trips", "study-loads", "plan-loops", "apply-plans",
    "split-roles", "store-factors", "order-products", "place-slots",
    "take-turns", "carry-fragments");
// clang-format on

consteval bool chains(std::span<const Pass> passes) {
  Stage stage = Stage::Traced;
  for (const Pass &pass : passes) {
    if (pass.from != stage) return false;
    stage = pass.to;
  }
  return true;
}
static_assert(chains(kHostPipeline) && chains(kGpuPipeline),
              "each pass must start at the stage that the one before reaches");

/// A kernel that was read from a file may be past the stage to which a pass would bring it. What
/// else stands in front of that stage gpuPipelineFrom leaves out.
bool isBehind(const ir::Kernel &kernel, const Pass &pass) {
  return pass.from != pass.to && kernel.stage() >= pass.to;
}

const Pass *findAmong(llvm::ArrayRef<Pass> passes, std::string_view name,
                      Diagnostics &diagnostics) {
  const auto *const found = std::ranges::find(passes, name, &Pass::name);
  if (found != passes.end()) return found;
  std::vector<std::string_view> names;
  for (const Pass &pass : passes) names.push_back(pass.name);
  const std::string_view meant = nearest(name, names);
  if (meant.empty())
    diagnostics.report(Diag::UnknownPass, {}, name, llvm::join(names, ", "));
  else
    diagnostics.report(Diag::MisspeltPass, {}, name, meant);
  return nullptr;
}

/// What a failing check prints: the kernel as it came, and the command that fails in the same way.
std::string howToReproduce(const ir::Kernel &given, llvm::ArrayRef<Pass> passes) {
  std::string names;
  for (const Pass &pass : passes) names += (names.empty() ? "" : ",") + std::string(pass.name);
  return "pass '" + std::string(passes.back().name) + "' failed on this kernel:\n" +
         ir::print(given) + "with it in 'kernel.imx', `imbrex opt kernel.imx --passes " + names +
         "` does so again";
}

void verifyAfter(const Pass &pass, const ir::Kernel &kernel) {
  Diagnostics broken;
  IMBREX_CHECK(ir::verify(kernel, broken), "pass '{0}' broke a rule of the IR:\n{1}\n{2}",
               pass.name, broken.render(), ir::print(kernel));
}

/// What a kernel is that a pass cannot take, and what to do.
std::pair<std::string_view, std::string_view> wrongStage(Stage is, Stage wanted) {
  if (is > wanted)
    return wanted < Stage::Laid ? std::pair("is laid out on threads already",
                                            "give it the kernel as it was before 'assign-layouts'")
                                : std::pair("is scheduled already",
                                            "give it the kernel as it was before 'apply-plans'");
  if (is == Stage::Traced) return {"still has variables", "run 'construct-ssa' first"};
  if (is == Stage::Tiles) return {"is not laid out on threads", "run 'assign-layouts' first"};
  return {"is not scheduled", "run 'apply-plans' first"};
}

/// A file may say of a product that any unit makes it.
bool hasUnitsOf(const ir::Kernel &kernel, const passes::PassContext &context) {
  if (context.machine.family == machine::Family::Cpu) return true; // which takes none
  walk(kernel.body(), [&](const ir::Op &op) {
    if (!ir::isProduct(op)) return;
    const std::string why = analysis::whyNotOnUnit(kernel, op, context.machine);
    if (!why.empty())
      context.diagnostics.report(Diag::UnitOfProduct, op.where, ir::unitAttrs(op).unit, why,
                                 context.machine.name);
  });
  return !context.diagnostics.hasErrors();
}

bool runOne(ir::Kernel &kernel, const Pass &pass, const passes::PassContext &context,
            PassRecord &record) {
  Diagnostics &diagnostics = context.diagnostics;
  if (kernel.stage() != pass.from) {
    const auto [is, hint] = wrongStage(kernel.stage(), pass.from);
    diagnostics.report(Diag::PassAtWrongStage, {}, pass.name, kernel.name(), is, hint);
    return false;
  }
  const auto start = std::chrono::steady_clock::now();
  pass.run(kernel, context);
  kernel.setStage(pass.to);
  const auto took = std::chrono::steady_clock::now() - start;
  if (diagnostics.hasErrors()) return false;
  if (context.onPass) context.onPass(pass.name, took);
  record.after(pass.name, kernel, took);
  verifyAfter(pass, kernel);
  return true;
}

} // namespace

llvm::ArrayRef<Pass> allPasses() { return kPasses; }
llvm::ArrayRef<Pass> hostPipeline() { return kHostPipeline; }
llvm::ArrayRef<Pass> gpuPipeline() { return kGpuPipeline; }
llvm::ArrayRef<Pass> gpuPipelineFrom(Stage stage) {
  return gpuPipeline().drop_until([&](const Pass &pass) { return pass.from == stage; });
}
const Pass *findPass(std::string_view name, Diagnostics &diagnostics) {
  return findAmong(kPasses, name, diagnostics);
}

bool runPasses(ir::Kernel &kernel, llvm::ArrayRef<Pass> passes, const passes::PassContext &context,
               std::string_view stopAfter) {
  Diagnostics &diagnostics = context.diagnostics;
  if (!stopAfter.empty() && !findAmong(passes, stopAfter, diagnostics)) return false;
  if (!ir::verify(kernel, diagnostics) || !hasUnitsOf(kernel, context)) return false;
  if (passes.empty()) return true; // nothing to record
  PassRecord record(kernel, {.printAfter = environment().printAfter,
                             .dumpFolder = environment().dump,
                             .passes = kPasses,
                             .machine = std::string(context.machine.name)});
  const ir::Kernel given = kernel.clone();
  for (size_t i = 0; i < passes.size(); ++i) {
    const Pass &pass = passes[i];
    const CrashNote note([&] { return howToReproduce(given, passes.take_front(i + 1)); });
    if (!isBehind(kernel, pass) && !runOne(kernel, pass, context, record)) return false;
    if (pass.name == stopAfter) break;
  }
  return true;
}

} // namespace imbrex
