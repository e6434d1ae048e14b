#include "dsl/attributes.h"

#include "backend/support/check.h"

#include <algorithm>

namespace imbrex::dsl {
namespace {

template <class Enum>
Enum enumNamed(std::string_view word) {
  const auto *found = std::ranges::find(ir::kNames<Enum>, word);
  IMBREX_CHECK(found != std::end(ir::kNames<Enum>), "there is no enumerator '{0}'", word);
  return static_cast<Enum>(found - std::begin(ir::kNames<Enum>));
}

template <class Field>
void setField(Field &field, const detail::attribute &given) {
  if constexpr (std::is_enum_v<Field>)
    field = enumNamed<Field>(given.word);
  else if constexpr (std::is_same_v<Field, bool>)
    field = given.number != 0;
  else if constexpr (std::is_integral_v<Field>)
    field = static_cast<Field>(given.number);
  else if constexpr (std::is_same_v<Field, std::string>)
    field = std::string(given.word);
  else
    field.assign(given.numbers.begin(), given.numbers.end());
}

} // namespace

ir::Attributes attributesFor(ir::OpKind kind, detail::list<detail::attribute> given) {
  ir::Attributes attributes = ir::defaultAttributes(kind);
  for (const detail::attribute &one : given) {
    bool found = false;
    const auto visitField = [&](std::string_view name, auto &field) {
      if (name != one.name) return;
      setField(field, one);
      found = true;
    };
    std::visit([&](auto &fields) { fields.visit(visitField); }, attributes);
    IMBREX_CHECK(found, "op '{0}' has no attribute '{1}'", ir::info(kind).mnemonic, one.name);
  }
  return attributes;
}

} // namespace imbrex::dsl
