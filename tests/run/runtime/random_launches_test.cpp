#include "tests/run/runtime/image_arguments.h"
#include "tests/run/runtime/opened_fake.h"
#include <imbrex/imbrex.hpp>

#include <doctest/doctest.h>

#include <array>
#include <cstring>
#include <functional>
#include <iterator>
#include <map>
#include <memory>
#include <random>
#include <span>
#include <string>
#include <thread>
#include <utility>
#include <vector>

/// Launches of a thread that keeps what it has launched, beside the same ones of threads that have
/// launched nothing: the driver is handed the same words, or the error is the same. Arrays are of
/// all kinds and come and go, and so do launchers, hooks and captured streams.
namespace imbrex {
namespace {

using testing::OpenedFake;

constexpr int kPerBlock = 256;

/// Only the first `count` elements are touched.
template <class X>
void copyAdding(const X &x, const ptr<f32> &y, const scalar<i32> &count, float added) {
  const auto at = program_id(0) * kPerBlock + arange<0, kPerBlock>();
  store(y + at, load(x + at, at < count, 0.0f) + added, at < count);
}

struct Plain {
  void operator()(ptr<const f32> x, ptr<f32> y, scalar<i32> count) const {
    copyAdding(x, y, count, 0);
  }
};
struct Requiring {
  void operator()(ptr<const f32> x, ptr<f32> y, scalar<i32> count) const {
    require(count <= 64, "not so many");
    copyAdding(x, y, count, 1);
  }
};
struct Counting {
  void operator()(ptr<const f32> x, ptr<f32> y, scalar<i32> count) const {
    copyAdding(x, y, count, 2);
  }
  auto blocks(ptr<const f32> /*x*/, ptr<f32> /*y*/, scalar<i32> count) const {
    return cdiv(count, 32);
  }
};
struct Asserting {
  void operator()(ptr<const f32> x, ptr<f32> y, scalar<i32> count) const {
    device_assert(count < 100000, "few");
    copyAdding(x, y, count, 3);
  }
};

struct Launchers {
  decltype(jit(Plain{})) plain = jit(Plain{});
  decltype(plain) cooperative = jit(Plain{}, {.cooperative = true});
  decltype(jit(Requiring{})) requiring = jit(Requiring{});
  decltype(jit(Counting{})) counting = jit(Counting{});
  decltype(jit(Asserting{})) asserting = jit(Asserting{});
};

/// An array by what was chosen for it: what it is passed as, which buffer, and from where in it.
struct ChosenArray {
  int kind, buffer, offset;
};

struct Chosen {
  int launchers, kernel, stream, blocks, count;
  bool isRefused; ///< By the driver.
  ChosenArray x, y;
};

/// What came of a launch: the error, and what the driver was handed.
struct Outcome {
  std::string error, handed;
};

std::uint64_t addressOf(const void *memory) { return reinterpret_cast<std::uintptr_t>(memory); }

/// What there is to launch with.
class Scene {
public:
  explicit Scene(unsigned seed) : random_(seed) {
    fake.driver.device = [this](const fake::SeenLaunch &launch) { return note(launch); };
    device::set_current(fake.on);
    for (device_buffer<f32> &buffer : buffers_) remake(buffer);
  }
  ~Scene() { place(false), set_launch_hook({}), device::set_current(before_); }
  Scene(const Scene &) = delete;
  Scene &operator=(const Scene &) = delete;

  int choice(int count) { return std::uniform_int_distribution<int>(0, count - 1)(random_); }
  bool isOnce(int times) { return choice(times) == 0; }

  void changeSomething();
  Chosen choose();
  /// Of what is refused few are like it: they mostly would be, too.
  void forgetLatest() { chosen_.pop_back(); }
  /// By a thread of its own, or by this one.
  Outcome launch(const Chosen &chosen, bool inFreshThread);
  /// Whether a bare pointer leads to what is the host's memory, and was the GPU's: the program
  /// answers for those.
  bool isOfMovedMemory(const Chosen &chosen) const {
    return !isPlaced_ && (chosen.x.kind == kBarePlaced || chosen.y.kind == kBarePlaced);
  }

  OpenedFake fake{trace(Plain{})};

private:
  static constexpr std::size_t kBuffers = 5, kElements = 512;
  static constexpr int kKinds = 24, kBarePlaced = 0;
  struct Placed {
    alignas(64) float array[2 * kElements];
  };

  ChosenArray chooseArray() { return {choice(kKinds), choice(kBuffers), choice(6)}; }
  void remake(device_buffer<f32> &buffer);
  void place(bool isGpus);
  int note(const fake::SeenLaunch &launch);
  std::string told(std::uint64_t word) const;
  template <class Use>
  void with(const ChosenArray &chosen, const Use &use);
  template <class X, class Y>
  void go(const Chosen &chosen, X &x, Y &y);
  Outcome outcomeOf(const Chosen &chosen);

