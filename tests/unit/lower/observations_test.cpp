#include "backend/ir/builder.h"
#include "backend/lower/observations.h"

#include <doctest/doctest.h>

#include <memory>

namespace imbrex::lower {
namespace {

/// A kernel whose only op prints, or asserts, one i32.
struct Observing {
  explicit Observing(ir::OpKind kind) {
    ir::Builder build(kernel, kernel.body());
    const ir::Type type = ir::Type::tile(ir::ElementKind::I32);
    const ir::ValueId value = build.integer(type, 7);
    ir::Op &op = build.create(kind, value, {}, ir::TextAttrs{.text = "seven"});
    interface.name = "observing";
    interface.sites.push_back({&op, {type}});
  }
  ir::Kernel kernel;
  KernelInterface interface;
};

std::string told(const std::vector<std::uint64_t> &buffer, const KernelInterface &interface,
                 Diagnostics &diagnostics, bool &ok) {
  const std::unique_ptr<std::FILE, int (*)(std::FILE *)> file(std::tmpfile(), std::fclose);
  ok = observations::tell(buffer, interface, file.get(), diagnostics);
  std::string text(static_cast<std::size_t>(std::ftell(file.get())), '\0');
  std::rewind(file.get());
  REQUIRE(std::fread(text.data(), 1, text.size(), file.get()) == text.size());
  return text;
}

TEST_CASE("a print's record becomes its line") {
  const Observing observing(ir::OpKind::Print);
  auto buffer = observations::emptyBuffer(4);
  buffer[observations::kAsked] = 4;
  const std::uint64_t record[] = {1, 3 | std::uint64_t{2} << 32, 5, 7};
  std::copy(std::begin(record), std::end(record), buffer.begin() + observations::kHeaderWords);
  Diagnostics diagnostics;
  bool ok = false;
  CHECK(told(buffer, observing.interface, diagnostics, ok) == "[pid 3,2,5] seven: 7\n");
  CHECK(ok);
  CHECK(diagnostics.all().empty());
}

TEST_CASE("prints without room are counted in a warning, and the launch is well") {
  const Observing observing(ir::OpKind::Print);
  auto buffer = observations::emptyBuffer(3);
  buffer[observations::kAsked] = 4;
  Diagnostics diagnostics;
  bool ok = false;
  CHECK(told(buffer, observing.interface, diagnostics, ok) == "");
  CHECK(ok);
  REQUIRE(diagnostics.all().size() == 1);
  CHECK(diagnostics.all()[0].kind == Diag::PrintsLost);
}

TEST_CASE("a failed assert is an error that names its block") {
  const Observing observing(ir::OpKind::Assert);
  auto buffer = observations::emptyBuffer(0);
  buffer[observations::kFailedSite] = 1;
  buffer[observations::kFailedXy] = 4;
  Diagnostics diagnostics;
  bool ok = true;
  CHECK(told(buffer, observing.interface, diagnostics, ok) == "");
  CHECK(!ok);
  REQUIRE(diagnostics.all().size() == 1);
  CHECK(diagnostics.all()[0].message == "assertion failed in block [4, 0, 0]: seven");
}

} // namespace
} // namespace imbrex::lower
