#pragma once

#include "bench/static/measure.h"
#include <imbrex/kernels/block_select_topk.hpp>

#include <string>
#include <vector>

namespace bench {

/// A form of the selection that block_select_topk launches on GPUs, and a launch of one block.
struct Selection {
  std::string name;
  imbrex::traced_kernel kernel;
  std::int64_t k;
  std::int64_t columns;
  std::int64_t capacity; ///< Of the workspace; 0: there is none.
};

struct SelectionQuality {
  Quality code;
  double looks; ///< The bytes of scores that a random row had read, over those that it has.
};

/// The code as `measure` has it, but for bank conflicts, and what a random row costs on the
/// emulator.
SelectionQuality measure(const Selection &selection, const imbrex::target::GpuTarget &target);

template <int Most>
Selection sifting() {
  constexpr auto widths = imbrex::kernels::launching::widths_of<false>(Most);
  using kernel =
      imbrex::kernels::topk_by_sifting<imbrex::f32, imbrex::i32, Most, widths.look, widths.slice>;
  return {.name = "sifting, k up to " + std::to_string(Most),
          .kernel = imbrex::trace(kernel{}),
          .k = Most,
          .columns = 8 * widths.look,
          .capacity = kernel::capacity};
}

inline Selection rounds() {
  constexpr int width = imbrex::kernels::launching::widths_of<false>(0).look;
  return {.name = "rounds",
          .kernel =
              imbrex::trace(imbrex::kernels::topk_by_rounds<imbrex::f32, imbrex::i32, width>{}),
          .k = 3,
          .columns = 4 * width,
          .capacity = 0};
}

inline std::vector<Selection> selections() {
  return {rounds(), sifting<8>(), sifting<64>(), sifting<512>(),
          sifting<imbrex::kernels::most_topk>()};
}

} // namespace bench
