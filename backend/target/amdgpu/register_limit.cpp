#include "backend/target/amdgpu/register_limit.h"

#include "llvm/CodeGen/MachineFunction.h"
#include "llvm/CodeGen/MachineFunctionPass.h"
#include "llvm/IR/Function.h"

namespace imbrex::target::amdgpu {
namespace {

class RegisterLimit final : public llvm::MachineFunctionPass {
public:
  static char ID;
  RegisterLimit() : llvm::MachineFunctionPass(ID) {}
  llvm::StringRef getPassName() const override { return "limits of registers"; }
  void getAnalysisUsage(llvm::AnalysisUsage &usage) const override {
    usage.setPreservesAll();
    llvm::MachineFunctionPass::getAnalysisUsage(usage);
  }

  bool runOnMachineFunction(llvm::MachineFunction &machine) override {
    llvm::Function &function = machine.getFunction();
    if (function.hasFnAttribute("amdgpu-num-vgpr")) function.removeFnAttr("amdgpu-lds-size");
    return false;
  }
};

char RegisterLimit::ID = 0;

} // namespace

llvm::Pass *makeRegisterLimit() { return new RegisterLimit; }

} // namespace imbrex::target::amdgpu
