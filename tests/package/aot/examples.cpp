// All kernels of the examples, for one library: each example's file as it is, but for its `main`.
#include "examples/support.hpp"
#include <imbrex/generator.hpp>
#include <imbrex/kernels/block_select_topk.hpp>

#include <algorithm>
#include <array>
#include <fstream>
#include <numeric>
#include <string>
#include <vector>

#define EXAMPLE_FOLDER ""
#define main run
namespace vector_added {
#include "examples/01_vector_add/main.cpp"
} // namespace vector_added
namespace fused {
#include "examples/02_fused_elementwise/main.cpp"
} // namespace fused
namespace rows {
#include "examples/03_softmax/main.cpp"
} // namespace rows
namespace normalised {
#include "examples/04_layer_norm/main.cpp"
} // namespace normalised
namespace multiplied {
#include "examples/05_matmul_bias_gelu/main.cpp"
} // namespace multiplied
namespace reduced {
#include "examples/06_reductions_and_scans/main.cpp"
} // namespace reduced
namespace dropped {
#include "examples/07_dropout/main.cpp"
} // namespace dropped
namespace filtered {
#include "examples/08_image_filter/main.cpp"
} // namespace filtered
namespace grouped {
#include "examples/09_grouped_product/main.cpp"
} // namespace grouped
namespace counted {
#include "examples/10_load_counter/main.cpp"
} // namespace counted
namespace chosen {
#include "examples/11_top_k/main.cpp"
} // namespace chosen
namespace quantised {
#include "examples/12_quantised_weights/main.cpp"
} // namespace quantised
#include "examples/13_ahead_of_time/kernel.hpp"
#undef main

IMBREX_KERNEL(vector_add, vector_added::vector_add{});
IMBREX_KERNEL(gated_silu, fused::gated_silu{});
IMBREX_KERNEL(softmax, rows::softmax<1024>{});
IMBREX_KERNEL(forward, normalised::forward{});
IMBREX_KERNEL(backward, normalised::backward{});
IMBREX_KERNEL(add_rows, normalised::add_rows<16>{});
IMBREX_KERNEL(matmul_bias_gelu, multiplied::matmul_bias_gelu<64, 128, 64>{});
IMBREX_KERNEL(sample_tiles, reduced::sample_tiles{});
IMBREX_KERNEL(sample_all, reduced::sample_all{});
IMBREX_KERNEL(sum_tiles, reduced::sum_tiles{});
IMBREX_KERNEL(scan_sums, reduced::scan_sums{});
IMBREX_KERNEL(scan_tiles, reduced::scan_tiles{});
IMBREX_KERNEL(dropout, dropped::dropout{});
IMBREX_KERNEL(dropout_backward, dropped::dropout_backward{});
IMBREX_KERNEL(sharpen, filtered::sharpen{});
IMBREX_KERNEL(grouped_product, grouped::grouped_product<32, 64, 32>{});
IMBREX_KERNEL(load_counter, counted::load_counter<7, 1>{});
IMBREX_KERNEL(take, chosen::take<8>{});
IMBREX_KERNEL(quantised_product, quantised::quantised_product<16, 128, 64>{});
IMBREX_KERNEL(rms_norm, rms_norm<1024>{});