  std::mt19937 random_;
  const device before_ = device::current(),
               there_ = device::by_name(std::string(testing::kFake.device) + ":1");
  std::array<stream, 2> streams_{stream(fake.on), stream(fake.on)};
  const stream elsewhere_{there_};
  std::array<device_buffer<f32>, kBuffers> buffers_;
  device_buffer<f32> foreign_{there_, {kElements}};
  std::vector<float> ofHost_ = std::vector<float>(kElements, 1);
  /// Memory that is now the GPU's, now the host's.
  const std::unique_ptr<Placed> placed_ = std::make_unique<Placed>();
  bool isPlaced_ = false, isHooked_ = false;
  std::array<std::unique_ptr<Launchers>, 2> launchers_;
  std::vector<Chosen> chosen_;

  std::string handed_;
  std::map<std::uint64_t, std::size_t> memoryBefore_;                   ///< The launch.
  std::map<std::string, std::vector<testing::ArgumentPlace>> placesIn_; ///< Images.
};

void Scene::remake(device_buffer<f32> &buffer) {
  const std::int64_t size =
      std::array{512, 512, 256, 256, 255, 64, 64, 0}[static_cast<std::size_t>(choice(8))];
  const stream_ref in = isOnce(2) ? stream_ref(fake.on) : streams_[0];
  buffer = device_buffer<f32>(in, {size});
}

void Scene::place(bool isGpus) {
  const std::uint64_t address = addressOf(placed_.get());
  isPlaced_ = isGpus;
  if (isGpus) {
    fake.driver.memory[address] = sizeof(Placed);
    fake.driver.owners[address] = 0;
  } else {
    fake.driver.memory.erase(address);
    fake.driver.owners.erase(address);
  }
}

void Scene::changeSomething() {
  device_buffer<f32> &one = buffers_[static_cast<std::size_t>(choice(kBuffers))],
                     &other = buffers_[static_cast<std::size_t>(choice(kBuffers))];
  switch (choice(12)) {
  case 0:
  case 10: return remake(one);
  case 1: return std::swap(one, other);
  case 2: one = std::move(other); return isOnce(2) ? remake(other) : void();
  case 3: return place(!isPlaced_);
  case 4: return device::set_current(isOnce(8) ? there_ : fake.on);
  case 5: return device::set_current(fake.on);
  case 6:
    isHooked_ = !isHooked_;
    return set_launch_hook(isHooked_ ? [](const seen_launch &) {} : launch_hook());
  case 7: fake.driver.captured = isOnce(4) ? streams_[0].native() : nullptr; return;
  case 8: return std::swap(streams_[0], streams_[1]);
  case 9: launchers_[static_cast<std::size_t>(choice(2))] = nullptr; return;
  default: return clear_cache();
  }
}

/// Mostly one of the latest launches, of which one thing is another.
Chosen Scene::choose() {
  const Chosen another{.launchers = choice(2),
                       .kernel = choice(5),
                       .stream = choice(8),
                       .blocks = 1 + choice(2),
                       .count = choice(20),
                       .isRefused = isOnce(40),
                       .x = chooseArray(),
                       .y = chooseArray()};
  constexpr int kLatest = 4;
  Chosen made = another;
  if (chosen_.size() >= kLatest && !isOnce(16)) {
    made = *(chosen_.end() - 1 - (isOnce(2) ? 0 : choice(kLatest)));
    made.isRefused = another.isRefused;
    switch (choice(16)) {
    case 0: made.launchers = another.launchers; break;
    case 1: made.kernel = another.kernel; break;
    case 2: made.stream = another.stream; break;
    case 3: made.blocks = another.blocks; break;
    case 4:
    case 10: made.count = another.count; break;
    case 5: made.x = another.x; break;
    case 6: made.y = another.y; break;
    case 7: made.x.kind = another.x.kind; break;
    case 8: made.y.kind = another.y.kind; break;
    case 9: made.x.offset = another.x.offset; break;
    default: break; // the very same
    }
  }
  return chosen_.emplace_back(made);
}

template <class Use>
void Scene::with(const ChosenArray &chosen, const Use &use) {
  device_buffer<f32> &buffer = buffers_[static_cast<std::size_t>(chosen.buffer)];
  const int size = static_cast<int>(buffer.size());
  constexpr std::array kOffsets{0, 0, 0, 1, 4, 16};
  const int offset = size < 64 ? 0 : kOffsets[static_cast<std::size_t>(chosen.offset)];
  const auto bare = [&](float *pointer) { use(pointer); };
  const auto view = [&](auto made) { use(made); };
  float *const placed = placed_->array + offset;
  switch (chosen.kind) {
  case kBarePlaced: return bare(placed);
  case 1: return use(placed_->array);
  case 2: return view(tensor_ref<f32>(placed, {kElements}));
  case 3: return view(std::span<f32>(placed, kElements));
  case 4: return view(tensor_ref<f32>(buffer.data() + offset, {size - offset}));
  case 5: return use(ofHost_);
  case 6: return bare(ofHost_.data() + offset);
  case 7: return use(foreign_);
  case 8: return bare(foreign_.data() + offset);
  case 9:
    return offset == 0 ? bare(nullptr) : bare(reinterpret_cast<float *>(addressOf(placed) + 2));
  default: return chosen.kind % 2 == 0 ? use(buffer) : bare(buffer.data() + offset);
  }
}

template <class X, class Y>
void Scene::go(const Chosen &chosen, X &x, Y &y) {
  constexpr std::array<std::int64_t, 9> kCounts{16, 32, 33, 64, 65, 48, 7, 64, 31};
  const std::int64_t count = chosen.count == 0 // too large
                                 ? std::int64_t{1} << 40
                                 : kCounts[static_cast<std::size_t>(chosen.count) % kCounts.size()];
  std::unique_ptr<Launchers> &all = launchers_[static_cast<std::size_t>(chosen.launchers)];
  if (all == nullptr) all = std::make_unique<Launchers>();
  const grid blocks(chosen.blocks);
  const auto in = [&](const auto &kernel) {
    switch (chosen.stream) {
    case 0:
    case 1: return kernel(streams_[static_cast<std::size_t>(chosen.stream)], blocks, x, y, count);
    case 2: return kernel(elsewhere_, blocks, x, y, count);
    default: return kernel(blocks, x, y, count);
    }
  };
  switch (chosen.kernel) {
  case 0: return in(all->plain);
  case 1: return in(all->cooperative);
  case 2: return in(all->requiring);
  case 3: return chosen.blocks == 1 ? all->counting(x, y, count) : in(all->counting);
  default: return in(all->asserting);
  }
}

/// The launch as text, with its arguments as the kernel finds them.
int Scene::note(const fake::SeenLaunch &launch) {
  auto &places = placesIn_[launch.image];
  if (places.empty()) places = testing::argumentsInImage(launch.image, launch.kernel);
  handed_ += launch.kernel + " of image " + std::to_string(std::hash<std::string>()(launch.image));
  for (const unsigned extent : launch.grid) handed_ += " " + std::to_string(extent);
  handed_ += " blocks of " + std::to_string(launch.threads) + " in " +
             std::to_string(addressOf(launch.stream)) + (launch.isCooperative ? " at once" : "");
  for (std::size_t i = 0; i < places.size(); ++i) {
    std::uint64_t word = 0;
    const void *const from =
        launch.each != nullptr ? launch.each[i] : launch.arguments.data() + places[i].offset;
    std::memcpy(&word, from, places[i].bytes);
    handed_ += " " + told(word);
  }
  handed_ += "\n";
  return 0;
}

/// Of memory that was taken for this launch, all but where it is.
std::string Scene::told(std::uint64_t word) const {
  if (fake.driver.bytesBehind(word) == 0) return std::to_string(word);
  const auto block = *std::prev(fake.driver.memory.upper_bound(word));
  const auto before = memoryBefore_.find(block.first);
  if (before != memoryBefore_.end() && before->second == block.second) return std::to_string(word);
  return std::to_string(block.second) + " bytes from " + std::to_string(word % 256);
}

Outcome Scene::outcomeOf(const Chosen &chosen) {
  handed_.clear();
  memoryBefore_ = fake.driver.memory;
  fake.driver.failing = chosen.isRefused ? "launch" : "";
  fake.driver.failures = fake.driver.error = chosen.isRefused ? 1 : 0;
  fake.driver.calls.clear();
  std::string error;
  try {
    with(chosen.x, [&](auto &x) { with(chosen.y, [&](auto &y) { go(chosen, x, y); }); });
  } catch (const imbrex::error &mistake) {
    error = mistake.what();
  }
  return {.error = std::move(error), .handed = handed_};
}

Outcome Scene::launch(const Chosen &chosen, bool inFreshThread) {
  Outcome outcome;
  if (!inFreshThread) return outcomeOf(chosen);
  std::thread([&] { outcome = outcomeOf(chosen); }).join();
  return outcome;
}

} // namespace

TEST_CASE("a launch is handed over, or refused, as by a thread that has launched nothing") {
  constexpr int kRounds = 3000;
  Scene scene(20);
  int again = 0, refused = 0;
  for (int i = 0; i < kRounds; ++i) {
    CAPTURE(i);
    if (scene.isOnce(8)) scene.changeSomething();
    const Chosen chosen = scene.choose();
    const Outcome fresh = scene.launch(chosen, true), kept = scene.launch(chosen, false);
    if (!fresh.error.empty() && !scene.isOnce(4)) scene.forgetLatest();
    if (scene.isOfMovedMemory(chosen)) continue;
    REQUIRE(kept.error == fresh.error);
    REQUIRE(kept.handed == fresh.handed);
    refused += !kept.error.empty();
    again += !kept.handed.empty() && scene.fake.calls("pointerFacts") == 0;
  }
  CHECK(again > kRounds / 10);
  CHECK(refused > kRounds / 10);
}

} // namespace imbrex
