// Boxes at every place around views of every small size, on emulated machines and by the
// interpreter: what is read, what stands beyond the end, and what is written.

#include "backend/compile.h"
#include "backend/emulate/emulate.h"
#include "backend/interpret/interpret.h"
#include "tests/support/parsed_kernel.h"
#include "tests/unit/lower/machines.h"

#include <doctest/doctest.h>

#include <numeric>
#include <string>

namespace imbrex {
namespace {

/// Arrays of floats, and the launch of a kernel on them.
class Launch {
public:
  Launch &view(std::int64_t elements) {
    std::vector<float> &array = arrays_.emplace_back(static_cast<std::size_t>(elements + 1));
    std::iota(array.begin(), array.end(), 1.0F);
    ir::Argument argument;
    argument.extents = {elements};
    argument.strides = {1};
    argument.bytes = elements * 4;
    arguments_.push_back(argument);
    return *this;
  }
  Launch &scalar(std::int64_t bits) {
    arrays_.emplace_back();
    arguments_.push_back({.scalar = static_cast<std::uint64_t>(bits)});
    return *this;
  }
  Launch &blocks(std::int32_t count) {
    grid_.extents[0] = count;
    return *this;
  }

  const ir::Grid &grid() const { return grid_; }
  std::vector<ir::Argument> arguments() {
    for (std::size_t i = 0; i < arrays_.size(); ++i)
      arguments_[i].data = reinterpret_cast<std::byte *>(arrays_[i].data());
    return arguments_;
  }
  const std::vector<std::vector<float>> &arrays() const { return arrays_; }

private:
  std::vector<std::vector<float>> arrays_;
  std::vector<ir::Argument> arguments_;
  ir::Grid grid_;
};

/// A kernel's code for a machine under assumptions, ready to be emulated.
class Emulated {
public:
  Emulated(const std::string &text, const machine::Machine &machine, bool isAssumed)
      : kernel_(testing::parsedKernel(text)) {
    const analysis::Assumptions assumed =
        isAssumed ? assumptionsFor(kernel_) : analysis::Assumptions{};
    code_ = compileForGpu(kernel_, target::gpuTarget(machine), assumed, diagnostics_);
    REQUIRE_MESSAGE(code_, diagnostics_.render());
    program_ =
        emulate::EmulatedProgram::compile(*code_->module, machine, code_->interface, diagnostics_);
    REQUIRE_MESSAGE(program_, diagnostics_.render());
  }

  std::string run(Launch &launch) {
    Diagnostics diagnostics;
    return program_->run(launch.grid(), launch.arguments(), {}, diagnostics) ? ""
                                                                             : diagnostics.render();
  }

private:
  /// What any launch of one-dimensional arrays below keeps: these are of any size.
  static analysis::Assumptions assumptionsFor(const ir::Kernel &kernel) {
    analysis::Assumptions assumed = analysis::usualAssumptions(kernel);
    for (auto &parameter : assumed.parameters)
      parameter.isDivisible = parameter.hasDivisibleRows = false;
    return assumed;
  }

  Diagnostics diagnostics_;
  ir::Kernel kernel_;
  std::optional<GpuCode> code_;
  std::unique_ptr<emulate::EmulatedProgram> program_;
};

template <class MakeLaunch>
void compare(const std::string &text, std::initializer_list<std::int64_t> sizes, bool isAssumed,
             MakeLaunch makeLaunch) {
  const ir::Kernel kernel = testing::parsedKernel(text);
  for (const machine::Machine *machine : machinesOfEachWarpSize()) {
    Emulated code(text, *machine, isAssumed);
    for (const std::int64_t size : sizes) {
      CAPTURE(machine->name);
      CAPTURE(size);
      Launch emulated = makeLaunch(size), interpreted = makeLaunch(size);
      Diagnostics diagnostics;
      REQUIRE(interpret::run(kernel, interpreted.grid(), interpreted.arguments(), diagnostics));
      REQUIRE(code.run(emulated) == "");
      REQUIRE(emulated.arrays() == interpreted.arrays());
    }
  }
}

constexpr std::initializer_list<std::int64_t> kSizes{0, 1, 3, 63, 64, 65, 127, 128, 129, 300};

} // namespace

TEST_CASE("blocks of a grid stop at the end of views that are equally long") {
  for (const bool isAssumed : {false, true})
    compare(R"(kernel @k(%a: view<const f32, 1>, %b: view<f32, 1>) stage tiles {
      %0 = program_id : i32
      %1 = view.load %a, %0 : f32[64]
      %2 = add %1, %1 : f32[64]
      view.store %b, %2, %0
    })",
            kSizes, isAssumed,
            [](std::int64_t size) { return Launch().view(size).view(size).blocks(4); });
}

