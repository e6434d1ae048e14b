#pragma once

#include "runtime/aot/driver/gpu.h"

#include <array>
#include <cstddef>
#include <memory>
#include <vector>

/// Launches that are made again as they were before. What led to them, such as whose memory the
/// arguments are in and what that lets the code assume, is then known.
namespace imbrex::driver {

/// What a launch hands to a driver, with an argument list of its own.
class KeptLaunch {
public:
  KeptLaunch() = default;
  KeptLaunch(const KeptLaunch &) = delete; // `each` leads into the list
  KeptLaunch &operator=(const KeptLaunch &) = delete;

  /// In place of what was here before, of a GPU's kernel.
  void keep(const Launch &launch, const Gpu &gpu, const Module &kernel);
  /// The same, in whichever stream it was made first.
  const Launch &launch() const { return launch_; }
  /// As Gpu::start.
  int start(void *stream) const { return words_.start(stream); }
  /// Set so many bytes of the list, the least first.
  void change(std::size_t place, std::size_t bytes, std::uint64_t value);

private:
  struct alignas(64) Line { // as box maps want it
    std::array<std::byte, 64> bytes;
  };

  std::byte *list() { return reinterpret_cast<std::byte *>(lines_.data()); }

  Launch launch_;
  LaunchWords words_;
  std::vector<Line> lines_;
  std::vector<void *> each_;
};

/// Of what is launched, and of the addresses it is launched with: large buffers differ in high bits
/// alone, and many launches in one argument alone.
class LaunchHash {
public:
  static constexpr std::size_t kPlaces = 64;
  /// Of how many arguments' addresses; more would cost more than they tell apart.
  static constexpr std::size_t kMostArguments = 4;

  explicit LaunchHash(std::uint64_t launched) { add(launched); }
  void add(std::uint64_t value) { hash_ = (hash_ ^ value) * kFactor; }
  std::size_t place() const { return hash_ >> kShift; }

private:
  static constexpr std::uint64_t kFactor = 0x9e3779b97f4a7c15; // 2^64 by the golden ratio, odd
  static constexpr unsigned kShift = 58;                       // the six highest bits
  static_assert(kPlaces == std::size_t{1} << (64 - kShift));

  std::uint64_t hash_ = 0;
};

/// What a thread has launched lately, each at the place that its hash gives it; another with the
/// same place takes it over. Programs launch the same over and over in one order, so what followed
/// the latest launch the last time is looked at first, which takes no hash.
template <class Entry>
class Recent {
public:
  /// Of the calling thread; null where it has none yet, or any more: threads launch even while
  /// their variables are destroyed.
  static Recent *find() { return ofThread; }
  /// The same, made where the thread has none yet.
  static Recent *make() {
    if (isOver) return nullptr;
    static thread_local Recent only;
    return ofThread = &only;
  }

  Recent() = default;
  Recent(const Recent &) = delete;
  Recent &operator=(const Recent &) = delete;
  ~Recent() {
    ofThread = nullptr;
    isOver = true;
  }

  /// What followed the latest launch the last time, if `is` holds of it; else null.
  template <class Is>
  Entry *findNext(Is is) {
    Place *const place = latest_->next;
    if (place == nullptr || !is(place->entry)) return nullptr;
    latest_ = place;
    return &place->entry;
  }
  /// The launch of a hash, likewise.
  template <class Is>
  Entry *findByHash(const LaunchHash &hash, Is is) {
    Place *const place = places_[hash.place()].get();
    if (place == nullptr || !is(place->entry)) return nullptr;
    latest_ = latest_->next = place;
    return &place->entry;
  }
  /// The latest that was found or made.
  Entry &latest() { return latest_->entry; }

  /// Where the launch of a hash is to be, whatever was there before. It is the latest then.
  Entry &make(const LaunchHash &hash) {
    std::unique_ptr<Place> &place = places_[hash.place()];
    if (place == nullptr) place = std::make_unique<Place>();
    latest_ = latest_->next = place.get();
    return place->entry;
  }

private:
  // What is destroyed with a thread costs more to ask for than these.
  static inline constinit thread_local Recent *ofThread = nullptr;
  static inline constinit thread_local bool isOver = false;

  struct Place {
    Entry entry = {};
    Place *next = nullptr; ///< What was launched behind it the last time.
  };

  std::array<std::unique_ptr<Place>, LaunchHash::kPlaces> places_;
  Place before_; ///< Any launch.
  Place *latest_ = &before_;
};

} // namespace imbrex::driver
