#include "backend/ir/attribute_text.h"

#include "backend/support/lexer.h"
#include "backend/support/text.h"
#include "llvm/ADT/StringExtras.h"

#include <algorithm>
#include <concepts>
#include <iterator>

namespace imbrex::ir {
namespace {

using Integers = llvm::SmallVector<std::int64_t, 5>;
using ValueForm = WrittenValue::Form;

template <class Enum>
concept Named = std::is_enum_v<Enum>;
template <class T>
concept Integer = std::integral<T> && !std::same_as<T, bool>;

// --- a value as text ---

std::string toText(bool value) { return value ? "true" : "false"; }
std::string toText(Integer auto value) { return std::to_string(value); }
std::string toText(const std::string &value) { return quoted(value); }
std::string toText(Named auto value) {
  return std::string(kNames<decltype(value)>[static_cast<std::size_t>(value)]);
}
std::string toText(const Integers &values) { return "[" + joined(values) + "]"; }

// --- what can be written ---

template <class T>
std::string wanted() {
  if constexpr (Named<T>)
    return alternatives(kNames<T>);
  else if constexpr (std::same_as<T, bool>)
    return "'true' or 'false'";
  else if constexpr (std::same_as<T, std::string>)
    return "text in quotes";
  else if constexpr (std::same_as<T, Integers>)
    return "a list of whole numbers, such as [1, 0]";
  else
    return "a whole number";
}

// --- text as a value ---

bool assign(bool &field, const WrittenValue &value) {
  if (value.form != ValueForm::Word || (value.text != "true" && value.text != "false"))
    return false;
  field = value.text == "true";
  return true;
}

bool assign(Integer auto &field, const WrittenValue &value) {
  return value.form == ValueForm::Number && llvm::to_integer(value.text, field, 10);
}

bool assign(std::string &field, const WrittenValue &value) {
  if (value.form != ValueForm::String) return false;
  field = value.text;
  return true;
}

bool assign(Integers &field, const WrittenValue &value) {
  if (value.form != ValueForm::List) return false;
  Integers result(value.elements.size());
  for (std::size_t i = 0; i < result.size(); ++i)
    if (!llvm::to_integer(value.elements[i], result[i], 10)) return false;
  field = std::move(result);
  return true;
}

template <Named Enum>
bool assign(Enum &field, const WrittenValue &value) {
  const auto *found = std::ranges::find(kNames<Enum>, std::string_view(value.text));
  if (value.form != ValueForm::Word || found == std::end(kNames<Enum>)) return false;
  field = static_cast<Enum>(found - std::begin(kNames<Enum>));
  return true;
}

/// `visit` hands out references, so that reading needs a copy; attributes are small.
template <class Visitor>
void forEachField(Attributes &attributes, Visitor &&visitor) {
  std::visit(
      [&]<class Attrs>(Attrs &attrs) {
        if constexpr (!std::same_as<Attrs, ConstantAttrs>) attrs.visit(visitor);
      },
      attributes);
}

} // namespace

std::vector<AttributeField> attributeFields(const Attributes &attributes) {
  std::vector<AttributeField> fields;
  Attributes copy = attributes;
  forEachField(copy, [&]<class T>(std::string_view name, T &value) {
    fields.push_back({.name = name, .value = toText(value), .wanted = wanted<T>()});
  });
  return fields;
}

bool setAttribute(Attributes &attributes, std::string_view name, const WrittenValue &value) {
  bool isSet = false;
  forEachField(attributes, [&](std::string_view fieldName, auto &field) {
    if (fieldName == name) isSet = assign(field, value);
  });
  return isSet;
}

} // namespace imbrex::ir
