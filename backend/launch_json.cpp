#include "backend/launch_json.h"

#include "backend/support/check.h"
#include "llvm/ADT/STLExtras.h"

#include <array>
#include <utility>

namespace imbrex {
namespace {

using analysis::ParameterAssumptions;
using lower::BoxMap;
using lower::KernelInterface;
using lower::Word;
using lower::WordKind;

llvm::StringRef nameOf(WordKind kind) {
  switch (kind) {
  case WordKind::Scalar: return "scalar";
  case WordKind::Pointer: return "pointer";
  case WordKind::Table: return "table";
  case WordKind::Extent: return "extent";
  case WordKind::Stride: return "stride";
  case WordKind::Observations: return "observations";
  case WordKind::BoxMap: return "box_map";
  }
  IMBREX_UNREACHABLE("a kind of word");
}

const std::string &nameOf(const KernelInterface &interface, std::int32_t parameter) {
  return interface.parameters[static_cast<std::size_t>(parameter)];
}

llvm::json::Object asJson(const Word &word, const KernelInterface &interface) {
  llvm::json::Object object{{"kind", nameOf(word.kind)}, {"bytes", word.bytes}};
  if (word.kind != WordKind::Observations) object["parameter"] = nameOf(interface, word.parameter);
  if (word.kind == WordKind::Extent || word.kind == WordKind::Stride) object["axis"] = word.axis;
  if (word.kind != WordKind::BoxMap) return object;
  const BoxMap &map = interface.maps[static_cast<std::size_t>(word.axis)];
  object["box"] = llvm::json::Array(map.box);
  object["element_bytes"] = map.elementBytes;
  object["swizzle_bytes"] = map.span;
  return object;
}

constexpr std::array<std::pair<const char *, bool ParameterAssumptions::*>, 5> kAssumed{
    {{"divisible", &ParameterAssumptions::isDivisible},
     {"unit_stride", &ParameterAssumptions::hasUnitStride},
     {"divisible_rows", &ParameterAssumptions::hasDivisibleRows},
     {"small_extents", &ParameterAssumptions::hasSmallExtents},
     {"small_span", &ParameterAssumptions::hasSmallSpan}}};

bool hasMap(const KernelInterface &interface, std::size_t parameter) {
  return llvm::any_of(interface.maps, [&](const BoxMap &map) {
    return static_cast<std::size_t>(map.parameter) == parameter;
  });
}

} // namespace

llvm::json::Array argumentsAsJson(const KernelInterface &interface) {
  llvm::json::Array arguments;
  for (const Word &word : interface.words) arguments.push_back(asJson(word, interface));
  return arguments;
}

llvm::json::Object launchAsJson(const ir::KernelAttrs &asked) {
  llvm::json::Array cluster;
  for (const std::int64_t extent : asked.cluster) cluster.push_back(extent);
  if (cluster.empty()) cluster = llvm::json::Array{1, 1, 1};
  return llvm::json::Object{{"cluster", std::move(cluster)},
                            {"cooperative", asked.cooperative},
                            {"programmatic", asked.programmatic}};
}

llvm::json::Object assumptionsAsJson(const analysis::Assumptions &assumptions,
                                     llvm::ArrayRef<analysis::Requirement> requirements,
                                     const KernelInterface &interface) {
  llvm::json::Array parameters;
  for (std::size_t i = 0; i < interface.parameters.size(); ++i) {
    llvm::json::Array assumed;
    for (const auto &[name, member] : kAssumed)
      if (assumptions.of(i).*member) assumed.push_back(name);
    const std::int64_t rowBytes = assumptions.of(i).sharedRowBytes;
    if (rowBytes > 0) assumed.push_back("rows_of_" + std::to_string(rowBytes) + "_bytes");
    if (hasMap(interface, i)) assumed.push_back("boxes"); // of others no code makes anything of it
    parameters.push_back(llvm::json::Object{{"parameter", interface.parameters[i]},
                                            {"assumed", std::move(assumed)}});
  }
  const auto extent = [&](analysis::ExtentOf of) {
    return llvm::json::Object{{"parameter", nameOf(interface, of.parameter)}, {"axis", of.axis}};
  };
  llvm::json::Array equal;
  for (const analysis::EqualExtents &pair : assumptions.equalExtents)
    equal.push_back(llvm::json::Array{extent(pair.first), extent(pair.extent)});
  llvm::json::Array required;
  for (const analysis::Requirement &one : requirements)
    required.push_back(
        llvm::json::Object{{"condition", one.condition}, {"text", one.text}, {"line", one.line}});
  llvm::json::Object object{{"disjoint", assumptions.areDisjoint},
                            {"parameters", std::move(parameters)},
                            {"equal_extents", std::move(equal)}};
  if (!required.empty()) object["required"] = std::move(required);
  return object;
}

} // namespace imbrex
