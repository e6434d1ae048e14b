#pragma once

#include "backend/ir/attributes.h"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

/// The text form of attributes, derived from what each struct of attributes.h lists.
namespace imbrex::ir {

struct AttributeField {
  std::string_view name;
  std::string value;  ///< As printed.
  std::string wanted; ///< What can be written: "a whole number", "'zero', 'nan' or 'value'".
};

/// Every field, in order. A constant's bits are not among them: they are printed as a number.
std::vector<AttributeField> attributeFields(const Attributes &attributes);

/// A value as the text has it.
struct WrittenValue {
  enum class Form : std::uint8_t { Word, Number, String, List };
  Form form = Form::Word;
  std::string text;                  ///< Of a word or a number as it stands, of a string unescaped.
  std::vector<std::string> elements; ///< Of a list.
};

/// Give a field its value; false where the field cannot have it or there is no such field.
bool setAttribute(Attributes &attributes, std::string_view name, const WrittenValue &value);

} // namespace imbrex::ir
