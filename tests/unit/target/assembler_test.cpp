#include "backend/target/nvptx/assembler.h"
#include "tests/unit/target/sample_kernel.h"

#include <doctest/doctest.h>

#include <string>

using namespace imbrex;

namespace {

std::string ptxFor(const target::GpuTarget &target) {
  llvm::LLVMContext context;
  const auto keep = [](const auto &, auto &, llvm::Value *x) { return x; };
  const auto module = sample::kernel(context, target, keep);
  return *target.assembly(*module);
}

} // namespace

TEST_CASE("the library and the program assemble alike") {
  for (const target::GpuTarget *target : sample::targets()) {
    if (target->machine().family != machine::Family::Nvptx) continue;
    CAPTURE(std::string(target->machine().name));
    const std::string ptx = ptxFor(*target);
    const auto inProcess = target::nvptx::assembleInProcess(ptx, target->machine());
    const auto byProgram = target::nvptx::assembleByProgram(ptx, target->machine());
    if (!inProcess || !byProgram) {
      MESSAGE("SKIP: the toolkit is not installed");
      return;
    }
    REQUIRE(inProcess->ok());
    REQUIRE(byProgram->ok());
    for (const auto &made : {**inProcess, **byProgram}) {
      CHECK(made.image.size() > 1000);
      CHECK(made.remarks.find("registers") != std::string::npos);
      CHECK(made.remarks.find("0 bytes spill stores") != std::string::npos);
    }
  }
}
