// How many loads does a GPU keep in flight, and what has landed when all but n were waited for?
// One warp starts loads that run ahead of their use, waits until only the younger ones are left,
// and looks whether the oldest ones hold what memory holds.

#include "../support.hpp"

using namespace imbrex;

constexpr int piece = 1024; // bytes: what a wave of 64 lanes loads at once, 16 for each lane

// Trip i looks at what it loaded while the loads of the next `AHEAD` trips are in flight, of
// `LOADS` pieces each.
template <int AHEAD, int LOADS>
struct load_counter {
  static constexpr int warps = 1; // the loads of one warp are counted, not those of its neighbours
  static constexpr int words = LOADS * piece / 4;

  void operator()(view<const i32, 1> memory, view<i32, 1> landed) const {
    auto trips = cast<i32>(landed.extent(0));
    for (auto i : range(trips).pipelined(AHEAD + 1)) {
      auto loaded = memory[box<words>(i)];
      auto wanted = i * words + arange<1, words + 1>(); // memory holds 1, 2, 3, …
      landed[box<1>(i)] = reshape<1>(sum(cast<i32>(loaded == wanted)));
    }
  }
};

struct outcome {
  example::max_error error;
  double milliseconds = 0, bytes = 0;
};

template <int AHEAD, int LOADS>
void probe(const buffer<i32> &memory, outcome &all) {
  using kernel = load_counter<AHEAD, LOADS>;
  buffer<i32> landed(memory.size() / kernel::words);
  auto count = jit(kernel{});
  const double milliseconds = example::best_milliseconds([&] { count(grid(1), memory, landed); });
  int right = 0;
  for (const i32 words : landed) {
    right += words == kernel::words;
    all.error.compare(words, kernel::words);
  }
  const auto bytes = static_cast<double>(memory.bytes());
  std::printf("%2d x %d loads ahead: %d of %d trips have what they loaded, %.3g GB/s\n", AHEAD,
              LOADS, right, static_cast<int>(landed.size()), bytes / milliseconds * 1e-6);
  all.milliseconds += milliseconds;
  all.bytes += bytes;
}

int main() {
  buffer<i32> memory(example::size(1 << 22, 1 << 15));
  i32 next = 0;
  for (i32 &word : memory) word = ++next;
  outcome all;
  probe<1, 1>(memory, all);
  probe<7, 1>(memory, all);
  probe<15, 1>(memory, all);
  probe<12, 2>(memory, all);
  probe<15, 4>(memory, all);
  probe<15, 8>(memory, all);
  return example::report(all.error, 0, all.milliseconds, all.bytes, "gbs");
}
