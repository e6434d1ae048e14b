#include <imbrex/imbrex.hpp>

#include <doctest/doctest.h>

#include <array>
#include <atomic>
#include <string>
#include <thread>
#include <vector>

using namespace imbrex;

namespace {

struct plus_one {
  void operator()(view<const i32, 1> x, view<i32, 1> y) const {
    y[box<64>(program_id(0))] = x[box<64>(program_id(0))] + 1;
  }
};

} // namespace

TEST_CASE("a hook may be set while others launch") {
  const auto kernel = jit(plus_one{});
  std::atomic<bool> isOver = false;
  std::thread launching([&] {
    std::vector<i32> x(64), y(64);
    while (!isOver) kernel(stream_ref(device::host()), grid(1), x, y);
  });
  static std::atomic<int> seen = 0;
  std::vector<i32> x(64), y(64);
  for (int i = 0; i < 100; ++i) {
    set_launch_hook([](const seen_launch &) { ++seen; });
    const int before = seen;
    kernel(stream_ref(device::host()), grid(1), x, y);
    CHECK(seen >= before + 2);
    set_launch_hook({});
  }
  isOver = true;
  launching.join();
}

TEST_CASE("a hook sees the beginning and the end of each launch") {
  std::vector<std::string> seen;
  set_launch_hook([&](const seen_launch &launch) {
    constexpr std::array<const char *, 3> kMoments{"begins", "done", "failed"};
    seen.push_back(std::string(launch.kernel) + " on " + std::string(launch.in.on().name()) + " " +
                   kMoments[static_cast<std::size_t>(launch.moment)]);
  });
  const auto kernel = jit(plus_one{});
  std::vector<i32> x(64), y(64);
  kernel(stream_ref(device::host()), grid(1), x, y);
  kernel(stream_ref(device::interpreter()), grid(1), x, y);
  CHECK(!kernel.try_launch(stream_ref(device::host()), grid(-1), x, y).ok());
  // It may set another one, or none; who was told of a beginning is told of the end.
  std::vector<std::string> others;
  set_launch_hook([&](const seen_launch &) {
    others.emplace_back("first");
    set_launch_hook({});
  });
  kernel(stream_ref(device::host()), grid(1), x, y);
  kernel(stream_ref(device::host()), grid(1), x, y);
  CHECK(others == std::vector<std::string>{"first", "first"});
  CHECK(seen == std::vector<std::string>{"plus_one on host begins", "plus_one on host done",
                                         "plus_one on interpreter begins",
                                         "plus_one on interpreter done", "plus_one on host begins",
                                         "plus_one on host failed"});
}
