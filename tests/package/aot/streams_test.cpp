#include "app.hpp"
#include "kernels.h"
#include "tests/package/aot/checks.h"
#include "tests/package/aot/device_launches.h"
#include "tests/package/aot/played_library.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <numeric>
#include <thread>
#include <utility>

/// Events in streams, and copies that are not waited for.
namespace imbrex::aot_tests {
namespace {

constexpr stream_ref kSecond = FAKE_IS_CUDA ? stream_ref::cuda(1) : stream_ref::hip(1);

std::vector<f32> ramp(std::size_t size) {
  std::vector<f32> made(size);
  std::iota(made.begin(), made.end(), 1.0f);
  return made;
}

} // namespace

TEST_CASE("copies from and to pinned memory are put into a stream") {
  addInStream(stream_ref::host());
  const Fake fake(trace(aot_kernels::add{}));
  aot::stream own;
  check(own.make(kGpu));
  fake.driver.calls.clear();
  addInStream(own);
  CHECK(fake.played.problem() == "");
  CHECK(fake.calls("copyInBy") == 1);
  CHECK(fake.calls("copyOutBy") == 1);
  CHECK(std::ranges::count(fake.driver.calls, "copyIn") == 0);
  // Nothing waits on the way: not until the memory is given back.
  const auto &calls = fake.driver.calls;
  const auto back = std::ranges::find(calls, "copyOutBy");
  CHECK(std::find(calls.begin(), back, "synchronise") == back);
  CHECK(fake.driver.pinned.empty());
}

TEST_CASE("pinned memory that there is not, or that a driver refuses, is told of") {
  aot::pinned_buffer<f32> buffer;
  checkRefused(buffer.make(stream_ref::host(), -1), IMBREX_BAD_ARGUMENT,
               "-1 bytes can't be allocated");
  check(buffer.make(stream_ref::host(), 0));
  CHECK(buffer.begin() == buffer.end());
  const Fake fake(trace(aot_kernels::add{}));
  check(buffer.make(kGpu, 64));
  const f32 *before = buffer.data();
  fake.driver.failing = "allocatePinned";
  fake.driver.error = 1;
  CHECK(buffer.make(kGpu, 64).code() == IMBREX_REFUSED);
  CHECK(std::string(imbrex_error_text())
            .ends_with("can't allocate pinned memory: FAKE_INVALID_VALUE, invalid argument"));
  CHECK(buffer.data() == before);
  aot::pinned_buffer<f32> other(std::move(buffer));
  CHECK(other.data() == before);
  buffer = std::move(other);
  CHECK(buffer.size() == 64);
  CHECK(fake.driver.pinned.size() == 1);
  buffer = {};
  CHECK(fake.driver.pinned.empty());
}

TEST_CASE("an event on the host is a time") {
  aot::event first, last;
  double milliseconds = -1;
  checkRefused(first.synchronise(), IMBREX_BAD_ARGUMENT, "there is no event");
  checkRefused(stream_ref::host().wait(first), IMBREX_BAD_ARGUMENT, "there is no event");
  check(first.record(stream_ref::host()));
  std::this_thread::sleep_for(std::chrono::milliseconds(3));
  check(last.record(stream_ref::host()));
  check(last.milliseconds_since(first, milliseconds));
  CHECK(milliseconds >= 3);
  const double before = milliseconds;
  check(last.record(stream_ref::host())); // again, later
  check(last.milliseconds_since(first, milliseconds));
  CHECK(milliseconds > before);
  check(stream_ref::host().wait(last));
}

TEST_CASE("streams wait for events of other streams, and events tell times") {
  const Fake fake(trace(aot_kernels::add{}));
  aot::stream one, other;
  check(one.make(kGpu));
  check(other.make(kGpu));
  const stream_ref &in = one, &waiting = other;
  const auto x = on(in, ramp(64));
  const array<f32, 1> all(x.data(), {64});
  aot::event first, last, elsewhere, here;
  check(first.record(in));
  for (int i = 0; i < 3; ++i) check(app::add(in, 1, all, all, all));
  check(last.record(in));
  check(waiting.wait(last));
  REQUIRE(fake.driver.waits.size() == 1);
  CHECK(fake.driver.waits[0].first == waiting.handle);
  CHECK(fake.driver.waits[0].second == 3); // the launches before it
  double milliseconds = 0;
  check(last.milliseconds_since(first, milliseconds));
  CHECK(milliseconds == 3);
  CHECK(contentOf(x)[4] == 40);

  // Of another device one may be waited for, but no time is between the two.
  check(elsewhere.record(kSecond));
  check(in.wait(elsewhere));
  checkRefused(elsewhere.milliseconds_since(first, milliseconds), IMBREX_BAD_ARGUMENT,
               "an event of one device is used with another's");
  checkRefused(elsewhere.record(in), IMBREX_BAD_ARGUMENT,
               "an event of one device is used with another's");
  // The host's has been reached, and on the host's stream the thread waits.
  check(here.record(stream_ref::host()));
  check(in.wait(here));
  CHECK(fake.driver.waits.size() == 2);
  fake.driver.calls.clear();
  check(stream_ref::host().wait(last));
  CHECK(fake.calls("awaitEvent") == 1);

  fake.driver.failing = "recordEvent";
  fake.driver.error = 1;
  CHECK(last.record(in).code() == IMBREX_REFUSED);
  CHECK(std::string(imbrex_error_text()).find("can't record an event: FAKE_INVALID_VALUE") !=
        std::string::npos);
}

} // namespace imbrex::aot_tests
