#include "backend/package/package.h"

#include "backend/package/bundle.h"
#include "backend/package/choice/capability.h"
#include "backend/package/fatbin.h"
#include "backend/support/check.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Object/ObjectFile.h"

namespace imbrex::package {
namespace {

/// The name in the table of what an image or a directive calls so. The number in an image of
/// NVIDIA's says nothing of the features: it is the machine's own where nothing else is known.
Result<std::string> machineCalled(llvm::StringRef name, llvm::StringRef features = "a") {
  const std::string plain = name.str();
  for (const std::string &called : {plain, plain + features.str(), plain + "a"})
    if (machine::findMachine(called) != nullptr) return called;
  return fail(Diag::MalformedPackage, {}, "it is for a machine that is not known, '" + plain + "'");
}

Result<Member> readImage(llvm::StringRef image) {
  auto file = llvm::object::ObjectFile::createELFObjectFile({image, "image"});
  if (!file) return fail(Diag::MalformedPackage, {}, llvm::toString(file.takeError()));
  const auto machine =
      machineCalled((*file)->tryGetCPUName().value_or(""), isForMachineAlone(image) ? "a" : "f");
  if (!machine) return machine.failure();
  return Member{.machine = *machine, .content = image.str()};
}

Result<Member> readAssembly(llvm::StringRef text) {
  const auto isOfName = [](char c) { return llvm::isAlnum(c) || c == '_'; };
  const auto machine = machineCalled(text.split("\n.target ").second.take_while(isOfName));
  if (!machine) return machine.failure();
  return Member{.machine = *machine, .isAssembly = true, .content = text.str()};
}

} // namespace

Result<std::vector<Member>> readCode(llvm::StringRef code) {
  if (isFatbin(code)) return readFatbin(code);
  if (isBundle(code)) return readBundle(code);
  auto member = code.starts_with("\177ELF") ? readImage(code) : readAssembly(code);
  if (!member) return member.failure();
  return std::vector<Member>{std::move(*member)};
}

std::string writePackage(machine::Family family, llvm::ArrayRef<Member> members, bool compressed) {
  switch (family) {
  case machine::Family::Nvptx: return writeFatbin(members, compressed);
  case machine::Family::Amdgpu: return writeBundle(members, compressed);
  case machine::Family::Cpu: break;
  }
  IMBREX_UNREACHABLE("the CPU's code goes into no package of images");
}

const machine::Machine *machineForAssembly(llvm::ArrayRef<const machine::Machine *> machines) {
  const machine::Machine *oldest = nullptr;
  std::int32_t least = 0;
  for (const machine::Machine *machine : machines) {
    const auto capability = capabilityOf(machine->name);
    if (!capability || capability->features != Features::Common) continue;
    if (oldest != nullptr && capability->number() >= least) continue;
    oldest = machine;
    least = capability->number();
  }
  return oldest;
}

} // namespace imbrex::package
