#pragma once

#include "backend/support/result.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace imbrex::tool {

/// NumPy's name of an element: a letter for the kind and the bytes of one, as in `f4`.
struct NpyElement {
  char kind = 'f'; ///< b bool, i signed, u unsigned, f float, V bytes that NumPy has no name for
  std::int64_t bytes = 4;

  friend bool operator==(const NpyElement &, const NpyElement &) = default;
};
std::string toText(const NpyElement &element);

/// What a .npy file holds: little-endian elements, in C order or in Fortran order.
struct NpyArray {
  NpyElement element;
  bool fortranOrder = false;
  std::vector<std::int64_t> shape;
  std::vector<std::byte> data;
};

/// How many elements an array of this shape has; nothing where a size is negative or the bytes of
/// all of them do not fit a 64-bit number.
std::optional<std::int64_t> countElements(std::span<const std::int64_t> shape,
                                          std::int64_t bytesOfOne);

/// Read a .npy file of version 1, 2 or 3. `name` is the file's, for the message. Nothing that the
/// bytes may say makes this crash or allocate more than the file's own size.
Result<NpyArray> parseNpy(std::span<const std::byte> file, std::string_view name);
Result<NpyArray> readNpy(const std::string &path);

/// The bytes of a version 1 file.
std::vector<std::byte> printNpy(const NpyArray &array);
Result<void> writeNpy(const std::string &path, const NpyArray &array);

} // namespace imbrex::tool
