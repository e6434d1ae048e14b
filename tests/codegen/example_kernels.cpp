#include "examples/support.hpp"
#include "imbrex/kernels/select_topk.hpp"
#include "tests/codegen/table_row.h"

#include <algorithm>
#include <array>
#include <fstream>

// The examples as they are. Their programs are functions of a namespace here, which nothing calls.
#define EXAMPLE_FOLDER ""
namespace example_01 {
#include "examples/01_vector_add/main.cpp"
}
namespace example_02 {
#include "examples/02_fused_elementwise/main.cpp"
}
namespace example_03 {
#include "examples/03_softmax/main.cpp"
}
namespace example_04 {
#include "examples/04_layer_norm/main.cpp"
}
namespace example_05 {
#include "examples/05_matmul_bias_gelu/main.cpp"
}
namespace example_06 {
#include "examples/06_reductions_and_scans/main.cpp"
}
namespace example_07 {
#include "examples/07_dropout/main.cpp"
}
namespace example_08 {
#include "examples/08_image_filter/main.cpp"
}

namespace example_09 {
#include "examples/09_grouped_product/main.cpp"
}
namespace example_12 {
#include "examples/12_quantised_weights/main.cpp"
}

namespace imbrex::testing {
namespace {

void addRowByRow(std::vector<TableKernel> &table) {
  table.push_back(row("vector_add", example_01::vector_add{}, {2, 1, 1},
                      {"random:2000", "random:2000", "zeros:2000"}));
  table.push_back(row("gated_silu", example_02::gated_silu{}, {2, 1, 1},
                      {"random:10x500", "random:10x500", "random:500", "0.75", "zeros:10x500"}));
  table.push_back(
      row("softmax", example_03::softmax<1024>{}, {2, 1, 1}, {"random:7x1000", "zeros:7x1000"}));
  table.push_back(
      row("layer_norm", example_04::forward{}, {2, 1, 1},
          {"random:7x512", "random:512", "random:512", "zeros:7x512", "zeros:7", "zeros:7"}));
  table.push_back(row("layer_norm_gradient", example_04::backward{}, {2, 1, 1},
                      {"random:10x512", "random:10x512", "random:512", "random:10", "ones:10",
                       "zeros:10x512", "zeros:2x512", "zeros:2x512"}));
  table.push_back(
      row("add_rows", example_04::add_rows<16>{}, {2, 1, 1}, {"random:16x128", "zeros:128"}));
}

/// The library's.
void addSelections(std::vector<TableKernel> &table) {
  table.push_back(row("topk_by_rounds",
                      kernels::topk_by_rounds<f32, i32, 64>{{.largest = false, .counted = true}},
                      {3, 1, 1}, {"random:3x100", "arange:3", "5", "zeros:3x5"}));
  table.push_back(row("topk_by_sifting", kernels::topk_by_sifting<f32, i32, 16, 64, 16>{},
                      {2, 1, 1}, {"random:3x300", "zeros:0", "12", "zeros:3x12", "zeros:2x32"}));
}

} // namespace

void addExampleKernels(std::vector<TableKernel> &table) {
  addRowByRow(table);
  addSelections(table);
  table.push_back(row("matmul_bias_gelu", example_05::matmul_bias_gelu<16, 32, 16>{}, {1, 2, 1},
                      {"random:16x40", "random:40x50", "random:50", "zeros:16x50"}));
  table.push_back(
      row("sample_tiles", example_06::sample_tiles{}, {2, 1, 1}, {"random:5000", "zeros:2x3"}));
  table.push_back(row("sample_all", example_06::sample_all{}, {1, 1, 1}, {"ones:20x3", "zeros:2"}));
  table.push_back(row("sum_tiles", example_06::sum_tiles{}, {2, 1, 1}, {"random:5000", "zeros:2"}));
  table.push_back(row("scan_sums", example_06::scan_sums{}, {1, 1, 1}, {"random:100"}));
  table.push_back(row("scan_tiles", example_06::scan_tiles{}, {2, 1, 1},
                      {"random:5000", "random:2", "zeros:5000"}));
  const std::vector<std::string> dropping{"random:3000", "7", "0.5", "zeros:3000"};
  table.push_back(row("dropout", example_07::dropout{}, {2, 1, 1}, dropping));
  table.push_back(row("dropout_gradient", example_07::dropout_backward{}, {2, 1, 1}, dropping));
  table.push_back(
      row("sharpen", example_08::sharpen{}, {2, 1, 1}, {"random:20x30x3", "1.5", "zeros:20x30x3"}));
  table.push_back(row("grouped_product", example_09::grouped_product<16, 16, 16>{}, {1, 1, 3},
                      {"random:1,random:1,random:4", "random:1,random:1,random:4",
                       "zeros:1,zeros:1,zeros:5", "arange:3", "arange:3", "arange:3"}));
  table.push_back(row("quantised_product", example_12::quantised_product<16, 64, 32>{}, {1, 2, 1},
                      {"random:16x64", "random:100x32", "random:100x2", "zeros:16x100"}));
}

} // namespace imbrex::testing
