#include "backend/ir/builder.h"
#include "backend/ir/text.h"
#include "backend/pass_record.h"

#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>
#include <sstream>

using namespace imbrex;

namespace {

/// A folder that is gone at the end of the test.
struct TemporaryFolder {
  std::filesystem::path path = std::filesystem::temp_directory_path() / "imbrex_pass_record_test";
  TemporaryFolder() { std::filesystem::remove_all(path); }
  ~TemporaryFolder() { std::filesystem::remove_all(path); }
  std::string read(const std::string &file) const {
    std::ostringstream text;
    text << std::ifstream(path / file).rdbuf();
    return text.str();
  }
};

std::string printed(std::FILE *file) {
  std::string text(static_cast<size_t>(std::ftell(file)), ' ');
  std::rewind(file);
  text.resize(std::fread(text.data(), 1, text.size(), file));
  std::fclose(file);
  return text;
}

void addOne(ir::Kernel &kernel) {
  ir::Builder(kernel, kernel.body()).integer(ir::Type::tile(ir::ElementKind::I32), 1);
}

} // namespace

TEST_CASE("a dump has a numbered file for each pass, and the passes' times") {
  const TemporaryFolder folder;
  ir::Kernel kernel("add<f32>");
  kernel.setWhere({.file = "add.cpp", .line = 3});
  PassRecord record(kernel, {.dumpFolder = folder.path, .machine = "gpu"});
  addOne(kernel);
  record.after("first", kernel, std::chrono::microseconds(1500));
  record.after("second", kernel, std::chrono::microseconds(250));

  CHECK(folder.read("add_f32_/00-traced.imx").find("constant") == std::string::npos);
  CHECK(folder.read("add_f32_/01-first.imx").find("constant 1") != std::string::npos);
  CHECK(folder.read("add_f32_/02-second.imx") == folder.read("add_f32_/01-first.imx"));
  CHECK(folder.read("add_f32_/passes.txt") == "kernel 'add<f32>' at add.cpp:3 for gpu\n"
                                              "01 first: 1.5 ms\n02 second: 0.25 ms, unchanged\n");
}

TEST_CASE("a kernel that is read from a dump knows its author's lines") {
  const TemporaryFolder folder;
  ir::Kernel kernel("k");
  kernel.setWhere({.file = "gemm.cpp", .line = 3});
  PassRecord record(kernel, {.dumpFolder = folder.path});
  ir::Builder build(kernel, kernel.body());
  build.setLocation({.file = "gemm.cpp", .line = 7});
  build.integer(ir::Type::tile(ir::ElementKind::I32), 1);
  record.after("first", kernel, {});
  const std::string dump = folder.read("k/01-first.imx");
  CHECK(folder.read("k/00-traced.imx") == "kernel @k() stage traced @ \"gemm.cpp\":3 {\n}\n");
  Diagnostics diagnostics;
  const auto again = ir::parse(dump, "01-first.imx", diagnostics);
  REQUIRE_MESSAGE(again, diagnostics.render());
  CHECK(again->body().ops.front()->where == Location{.file = "gemm.cpp", .line = 7});
}

TEST_CASE("two kernels of one name have two folders") {
  const TemporaryFolder folder;
  const ir::Kernel kernel("twice");
  const PassRecord first(kernel, {.dumpFolder = folder.path});
  const PassRecord second(kernel, {.dumpFolder = folder.path});
  CHECK(std::filesystem::exists(folder.path / "twice" / "00-traced.imx"));
  CHECK(std::filesystem::exists(folder.path / "twice-2" / "00-traced.imx"));
}

TEST_CASE("what cannot be dumped, or is misspelt, is said once and stops nothing") {
  const ir::Kernel kernel("k");
  for (int i = 0; i < 2; ++i) {
    PassRecord record(kernel, {.printAfter = "firts", .dumpFolder = "/dev/null/nowhere"});
    record.after("first", kernel, {});
  }
  CHECK(timesReported(Diag::DumpNotWritten) == 1);
  CHECK(timesReported(Diag::NoPassToPrintAfter) == 1);
}

TEST_CASE("a kernel is printed after the pass that is named, unless the pass left it alone") {
  ir::Kernel kernel("k");
  std::FILE *out = std::tmpfile();
  PassRecord record(kernel, {.printAfter = "second", .printTo = out});
  record.after("first", kernel, {});
  addOne(kernel);
  record.after("second", kernel, {});
  record.after("second", kernel, {});
  CHECK(printed(out) == "// kernel 'k' after second:\n"
                        "kernel @k() stage traced {\n"
                        "  %0 = constant 1 : i32\n"
                        "}\n"
                        "// kernel 'k' after second: unchanged\n");
}

TEST_CASE("all passes can be printed after") {
  const ir::Kernel kernel("k");
  std::FILE *out = std::tmpfile();
  PassRecord record(kernel, {.printAfter = "all", .printTo = out});
  record.after("first", kernel, {});
  record.after("second", kernel, {});
  CHECK(printed(out) == "// kernel 'k' after first: unchanged\n"
                        "// kernel 'k' after second: unchanged\n");
}
