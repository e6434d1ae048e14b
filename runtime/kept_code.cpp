#include "runtime/kept_code.h"

#include "backend/ir/text.h"
#include "backend/lower/interface_json.h"
#include "backend/support/environment.h"
#include "backend/support/lifetime.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Config/llvm-config.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/MathExtras.h"
#include "llvm/Support/raw_ostream.h"
#include "runtime/disk_cache.h"
#include "runtime/log.h"

#include <cstring>
#include <elf.h>
#include <link.h>

namespace imbrex::runtime {
namespace {

// --- which build ---

/// The build id in a segment of notes; empty where there is none.
std::string buildIdIn(const char *notes, std::size_t bytes) {
  while (bytes >= sizeof(ElfW(Nhdr))) {
    ElfW(Nhdr) note;
    std::memcpy(&note, notes, sizeof note);
    const std::size_t name = llvm::alignTo(note.n_namesz, 4),
                      size = llvm::alignTo(note.n_descsz, 4);
    if (sizeof note + name + size > bytes) return "";
    const char *const content = notes + sizeof note + name;
    if (note.n_type == NT_GNU_BUILD_ID)
      return llvm::toHex(llvm::StringRef(content, note.n_descsz), true);
    notes += sizeof note + name + size;
    bytes -= sizeof note + name + size;
  }
  return "";
}

struct Builds {
  std::string ours, llvms;
  bool areKnown = true;
};

/// Of an object of the process: whether some code lies in it.
bool holds(const dl_phdr_info &object, std::uintptr_t code) {
  const llvm::ArrayRef<ElfW(Phdr)> parts(object.dlpi_phdr, object.dlpi_phnum);
  return llvm::any_of(parts, [&](const ElfW(Phdr) & part) {
    return part.p_type == PT_LOAD && code - (object.dlpi_addr + part.p_vaddr) < part.p_memsz;
  });
}

int visit(dl_phdr_info *object, std::size_t, void *builds) {
  auto &found = *static_cast<Builds *>(builds);
  const bool isOurs = holds(*object, reinterpret_cast<std::uintptr_t>(&visit));
  const bool isLlvm = llvm::StringRef(object->dlpi_name).contains("libLLVM");
  if (!isOurs && !isLlvm) return 0;
  std::string id;
  for (const ElfW(Phdr) &part : llvm::ArrayRef(object->dlpi_phdr, object->dlpi_phnum))
    if (part.p_type == PT_NOTE && id.empty())
      id =
          buildIdIn(reinterpret_cast<const char *>(object->dlpi_addr + part.p_vaddr), part.p_memsz);
  (isOurs ? found.ours : found.llvms) += id;
  found.areKnown &= !id.empty();
  return 0;
}

/// The linker's marks of what makes the code; empty where one has none, so that nobody knows what
/// it makes. LLVM may be in the same file.
const std::string &builds() {
  static const auto &both = permanent([] {
    Builds found;
    dl_iterate_phdr(visit, &found);
    return !found.areKnown || found.ours.empty()
               ? ""
               : found.ours + " LLVM " LLVM_VERSION_STRING " " + found.llvms;
  }());
  return both;
}

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
  if (DiskCache::ofProcess() == nullptr || isWatched() || builds().empty()) return;
  const std::optional<std::string> assembler = target.assemblerName();
  isAssemblerKnown_ = assembler.has_value();
  key_ = "kernel " + kernel.name() + "\ntarget " + std::string(target.machine().name) +
         (asAssembly ? "\nas assembly" : "\nas an image") + "\nassembler " +
         assembler.value_or("of no known name") + "\nbuild " + builds() + "\nassumed " +
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
