#include "backend/analysis/assumptions.h"
#include "backend/compile.h"
#include "backend/emulate/emulate.h"
#include "backend/ir/builder.h"
#include "backend/lower/observations.h"
#include "tests/support/parsed_kernel.h"
#include "tests/unit/lower/machines.h"

#include <doctest/doctest.h>

#include <algorithm>
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

TEST_CASE("of a launch's buffer its head is brought, and as many words as were noted") {
  const auto fetched = [](std::uint64_t room, std::uint64_t asked) {
    const std::vector<std::uint64_t> there = [&] {
      std::vector<std::uint64_t> words(observations::kHeaderWords + room);
      for (std::size_t i = 0; i < words.size(); ++i) words[i] = 100 + i;
      words[observations::kAsked] = asked;
      return words;
    }();
    std::vector<std::uint64_t> words;
    CHECK(observations::fetch(
        room, words, [&](std::uint64_t *to, std::uint64_t at, std::uint64_t count) {
          CHECK(count > 0);
          std::copy_n(there.begin() + static_cast<std::ptrdiff_t>(at), count, to);
          return true;
        }));
    CHECK(std::equal(words.begin(), words.end(), there.begin()));
    return words.size() - observations::kHeaderWords;
  };
  CHECK(fetched(9, 0) == 0);
  CHECK(fetched(9, 4) == 4);
  CHECK(fetched(9, 9) == 9);
  CHECK(fetched(9, 10) == 9);
  for (const int refused : {0, 1}) {
    int calls = 0;
    std::vector<std::uint64_t> words;
    CHECK_FALSE(observations::fetch(9, words, [&](std::uint64_t *to, std::uint64_t, std::uint64_t) {
      *to = 4;
      return calls++ != refused;
    }));
    CHECK(calls == refused + 1);
  }
}

TEST_CASE("what an earlier launch has left in the buffer is not told again") {
  // The second print finds no room; where it would be, an earlier launch had noted the third.
  const ir::Kernel kernel = testing::parsedKernel(R"(kernel @k(%x: i32) stage tiles {
  %0 = broadcast %x : i32[4]
  print %0 [text = "first"]
  print %0 [text = "second"]
  print %x [text = "third"]
})");
  constexpr std::uint64_t kRoom = 12, kTile = observations::kRecordWords + 4,
                          kNumber = observations::kRecordWords + 1;
  for (const machine::Machine *machine : machinesOfEachWarpSize()) {
    CAPTURE(machine->name);
    ir::Kernel compiled = kernel.clone();
    Diagnostics diagnostics;
    const auto code = compileForGpu(compiled, target::gpuTarget(*machine),
                                    analysis::usualAssumptions(kernel), diagnostics);
    REQUIRE_MESSAGE(code, diagnostics.render());
    const auto program =
        emulate::EmulatedProgram::compile(*code->copy(), *machine, code->interface, diagnostics);
    REQUIRE_MESSAGE(program, diagnostics.render());
    const std::vector<ir::Argument> arguments{{.scalar = 7}};
    const auto linesWith = [&](std::uint64_t room) {
      std::vector<std::uint64_t> buffer(observations::kHeaderWords + kRoom);
      std::ranges::copy(observations::emptyHead(room), buffer.begin());
      const std::uint64_t stale[] = {3, 9, 9, 9};
      std::ranges::copy(stale, buffer.begin() + observations::kHeaderWords + kTile);
      REQUIRE(program->run({}, arguments, {.observations = buffer}, diagnostics));
      CHECK(buffer[observations::kAsked] == 2 * kTile + kNumber);
      Diagnostics lost;
      bool ok = false;
      std::string text = told(buffer, code->interface, lost, ok);
      REQUIRE(lost.all().size() == 1);
      CHECK(lost.all()[0].message.find(std::to_string(kTile + kNumber)) != std::string::npos);
      // Behind the room there is nothing of the launch's.
      return text + (room == kTile && buffer[observations::kHeaderWords + kTile] != 3 ? "!" : "");
    };
    CHECK(linesWith(kRoom) == "[pid 0,0,0] first: [7, 7, 7, 7]\n");
    CHECK(linesWith(kTile) == "[pid 0,0,0] first: [7, 7, 7, 7]\n");
  }
}

} // namespace
} // namespace imbrex::lower
