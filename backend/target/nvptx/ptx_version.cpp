#include "backend/target/nvptx/ptx_version.h"

#include "llvm/IR/Constants.h"

namespace imbrex::target::nvptx {
namespace {

constexpr llvm::StringRef kFlag = "imbrex.ptx";

std::int32_t wantedBy(const llvm::Module &module) {
  const auto *flag = llvm::mdconst::extract_or_null<llvm::ConstantInt>(module.getModuleFlag(kFlag));
  return flag == nullptr ? 0 : static_cast<std::int32_t>(flag->getSExtValue());
}

} // namespace

void wantPtx(llvm::Module &module, std::int32_t version) {
  if (version > wantedBy(module))
    module.setModuleFlag(llvm::Module::Max, kFlag, static_cast<std::uint32_t>(version));
}

std::string ptxFeature(const machine::Machine &machine, const llvm::Module &module) {
  std::int32_t own = 0;
  llvm::StringRef features = machine.features;
  const std::int32_t wanted = wantedBy(module);
  const bool isOlder =
      features.consume_front("+ptx") && !features.getAsInteger(10, own) && own < wanted;
  return isOlder ? "+ptx" + std::to_string(wanted) : std::string(machine.features);
}

} // namespace imbrex::target::nvptx
