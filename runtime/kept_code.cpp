#include "runtime/kept_code.h"

#include "backend/ir/text.h"
#include "backend/lower/interface_json.h"
#include "backend/support/environment.h"
#include "backend/support/lifetime.h"
#include "backend/target/host/launch_traits.h"
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
    for (const bool holds : of.facts()) add(holds);
    add(of.sharedRowBytes);
  }
  for (const auto &[extent, first] : assumptions.equalExtents) {
    text += ";";
    for (const std::int32_t number : {extent.parameter, extent.axis, first.parameter, first.axis})
      add(number);
  }
  return text;
}

std::string toText(const host::LaunchTraits &traits) {
  std::string text = "strides";
  for (const bool isUnit : traits.unitStrides) text += isUnit ? " 1" : " any";
  text += ", overlapping";
  for (const bool overlaps : traits.overlapping) text += overlaps ? " 1" : " 0";
  text += ", related";
  for (const host::AliasRelation relation : traits.relations)
    text += " " + std::to_string(static_cast<int>(relation));
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

constexpr llvm::StringLiteral kScratch = "scratch ";

std::string entryOf(const host::KernelCode &code) {
  return (kScratch + llvm::Twine(code.scratchBytes) + "\n" + code.object->getBuffer()).str();
}

std::optional<host::KernelCode> hostCodeOf(llvm::StringRef entry) {
  auto [line, object] = entry.split('\n');
  host::KernelCode code;
  if (!line.consume_front(kScratch) || line.getAsInteger(10, code.scratchBytes))
    return std::nullopt;
  code.object = llvm::MemoryBuffer::getMemBufferCopy(object, "kept");
  return code;
}

} // namespace

KeptEntry::KeptEntry(const ir::Kernel &kernel, const std::string &of) {
  if (DiskCache::ofProcess() == nullptr || isWatched() || buildId().empty()) return;
  key_ = "kernel " + kernel.name() + "\n" + of + "\nbuild " + buildId() + "\n" +
         ir::print(kernel, {.locations = true});
}

std::optional<std::string> KeptEntry::look() const {
  if (key_.empty()) return std::nullopt;
  return DiskCache::ofProcess()->find(key_);
}

void KeptEntry::note(bool isFound) const {
  if (key_.empty()) return;
  log(log_level::debug, "cache", "{0} on disk: {1}", isFound ? "hit" : "miss",
      llvm::StringRef(key_).take_until([](char c) { return c == '\n'; }).str());
}

void KeptEntry::keep(const std::string &content) const {
  if (!key_.empty()) DiskCache::ofProcess()->keep(key_, content);
}

void KeptEntry::forget() const {
  if (!key_.empty()) DiskCache::ofProcess()->forget(key_);
}

KeptCode::KeptCode(const ir::Kernel &kernel, const target::GpuTarget &target, bool asAssembly,
                   const analysis::Assumptions &assumptions)
    : assembler_(target.assemblerName()),
      entry_(kernel, "target " + std::string(target.machine().name) +
                         (asAssembly ? "\nas assembly" : "\nas an image") + "\nassembler " +
                         assembler_.value_or("of no known name") + "\nassumed " +
                         toText(assumptions)),
      where_(kernel.where()), asked_(kernel.attributes()) {}

std::optional<LoadableCode> KeptCode::find() const {
  auto code = entry_.find(codeOf);
  if (code) code->interface.where = where_, code->interface.asked = asked_;
  return code;
}

void KeptCode::keep(const LoadableCode &code) const {
  const auto isText = [](const std::string &name) { return llvm::json::isUTF8(name); };
  if (code.interface.sites.empty() && (code.isAssembly || assembler_) &&
      llvm::all_of(code.interface.parameters, isText))
    entry_.keep(entryOf(code));
}

KeptHostCode::KeptHostCode(const ir::Kernel &kernel, const host::Compiler &compiler,
                           const host::LaunchTraits &traits)
    : entry_(kernel, "target host\nprocessor " + compiler.processor() + "\nlaunches with " +
                         toText(traits)) {}

std::optional<host::KernelCode> KeptHostCode::find() const { return entry_.find(hostCodeOf); }

void KeptHostCode::keep(const host::KernelCode &code) const {
  if (code.sites.empty()) entry_.keep(entryOf(code));
}

} // namespace imbrex::runtime
