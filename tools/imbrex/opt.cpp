#include "backend/ir/text.h"
#include "backend/pipeline.h"
#include "backend/support/diagnostics.h"
#include "llvm/ADT/STLExtras.h"
#include "tools/imbrex/command.h"

#include <cstdio>
#include <vector>

namespace imbrex::tool {
namespace {

namespace cl = llvm::cl;

cl::SubCommand optOptions("opt", "Run passes on a file of IR and print what comes out");
cl::opt<std::string> file(cl::Positional, cl::Required, cl::desc("FILE.imx (- is standard input)"),
                          cl::sub(optOptions), cl::cat(ownOptions()));
cl::list<std::string> passNames("passes", cl::CommaSeparated, cl::value_desc("a,b"),
                                cl::desc("Run these passes instead of the host's pipeline"),
                                cl::sub(optOptions), cl::cat(ownOptions()));
cl::opt<std::string> stopAfter("stop-after", cl::value_desc("pass"),
                               cl::desc("Run no pass behind this one"), cl::sub(optOptions),
                               cl::cat(ownOptions()));
cl::opt<bool> withLocations("locations", cl::desc("Print where each op was written"),
                            cl::sub(optOptions), cl::cat(ownOptions()));

void reportUnknownPass(std::string_view name, Diagnostics &diagnostics) {
  std::vector<std::string_view> names;
  for (const Pass &pass : allPasses()) names.push_back(pass.name);
  const std::string_view meant = nearest(name, names);
  diagnostics.report(Diag::UnknownPass, {}, name, meant.empty() ? names.front() : meant);
}

/// The passes of --passes; reports those that there are not.
std::vector<Pass> choosePasses(Diagnostics &diagnostics) {
  if (passNames.getNumOccurrences() == 0) return hostPipeline().vec();
  std::vector<Pass> chosen;
  for (const std::string &name : passNames) {
    const auto pass = llvm::find_if(allPasses(), [&](const Pass &p) { return p.name == name; });
    if (pass == allPasses().end())
      reportUnknownPass(name, diagnostics);
    else
      chosen.push_back(*pass);
  }
  return chosen;
}

int opt() {
  Diagnostics diagnostics;
  const std::vector<Pass> passes = choosePasses(diagnostics);
  auto kernel = readKernel(file, diagnostics);
  const bool ok = kernel && !diagnostics.hasErrors() &&
                  runPasses(*kernel, passes, diagnostics, stopAfter.getValue());
  std::fputs(diagnostics.render().c_str(), stderr);
  if (!ok) return kFailure;
  std::fputs(ir::print(*kernel, {.locations = withLocations}).c_str(), stdout);
  return kSuccess;
}

} // namespace

const Subcommand kOpt{.options = &optOptions, .run = opt};

} // namespace imbrex::tool
