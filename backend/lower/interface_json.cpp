#include "backend/lower/interface_json.h"

#include "backend/support/check.h"
#include "llvm/ADT/STLExtras.h"

namespace imbrex::lower {
namespace {

namespace json = llvm::json;

template <class Numbers>
json::Array arrayOf(const Numbers &numbers) {
  json::Array array;
  for (const auto number : numbers) array.push_back(static_cast<std::int64_t>(number));
  return array;
}

/// None where one is no number.
std::optional<std::vector<std::int64_t>> numbersOf(const json::Value &value) {
  const json::Array *array = value.getAsArray();
  if (array == nullptr) return std::nullopt;
  std::vector<std::int64_t> numbers;
  for (const json::Value &item : *array) {
    const auto number = item.getAsInteger();
    if (!number) return std::nullopt;
    numbers.push_back(*number);
  }
  return numbers;
}

std::optional<Word> readWord(const json::Value &value) {
  constexpr auto kLast = static_cast<std::int32_t>(WordKind::BoxMap);
  const auto numbers = numbersOf(value);
  if (!numbers || numbers->size() != 4) return std::nullopt;
  const auto number = [&](std::size_t i) { return static_cast<std::int32_t>((*numbers)[i]); };
  if (number(0) < 0 || number(0) > kLast) return std::nullopt;
  return Word{.kind = static_cast<WordKind>(number(0)),
              .parameter = number(1),
              .axis = number(2),
              .bytes = number(3)};
}

std::optional<BoxMap> readMap(const json::Value &value) {
  constexpr std::size_t kBefore = 3; // the box
  const auto numbers = numbersOf(value);
  if (!numbers || numbers->size() < kBefore) return std::nullopt;
  BoxMap map{.parameter = static_cast<std::int32_t>((*numbers)[0]),
             .box = {},
             .elementBytes = static_cast<std::int32_t>((*numbers)[1]),
             .span = static_cast<std::int32_t>((*numbers)[2])};
  map.box.assign(numbers->begin() + kBefore, numbers->end());
  return map;
}

/// Each of an array, by `read`; none where one is something else.
template <class T, class Read>
bool readAll(const json::Object &text, llvm::StringRef name, std::vector<T> &all, Read read) {
  const json::Array *array = text.getArray(name);
  if (array == nullptr) return false;
  for (const json::Value &value : *array) {
    auto one = read(value);
    if (!one) return false;
    all.push_back(T(*std::move(one)));
  }
  return true;
}

bool readNumber(const json::Object &text, llvm::StringRef name, std::int32_t &number) {
  const auto found = text.getInteger(name);
  number = static_cast<std::int32_t>(found.value_or(0));
  return found.has_value();
}

} // namespace

json::Object toJson(const KernelInterface &interface) {
  IMBREX_CHECK(interface.sites.empty(), "the interface of '{0}' has sites", interface.name);
  json::Array words, maps, parameters;
  for (const Word &word : interface.words)
    words.push_back(arrayOf(std::array<std::int64_t, 4>{static_cast<std::int64_t>(word.kind),
                                                        word.parameter, word.axis, word.bytes}));
  for (const BoxMap &map : interface.maps) {
    std::vector<std::int64_t> numbers{map.parameter, map.elementBytes, map.span};
    llvm::append_range(numbers, map.box);
    maps.push_back(arrayOf(numbers));
  }
  for (const std::string &name : interface.parameters) parameters.push_back(name);
  return json::Object{{"name", interface.name},
                      {"parameters", std::move(parameters)},
                      {"words", std::move(words)},
                      {"maps", std::move(maps)},
                      {"threads", interface.threads},
                      {"shared", interface.sharedMemoryBytes},
                      {"shared at launch", interface.bytesAtLaunch}};
}

std::optional<KernelInterface> interfaceOf(const json::Object &text) {
  KernelInterface interface;
  const auto name = text.getString("name");
  if (!name) return std::nullopt;
  interface.name = name->str();
  const auto readName = [](const json::Value &value) { return value.getAsString(); };
  if (readAll(text, "parameters", interface.parameters, readName) &&
      readAll(text, "words", interface.words, readWord) &&
      readAll(text, "maps", interface.maps, readMap) &&
      readNumber(text, "threads", interface.threads) &&
      readNumber(text, "shared", interface.sharedMemoryBytes) &&
      readNumber(text, "shared at launch", interface.bytesAtLaunch))
    return interface;
  return std::nullopt;
}

} // namespace imbrex::lower
