#include "tools/imbrex/layout_picture.h"

#include "backend/layout/layout_text.h"
#include "backend/layout/matrix.h"
#include "backend/support/text.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/raw_ostream.h"

#include <algorithm>
#include <cmath>
#include <functional>

namespace imbrex::tool {
namespace {

using layout::Bits;
using layout::Dim;
using layout::LinearLayout;

bool isOnThreads(const LinearLayout &layout) {
  return llvm::any_of(layout.inputs(), [](const layout::Side &side) {
    return side.dim == Dim::Register || side.dim == Dim::Lane || side.dim == Dim::Warp;
  });
}

/// One dimension's part of a packed input.
Bits inputPart(const LinearLayout &layout, Bits place, Dim dim) {
  return place >> layout.inputShift(dim) & ((Bits{1} << layout.inputBits(dim)) - 1);
}

std::string placeText(const LinearLayout &layout, Bits place) {
  if (isOnThreads(layout)) {
    const Bits thread = inputPart(layout, place, Dim::Lane) | inputPart(layout, place, Dim::Warp)
                                                                  << layout.inputBits(Dim::Lane);
    return std::to_string(thread) + ":" + std::to_string(inputPart(layout, place, Dim::Register));
  }
  const auto part = [&](const layout::Side &side) { return inputPart(layout, place, side.dim); };
  return joined(llvm::map_range(layout.inputs(), part), ",");
}

/// A rectangle of elements: the last two axes, and where the others stand.
struct Slice {
  std::string heading; // "[1, 0, :, :]"; nothing where there are no others
  Bits first;          // its packed element at row 0, column 0
};

/// The shape of the picture: rows and columns of each slice.
struct PictureGrid {
  explicit PictureGrid(const PicturedLayout &shown)
      : picture(shown), extents(shown.extents), rank(extents.size()),
        rows(rank < 2 ? 1 : extents[rank - 2]), columns(rank < 1 ? 1 : extents[rank - 1]),
        columnBits(rank < 1 ? 0 : shown.layout.outputs()[rank - 1].bits),
        owners(shown.layout.columns()) {
    addSlices(0, "", 0);
  }

  std::optional<Bits> placeOf(const Slice &slice, std::int64_t row, std::int64_t column) const {
    const Bits element =
        slice.first + (static_cast<Bits>(row) << columnBits) + static_cast<Bits>(column);
    return owners.coordinates(element);
  }

  std::string textOf(const Slice &slice, std::int64_t row, std::int64_t column) const {
    const auto place = placeOf(slice, row, column);
    return place ? placeText(picture.layout, *place) : "-";
  }

  /// Of the longest cell.
  std::size_t width() const {
    std::size_t longest = std::to_string(columns - 1).size();
    forEachCell([&](const Slice &slice, std::int64_t row, std::int64_t column) {
      longest = std::max(longest, textOf(slice, row, column).size());
    });
    return longest;
  }

  void
  forEachCell(llvm::function_ref<void(const Slice &, std::int64_t, std::int64_t)> visit) const {
    for (const Slice &slice : slices)
      for (std::int64_t row = 0; row < rows; ++row)
        for (std::int64_t column = 0; column < columns; ++column) visit(slice, row, column);
  }

  const PicturedLayout &picture;
  llvm::ArrayRef<std::int64_t> extents;
  std::size_t rank;
  std::int64_t rows, columns;
  std::int32_t columnBits;
  layout::Subspace owners;
  std::vector<Slice> slices;

private:
  void addSlices(std::size_t axis, const std::string &heading, Bits first) {
    if (axis + 2 >= rank || rank < 3) {
      const Bits rest = rank < 2 ? 0 : columnBits + picture.layout.outputs()[rank - 2].bits;
      slices.push_back({heading.empty() ? "" : "[" + heading + ":, :]", first << rest});
      return;
    }
    for (std::int64_t i = 0; i < extents[axis]; ++i)
      addSlices(axis + 1, heading + std::to_string(i) + ", ",
                first << picture.layout.outputs()[axis].bits | static_cast<Bits>(i));
  }
};

std::string padded(const std::string &text, std::size_t width) {
  return std::string(width - std::min(width, text.size()), ' ') + text;
}

/// A colour of the wheel, `lightness` from 0 (black) to 1 (white), as #rrggbb.
std::string colour(double turn, double lightness) {
  constexpr double kSaturation = 0.65;
  const double spread = kSaturation * std::min(lightness, 1 - lightness);
  std::string text = "#";
  for (const double offset : {0.0, 8.0, 4.0}) {
    const double k = std::fmod(offset + turn * 12, 12);
    const double part = lightness - spread * std::clamp(std::min(k - 3, 9 - k), -1.0, 1.0);
    constexpr std::string_view kDigits = "0123456789abcdef";
    const auto byte = static_cast<std::size_t>(std::lround(part * 255));
    text += kDigits[byte / 16];
    text += kDigits[byte % 16];
  }
  return text;
}

/// `index` of `count`, as a part of 1.
double share(Bits index, std::int32_t bits) {
  return static_cast<double>(index) / static_cast<double>(Bits{1} << bits);
}

std::string colourOf(const LinearLayout &layout, Bits place) {
  constexpr double kPale = 0.9, kMiddle = 0.8, kSpan = 0.3;
  constexpr std::int32_t kBankBits = 5;
  const Bits lane = inputPart(layout, place, Dim::Lane), warp = inputPart(layout, place, Dim::Warp);
  const std::int32_t laneBits = layout.inputBits(Dim::Lane), warpBits = layout.inputBits(Dim::Warp);
  if (warpBits > 0) return colour(share(warp, warpBits), kPale - kSpan * share(lane, laneBits));
  if (laneBits > 0) return colour(share(lane, laneBits), kMiddle);
  return colour(share(place % (Bits{1} << kBankBits), kBankBits), kMiddle);
}

/// Pixels.
constexpr std::int64_t kCellHeight = 18, kCharacterWidth = 6, kMargin = 8, kHeadingHeight = 22;

class LayoutSvg {
public:
  explicit LayoutSvg(const PicturedLayout &picture)
      : grid_(picture), cellWidth_(static_cast<std::int64_t>(grid_.width() + 1) * kCharacterWidth),
        rowHeader_(static_cast<std::int64_t>(std::to_string(grid_.rows - 1).size() + 1) *
                   kCharacterWidth) {}

