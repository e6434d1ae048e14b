#include "runtime/throw.h"

#include <algorithm>

namespace imbrex::runtime {

error toError(const Diagnostics &diagnostics) {
  const auto &all = diagnostics.all();
  const auto first = std::ranges::find_if(
      all, [](const Diagnostic &d) { return info(d.kind).severity == Severity::Error; });
  IMBREX_CHECK(first != all.end(), "an error was promised, but none reported");
  std::vector<std::string> notes;
  if (!first->hint.empty()) notes.push_back(first->hint);
  for (auto other = first + 1; other != all.end(); ++other) notes.push_back(render(*other));
  std::string text = diagnostics.render();
  if (text.ends_with('\n')) text.pop_back();
  return {std::string(info(first->kind).name),
          {.file = std::string(first->where.file), .line = first->where.line},
          std::move(notes),
          text};
}

error toError(const Diagnostic &diagnostic) {
  Diagnostics only;
  only.add(diagnostic);
  return toError(only);
}

void throwError(const Diagnostic &diagnostic) { throw toError(diagnostic); }

} // namespace imbrex::runtime
