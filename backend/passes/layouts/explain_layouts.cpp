#include "backend/passes/layouts/explain_layouts.h"

#include "backend/layout/layout_text.h"
#include "backend/support/text.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SmallVectorExtras.h"

#include <algorithm>

namespace imbrex::passes::layouts {
namespace {

using namespace ir;
using analysis::WidthLimit;
using layout::LinearLayout;

/// `'view.load' at softmax.cpp:12`
std::string named(const Op &op) {
  const std::string name = "'" + std::string(info(op.kind).mnemonic) + "'";
  return op.where.known() ? name + " at " + toText(op.where) : name;
}

std::string reasonFor(WidthLimit limit) {
  switch (limit) {
  case WidthLimit::Contiguity: return "no more neighbours are known to adjoin in memory";
  case WidthLimit::Alignment: return "no more is known of the first one's alignment";
  case WidthLimit::Mask: return "no more are known to be masked alike";
  case WidthLimit::Extent: return "the tile's extent is no multiple of more";
  }
  return "";
}

std::string halfOfByte(const Op &access) {
  const bool isStore = access.kind == OpKind::ViewStore;
  return isStore ? "half a byte, by two atomics that leave the other half alone"
                 : "half a byte, of a byte that is read for it";
}

std::string_view wayOf(ConversionPath travel) {
  switch (travel) {
  case ConversionPath::Stay: return "between a thread's registers";
  case ConversionPath::Shuffle: return "within warps, by shuffles";
  case ConversionPath::Shared: return "through shared memory";
  }
  return "";
}

/// Without its number, which is not settled before the last pass: `ir::withLayoutNumbers` puts it
/// in.
std::string spelled(const LinearLayout &layout) { return "layout " + layout::toText(layout); }

/// Each line once, in the order of their first, with how often it is there: an unrolled loop has
/// one for every trip.
std::string onceEach(llvm::ArrayRef<std::string> lines) {
  llvm::MapVector<llvm::StringRef, std::int64_t> counts;
  for (const std::string &line : lines) ++counts[line];
  std::string text;
  for (const auto &[line, count] : counts)
    text += line.str() + (count == 1 ? "" : " (" + counted(count, "time") + ")") + "\n";
  return text;
}

class Explainer {
public:
  Explainer(const Kernel &kernel, const LayoutPlan &plan) : kernel_(kernel), plan_(plan) {
    walk(kernel.body(), [&](const Op &op) {
      for (const ValueId operand : op.operands) users_.try_emplace(operand.index(), &op);
    });
  }

  std::string run() {
    text_ = "a block is " + counted(plan_.threads.warps, "warp") + " of " +
            counted(plan_.threads.lanes, "lane") + "\n";
    for (const Group &group : groups()) explain(group);
    std::vector<std::string> conversions;
    walk(kernel_.body(), [&](const Op &op) {
      if (op.kind == OpKind::ConvertLayout) conversions.push_back(conversionLine(op));
    });
    return std::move(text_) + onceEach(conversions);
  }

private:
  /// A layout of the plan, the sites and accesses that have it, and who asked for it first.
  struct Group {
    const LinearLayout *layout;
    const Shape *shape;
    const Op *by = nullptr;
    std::vector<size_t> sites = {};
    std::vector<const SiteAccess *> accesses = {};
  };

  std::vector<Group> groups() const {
    std::vector<Group> groups;
    std::vector<size_t> groupOf; // by cluster
    for (size_t i = 0; i < plan_.chosen.size(); ++i) {
      const LayoutCandidate &choice = plan_.chosen[i];
      auto group =
          llvm::find_if(groups, [&](const Group &g) { return *g.layout == choice.layout; });
      if (group == groups.end())
        group = groups.insert(group, {&choice.layout, &plan_.graph.clusters[i].shape});
      groupOf.push_back(static_cast<size_t>(group - groups.begin()));
      if (!group->by) group->by = choice.by;
    }
    const auto &clusterOf = plan_.graph.clusterOf;
    for (size_t site = 0; site < clusterOf.size(); ++site)
      if (clusterOf[site] != LayoutGraph::kNoCluster)
        groups[groupOf[clusterOf[site]]].sites.push_back(site);
    for (const SiteAccess &access : plan_.graph.accesses)
      groups[groupOf[clusterOf[access.site]]].accesses.push_back(&access);
    return groups;
  }

  void explain(const Group &group) {
    text_ += spelled(*group.layout) + " for tiles of [" + toString(*group.shape) + "], as ";
    text_ += group.by ? named(*group.by) + " asks" : "any tile of this shape";
    text_ += ": " + namesOf(group) + "\n";
    text_ += onceEach(llvm::map_to_vector(group.accesses, [&](const SiteAccess *access) {
      return accessLine(*access, *group.layout);
    }));
  }

  /// The ops of a group, each name once with how often it is there.
  std::string namesOf(const Group &group) const {
    std::vector<std::pair<std::string_view, int>> names;
    for (const size_t site : group.sites) {
      const std::string_view name = info(plan_.graph.sites[site].op->kind).mnemonic;
      const auto found =
          llvm::find_if(names, [&](const auto &entry) { return entry.first == name; });
      if (found == names.end())
        names.emplace_back(name, 1);
      else
        ++found->second;
    }
    std::string list;
    for (const auto &[name, count] : names) {
      (list += list.empty() ? "" : ", ") += name;
      if (count > 1) list += " (" + std::to_string(count) + ")";
    }
    return list;
  }

  std::string accessLine(const SiteAccess &access, const LinearLayout &layout) const {
    const std::int64_t vector = vectorOf(access.shape, layout);
    const std::int64_t bits = vector * access.shape.bits, bytes = bits / 8;
    const Op &op = *plan_.graph.sites[access.site].op;
    std::string line = "  " + named(op) + " accesses " + counted(vector, "element") + " at once, " +
                       (bits < 8 ? halfOfByte(op) : counted(bytes, "byte")) + ": ";
    if (bytes == 16)
      line += "no access is wider";
    else
      line += vector == access.shape.width ? reasonFor(access.limit)
                                           : "a thread holds no more neighbours";
    return line + "; a warp touches " + counted(sectorsOf(access.shape, layout), "sector");
  }

  std::string conversionLine(const Op &op) const {
    const Type &type = kernel_.type(op.result());
    const LinearLayout &held = kernel_.layout(kernel_.layoutOf(op.operand(0))),
                       &wanted = kernel_.layout(kernel_.layoutOf(op.result()));
    std::string line =
        "conversion of " + toString(type) + " from " + spelled(held) + " to " + spelled(wanted);
    if (op.where.known()) line += " behind " + toText(op.where);
    line += ", " + std::string(wayOf(conversionPath(held, wanted)));
    line += ", about " +
            counted(static_cast<std::int64_t>(conversionCost(type, held, wanted)), "instruction") +
            " a thread";
    if (const Op *user = users_.lookup(op.result().index()))
      line += ": " + named(*user) + " wants it so";
    return line;
  }

  const Kernel &kernel_;
  const LayoutPlan &plan_;
  llvm::DenseMap<std::uint32_t, const Op *> users_; // the first, by value number
  std::string text_;
};

} // namespace

std::string explainLayouts(const Kernel &kernel, const LayoutPlan &plan) {
  return Explainer(kernel, plan).run();
}

} // namespace imbrex::passes::layouts
