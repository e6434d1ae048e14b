#pragma once

#include <algorithm>
#include <string_view>

namespace imbrex::ir {

/// Calls `field(name, member)` for each member; `names` are theirs, with ", " between them.
void visitFields(auto &field, std::string_view names, auto &...members) {
  const auto next = [&] {
    const std::string_view name = names.substr(0, names.find(','));
    names.remove_prefix(std::min(name.size() + std::string_view(", ").size(), names.size()));
    return name;
  };
  (field(next(), members), ...);
}

} // namespace imbrex::ir

/// The fields of a struct of attributes, all of them, as attributes.h says.
#define IMBREX_FIELDS(Attrs, ...)                                                                  \
  bool operator==(const Attrs &) const = default;                                                  \
  void visit(auto &&field) { visitFields(field, #__VA_ARGS__, __VA_ARGS__); }
