#include "bench/static/products.hpp"

#include "backend/machine/mma.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringRef.h"

namespace bench {
namespace {

using imbrex::machine::Machine;
using imbrex::machine::MatrixElement;

/// Whose blocks take two operands' tiles of 48 KiB, several times: copies need no registers.
bool hasLargeBlocks(const Machine &machine) {
  return llvm::StringRef(machine.name).starts_with("sm_");
}

bool multiplies(const Machine &machine, MatrixElement element) {
  return llvm::any_of(machine::mmaInstructionsOf(machine),
                      [&](const auto *row) { return row->a == element && row->b == element; });
}

class Table {
public:
  explicit Table(const Machine &machine) : machine_(machine) {}
  std::vector<Product> take() { return std::move(rows_); }

  /// a · b and a · bᵀ.
  template <class T, class Sum, class Out, int BM, int BN, int BK>
  void addGemm(int warps) {
    const std::string type(element_name<T>);
    for (const bool isTransposed : {false, true}) {
      const std::string name = "gemm_" + type + "_" + std::to_string(BM) + "x" +
                               std::to_string(BN) + "x" + std::to_string(BK) +
                               (isTransposed ? "_abt" : "_ab");
      const int slots = slotsOf((BM + BN) * BK * static_cast<int>(sizeof(T)));
      rows_.push_back(
          {.name = name,
           .kind = "gemm",
           .type = type,
           .out = std::string(element_name<Out>),
           .m = BM,
           .n = BN,
           .k = BK,
           .warps = warps,
           .slots = slots,
           .isTransposed = isTransposed,
           .isCausal = false,
           .record = [=] {
             return trace(
                 tiled_gemm<T, Sum, Out, BM, BN, BK>{.is_transposed = isTransposed, .slots = slots},
                 {.name = name, .warps = warps});
           }});
    }
  }

  template <class T, int BM, int BN, int D>
  void addAttention(int warps) {
    const std::string type(element_name<T>);
    for (const bool isCausal : {false, true}) {
      const std::string name =
          "attention_" + type + "_d" + std::to_string(D) + (isCausal ? "_causal" : "");
      rows_.push_back({.name = name,
                       .kind = "attention",
                       .type = type,
                       .out = type,
                       .m = BM,
                       .n = BN,
                       .k = D,
                       .warps = warps,
                       .slots = 2,
                       .isTransposed = false,
                       .isCausal = isCausal,
                       .products = 2,
                       .record = [=] {
                         return trace(tiled_attention<T, BM, BN, D>{.is_causal = isCausal},
                                      {.name = name, .warps = warps});
                       }});
    }
  }

  /// a · (w · s)ᵀ.
  template <class W, int BM, int BN, int BK>
  void addWeights(const std::string &type) {
    const std::string name = "weights_" + type + "_" + std::to_string(BM) + "x" +
                             std::to_string(BN) + "x" + std::to_string(BK);
    rows_.push_back({.name = name,
                     .kind = "weights",
                     .type = type,
                     .out = "bf16",
                     .m = BM,
                     .n = BN,
                     .k = BK,
                     .warps = 4,
                     .slots = 3,
                     .isTransposed = true,
                     .isCausal = false,
                     .record = [=] {
                       return trace(weights_gemm<W, BM, BN, BK>{}, {.name = name, .warps = 4});
                     }});
  }

  template <int BM, int BN, int BK>
  void addParts(precision how, const std::string &word, int products) {
    const std::string name = "parts_" + word + "_" + std::to_string(BM) + "x" + std::to_string(BN) +
                             "x" + std::to_string(BK);
    rows_.push_back({.name = name,
                     .kind = "parts",
                     .type = "f32",
                     .out = "f32",
                     .m = BM,
                     .n = BN,
                     .k = BK,
                     .warps = 8,
                     .slots = 3,
                     .isTransposed = true,
                     .isCausal = false,
                     .products = products,
                     .record = [=] {
                       return trace(parts_gemm<BM, BN, BK>{.how = how}, {.name = name, .warps = 8});
                     }});
  }

private:
  /// Three, or four where a block has room for them and its tiles are the largest.
  int slotsOf(int bytes) const {
    constexpr int kLargeSlot = 48 << 10;
    return bytes >= kLargeSlot && machine_.sharedMemoryBytes >= 4 * bytes ? 4 : 3;
  }

  const Machine &machine_;
  std::vector<Product> rows_;
};

/// The tiles of a warp are 64 x 64 or half of that on warps of 32, twice as large on wide ones.
template <class T, class Out>
void addHalves(Table &table, const Machine &machine) {
  if (hasLargeBlocks(machine)) {
    table.addGemm<T, f32, Out, 128, 128, 32>(4);
    table.addGemm<T, f32, Out, 128, 128, 64>(8);
    table.addGemm<T, f32, Out, 128, 256, 32>(8);
    table.addGemm<T, f32, Out, 128, 256, 64>(8);
  } else if (machine.warpSize == 64) {
    table.addGemm<T, f32, Out, 128, 128, 64>(4);
    table.addGemm<T, f32, Out, 256, 256, 64>(8);
  } else {
    table.addGemm<T, f32, Out, 128, 128, 32>(4);
    table.addGemm<T, f32, Out, 128, 128, 64>(8);
  }
}

template <class T, class Sum, class Out>
void addBytes(Table &table, const Machine &machine) {
  table.addGemm<T, Sum, Out, 128, 128, 64>(4);
  if (hasLargeBlocks(machine)) table.addGemm<T, Sum, Out, 128, 256, 64>(8);
  if (machine.warpSize == 64) table.addGemm<T, Sum, Out, 256, 256, 128>(8);
}

} // namespace

std::vector<Product> productsFor(const Machine &machine) {
  Table table(machine);
  addHalves<bf16, bf16>(table, machine);
  addHalves<f16, f16>(table, machine);
  if (multiplies(machine, MatrixElement::F8E4M3FN))
    addBytes<f8e4m3fn, f32, f16>(table, machine);
  else if (multiplies(machine, MatrixElement::F8E4M3FNUZ))
    addBytes<f8e4m3fnuz, f32, f16>(table, machine);
  addBytes<i8, i32, i32>(table, machine);
  table.addAttention<bf16, 128, 64, 64>(4);
  table.addWeights<u8, 16, 128, 64>("i4");
  table.addWeights<u8, 128, 128, 64>("i4");
  table.addWeights<i8, 128, 128, 64>("i8");
  table.addWeights<f8e4m3fn, 128, 128, 64>("f8");
  // One of f32, where a unit takes that.
  const int parts = multiplies(machine, MatrixElement::F32) ? 1 : 3;
  table.addParts<128, 128, 32>(precision::tf32x3, "tf32x3", parts);
  table.addParts<128, 128, 32>(precision::bf16x3, "bf16x3", parts);
  // Sixteen rows are less than the instructions of wide warps want.
  table.addAttention<bf16, 128, 64, 128>(machine.warpSize == 64 ? 4 : 8);
  return table.take();
}

} // namespace bench
