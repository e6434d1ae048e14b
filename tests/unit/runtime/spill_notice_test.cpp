#include <imbrex/imbrex.hpp>

#include <doctest/doctest.h>

#include <string>
#include <string_view>
#include <vector>

using namespace imbrex;

namespace {

/// Needs every number again when all have been added up.
struct crowded {
  static constexpr const char *name = "crowded";
  void operator()(view<const f32, 1> x, view<f32, 1> y) const {
    tile<f32, 2048> numbers = x[box<2048>(program_id(0))];
    y[box<2048>(program_id(0))] = numbers * sum(numbers);
  }
};

std::vector<std::string> spillsOf(const jit_options &options) {
  std::vector<std::string> lines;
  set_logger([&](log_level level, std::string_view topic, std::string_view text) {
    if (level == log_level::warn) lines.push_back(std::string(topic) + ": " + std::string(text));
  });
  buffer<f32> x(2049), y(2049);
  x.fill(1);
  const auto kernel = jit(crowded{}, options);
  kernel(grid(1), tensor_ref(x.data(), {2048}), tensor_ref(y.data(), {2048}));
  kernel(grid(1), tensor_ref(x.data() + 1, {2048}), tensor_ref(y.data() + 1, {2048})); // other code
  set_logger({});
  CHECK(y[0] == 2048);
  CHECK(y[2048] == 2048);
  return lines;
}

} // namespace

TEST_CASE("a kernel that spills registers is told of once, where it is known without a toolkit") {
  for (const device on : {device::host(), device::interpreter()})
    CHECK(spillsOf({.on = on, .warps = 1, .registers = 16}).empty());
  const result<device> gpu = device::try_by_name("emulated:gfx1100");
  if (!gpu) return; // this build has no code for it
  const auto told = spillsOf({.on = *gpu, .warps = 1, .registers = 64});
  REQUIRE(told.size() == 1);
  CHECK(told[0].starts_with("spill: " __FILE__ ":"));
  CHECK(told[0].find("kernel 'crowded' on gfx1100 keeps ") != std::string::npos);
  CHECK(told[0].ends_with("; ask for more than 64 registers: there are 256"));
  CHECK(spillsOf({.on = *gpu, .warps = 8}).empty());
}
