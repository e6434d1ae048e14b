#include "backend/target/host/dot/product.h"
#include "llvm/IR/IntrinsicsX86.h"
#include "llvm/IR/Module.h"

#include <algorithm>
#include <array>
#include <string>

/// AMX's tiles: eight registers, each of up to 16 rows of 64 bytes. A micro-tile has its sums in up
/// to four, two rows of two; a step of 16 words of k loads two tiles of a and two of a panel, and
/// has four products (Intel SDM, volume 1, chapter 18; TDPBF16PS, TDPFP16PS, TDPBSSD, TDPBUUD).
///
///               panel     6        7      16 words of k x 16 columns
///   a   4    16 rows      0        1
///       5    16 rows      2        3
///
/// How large tiles are is their configuration. All are full where a kernel begins; a micro-tile
/// that has fewer rows or columns has its own, and leaves them full again.
namespace imbrex::host {
namespace {

using llvm::Value;
using llvm::Intrinsic::ID;

std::uint8_t sumsTile(std::int64_t down, std::int64_t right) {
  return static_cast<std::uint8_t>(down * kAmxAcross + right);
}
std::uint8_t tileOfA(std::int64_t down) { return static_cast<std::uint8_t>(4 + down); }
std::uint8_t tileOfB(std::int64_t right) { return static_cast<std::uint8_t>(6 + right); }

/// Of rows or columns, how many one of the tiles has.
std::int64_t partOf(std::int64_t all, std::int64_t tile) {
  return std::clamp<std::int64_t>(all - tile * kAmxRows, 0, kAmxRows);
}

using Configuration = std::array<std::uint8_t, kAmxRowBytes>;

/// Of palette 1, for so many rows and columns of 32 bits: the tiles' bytes of a row from byte 16
/// on, as words of 16 bits, and rows from byte 48 on.
Configuration configurationFor(std::int64_t rows, std::int64_t columns) {
  Configuration bytes{1};
  const auto set = [&](std::uint8_t tile, std::int64_t tileRows, std::int64_t rowBytes) {
    if (tileRows == 0 || rowBytes == 0) return; // a tile without either has neither
    bytes.at(16 + 2 * std::size_t{tile}) = static_cast<std::uint8_t>(rowBytes);
    bytes.at(48 + std::size_t{tile}) = static_cast<std::uint8_t>(tileRows);
  };
  for (std::int64_t i = 0; i < kAmxAcross; ++i) {
    set(tileOfA(i), partOf(rows, i), kAmxRowBytes);
    set(tileOfB(i), kAmxRows, 4 * partOf(columns, i));
    for (std::int64_t j = 0; j < kAmxAcross; ++j)
      set(sumsTile(i, j), partOf(rows, i), 4 * partOf(columns, j));
  }
  return bytes;
}

void emitConfiguration(llvm::IRBuilder<> &builder, std::int64_t rows, std::int64_t columns) {
  llvm::Module &module = *builder.GetInsertBlock()->getModule();
  const std::string name = "imbrex.amx." + std::to_string(rows) + "x" + std::to_string(columns);
  llvm::GlobalVariable *table = module.getNamedGlobal(name);
  if (!table) {
    const Configuration bytes = configurationFor(rows, columns);
    llvm::Constant *data = llvm::ConstantDataArray::get(module.getContext(), bytes);
    table = new llvm::GlobalVariable(module, data->getType(), true,
                                     llvm::GlobalValue::PrivateLinkage, data, name);
    table->setAlignment(llvm::Align(kAmxRowBytes));
  }
  builder.CreateIntrinsic(llvm::Intrinsic::x86_ldtilecfg, {}, {table});
}

/// And columns, of a micro-tile.
constexpr std::int64_t kMostRows = kAmxAcross * kAmxRows;

class AmxProduct final : public DotProduct {
public:
  using DotProduct::DotProduct;

private:
  void emitMicroTile(const Matrices &matrices, const MicroTile &tile) override {
    const bool isFull = tile.rows == kMostRows && tile.columns == kMostRows;
    if (!isFull) emitConfiguration(b_, tile.rows, tile.columns);
    loadSums(matrices.from, tile);
    forEachPiece(matrices, {}, [&](const Piece &piece, auto) {
      multiplyWhole(piece, tile);
      return Carried{};
    });
    if (end_) multiplyEnd(matrices, tile);
    forEachSum(matrices.to, tile, [&](std::uint8_t number, Value *at, Value *stride) {
      move(llvm::Intrinsic::x86_tilestored64, number, at, stride);
    });
    if (!isFull) emitConfiguration(b_, kMostRows, kMostRows);
  }