  std::string run() {
    open();
    std::int64_t top = kMargin + kHeadingHeight;
    for (const Slice &slice : grid_.slices) {
      if (!slice.heading.empty()) {
        text(left(0), top + kCellHeight - 5, "start", slice.heading);
        top += kCellHeight;
      }
      top += kCellHeight;
      headings(top);
      for (std::int64_t row = 0; row < grid_.rows; ++row)
        for (std::int64_t column = 0; column < grid_.columns; ++column)
          cell(slice, row, column, top + row * kCellHeight);
      top += grid_.rows * kCellHeight + kMargin;
    }
    out_ << "</svg>\n";
    return std::move(result_);
  }

private:
  std::int64_t left(std::int64_t column) const {
    return kMargin + rowHeader_ + column * cellWidth_;
  }

  void open() {
    const std::string legend = placeLegend(grid_.picture.layout);
    const std::int64_t lines = grid_.rows + (grid_.slices[0].heading.empty() ? 1 : 2);
    const std::int64_t sliceHeight = lines * kCellHeight + kMargin;
    const std::int64_t width =
        std::max(left(grid_.columns), static_cast<std::int64_t>(legend.size()) * kCharacterWidth) +
        kMargin;
    const std::int64_t height =
        kMargin + kHeadingHeight + static_cast<std::int64_t>(grid_.slices.size()) * sliceHeight;
    out_ << "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"" << width << "\" height=\""
         << height << "\" viewBox=\"0 0 " << width << " " << height
         << "\" font-family=\"monospace\" font-size=\"10\">\n"
         << "<title>" << toText(grid_.picture.layout) << "</title>\n"
         << "<rect width=\"100%\" height=\"100%\" fill=\"#ffffff\"/>\n";
    text(kMargin, kMargin + kHeadingHeight / 2, "start", legend);
  }

  void headings(std::int64_t top) {
    for (std::int64_t column = 0; column < grid_.columns; ++column)
      text(left(column) + cellWidth_ / 2, top - 5, "middle", std::to_string(column));
    for (std::int64_t row = 0; row < grid_.rows; ++row)
      text(left(0) - kCharacterWidth / 2, top + row * kCellHeight + kCellHeight - 5, "end",
           std::to_string(row));
  }

  void cell(const Slice &slice, std::int64_t row, std::int64_t column, std::int64_t top) {
    const auto place = grid_.placeOf(slice, row, column);
    out_ << "<rect x=\"" << left(column) << "\" y=\"" << top << "\" width=\"" << cellWidth_
         << "\" height=\"" << kCellHeight << "\" fill=\""
         << (place ? colourOf(grid_.picture.layout, *place) : "#ffffff")
         << "\" stroke=\"#808080\"/>\n";
    text(left(column) + cellWidth_ / 2, top + kCellHeight - 5, "middle",
         grid_.textOf(slice, row, column));
  }

  void text(std::int64_t x, std::int64_t y, std::string_view anchor, std::string_view what) {
    out_ << "<text x=\"" << x << "\" y=\"" << y << "\" text-anchor=\"" << anchor << "\">" << what
         << "</text>\n";
  }

  PictureGrid grid_;
  std::int64_t cellWidth_, rowHeader_;
  std::string result_;
  llvm::raw_string_ostream out_{result_};
};

} // namespace

PicturedLayout pictured(LinearLayout layout) {
  PicturedLayout picture{std::move(layout), {}};
  for (const layout::Side &side : picture.layout.outputs())
    picture.extents.push_back(std::int64_t{1} << side.bits);
  return picture;
}

std::int64_t elementCount(const PicturedLayout &picture) {
  std::int64_t count = 1;
  for (const std::int64_t extent : picture.extents)
    count =
        count > kMaxPicturedElements ? count : count * std::min(extent, kMaxPicturedElements + 1);
  return count;
}

std::string placeLegend(const LinearLayout &layout) {
  if (isOnThreads(layout))
    return "thread:register, thread = lane + " +
           std::to_string(Bits{1} << layout.inputBits(Dim::Lane)) + " * warp";
  const auto name = [](const layout::Side &side) { return nameOf(side.dim); };
  return joined(llvm::map_range(layout.inputs(), name), ",");
}

std::string tableOf(const PicturedLayout &picture) {
  const PictureGrid grid(picture);
  const std::size_t width = grid.width() + 1;
  const std::size_t rowHeader = std::to_string(grid.rows - 1).size();
  std::string text;
  for (const Slice &slice : grid.slices) {
    if (!slice.heading.empty()) text += slice.heading + "\n";
    text += std::string(rowHeader, ' ');
    for (std::int64_t column = 0; column < grid.columns; ++column)
      text += padded(std::to_string(column), width);
    text += "\n";
    for (std::int64_t row = 0; row < grid.rows; ++row) {
      text += padded(std::to_string(row), rowHeader);
      for (std::int64_t column = 0; column < grid.columns; ++column)
        text += padded(grid.textOf(slice, row, column), width);
      text += "\n";
    }
  }
  return text;
}

std::string svgOf(const PicturedLayout &picture) { return LayoutSvg(picture).run(); }

} // namespace imbrex::tool
