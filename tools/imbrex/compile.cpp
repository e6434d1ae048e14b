#include "backend/compile.h"

#include "backend/assembly.h"
#include "backend/ir/text.h"
#include "backend/package/formats.h"
#include "backend/package/package.h"
#include "backend/report.h"
#include "backend/spills.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/JSON.h"
#include "tools/imbrex/command.h"

#include <bit>
#include <cstdio>

namespace imbrex::tool {
namespace {

namespace cl = llvm::cl;
using package::Product;

cl::SubCommand compileOptions("compile", "Make a GPU's code of a kernel");
cl::opt<std::string> file(cl::Positional, cl::desc("FILE.imx (- is standard input)"),
                          Of{compileOptions});
cl::list<std::string>
    targetNames("target", cl::value_desc("T"), cl::CommaSeparated,
                cl::desc("Make code for this GPU, one of `imbrex targets`; a package has several"),
                Of{compileOptions});

/// What --help says of --emit.
const std::string &emitMeaning() {
  static const std::string text = [] {
    std::string rows = "What to make (report unless said):";
    for (const package::Format &format : package::allFormats())
      rows += llvm::formatv("\n{0,-7} {1}", format.name, format.meaning);
    return rows;
  }();
  return text;
}

cl::opt<std::string> emit("emit", cl::value_desc("format"), cl::desc(emitMeaning()),
                          cl::init("report"), Of{compileOptions});
cl::opt<std::string> output("o", cl::value_desc("FILE"),
                            cl::desc("Write there, and not to standard output"), cl::init("-"),
                            Of{compileOptions});
cl::opt<bool> asJson("json", cl::desc("Write a report, and the times, as JSON"),
                     Of{compileOptions});
cl::opt<bool> isCompressed("compress", cl::desc("Compress a package"), Of{compileOptions});
cl::opt<bool> withoutAssumptions("no-assumptions",
                                 cl::desc("Take nothing for granted of the launches"),
                                 Of{compileOptions});
cl::opt<bool> withTime("time", cl::desc("Say on stderr what the time went into"),
                       Of{compileOptions});

Number warps("warps", cl::value_desc("n"),
             cl::desc("Let blocks have so many warps, a power of two"), Of{compileOptions});
Number registers("registers", cl::value_desc("n"),
                 cl::desc("Let a thread use so many registers at most"), Of{compileOptions});
cl::opt<std::string>
    cluster("cluster", cl::value_desc("x,y,z"),
            cl::desc("Let launches have clusters of so many blocks along each axis"),
            Of{compileOptions});
cl::opt<bool> cooperative("cooperative", cl::desc("Let launches have all blocks run at once"),
                          Of{compileOptions});
cl::opt<bool> programmatic("programmatic",
                           cl::desc("Let launches start while the one in front ends"),
                           Of{compileOptions});

/// The command line as it was: lld, which is a library here, sets LLVM's options back.
struct Request {
  std::string file, emit, output;
  std::vector<std::string> targets;
  bool asJson, isCompressed, withAssumptions, withTime;
  std::optional<std::int32_t> warps, registers;
  std::optional<std::string> cluster;
  bool cooperative, programmatic;
};

template <class Option>
auto valueOf(const Option &option) {
  return option.getNumOccurrences() > 0 ? std::optional(option.getValue()) : std::nullopt;
}

Request requestNow() {
  return {.file = file,
          .emit = emit,
          .output = output,
          .targets = targetNames,
          .asJson = asJson,
          .isCompressed = isCompressed,
          .withAssumptions = !withoutAssumptions,
          .withTime = withTime,
          .warps = valueOf(warps),
          .registers = valueOf(registers),
          .cluster = valueOf(cluster),
          .cooperative = cooperative,
          .programmatic = programmatic};
}

std::string textOf(const llvm::Module &module) {
  std::string text;
  llvm::raw_string_ostream(text) << module;
  return text;
}

/// One kernel on its way to what is asked for.
struct EmittedKernel {
  const ir::Kernel &kernel;
  const GpuCode &code;
  const target::GpuTarget &target;
  bool asJson;
  Diagnostics &diagnostics; ///< For what is to be told, and no error.
};

Result<std::string> imageOf(const EmittedKernel &of, StageTimes &times) {
  const auto assembly = makeAssembly(of.code, of.target, &times);
  if (!assembly) return assembly.failure();
  const auto object = makeObject(*assembly, of.target, &times);
  if (!object) return object.failure();
  if (auto spills = spillsOf(of.code, of.target, *assembly, *object))
    of.diagnostics.add(std::move(*spills));
  return std::string(object->image.begin(), object->image.end());
}

Result<std::string> reportTextOf(const EmittedKernel &of, StageTimes &times) {
  const auto report = reportOf(of.code, of.target, &times);
  if (!report) return report.failure();
  if (report->spills) of.diagnostics.add(*report->spills);
  return of.asJson ? toJson(*report) : toText(*report);
}

Result<std::string> make(Product product, const EmittedKernel &of, StageTimes &times) {
  switch (product) {
  case Product::BlockIr: return ir::print(of.kernel);
  case Product::LlvmIr: return textOf(*of.code.copy());
  case Product::Assembly: return makeAssembly(of.code, of.target, &times);
  case Product::Image: return imageOf(of, times);
  case Product::Package: break; // which is made of several
  case Product::Report: return reportTextOf(of, times);
  }
  IMBREX_UNREACHABLE("no product has the number {0}", static_cast<int>(product));
}

std::string inMilliseconds(const StageTime &time) {
  return llvm::formatv("{0:f3}", std::chrono::duration<double, std::milli>(time.took).count());
}

std::string timesAsText(const machine::Machine &machine, const StageTimes &times) {
  std::string line = "target=" + std::string(machine.name);
  for (const StageTime &time : times)
    line += llvm::formatv(" {0}_ms={1}", time.stage, inMilliseconds(time));
  return line;
}

/// One JSON object, a line.
std::string timesAsJson(const machine::Machine &machine, const StageTimes &times) {
  std::string text;
  llvm::raw_string_ostream out(text);
  llvm::json::OStream json(out);
  json.object([&] {
    json.attribute("target", llvm::StringRef(machine.name));
    json.attributeObject("stage_ms", [&] {
      for (const StageTime &time : times) {
        json.attributeBegin(llvm::StringRef(time.stage));
        json.rawValue(inMilliseconds(time));
        json.attributeEnd();
      }
    });
  });
  return text;
}

/// The machines that are named, each once, and have a target; an error where one has none.
std::vector<const machine::Machine *> machinesOf(const Request &request, Diagnostics &diagnostics) {
  std::vector<const machine::Machine *> machines;
  for (const std::string &name : request.targets) {
    const machine::Machine *machine = machine::gpuNamed(name, diagnostics);
    if (machine == nullptr || gpuTargetOf(*machine, diagnostics) == nullptr) return {};
    if (!llvm::is_contained(machines, machine)) machines.push_back(machine);
  }
  return machines;
}

/// Whether each option says something of the format.
bool optionsGoWith(const package::Format &format, machine::Family family, const Request &request,
                   Diagnostics &diagnostics) {
  if (request.asJson && format.product != Product::Report && !request.withTime)
    diagnostics.report(Diag::LonelyOption, {}, "--json", "--emit report or --time");
  if (request.isCompressed && format.product != Product::Package)
    diagnostics.report(Diag::LonelyOption, {}, "--compress",
                       "--emit " + package::packageNamesFor(family));
  return !diagnostics.hasErrors();
}

/// The format asked for, if it can be made for all of the machines.
const package::Format *formatOf(const Request &request,
                                llvm::ArrayRef<const machine::Machine *> machines,
                                Diagnostics &diagnostics) {
  const package::Format *format = nullptr;
  for (const machine::Machine *machine : machines) {
    format = package::formatNamed(request.emit, *machine, diagnostics);
    if (format == nullptr) return nullptr;
  }
  if (format == nullptr || format->product == Product::Package || machines.size() == 1)
    return format;
  diagnostics.report(Diag::OneTargetOnly, {}, request.emit, machines.size(),
                     package::packageNamesFor(machines.front()->family));
  return nullptr;
}

/// What a kernel becomes on one machine; none where an error was reported.
std::optional<std::string> makeOne(Product product, const ir::Kernel &given,
                                   const machine::Machine &machine, const Request &request,
                                   Diagnostics &diagnostics) {
  ir::Kernel kernel = given.clone();
  const target::GpuTarget &target = target::gpuTarget(machine);
  StageTimes times;
  const analysis::Assumptions assumptions =
      request.withAssumptions ? analysis::usualAssumptions(kernel) : analysis::Assumptions{};
  const auto code = compileForGpu(kernel, target, assumptions, diagnostics, &times);
  if (!code) return std::nullopt;
  const EmittedKernel compilation{kernel, *code, target, request.asJson, diagnostics};
  auto made = make(product, compilation, times);
  if (!made) return diagnostics.add(made.error()), std::nullopt;
  if (request.withTime)
    std::fprintf(
        stderr, "%s\n",
        (request.asJson ? timesAsJson(machine, times) : timesAsText(machine, times)).c_str());
  return std::move(*made);
}

std::optional<std::string> makePackage(const ir::Kernel &kernel,
                                       llvm::ArrayRef<const machine::Machine *> machines,
                                       const Request &request, Diagnostics &diagnostics) {
  std::vector<package::Member> members;
  const machine::Machine *assembled = package::machineForAssembly(machines);
  for (const machine::Machine *machine : machines) {
    const std::string name(machine->name);
    auto image = makeOne(Product::Image, kernel, *machine, request, diagnostics);
    if (!image) return std::nullopt;
    members.push_back({.machine = name, .content = std::move(*image)});
    if (machine != assembled) continue;
    auto text = makeOne(Product::Assembly, kernel, *machine, request, diagnostics);
    if (!text) return std::nullopt;
    members.push_back({.machine = name, .isAssembly = true, .content = std::move(*text)});
  }
  return package::writePackage(machines.front()->family, members, request.isCompressed);
}

/// `2`, `2,1`, `2,1,4`; none where it is no cluster.
std::optional<llvm::SmallVector<std::int64_t, 5>> clusterOf(llvm::StringRef text) {
  constexpr std::size_t kAxes = 3;
  llvm::SmallVector<llvm::StringRef, kAxes> parts;
  text.split(parts, ',');
  if (parts.size() > kAxes) return std::nullopt;
  ir::KernelAttrs of;
  of.cluster.assign(kAxes, 1);
  for (const auto &[part, extent] : llvm::zip(parts, of.cluster))
    if (!llvm::to_integer(part, extent, 10) || extent < 1 ||
        of.clusterBlocks() > ir::KernelAttrs::kMostClusterBlocks)
      return std::nullopt;
  return of.cluster;
}

/// Lets the kernel ask for what the command line does.
bool applyDemands(ir::Kernel &kernel, const Request &request, Diagnostics &diagnostics) {
  using ir::KernelAttrs;
  KernelAttrs asked = kernel.attributes();
  asked.warps = request.warps.value_or(asked.warps);
  asked.registers = request.registers.value_or(asked.registers);
  if (request.warps && (*request.warps < 1 || *request.warps > KernelAttrs::kMostWarps ||
                        !std::has_single_bit(unsigned(*request.warps))))
    diagnostics.report(Diag::BadOptionNumber, {}, "--warps", 1, KernelAttrs::kMostWarps,
                       *request.warps, "it is a power of two");
  else if (request.registers && (*request.registers < KernelAttrs::kLeastRegisters ||
                                 *request.registers > KernelAttrs::kMostRegisters))
    diagnostics.report(Diag::BadOptionNumber, {}, "--registers", KernelAttrs::kLeastRegisters,
                       KernelAttrs::kMostRegisters, *request.registers,
                       "without it the compiler chooses");
  if (request.cluster) {
    auto given = clusterOf(*request.cluster);
    if (!given)
      diagnostics.report(Diag::BadClusterText, {}, KernelAttrs::kMostClusterBlocks,
                         *request.cluster);
    else
      asked.cluster = std::move(*given);
  }
  asked.cooperative |= request.cooperative;
  asked.programmatic |= request.programmatic;
  kernel.setAttributes(asked);
  return !diagnostics.hasErrors();
}

bool compileFile(const Request &request, Diagnostics &diagnostics) {
  const auto machines = machinesOf(request, diagnostics);
  const package::Format *format = formatOf(request, machines, diagnostics);
  if (format == nullptr || !optionsGoWith(*format, machines.front()->family, request, diagnostics))
    return false;
  auto kernel = readKernel(request.file, diagnostics);
  if (!kernel || !applyDemands(*kernel, request, diagnostics)) return false;
  const auto made =
      format->product == Product::Package
          ? makePackage(*kernel, machines, request, diagnostics)
          : makeOne(format->product, *kernel, *machines.front(), request, diagnostics);
  return made && writeOutput(request.output, *made, diagnostics);
}

int compile() {
  if (file.empty()) return reportMissingFile("compile");
  if (targetNames.empty()) return reportUsage(diagnostic(Diag::MissingTarget, {}));
  Diagnostics diagnostics;
  const bool ok = compileFile(requestNow(), diagnostics);
  return conclude(ok, diagnostics);
}

} // namespace

const Subcommand kCompile{.options = &compileOptions, .run = compile};

} // namespace imbrex::tool
