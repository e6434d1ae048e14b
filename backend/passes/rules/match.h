#pragma once

#include "backend/ir/kernel.h"
#include "backend/passes/rules/rule.h"

#include <optional>

namespace imbrex::passes::rules {

/// What the wildcards and sorts of a rule's left side stand for where it matched.
struct Bindings {
  std::array<ir::ValueId, kWildcards> values{}; // invalid: not bound
  std::array<std::optional<ir::Type>, kSorts> types{};

  ir::ValueId &value(const Node &node) { return values[node.wildcard]; }
  std::optional<ir::Type> &type(Sort sort) { return types[static_cast<std::size_t>(sort)]; }
};

/// Whether an op, with the ops that define its operands, is what a rule's left side describes.
std::optional<Bindings> match(const ir::Kernel &kernel, const Rule &rule, const ir::Op &root);

} // namespace imbrex::passes::rules
