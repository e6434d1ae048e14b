#include "app.hpp"
#include "consumer.h"
#include "later.hpp"

#include <string_view>
#include <vector>

int launch_later() {
  const auto host = imbrex::aot::stream_ref::host();
  const std::vector<float> a(1000, 2.0f), b(1000, 3.0f);
  std::vector<float> now(1000), later(1000);
  if (!app::add(host, 1, a, b, now) || !second::add(host, 2, a, b, later)) return 1;
  if (!second::grow(host, 1, 0.0f, later)) return 1;
  const auto shrinks = second::grow(host, 1, -1.0f, later);
  if (shrinks.code() != IMBREX_UNMET ||
      std::string_view(shrinks.message()) !=
          "'grow' requires exp(p0) > 0.5, and p0 is -1: it does not shrink by half")
    return 1;
  // Numbers that a bf16 has; those behind them come from the padding.
  std::vector<float> numbers(100);
  for (int i = 0; i < 100; ++i)
    numbers[static_cast<std::size_t>(i)] = static_cast<float>(i * 37 % 100 - 50);
  std::vector<imbrex::bf16> sorted(100);
  if (!second::order(host, 1, numbers, sorted)) return 1;
  for (int i = 0; i < 100; ++i)
    if (float(sorted[static_cast<std::size_t>(i)]) != static_cast<float>(i - 50)) return 1;
  return now == std::vector<float>(1000, 5.0f) && later == std::vector<float>(1000, 6.0f) ? 0 : 1;
}
