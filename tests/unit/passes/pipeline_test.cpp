#include "backend/ir/builder.h"
#include "backend/machine/machine.h"
#include "backend/pipeline.h"

#include <doctest/doctest.h>

using namespace imbrex;
using namespace imbrex::ir;

namespace {

Kernel kernelWithAVariable() {
  Kernel kernel("counter");
  Builder build(kernel, kernel.body());
  const Type i32 = Type::tile(ElementKind::I32);
  const ValueId zero = build.integer(i32, 0);
  build.create(OpKind::VarNew, zero, Type::variable(i32));
  return kernel;
}

} // namespace

TEST_CASE("every pass has a name of its own") {
  for (const Pass &pass : allPasses())
    CHECK(llvm::count_if(allPasses(), [&](const Pass &p) { return p.name == pass.name; }) == 1);
}

TEST_CASE("the pipeline brings a traced kernel to stage tiles") {
  Kernel kernel = kernelWithAVariable();
  Diagnostics diagnostics;
  CHECK(runPasses(kernel, hostPipeline(), diagnostics));
  CHECK(kernel.stage() == Stage::Tiles);
  CHECK(kernel.body().ops.empty());
}

TEST_CASE("the pipeline stops after the pass that is named") {
  Kernel kernel = kernelWithAVariable();
  Diagnostics diagnostics;
  CHECK(runPasses(kernel, hostPipeline(), diagnostics, "construct-ssa"));
  CHECK(kernel.body().ops.size() == 1); // the constant, which dce would have dropped
}

TEST_CASE("a kernel that is past a stage skips the pass that leads there") {
  Kernel kernel("done");
  kernel.setStage(Stage::Tiles);
  Diagnostics diagnostics;
  CHECK(runPasses(kernel, hostPipeline(), diagnostics));
}

TEST_CASE("a pass that wants values refuses a kernel with variables") {
  Kernel kernel = kernelWithAVariable();
  Diagnostics diagnostics;
  CHECK_FALSE(runPasses(kernel, hostPipeline().drop_front(), diagnostics));
  REQUIRE(diagnostics.all().size() == 1);
  CHECK(diagnostics.all()[0].kind == Diag::PassAtWrongStage);
  CHECK(kernel.body().ops.size() == 2);
}

TEST_CASE("a pass on tiles refuses a kernel that is laid out, and says so") {
  Kernel kernel = kernelWithAVariable();
  Diagnostics diagnostics;
  REQUIRE(runPasses(kernel, gpuPipeline(), {diagnostics, *machine::findMachine("sm_90a")}));
  REQUIRE(kernel.stage() == Stage::Scheduled);
  CHECK_FALSE(runPasses(kernel, gpuPipeline(), {diagnostics, *machine::findMachine("sm_90a")}));
  REQUIRE(diagnostics.all().size() == 1);
  CHECK(diagnostics.all()[0].kind == Diag::PassAtWrongStage);
  CHECK(diagnostics.all()[0].message.find("laid out") != std::string::npos);
}

TEST_CASE("a pass on tiles that are laid out on threads refuses others, and says so") {
  Kernel kernel = kernelWithAVariable();
  Diagnostics diagnostics;
  REQUIRE(runPasses(kernel, hostPipeline(), diagnostics));
  CHECK_FALSE(runPasses(kernel, gpuPipelineFrom(Stage::Laid), diagnostics));
  REQUIRE(diagnostics.all().size() == 1);
  CHECK(diagnostics.all()[0].message.find("is not laid out on threads") != std::string::npos);
}

TEST_CASE("to stop after a pass that is not there is an error that names a near one") {
  Kernel kernel = kernelWithAVariable();
  Diagnostics diagnostics;
  CHECK_FALSE(runPasses(kernel, hostPipeline(), diagnostics, "construct-sa"));
  CHECK(diagnostics.render() == "imbrex: error: there is no pass 'construct-sa' here\n"
                                "  hint: did you mean 'construct-ssa'?\n");
}

TEST_CASE("to stop after a pass that is like none is an error that names them all") {
  Kernel kernel = kernelWithAVariable();
  Diagnostics diagnostics;
  CHECK_FALSE(runPasses(kernel, hostPipeline(), diagnostics, "layouts-of-tiles"));
  CHECK(diagnostics.render().starts_with("imbrex: error: there is no pass 'layouts-of-tiles' here\n"
                                         "  hint: there are "));
  for (const Pass &pass : hostPipeline())
    CHECK(diagnostics.render().find(pass.name) != std::string::npos);
}
