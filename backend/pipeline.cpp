#include "backend/pipeline.h"

#include <algorithm>
#include <array>
#include <span>
#include <vector>

#include "backend/passes/canonicalise.h"
#include "backend/passes/construct_ssa.h"
#include "backend/passes/cse.h"
#include "backend/passes/dce.h"
#include "backend/passes/fold.h"
#include "backend/passes/licm.h"
#include "backend/support/check.h"

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
});

consteval Pass named(std::string_view name) {
  for (const Pass &pass : kPasses)
    if (pass.name == name) return pass;
  throw "no pass has this name";
}

// The whole compiler up to a target's own code, in order.
constexpr auto kHostPipeline = std::to_array<Pass>({
    named("construct-ssa"),
    named("canonicalise"),
    named("fold"),
    named("cse"),
    named("licm"),
    named("dce"),
});

consteval bool chains(std::span<const Pass> passes) {
  Stage stage = Stage::Traced;
  for (const Pass &pass : passes) {
    if (pass.from != stage) return false;
    stage = pass.to;
  }
  return true;
}
static_assert(chains(kHostPipeline),
              "each pass must start at the stage that the one before reaches");

/// A pipeline begins at the stage of its first pass; a kernel that was read from a file may be past
/// that, and then needs no pass that would bring it there.
bool isBehind(const ir::Kernel &kernel, const Pass &pass) {
  return pass.from != pass.to && kernel.stage() >= pass.to;
}

bool isAmong(llvm::ArrayRef<Pass> passes, std::string_view name) {
  return std::ranges::find(passes, name, &Pass::name) != passes.end();
}

void reportUnknownPass(std::string_view name, Diagnostics &diagnostics) {
  std::vector<std::string_view> names;
  for (const Pass &pass : kPasses) names.push_back(pass.name);
  const std::string_view meant = nearest(name, names);
  diagnostics.report(Diag::UnknownPass, {}, name, meant.empty() ? names.front() : meant);
}

bool runOne(ir::Kernel &kernel, const Pass &pass, Diagnostics &diagnostics) {
  if (kernel.stage() != pass.from) {
    diagnostics.report(Diag::PassAtWrongStage, {}, pass.name, kernel.name());
    return false;
  }
  const CrashNote note([&] {
    return "while pass '" + std::string(pass.name) + "' worked on kernel '" + kernel.name() + "'";
  });
  pass.run(kernel, diagnostics);
  kernel.setStage(pass.to);
  return !diagnostics.hasErrors();
}

} // namespace

llvm::ArrayRef<Pass> allPasses() { return kPasses; }
llvm::ArrayRef<Pass> hostPipeline() { return kHostPipeline; }

bool runPasses(ir::Kernel &kernel, llvm::ArrayRef<Pass> passes, Diagnostics &diagnostics,
               std::string_view stopAfter) {
  if (!stopAfter.empty() && !isAmong(passes, stopAfter)) {
    reportUnknownPass(stopAfter, diagnostics);
    return false;
  }
  for (const Pass &pass : passes) {
    if (!isBehind(kernel, pass) && !runOne(kernel, pass, diagnostics)) return false;
    if (pass.name == stopAfter) break;
  }
  return true;
}

} // namespace imbrex
