#include "tools/imbrex/npy.h"

#include "llvm/ADT/StringExtras.h"

#include <algorithm>
#include <cstring>
#include <fstream>
#include <limits>

namespace imbrex::tool {
namespace {

constexpr std::string_view kMagic = "\x93NUMPY";
constexpr std::size_t kAlignment = 64; // where the data starts in the file, by NumPy's rule

/// The header of a .npy file is a Python dictionary literal:
///
///   {'descr': '<f4', 'fortran_order': False, 'shape': (128, 64), }
///
/// Each reader below leaves the text behind what it took, and says false where it saw something
/// else.
class HeaderText {
public:
  explicit HeaderText(std::string_view text) : rest_(text) {}

  bool take(char wanted) {
    skipSpace();
    return rest_.consume_front(wanted);
  }

  bool takeWord(std::string_view wanted) {
    skipSpace();
    return rest_.consume_front(wanted);
  }

  bool takeString(std::string_view &text) {
    skipSpace();
    if (rest_.empty() || (rest_.front() != '\'' && rest_.front() != '"')) return false;
    const std::size_t end = rest_.find(rest_.front(), 1);
    if (end == llvm::StringRef::npos) return false;
    text = rest_.substr(1, end - 1);
    rest_ = rest_.drop_front(end + 1);
    return true;
  }

  bool takeNumber(std::int64_t &number) {
    skipSpace();
    if (rest_.consumeInteger(10, number)) return false;
    rest_.consume_front('L'); // a long of Python 2
    return true;
  }

  bool atEnd() {
    skipSpace();
    return rest_.empty();
  }

private:
  void skipSpace() { rest_ = rest_.ltrim(" \t\r\n"); }