  void multiplyWhole(const Piece &piece, const MicroTile &tile) {
    const auto loop = [&](Value *words) {
      emitCountedLoop(b_, words, kAmxRows, {}, [&](Value *word, auto) {
        multiplyAdd(piece.a, piece.b, tile, word, word);
        return Carried{};
      });
    };
    if (!piece.depth) return loop(i64(plan_.depth));
    emitUnless(b_, b_.CreateICmpEQ(piece.depth, i64(0)), [&] { loop(piece.depth); });
  }

  /// In whole tiles; the rest is multiplied behind them.
  Value *lastWords() override { return b_.CreateUDiv(end_->first, i64(plan_.wordBytes())); }

  /// What is left of a's last depth, copied and filled up with zeros.
  void beginMatrix(const Matrices &matrices) override {
    if (!pieces_ || !pieces_->lastDepth) return;
    const Piece last = lastPiece(matrices);
    Value *bytes = b_.CreateMul(pieces_->lastDepth, i64(copiedBytes()));
    Value *left = b_.CreateURem(bytes, i64(kAmxRowBytes));
    end_ = {.first = b_.CreateSub(bytes, left), .isEmpty = b_.CreateICmpEQ(left, i64(0))};
    constexpr auto kLanes = static_cast<unsigned>(kAmxRowBytes);
    auto *type = llvm::FixedVectorType::get(b_.getInt8Ty(), kLanes);
    Value *isLeft =
        b_.CreateIntrinsic(llvm::Intrinsic::get_active_lane_mask,
                           {type->getWithNewType(b_.getInt1Ty()), b_.getInt64Ty()}, {i64(0), left});
    emitUnless(b_, end_->isEmpty, [&] {
      emitCountedLoop(b_, i64(shape_.m), 1, {}, [&](Value *row, auto) {
        Value *from = bytesInto(at(last.a.data, b_.CreateMul(row, last.a.rowStride), plan_.copied),
                                end_->first);
        Value *copied = b_.CreateMaskedLoad(type, from, llvm::Align(1), isLeft,
                                            llvm::Constant::getNullValue(type));
        b_.CreateAlignedStore(copied, bytesInto(pieces_->end, b_.CreateMul(row, i64(kAmxRowBytes))),
                              llvm::Align(kAmxRowBytes));
        return Carried{};
      });
    });
  }

  void multiplyEnd(const Matrices &matrices, const MicroTile &tile) {
    emitUnless(b_, end_->isEmpty, [&] {
      const DotOperand copied{.data = pieces_->end,
                              .rowStride = i64(kAmxRowBytes / copiedBytes()),
                              .batchStride = nullptr};
      multiplyAdd(copied, lastPiece(matrices).b, tile, i64(0), lastWords());
    });
  }

  void loadSums(const DotOperand &from, const MicroTile &tile) {
    const auto load = [&] {
      forEachSum(from, tile, [&](std::uint8_t number, Value *at, Value *stride) {
        move(llvm::Intrinsic::x86_tileloadd64, number, at, stride);
      });
    };
    if (!sums_.areNew) return load();
    forEachSum(from, tile, [&](std::uint8_t number, auto, auto) {
      b_.CreateIntrinsic(llvm::Intrinsic::x86_tilezero, {}, {b_.getInt8(number)});
    });
    emitUnless(b_, sums_.areNew, load);
  }

