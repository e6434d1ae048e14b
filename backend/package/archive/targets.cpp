#include "backend/package/archive/library.h"
#include "backend/package/choice/baselines.h"
#include "backend/target/gpu_target.h"
#include "llvm/ADT/StringRef.h"

namespace imbrex::archive {
namespace {

constexpr llvm::StringLiteral kAssembly = "ptx:", kHost = "host:", kAnyHost = "host";

/// Those for processors of a triple, and what is meant where none is named.
struct Baselines {
  llvm::ArrayRef<std::string_view> all;
  std::string_view usual;
};
Baselines baselinesOf(const llvm::Triple &triple) {
  if (triple.getArch() == llvm::Triple::x86_64) return {package::kX86Baselines, package::kUsualX86};
  if (triple.getArch() == llvm::Triple::aarch64)
    return {package::kArmBaselines, package::kUsualArm};
  return {};
}

Result<LibraryTarget> hostTarget(std::string_view text, std::string_view named,
                                 const llvm::Triple &triple) {
  const Baselines baselines = baselinesOf(triple);
  const std::string_view wanted = named.empty() ? baselines.usual : named;
  std::string known;
  for (const std::string_view one : baselines.all) {
    if (one == wanted)
      return LibraryTarget{.machine = &machine::hostMachine(), .name = std::string(one)};
    known += (known.empty() ? "host:" : ", host:") + std::string(one);
  }
  return fail(Diag::UnknownBaseline, {}, text, triple.str(), known);
}

} // namespace

Result<LibraryTarget> parseTarget(std::string_view text, const llvm::Triple &triple,
                                  bool onlyAssembly) {
  llvm::StringRef name(text.data(), text.size());
  if (name == kAnyHost) return hostTarget(text, "", triple);
  if (name.consume_front(kHost)) return hostTarget(text, name, triple);
  const bool isNamedAssembly = name.consume_front(kAssembly);
  Diagnostics diagnostics;
  const machine::Machine *machine = machine::machineNamed(name, diagnostics);
  if (machine == nullptr) return Failure{diagnostics.all().front()};
  if (target::findGpuTarget(*machine) == nullptr) return fail(Diag::NoGpuCode, {}, machine->name);
  const bool hasAssembly = machine->family == machine::Family::Nvptx;
  if (isNamedAssembly && !hasAssembly) return fail(Diag::NoAssemblyTarget, {}, text, machine->name);
  return LibraryTarget{.machine = machine,
                       .name = std::string(machine->name),
                       .isAssembly = hasAssembly && (isNamedAssembly || onlyAssembly)};
}

std::string toText(const LibraryTarget &target) {
  const llvm::StringRef kind = target.isHost() ? kHost : target.isAssembly ? kAssembly : "";
  return kind.str() + target.name;
}

} // namespace imbrex::archive
