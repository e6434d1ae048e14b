#include "backend/layout/algebra.h"
#include "backend/layout/conversion.h"
#include "backend/layout/layout_text.h"
#include "backend/layout/shared_conversion.h"
#include "backend/layout/tile_layout.h"
#include "backend/machine/machine.h"
#include "backend/support/result.h"
#include "llvm/ADT/STLExtras.h"
#include "tools/imbrex/command.h"
#include "tools/imbrex/layout_picture.h"

#include <cstdio>
#include <fstream>
#include <numeric>

namespace imbrex::tool {
namespace {

namespace cl = llvm::cl;

cl::SubCommand layoutOptions("layout", "Show which thread's register holds each element of a tile");
cl::opt<std::string> layoutText(cl::Positional, cl::desc("LAYOUT, as it stands in IR"),
                                Of{layoutOptions});
cl::opt<std::string> blocked("blocked", cl::value_desc("64x32"),
                             cl::desc("Instead of LAYOUT: neighbours to a thread, then to lanes, "
                                      "then to warps"),
                             Of{layoutOptions});
Number perThread("per-thread", cl::init(1), cl::value_desc("n"), cl::desc("Neighbours of a thread"),
                 Of{layoutOptions});
cl::opt<std::string> targetName("target", cl::value_desc("T"),
                                cl::desc("The GPU whose warps and shared memory are meant"),
                                Of{layoutOptions});
Number lanes("lanes", cl::init(32), cl::value_desc("n"),
             cl::desc("Of a warp (those of the target, else 32)"), Of{layoutOptions});
Number warps("warps", cl::init(4), cl::value_desc("n"), cl::desc("Of the block"),
             Of{layoutOptions});
cl::list<std::int32_t, bool, NumberParser>
    order("order", cl::CommaSeparated, cl::value_desc("1,0"),
          cl::desc("The axes, fastest first (the last axis first)"), Of{layoutOptions});
cl::opt<std::string> svgFile("svg", cl::value_desc("file"), cl::desc("Draw it, too"),
                             Of{layoutOptions});
cl::opt<std::string> toLayout("to", cl::value_desc("LAYOUT"),
                              cl::desc("Say how the tile is converted to this layout"),
                              Of{layoutOptions});
Number elementBytes("element-bytes", cl::init(4), cl::value_desc("n"),
                    cl::desc("Of the tile that --to converts"), Of{layoutOptions});

constexpr std::int32_t kMaxThreads = 1024;

Result<layout::LinearLayout> parse(const std::string &text) {
  auto parsed = layout::parseLayout(text);
  if (!parsed) return fail(Diag::BadLayoutText, {}, text, parsed.error());
  return *parsed;
}

/// 64x32
Result<llvm::SmallVector<std::int64_t, 5>> parseExtents(llvm::StringRef text) {
  llvm::SmallVector<llvm::StringRef, 5> parts;
  text.split(parts, 'x');
  llvm::SmallVector<std::int64_t, 5> extents(parts.size());
  for (const auto &[part, extent] : llvm::zip_equal(parts, extents))
    if (part.getAsInteger(10, extent) || extent < 1 || parts.size() > 5)
      return fail(Diag::BadExtents, {}, std::string_view(text));
  return extents;
}

Result<void> checkPowerOfTwo(std::string_view option, std::int32_t number, std::int32_t most) {
  if (number < 1 || number > most || (number & (number - 1)) != 0)
    return fail(Diag::NoPowerOfTwo, {}, option, number, most);
  return {};
}

/// The axes in --order, or the last one first.
Result<llvm::SmallVector<std::int32_t, 5>> axisOrder(std::size_t rank) {
  llvm::SmallVector<std::int32_t, 5> all(rank), chosen(order.begin(), order.end());
  std::iota(all.rbegin(), all.rend(), 0);
  if (chosen.empty()) return all;
  llvm::SmallVector<std::int32_t, 5> sorted(chosen);
  llvm::sort(sorted, std::greater<>());
  if (sorted != all) return fail(Diag::BadAxisOrder, {}, rank);
  return chosen;
}

Result<PicturedLayout> blockedPicture() {
  auto extents = parseExtents(blocked.getValue());
  if (!extents) return extents.failure();
  for (const auto &[option, number] : {std::pair{"per-thread", perThread.getValue()},
                                       {"lanes", lanes.getValue()},
                                       {"warps", warps.getValue()}})
    if (auto checked = checkPowerOfTwo(option, number, kMaxThreads); !checked)
      return checked.failure();
  auto axes = axisOrder(extents->size());
  if (!axes) return axes.failure();
  PicturedLayout picture{{}, *extents};
  if (elementCount(picture) <= kMaxPicturedElements)
    picture.layout =
        layout::blockedLayout(*extents, {.lanes = lanes, .warps = warps}, perThread, *axes);
  return picture;
}

Result<PicturedLayout> textPicture() {
  auto parsed = parse(layoutText);
  if (!parsed) return parsed.failure();
  return pictured(*parsed);
}

Result<PicturedLayout> chosenPicture() {
  auto picture = blocked.empty() ? textPicture() : blockedPicture();
  if (picture && elementCount(*picture) > kMaxPicturedElements)
    return fail(Diag::PictureTooLarge, {}, kMaxPicturedElements);
  return picture;
}

/// "8 writes of 4 elements in 32 cycles, 0 of them by conflicts"
std::string costText(const layout::AccessCost &cost, std::int64_t width, std::string_view what) {
  return std::to_string(cost.accesses) + " " + std::string(what) + " of " + std::to_string(width) +
         (width == 1 ? " element in " : " elements in ") + std::to_string(cost.cycles) +
         " cycles, " + std::to_string(cost.conflicts()) + " of them by conflicts\n";
}

/// How a tile gets from one layout to the other.
Result<std::string> conversionText(const layout::LinearLayout &from,
                                   const machine::Machine *machine) {
  auto to = parse(toLayout);
  if (!to) return to.failure();
  const bool match = from.isOnThreads() && to->isOnThreads() && from.outputs() == to->outputs() &&
                     from.inputs().drop_front() == to->inputs().drop_front() &&
                     isSurjective(from) && isSurjective(*to);
  if (!match) return fail(Diag::LayoutsDoNotMatch, {}, toText(from), toText(*to));
  if (auto checked = checkPowerOfTwo("element-bytes", elementBytes, layout::kMaxAccessBytes);
      !checked)
    return checked.failure();
  const layout::ConversionPlan plan = layout::planConversion(from, *to);
  std::string text = "conversion: " + toText(plan) + "\n";
  if (plan.kind != layout::ConversionKind::Shared) return text;
  layout::SharedMemoryModel memory{.lanes = 1 << from.inputBits(layout::Dim::Lane)};
  if (machine != nullptr) memory.banks = machine->banks;
  const auto shared = layout::planSharedConversion(from, *to, elementBytes, memory);
  return text + "  " + toText(shared.shared) + "\n" +
         "  each warp: " + costText(shared.writeCost, shared.writes.width, "writes") +
         "             " + costText(shared.readCost, shared.reads.width, "reads");
}

Result<void> writeFile(const std::string &path, const std::string &text) {
  std::ofstream file(path, std::ios::binary);
  file << text;
  if (!file.flush()) return fail(Diag::UnwritableFile, {}, path);
  return {};
}

Result<void> show(const machine::Machine *machine) {
  if (machine != nullptr && lanes.getNumOccurrences() == 0) lanes = machine->warpSize;
  auto picture = chosenPicture();
  if (!picture) return picture.failure();
  std::string text = toText(picture->layout) + "\n";
  if (!toLayout.empty()) {
    auto conversion = conversionText(picture->layout, machine);
    if (!conversion) return conversion.failure();
    text += *conversion;
  }
  text += "each element: " + placeLegend(picture->layout) + "\n" + tableOf(*picture);
  std::fputs(text.c_str(), stdout);
  return svgFile.empty() ? Result<void>() : writeFile(svgFile, svgOf(*picture));
}

int run() {
  if (layoutText.empty() == blocked.empty()) return reportUsage(diagnostic(Diag::WhichLayout, {}));
  Diagnostics diagnostics;
  const machine::Machine *machine =
      targetName.empty() ? nullptr : machine::machineNamed(targetName, diagnostics);
  if (!diagnostics.hasErrors())
    if (const auto shown = show(machine); !shown) diagnostics.add(shown.error());
  return conclude(!diagnostics.hasErrors(), diagnostics);
}

} // namespace

const Subcommand kLayout{.options = &layoutOptions, .run = run};

} // namespace imbrex::tool