  /// Sums += 16 words of k of a times those of b, from these words on.
  void multiplyAdd(const DotOperand &a, const DotOperand &b, const MicroTile &tile, Value *wordOfA,
                   Value *wordOfB) {
    Value *strideA = b_.CreateMul(a.rowStride, i64(copiedBytes()));
    Value *rows =
        at(at(a.data, b_.CreateMul(tile.firstRow, a.rowStride), plan_.copied), wordOfA, plan_.word);
    const std::int64_t width = widthOf(tile.columns);
    Value *panel = rowOfPanel(panelOf(b, DotPart::Whole, tile), wordOfB, tile.columns);
    for (std::int64_t i = 0; i < tilesOf(tile.rows); ++i)
      move(llvm::Intrinsic::x86_tileloadd64, tileOfA(i),
           bytesInto(rows, b_.CreateMul(strideA, i64(i * kAmxRows))), strideA);
    for (std::int64_t j = 0; j < tilesOf(tile.columns); ++j)
      move(llvm::Intrinsic::x86_tileloadd64, tileOfB(j), bytesInto(panel, i64(j * kAmxRowBytes)),
           i64(width * plan_.wordBytes()));
    for (std::int64_t i = 0; i < tilesOf(tile.rows); ++i)
      for (std::int64_t j = 0; j < tilesOf(tile.columns); ++j)
        b_.CreateIntrinsic(
            instruction(), {},
            {b_.getInt8(sumsTile(i, j)), b_.getInt8(tileOfA(i)), b_.getInt8(tileOfB(j))});
  }

  ID instruction() const {
    if (plan_.copied == ir::ElementKind::BF16) return llvm::Intrinsic::x86_tdpbf16ps;
    if (plan_.copied == ir::ElementKind::F16) return llvm::Intrinsic::x86_tdpfp16ps;
    return ir::isSigned(plan_.copied) ? llvm::Intrinsic::x86_tdpbssd : llvm::Intrinsic::x86_tdpbuud;
  }

  static std::int64_t tilesOf(std::int64_t count) { return (count + kAmxRows - 1) / kAmxRows; }

  void forEachSum(const DotOperand &sums, const MicroTile &tile,
                  llvm::function_ref<void(std::uint8_t number, Value *at, Value *stride)> each) {
    Value *stride = b_.CreateMul(sums.rowStride, i64(sumBytes()));
    Value *first = at(at(sums.data, b_.CreateMul(tile.firstRow, sums.rowStride), shape_.sum),
                      tile.firstColumn, shape_.sum);
    for (std::int64_t i = 0; i < tilesOf(tile.rows); ++i)
      for (std::int64_t j = 0; j < tilesOf(tile.columns); ++j) {
        Value *row = bytesInto(first, b_.CreateMul(stride, i64(i * kAmxRows)));
        each(sumsTile(i, j), bytesInto(row, i64(j * kAmxRowBytes)), stride);
      }
  }

  /// Load a tile, or store it.
  void move(ID instruction, std::uint8_t number, Value *address, Value *stride) {
    b_.CreateIntrinsic(instruction, {}, {b_.getInt8(number), address, stride});
  }

  /// Of a last depth, where what is left behind whole tiles begins, in bytes, and whether nothing
  /// is.
  struct End {
    Value *first, *isEmpty;
  };
  std::optional<End> end_;
};

} // namespace

void emitAmxStart(llvm::IRBuilder<> &builder) { emitConfiguration(builder, kMostRows, kMostRows); }

void emitAmxEnd(llvm::IRBuilder<> &builder) {
  builder.CreateIntrinsic(llvm::Intrinsic::x86_tilerelease, {}, llvm::ArrayRef<Value *>());
}

std::unique_ptr<DotProduct> productOnAmx(llvm::IRBuilder<> &builder, const DotShape &shape,
                                         const VectorUnit &unit, const DotSums &sums,
                                         const std::optional<DotPieces> &pieces) {
  return std::make_unique<AmxProduct>(builder, shape, unit, sums, pieces);
}

} // namespace imbrex::host
