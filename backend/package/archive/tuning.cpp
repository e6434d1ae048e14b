#include "backend/package/archive/tuning.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/JSON.h"

#include <array>
#include <map>
#include <optional>

namespace imbrex::archive {
namespace {

namespace json = llvm::json;

/// A row as it is written.
struct WrittenRange {
  std::optional<std::int64_t> least, most;
};
struct WrittenRow {
  std::string config;
  std::map<std::string, WrittenRange> where;
  std::optional<std::vector<std::string>> targets;
};
using WrittenTable = std::map<std::string, std::vector<WrittenRow>>;

// What llvm::json::fromJSON looks for.

// NOLINTNEXTLINE(readability-identifier-naming)
bool fromJSON(const json::Value &value, WrittenRange &made, json::Path path) {
  if (const auto number = value.getAsInteger()) return made = {number, number}, true;
  const json::Array *const pair = value.getAsArray();
  if (pair == nullptr || pair->size() != 2)
    return path.report("expected a number or [least, most]"), false;
  if (!json::fromJSON((*pair)[0], made.least, path.index(0)) ||
      !json::fromJSON((*pair)[1], made.most, path.index(1)))
    return false;
  if (made.least && made.most && *made.least > *made.most)
    return path.report("nothing is in this range"), false;
  return true;
}

// NOLINTNEXTLINE(readability-identifier-naming)
bool fromJSON(const json::Value &value, WrittenRow &made, json::Path path) {
  json::ObjectMapper mapper(value, path);
  if (!mapper || !mapper.map("config", made.config) || !mapper.mapOptional("where", made.where) ||
      !mapper.map("targets", made.targets))
    return false;
  if (made.targets && made.targets->empty())
    return path.field("targets").report("expected a target"), false;
  constexpr std::array<llvm::StringRef, 3> kKnown{"config", "where", "targets"};
  for (const auto &[key, unused] : *value.getAsObject())
    if (!llvm::is_contained(kKnown, key.str()))
      return path.field(key).report("expected config, where and targets alone"), false;
  return true;
}

/// From what is written to a kernel's table.
class TableReader {
public:
  TableReader(const LibraryOptions &options, Library &library, Diagnostics &diagnostics,
              std::string_view file)
      : options_(options), library_(library), diagnostics_(diagnostics), file_(file) {}

  void read(const std::string &name, llvm::ArrayRef<WrittenRow> rows) {
    const auto kernel =
        llvm::find_if(library_.kernels, [&](const auto &one) { return one.name == name; });
    if (kernel == library_.kernels.end())
      return unknown("the library", "kernel", name,
                     listOf(library_.kernels, [](const auto &one) { return one.name; }));
    for (const auto &[i, row] : llvm::enumerate(rows))
      read(*kernel, row, name + "[" + std::to_string(i) + "]");
  }

private:
  template <class Range, class Name>
  static std::string listOf(const Range &all, Name nameOf) {
    return llvm::join(llvm::map_range(all, nameOf), ", ");
  }
  void unknown(llvm::Twine of, const char *kind, llvm::StringRef name, const std::string &known) {
    diagnostics_.report(Diag::UnknownInTuning, {}, file_, of.str(), kind, name,
                        known.empty() ? "none" : known);
  }

  void read(LibraryKernel &kernel, const WrittenRow &row, const std::string &place) {
    const auto config = llvm::find_if(
        kernel.configs, [&](const LibraryKernel &one) { return one.config == row.config; });
    if (config == kernel.configs.end())
      return unknown(place + ": '" + kernel.name + "'", "configuration", row.config,
                     listOf(kernel.configs, [](const auto &one) { return one.config; }));
    TuningRule made{.targets = targetsOf(row, place),
                    .ranges = rangesOf(kernel, row, place),
                    .config = static_cast<std::size_t>(config - kernel.configs.begin())};
    for (const LibraryTarget &target : options_.targets)
      if (isOneOf(target, made.targets) && !isOneOf(target, config->targets))
        config->targets.push_back(target);
    if (!made.targets.empty()) kernel.tuned.push_back(std::move(made));
  }

  static bool isOneOf(const LibraryTarget &target, llvm::ArrayRef<LibraryTarget> all) {
    return llvm::any_of(all, [&](const auto &one) { return toText(one) == toText(target); });
  }

  /// Those of the library.
  std::vector<LibraryTarget> targetsOf(const WrittenRow &row, const std::string &place) {
    if (!row.targets) return options_.targets;
    std::vector<LibraryTarget> named;
    for (const std::string &text : *row.targets) {
      auto target = parseTarget(text, library_.triple, options_.onlyAssembly);
      if (!target && target.error().kind == Diag::NoGpuCode) continue; // of this build
      if (!target)
        diagnostics_.report(Diag::BadTuning, {}, file_, place + ": " + target.error().message);
      else if (isOneOf(*target, options_.targets))
        named.push_back(*std::move(target));
    }
    return named;
  }

  std::vector<TunedRange> rangesOf(const LibraryKernel &kernel, const WrittenRow &row,
                                   const std::string &place) {
    std::vector<GivenWord> given = givenBy(kernel.kernel);
    llvm::erase_if(given, [](const GivenWord &one) {
      return !ir::isInteger(one.element) && one.element != ir::ElementKind::Bool;
    });
    std::vector<TunedRange> ranges;
    for (const auto &[name, written] : row.where) {
      const auto of = llvm::find_if(given, [&](const GivenWord &one) { return one.name == name; });
      if (of == given.end()) {
        unknown(place + ": '" + kernel.name + "'", "whole number", name,
                listOf(given, [](const GivenWord &one) { return one.name; }));
        continue;
      }
      TunedRange range{.of = *of};
      if (written.least) range.least = *written.least;
      if (written.most) range.most = *written.most;
      ranges.push_back(std::move(range));
    }
    return ranges;
  }

  const LibraryOptions &options_;
  Library &library_;
  Diagnostics &diagnostics_;
  std::string_view file_;
};

} // namespace

bool readTuning(std::string_view file, std::string_view text, const LibraryOptions &options,
                Library &library, Diagnostics &diagnostics) {
  const auto bad = [&](llvm::Error error) {
    return diagnostics.report(Diag::BadTuning, {}, file, llvm::toString(std::move(error))), false;
  };
  llvm::Expected<json::Value> parsed = json::parse(text);
  if (!parsed) return bad(parsed.takeError());
  json::Path::Root root("the table");
  WrittenTable table;
  if (!fromJSON(*parsed, table, root)) return bad(root.getError());
  TableReader reader(options, library, diagnostics, file);
  for (const auto &[name, rows] : table) reader.read(name, rows);
  return !diagnostics.hasErrors();
}

} // namespace imbrex::archive