TEST_CASE("what stands beyond the end of one view is seen in a longer one") {
  compare(R"(kernel @k(%a: view<const f32, 1>, %b: view<f32, 1>) stage tiles {
      %0 = program_id : i32
      %1 = view.load %a, %0 [padding = nan] : f32[64]
      %2 = constant 7 : f32[64]
      %3 = max %1, %2 : f32[64]
      view.store %b, %3, %0
    })",
          kSizes, false, [](std::int64_t size) { return Launch().view(size).view(256).blocks(4); });
}

TEST_CASE("the sum of a box counts nothing beyond the end") {
  for (const bool isAssumed : {false, true})
    compare(R"(kernel @k(%a: view<const f32, 1>, %b: view<f32, 1>) stage tiles {
      %0 = program_id : i32
      %1 = view.load %a, %0 : f32[2048]
      %2 = reduce %1 [axis = 0, combine = max] : f32
      %3 = broadcast %2 : f32[1]
      view.store %b, %3, %0
    })",
            {0, 1, 2047, 2048, 2049, 5000}, isAssumed,
            [](std::int64_t size) { return Launch().view(size).view(3).blocks(3); });
}

TEST_CASE("a box may begin in front of a view, and far behind it") {
  const auto text = [](const std::string &element, const std::string &unit) {
    return "kernel @k(%at: " + element +
           ", %a: view<const f32, 1>, %b: view<f32, 1>) stage tiles {\n"
           "%0 = view.load %a, %at [unit = " +
           unit +
           "] : f32[64]\n"
           "%1 = add %0, %0 : f32[64]\n"
           "view.store %b, %1, %at [unit = " +
           unit + "]\n}\n";
  };
  constexpr std::int64_t kMost = 0x7fffffff;
  const auto launch = [](std::int64_t at) { return Launch().scalar(at).view(100).view(100); };
  for (const bool isAssumed : {false, true}) {
    CAPTURE(isAssumed);
    compare(text("i32", "elements"), {0, 1, 63, 99, 100, 101, kMost, -1, -63, -64, -kMost},
            isAssumed, [&](std::int64_t at) { return launch(at & 0xffffffff); });
    compare(text("i32", "tiles"), {0, 1, 2, 1 << 26, kMost, -1, -2, -(1 << 26), -kMost}, isAssumed,
            [&](std::int64_t at) { return launch(at & 0xffffffff); });
    compare(text("u32", "tiles"), {0, 1, 2, (1 << 25) - 1, 1 << 25, 1 << 26, 0xffffffff}, isAssumed,
            launch);
    compare(text("i64", "tiles"), {0, 1, 2, std::int64_t{1} << 58, -1, -(std::int64_t{1} << 58)},
            isAssumed, launch);
  }
}

TEST_CASE("a box that a loop moves stops at both ends of its view") {
  const auto text = [](int low, int high, int step) {
    return "kernel @k(%a: view<const f32, 1>, %b: view<f32, 1>) stage tiles {\n%l = constant " +
           std::to_string(low) + " : i32\n%h = constant " + std::to_string(high) +
           " : i32\n%s = constant " + std::to_string(step) +
           " : i32\nfor %l, %h, %s (%i: i32) {\n%0 = view.load %a, %i : f32[16]\n"
           "%1 = add %0, %0 : f32[16]\nview.store %b, %1, %i\nyield\n}\n}\n";
  };
  const auto launch = [](std::int64_t size) { return Launch().view(size).view(size); };
  for (const bool isAssumed : {false, true}) {
    compare(text(0, 5, 1), {0, 1, 40, 80}, isAssumed, launch);
    compare(text(0, -3, -1), {0, 1, 40, 80}, isAssumed, launch);
    compare(text(4, -3, -2), {0, 1, 40, 80}, isAssumed, launch);
  }
}

} // namespace imbrex
