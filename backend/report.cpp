#include "backend/report.h"

#include "backend/assembly.h"
#include "backend/launch_json.h"
#include "backend/spills.h"
#include "backend/support/text.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/raw_ostream.h"

namespace imbrex {
namespace {

using target::InstructionClass;

machine::BlockDemand demandOf(const Report &report) {
  return {.threads = report.interface.threads,
          .registersPerThread = report.resources.registers,
          .sharedMemoryBytes = report.resources.sharedMemoryBytes};
}

/// "2 x 16 B, 1 x 4 B", the widest first; empty where nothing is moved.
std::string widthsOf(const target::InstructionMix &mix, InstructionClass kind) {
  const auto found = mix.widths.find(kind);
  if (found == mix.widths.end()) return {};
  std::string text;
  for (const auto &[width, count] : llvm::reverse(found->second))
    text += llvm::formatv("{0}{1} x {2} B", text.empty() ? "" : ", ", count, width);
  return text;
}

void row(llvm::raw_ostream &out, std::string_view name, const std::string &value) {
  out << llvm::formatv("  {0,-20}{1}\n", name, value);
}

void row(llvm::raw_ostream &out, std::string_view name, std::int64_t value) {
  row(out, name, std::to_string(value));
}

std::string occupancyAsText(const Report &report) {
  return llvm::formatv("{0} of {1} warps, {2} a core; limited by {3}",
                       report.occupancy.warpsPerCore, report.machine->maxWarpsPerCore,
                       counted(report.occupancy.blocksPerCore, "block"),
                       toText(report.occupancy.limit));
}

/// "8 warps, 128 registers"; empty where the author asks for nothing.
std::string askedOf(const ir::KernelAttrs &asked) {
  std::string text;
  if (asked.warps > 0) text = counted(asked.warps, "warp");
  if (asked.registers > 0)
    text += (text.empty() ? "" : ", ") + counted(asked.registers, "register");
  if (asked.clusterBlocks() > 1)
    text += (text.empty() ? "" : ", ") + ("clusters of " + joined(asked.cluster, " x "));
  if (asked.cooperative) text += text.empty() ? "cooperative" : ", cooperative";
  if (asked.programmatic) text += text.empty() ? "programmatic" : ", programmatic";
  return text;
}

/// ", most at gemm.cpp:12"
std::string spilledAt(const Report &report) {
  return report.spills ? ", most at " + imbrex::toText(report.spills->where) : "";
}

// --- loops on matrix units ---

/// "64 x nvvm.mma.m16n8k16.row.col.bf16"
std::string productsOf(const ProductsOnUnits &of) {
  std::string text;
  for (const ProductsOnUnits::Product &product : of.products)
    text +=
        llvm::formatv("{0}{1} x {2}", text.empty() ? "" : ", ", product.count, product.instruction);
  return text;
}

std::string_view guessOf(const ProductsOnUnits &of) {
  return of.areKnown ? "" : ", which no document says and is a guess";
}

/// "512 of 640 cycles of a trip, 80 %; limited by role block"
std::string busyIn(const LoopOnUnits &loop) {
  const std::string_view guess = guessOf(loop);
  if (!loop.cyclesPerTrip) return llvm::formatv("{0} cycles of a trip{1}", loop.unitCycles, guess);
  const std::string inner =
      loop.hasLoops ? " with " + std::to_string(LoopOnUnits::kInnerTrips) + " of each in it" : "";
  return llvm::formatv("{0} of {1:f0} cycles of a trip{2}{3}, {4:f0} %; limited by {5}",
                       loop.unitCycles, *loop.cyclesPerTrip, inner, guess, 100 * loop.share(),
                       loop.limit);
}

void loopsAsText(llvm::raw_ostream &out, const Report &report) {
  for (const LoopOnUnits &loop : report.loops) {
    row(out, "matrix units", "in the loop at " + imbrex::toText(loop.where));
    out << llvm::formatv("    {0,-18}{1}{2}\n", "a warp, a trip", productsOf(loop),
                         loop.hasLoops ? ", loops in it left out" : "");
    out << llvm::formatv("    {0,-18}{1}\n", "busy", busyIn(loop));
    const std::int32_t blocks = report.occupancy.blocksPerCore;
    if (loop.shareOfCore && blocks > 1)
      out << llvm::formatv("    {0,-18}{1:f0} %\n", "by " + counted(blocks, "block"),
                           100 * *loop.shareOfCore);
  }
}

void outsideLoopsAsText(llvm::raw_ostream &out, const ProductsOnUnits &outside) {
  if (outside.products.empty()) return;
  row(out, "matrix units", "outside of loops");
  out << llvm::formatv("    {0,-18}{1}\n", "a warp", productsOf(outside));
  out << llvm::formatv("    {0,-18}{1} cycles{2}\n", "busy", outside.unitCycles, guessOf(outside));
}

llvm::StringRef ref(std::string_view text) { return {text.data(), text.size()}; }

llvm::json::Object instructionsAsJson(const target::InstructionMix &mix) {
  llvm::json::Object classes;
  for (std::size_t i = 0; i < target::kInstructionClasses.size(); ++i) {
    if (mix.counts[i] == 0) continue;
    llvm::json::Object of{{"count", mix.counts[i]}};
    const auto widths = mix.widths.find(static_cast<InstructionClass>(i));
    if (widths != mix.widths.end()) {
      llvm::json::Object bytes;
      for (const auto &[width, count] : widths->second) bytes[std::to_string(width)] = count;
      of["widths"] = std::move(bytes);
    }
    classes[ref(target::kInstructionClasses[i])] = std::move(of);
  }
  return classes;
}

llvm::json::Value fittedAsJson(const Report &report) {
  if (!report.instead) return nullptr;
  llvm::json::Object of{{"instead_of_warps", report.instead->warps},
                        {"which_spill_bytes", nullptr}};
  if (report.instead->bytes) of["which_spill_bytes"] = *report.instead->bytes;
  return of;
}

llvm::json::Object productsAsJson(const ProductsOnUnits &of) {
  llvm::json::Object products;
  for (const ProductsOnUnits::Product &product : of.products)
    products[ref(product.instruction)] = product.count;
  return llvm::json::Object{{"matrix_instructions", std::move(products)},
                            {"unit_cycles", of.unitCycles},
                            {"are_unit_cycles_known", of.areKnown}};
}

llvm::json::Array loopsAsJson(const Report &report) {
  llvm::json::Array loops;
  for (const LoopOnUnits &loop : report.loops) {
    llvm::json::Object of = productsAsJson(loop);
    of["at"] = imbrex::toText(loop.where);
    for (const char *untold : {"cycles", "unit_share", "unit_share_of_core"}) of[untold] = nullptr;
    if (loop.cyclesPerTrip) {
      of["cycles"] = *loop.cyclesPerTrip;
      of["limit"] = loop.limit;
      of["unit_share"] = loop.share();
      if (loop.shareOfCore) of["unit_share_of_core"] = *loop.shareOfCore;
    }
    loops.push_back(std::move(of));
  }
  return loops;
}

} // namespace

Result<Report> reportOf(const GpuCode &code, const target::GpuTarget &target, StageTimes *times) {
  const auto assembly = makeAssembly(code, target, times);
  if (!assembly) return assembly.failure();
  Report report{.interface = code.interface,
                .assumptions = code.assumptions,
                .requirements = code.requirements,
                .machine = &target.machine(),
                .resources = {},
                .occupancy = {},
                .instructions = target.instructions(*assembly),
                .loops = {},
                .outsideLoops = {},
                .assemblyBytes = static_cast<std::int64_t>(assembly->size()),
                .instead = code.spilling};
  const auto object = makeObject(*assembly, target, times);
  if (!object && object.error().kind != Diag::NoAssembler) return object.failure();
  if (object) {
    report.resources = target.resources(*object);
    report.imageBytes = static_cast<std::int64_t>(object->image.size());
    report.spills = spillsOf(code, target, *assembly, *object);
  } else {
    report.resources.sharedMemoryBytes = code.interface.sharedMemoryBytes;
    report.noImage = object.error();
  }
  if (report.interface.bytesAtLaunch > 0) // of which the image knows nothing
    report.resources.sharedMemoryBytes = report.interface.bytesAtLaunch;
  if (object) report.occupancy = machine::occupancyOf(*report.machine, demandOf(report));
  report.loops = loopsOnUnits(*code.kernel, target.machine(), report.occupancy.blocksPerCore);
  report.outsideLoops = productsOutsideLoops(*code.kernel, target.machine());
  return report;
}

std::string toText(const Report &report) {
  const machine::Machine &machine = *report.machine;
  const target::Resources &resources = report.resources;
  std::string text;
  llvm::raw_string_ostream out(text);
  out << llvm::formatv("{0} on {1}, blocks of {2} threads\n", report.interface.name, machine.name,
                       report.interface.threads);
  const auto ofImage = [&](std::string_view name, const std::string &value) {
    row(out, name, report.noImage ? "not known" : value);
  };
  ofImage("registers", std::to_string(resources.registers));
  if (resources.scalarRegisters > 0) row(out, "scalar registers", resources.scalarRegisters);
  if (const std::string asked = askedOf(report.interface.asked); !asked.empty())
    row(out, "asked for", asked);
  if (report.instead) row(out, "fitted", whyOthers(*report.instead));
  ofImage("spilled bytes", std::to_string(resources.spilledBytes) + spilledAt(report));
  ofImage("stack bytes", std::to_string(resources.stackBytes));
  row(out, "shared memory bytes",
      std::to_string(resources.sharedMemoryBytes) +
          (report.interface.bytesAtLaunch > 0 ? ", which the launch must ask for" : ""));
  ofImage("occupancy", occupancyAsText(report));
  loopsAsText(out, report);
  outsideLoopsAsText(out, report.outsideLoops);
  row(out, "instructions", report.instructions.total());
  for (std::size_t i = 0; i < target::kInstructionClasses.size(); ++i) {
    const auto kind = static_cast<InstructionClass>(i);
    if (report.instructions.count(kind) == 0) continue;
    out << llvm::formatv("    {0,-18}{1,-6}{2}", target::kInstructionClasses[i],
                         report.instructions.count(kind), widthsOf(report.instructions, kind));
    while (text.ends_with(' ')) text.pop_back();
    out << '\n';
  }
  row(out, "assembly bytes", report.assemblyBytes);
  ofImage("image bytes", std::to_string(report.imageBytes));
  if (report.noImage)
    out << llvm::formatv("what is not known only an image tells: {0}\n  hint: {1}\n",
                         report.noImage->message, report.noImage->hint);
  return text;
}

std::string toJson(const Report &report) {
  const target::Resources &resources = report.resources;
  llvm::json::Object object{
      {"kernel", report.interface.name},
      {"target", ref(report.machine->name)},
      {"threads", report.interface.threads},
      {"registers", resources.registers},
      {"scalar_registers", resources.scalarRegisters},
      {"asked_warps", report.interface.asked.warps},
      {"asked_registers", report.interface.asked.registers},
      {"fitted", fittedAsJson(report)},
      {"launch", launchAsJson(report.interface.asked)},
      {"spilled_bytes", resources.spilledBytes},
      {"stack_bytes", resources.stackBytes},
      {"shared_memory_bytes", resources.sharedMemoryBytes},
      {"shared_memory_bytes_at_launch", report.interface.bytesAtLaunch},
      {"occupancy", llvm::json::Object{{"warps_per_core", report.occupancy.warpsPerCore},
                                       {"max_warps_per_core", report.machine->maxWarpsPerCore},
                                       {"blocks_per_core", report.occupancy.blocksPerCore},
                                       {"limit", ref(toText(report.occupancy.limit))}}},
      {"arguments", argumentsAsJson(report.interface)},
      {"assumptions", assumptionsAsJson(report.assumptions, report.requirements, report.interface)},
      {"loops_on_matrix_units", loopsAsJson(report)},
      {"matrix_units_outside_loops", productsAsJson(report.outsideLoops)},
      {"instructions", report.instructions.total()},
      {"instruction_mix", instructionsAsJson(report.instructions)},
      {"assembly_bytes", report.assemblyBytes},
      {"image_bytes", report.imageBytes}};
  if (report.noImage) {
    for (const char *name : {"registers", "scalar_registers", "spilled_bytes", "stack_bytes",
                             "occupancy", "image_bytes"})
      object[name] = nullptr;
    object["no_image"] = report.noImage->message;
  }
  if (report.spills) object["spilled_at"] = imbrex::toText(report.spills->where);
  return llvm::formatv("{0}\n", llvm::json::Value(std::move(object)));
}

} // namespace imbrex
