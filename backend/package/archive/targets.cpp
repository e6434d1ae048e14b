#include "backend/package/archive/library.h"
#include "backend/target/gpu_target.h"
#include "llvm/ADT/StringRef.h"

#include <array>

namespace imbrex::archive {
namespace {

constexpr llvm::StringLiteral kAssembly = "ptx:", kHost = "host:", kAnyHost = "host";

/// The processors that a library can be made for, by the baselines that runtime/aot can tell; the
/// first is what `host` means.
constexpr std::array<std::string_view, 4> kX86{"x86-64-v3", "x86-64", "x86-64-v2", "x86-64-v4"};
constexpr std::array<std::string_view, 1> kArm{"armv8-a"};

llvm::ArrayRef<std::string_view> baselinesOf(const llvm::Triple &triple) {
  if (triple.isX86()) return kX86;
  if (triple.isAArch64()) return kArm;
  return {};
}

Result<LibraryTarget> hostTarget(std::string_view text, std::string_view baseline,
                                 const llvm::Triple &triple) {
  std::string known;
  for (const std::string_view one : baselinesOf(triple)) {
    if (baseline.empty() || baseline == one)
      return LibraryTarget{.machine = &machine::hostMachine(), .name = std::string(one)};
    known += (known.empty() ? "host:" : ", host:") + std::string(one);
  }
  return fail(Diag::UnknownBaseline, {}, text, triple.str(), known);
}

} // namespace

Result<LibraryTarget> parseTarget(std::string_view text, const llvm::Triple &triple) {
  llvm::StringRef name(text.data(), text.size());
  if (name == kAnyHost) return hostTarget(text, "", triple);
  if (name.consume_front(kHost)) return hostTarget(text, name, triple);
  const bool isAssembly = name.consume_front(kAssembly);
  Diagnostics diagnostics;
  const machine::Machine *machine = machine::machineNamed(name, diagnostics);
  if (machine == nullptr) return Failure{diagnostics.all().front()};
  if (target::findGpuTarget(*machine) == nullptr) return fail(Diag::NoGpuCode, {}, machine->name);
  if (isAssembly && machine->family != machine::Family::Nvptx)
    return fail(Diag::NoAssemblyTarget, {}, text, machine->name);
  return LibraryTarget{
      .machine = machine, .name = std::string(machine->name), .isAssembly = isAssembly};
}

std::string toText(const LibraryTarget &target) {
  const llvm::StringRef kind = target.isHost() ? kHost : target.isAssembly ? kAssembly : "";
  return kind.str() + target.name;
}

} // namespace imbrex::archive
