#include "backend/compile.h"
#include "backend/ir/layout_numbers.h"
#include "backend/ir/text.h"
#include "backend/pipeline.h"
#include "backend/spills.h"
#include "backend/support/diagnostics.h"
#include "tools/imbrex/command.h"

#include <cstdio>
#include <vector>

namespace imbrex::tool {
namespace {

namespace cl = llvm::cl;

cl::SubCommand optOptions("opt", "Run passes on a file of IR and print what comes out");
cl::opt<std::string> file(cl::Positional, cl::desc("FILE.imx (- is standard input)"),
                          Of{optOptions});

/// What --help says of --passes.
const std::string &passesMeaning() {
  static const std::string text = [] {
    std::string names = "Run these passes instead of the host's pipeline; there are";
    for (const Pass &pass : allPasses()) names.append("\n").append(pass.name);
    return names;
  }();
  return text;
}

cl::list<std::string> passNames("passes", cl::CommaSeparated, cl::value_desc("a,b"),
                                cl::desc(passesMeaning()), Of{optOptions});
cl::opt<std::string> stopAfter("stop-after", cl::value_desc("pass"),
                               cl::desc("Run no pass behind this one"), Of{optOptions});
cl::opt<bool> withLocations("locations", cl::desc("Print where each op was written"),
                            Of{optOptions});

cl::opt<std::string> target("target", cl::value_desc("T"),
                            cl::desc("Run the passes for this target, one of `imbrex targets`"),
                            cl::init("host"), Of{optOptions});

cl::opt<bool> withoutAssumptions("no-assumptions",
                                 cl::desc("Take nothing for granted of a launch's arguments"),
                                 Of{optOptions});

cl::opt<bool> explain("explain",
                      cl::desc("Print why a GPU's passes decided as they did, as comments"),
                      Of{optOptions});

/// The passes of --passes; reports those that there are not.
std::vector<Pass> choosePasses(const machine::Machine &machine, Diagnostics &diagnostics) {
  const bool isHost = machine.family == machine::Family::Cpu;
  if (passNames.getNumOccurrences() == 0) return (isHost ? hostPipeline() : gpuPipeline()).vec();
  std::vector<Pass> chosen;
  for (const std::string &name : passNames)
    if (const Pass *pass = findPass(name, diagnostics)) chosen.push_back(*pass);
  return chosen;
}

/// Whether passes decide anything on that machine that can be explained; else says so. On the host
/// no tile is laid out, and no loop gets a schedule.
bool canExplain(const machine::Machine &machine) {
  return machine.family != machine::Family::Cpu ||
         !explain.error("a GPU is needed that the passes decide for: name one by --target; "
                        "`imbrex targets` lists them");
}

int opt() {
  if (file.empty()) return reportMissingFile("opt");
  Diagnostics diagnostics;
  const machine::Machine *machine = machine::machineNamed(target.getValue(), diagnostics);
  if (machine && explain && !canExplain(*machine)) return kUsage;
  const auto passes = machine ? choosePasses(*machine, diagnostics) : std::vector<Pass>{};
  auto kernel = readKernel(file, diagnostics);
  bool ok = kernel && !diagnostics.hasErrors();
  std::string explanation;
  if (ok) {
    passes::PassContext context(diagnostics, *machine);
    if (!withoutAssumptions) context.assumptions = analysis::usualAssumptions(*kernel);
    const ir::KernelAttrs asked = kernel->attributes();
    const bool areChosen = passNames.getNumOccurrences() > 0;
    const auto instead =
        areChosen ? std::nullopt : settleWarps(*kernel, *machine, context.assumptions);
    if (instead) explanation = whyOthers(*instead) + "\n";
    if (explain) context.explanation = &explanation;
    ok = runPasses(*kernel, passes, context, stopAfter.getValue());
    kernel->setAttributes(asked);
  }
  const int code = conclude(ok, diagnostics);
  if (!ok) return code;
  if (explain)
    std::fputs(asComments("# ", ir::withLayoutNumbers(explanation, *kernel)).c_str(), stdout);
  std::fputs(ir::print(*kernel, {.locations = withLocations}).c_str(), stdout);
  return code;
}

} // namespace

const Subcommand kOpt{.options = &optOptions, .run = opt};

} // namespace imbrex::tool