  llvm::StringRef rest_;
};

Failure<Diagnostic> malformed(std::string_view name, std::string_view what) {
  return fail(Diag::MalformedNpy, {}, name, what);
}

Failure<Diagnostic> unsupported(std::string_view name, std::string_view element,
                                std::string_view why, std::string_view hint) {
  return fail(Diag::UnsupportedNpyElement, {}, name, element, why, hint);
}

/// `<f4`: byte order, kind, bytes.
Result<NpyElement> parseElement(std::string_view text, std::string_view name) {
  constexpr std::string_view kConvert = "convert it before it is saved, as by astype('f4')";
  NpyElement element;
  if (text.size() < 2) return malformed(name, "its element type is '" + std::string(text) + "'");
  if (text[0] == '>' && text.substr(2) != "1")
    return unsupported(name, text, "big-endian",
                       "use astype('" + std::string(text.substr(1)) + "')");
  const bool ordered = std::string_view("<>|=").find(text[0]) != std::string_view::npos;
  const std::string_view plain = text.substr(ordered ? 1 : 0);
  element.kind = plain.front();
  if (element.kind == '?') return NpyElement{'b', 1};
  if (element.kind == 'O') return unsupported(name, text, "of Python objects", kConvert);
  if (!llvm::to_integer(plain.substr(1), element.bytes, 10))
    return unsupported(name, text, "not of plain numbers", kConvert);

  const auto isOneOf = [&](std::string_view sizes) {
    return element.bytes > 0 && element.bytes < 10 &&
           sizes.find(static_cast<char>('0' + element.bytes)) != std::string_view::npos;
  };
  switch (element.kind) {
  case 'b':
    if (isOneOf("1")) return element;
    break;
  case 'i':
  case 'u':
  case 'f': // f1 is how newer libraries save an 8-bit float
    if (isOneOf("1248")) return element;
    break;
  case 'V': // how the others save what NumPy has no name for: bf16, 8-bit floats
    if (isOneOf("12")) return element;
    break;
  }
  return unsupported(name, text, "not of plain numbers up to 64 bits", kConvert);
}

/// `(128, 64)`, `(5,)`, `()`.
bool takeShape(HeaderText &text, std::vector<std::int64_t> &shape) {
  if (!text.take('(')) return false;
  while (!text.take(')')) {
    std::int64_t extent = 0;
    if (!text.takeNumber(extent)) return false;
    shape.push_back(extent);
    if (text.take(',')) continue;
    return text.take(')');
  }
  return true;
}

Result<NpyArray> parseHeader(std::string_view header, std::string_view name) {
  NpyArray array;
  bool hasElement = false, hasOrder = false, hasShape = false;
  HeaderText text(header);
  if (!text.take('{')) return malformed(name, "its header is not a dictionary");
  while (!text.take('}')) {
    std::string_view key, value;
    if (!text.takeString(key) || !text.take(':')) return malformed(name, "its header has no key");
    if (key == "descr") {
      if (text.take('['))
        return unsupported(name, "[…]", "a structure of several fields",
                           "save each field as an array of its own");
      if (!text.takeString(value)) return malformed(name, "its 'descr' is not a string");
      auto element = parseElement(value, name);
      if (!element) return element.failure();
      array.element = *element;
      hasElement = true;
    } else if (key == "fortran_order") {
      array.fortranOrder = text.takeWord("True");
      if (!array.fortranOrder && !text.takeWord("False"))
        return malformed(name, "its 'fortran_order' is neither True nor False");
      hasOrder = true;
    } else if (key == "shape") {
      array.shape.clear();
      if (!takeShape(text, array.shape)) return malformed(name, "its 'shape' is not a tuple");
      hasShape = true;
    } else {
      return malformed(name, "its header has the key '" + std::string(key) + "'");
    }
    if (text.take(',')) continue;
    if (text.take('}')) break;
    return malformed(name, "its header has no end");
  }
  if (!text.atEnd()) return malformed(name, "its header goes on after its end");
  if (!hasElement || !hasOrder || !hasShape)
    return malformed(name, "its header lacks 'descr', 'fortran_order' or 'shape'");
  return array;
}

std::string headerOf(const NpyArray &array) {
  std::string shape;
  for (const std::int64_t extent : array.shape) shape += std::to_string(extent) + ", ";
  if (array.shape.size() > 1) shape.resize(shape.size() - 2);
  if (array.shape.size() == 1) shape.resize(shape.size() - 1);
  const std::string order = array.element.bytes == 1 ? "|" : "<";
  return "{'descr': '" + order + toText(array.element) +
         "', 'fortran_order': " + (array.fortranOrder ? "True" : "False") + ", 'shape': (" + shape +
         "), }";
}

} // namespace

std::string toText(const NpyElement &element) {
  return std::string(1, element.kind) + std::to_string(element.bytes);
}

std::optional<std::int64_t> countElements(std::span<const std::int64_t> shape,
                                          std::int64_t bytesOfOne) {
  // An empty axis makes an array of nothing, however long the others are.
  std::int64_t count = 1, bytes = 0;
  bool empty = false;
  for (const std::int64_t extent : shape) {
    if (extent < 0) return std::nullopt;
    empty |= extent == 0;
  }
  if (empty) return 0;
  for (const std::int64_t extent : shape)
    if (__builtin_mul_overflow(count, extent, &count)) return std::nullopt;
  if (__builtin_mul_overflow(count, bytesOfOne, &bytes)) return std::nullopt;
  return count;
}

Result<NpyArray> parseNpy(std::span<const std::byte> file, std::string_view name) {
  const std::string_view text(reinterpret_cast<const char *>(file.data()), file.size());
  if (!text.starts_with(kMagic)) return malformed(name, "it does not begin like one");
  const auto byteAt = [&](std::size_t i) { return static_cast<std::size_t>(file[i]); };
  constexpr std::size_t kVersionEnd = kMagic.size() + 2;
  if (file.size() < kVersionEnd) return malformed(name, "it ends within its header");
  const std::size_t version = byteAt(kMagic.size());
  if (version < 1 || version > 3)
    return malformed(name, "its format has version " + std::to_string(version) + ", not 1, 2 or 3");

  const std::size_t lengthBytes = version == 1 ? 2 : 4;
  const std::size_t start = kVersionEnd + lengthBytes;
  if (file.size() < start) return malformed(name, "it ends within its header");
  std::size_t length = 0;
  for (std::size_t i = 0; i < lengthBytes; ++i) length |= byteAt(kVersionEnd + i) << (8 * i);
  if (file.size() - start < length) return malformed(name, "it ends within its header");

  auto array = parseHeader(text.substr(start, length), name);
  if (!array) return array;
  const auto count = countElements(array->shape, array->element.bytes);
  if (!count) return malformed(name, "its shape is impossible");
  const std::span<const std::byte> data = file.subspan(start + length);
  const auto wanted = static_cast<std::size_t>(*count * array->element.bytes);
  if (data.size() != wanted)
    return malformed(name, "its shape needs " + std::to_string(wanted) + " bytes of data, but " +
                               std::to_string(data.size()) + " are there");
  array->data.assign(data.begin(), data.end());
  return array;
}

Result<NpyArray> readNpy(const std::string &path) {
  std::ifstream file(path, std::ios::binary | std::ios::ate);
  const std::streamoff size = file ? static_cast<std::streamoff>(file.tellg()) : -1;
  // A folder opens well, and says that it has more bytes than there are.
  if (size < 0 || size == std::numeric_limits<std::streamoff>::max())
    return fail(Diag::UnreadableFile, {}, path);
  std::vector<std::byte> bytes(static_cast<std::size_t>(size));
  file.seekg(0);
  if (!file.read(reinterpret_cast<char *>(bytes.data()), size))
    return fail(Diag::UnreadableFile, {}, path);
  return parseNpy(bytes, path);
}

std::vector<std::byte> printNpy(const NpyArray &array) {
  std::string header = headerOf(array);
  const std::size_t start = kMagic.size() + 4;
  header.append(kAlignment - 1 - (start + header.size()) % kAlignment, ' ');
  header += '\n';
  std::string text(kMagic);
  text += {'\x01', '\x00', static_cast<char>(header.size() & 0xff),
           static_cast<char>(header.size() >> 8)};
  text += header;
  std::vector<std::byte> bytes(text.size() + array.data.size());
  std::memcpy(bytes.data(), text.data(), text.size());
  std::ranges::copy(array.data, bytes.begin() + static_cast<std::ptrdiff_t>(text.size()));
  return bytes;
}

Result<void> writeNpy(const std::string &path, const NpyArray &array) {
  const std::vector<std::byte> bytes = printNpy(array);
  std::ofstream file(path, std::ios::binary);
  file.write(reinterpret_cast<const char *>(bytes.data()),
             static_cast<std::streamsize>(bytes.size()));
  file.close();
  if (!file) return fail(Diag::UnwritableFile, {}, path);
  return {};
}

} // namespace imbrex::tool
