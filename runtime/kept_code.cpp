#include "runtime/kept_code.h"

#include "backend/ir/text.h"
#include "backend/lower/interface_json.h"
#include "backend/support/environment.h"
#include "backend/support/lifetime.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/raw_ostream.h"
#include "runtime/build_id.h"
#include "runtime/disk_cache.h"
#include "runtime/log.h"

namespace imbrex::runtime {
namespace {

// --- the key ---

std::string toText(const analysis::Assumptions &assumptions) {
  std::string text = assumptions.areDisjoint ? "apart" : "together";
  const auto add = [&](std::int64_t number) { text += " " + std::to_string(number); };
  for (const analysis::ParameterAssumptions &of : assumptions.parameters) {
    text += ",";
    for (const bool holds : {of.isDivisible, of.hasUnitStride, of.hasDivisibleRows,
                             of.hasSmallExtents, of.hasSmallSpan, of.hasBoxes})
      add(holds);
    add(of.sharedRowBytes);
  }
  for (const auto &[extent, first] : assumptions.equalExtents) {
    text += ";";
    for (const std::int32_t number : {extent.parameter, extent.axis, first.parameter, first.axis})
      add(number);
  }
  return text;
}

/// Somebody wants to see the passes at work.
bool isWatched() { return !environment().dump.empty() || !environment().printAfter.empty(); }

// --- the content ---

using llvm::json::Object;

/// A line of JSON, and the code behind it.
std::string entryOf(const LoadableCode &code) {
  Object head{{"interface", lower::toJson(code.interface)},
              {"assembly", code.isAssembly},
              {"spills", llvm::json::fixUTF8(code.spills)}}; // it has a path
  std::string text;
  llvm::raw_string_ostream(text) << llvm::json::Value(std::move(head)) << '\n' << code.content;
  return text;
}

std::optional<LoadableCode> codeOf(llvm::StringRef entry) {
  const auto [line, content] = entry.split('\n');
  auto head = llvm::json::parse(line);
  if (!head) return llvm::consumeError(head.takeError()), std::nullopt;
  const Object *object = head->getAsObject();
  const Object *interface = object != nullptr ? object->getObject("interface") : nullptr;
  auto read = interface != nullptr ? lower::interfaceOf(*interface) : std::nullopt;
  if (!read) return std::nullopt;
  return LoadableCode{.interface = std::move(*read),
                      .content = content.str(),
                      .isAssembly = object->getBoolean("assembly").value_or(false),
                      .spills = object->getString("spills").value_or("").str()};
}

} // namespace

KeptCode::KeptCode(const ir::Kernel &kernel, const target::GpuTarget &target, bool asAssembly,
                   const analysis::Assumptions &assumptions)
    : where_(kernel.where()) {
  if (DiskCache::ofProcess() == nullptr || isWatched() || buildId().empty()) return;
  const std::optional<std::string> assembler = target.assemblerName();
  isAssemblerKnown_ = assembler.has_value();
  key_ = "kernel " + kernel.name() + "\ntarget " + std::string(target.machine().name) +
         (asAssembly ? "\nas assembly" : "\nas an image") + "\nassembler " +
         assembler.value_or("of no known name") + "\nbuild " + buildId() + "\nassumed " +
         toText(assumptions) + "\n" + ir::print(kernel, {.locations = true});
}

std::optional<LoadableCode> KeptCode::find() const {
  if (key_.empty()) return std::nullopt;
  const auto entry = DiskCache::ofProcess()->find(key_);
  auto code = entry ? codeOf(*entry) : std::nullopt;
  if (entry && !code) forget();
  log(log_level::debug, "cache", "{0} on disk: {1}", code ? "hit" : "miss",
      llvm::StringRef(key_).take_until([](char c) { return c == '\n'; }).str());
  if (code) code->interface.where = where_;
  return code;
}

void KeptCode::keep(const LoadableCode &code) const {
  const auto isText = [](const std::string &name) { return llvm::json::isUTF8(name); };
  if (key_.empty() || !code.interface.sites.empty() || (!code.isAssembly && !isAssemblerKnown_) ||
      !llvm::all_of(code.interface.parameters, isText))
    return;
  DiskCache::ofProcess()->keep(key_, entryOf(code));
}

void KeptCode::forget() const {
  if (!key_.empty()) DiskCache::ofProcess()->forget(key_);
}

} // namespace imbrex::runtime
