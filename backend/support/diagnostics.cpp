#include "backend/support/diagnostics.h"

#include "backend/support/check.h"

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <fstream>

namespace imbrex {

std::string_view toText(Severity severity) {
  switch (severity) {
  case Severity::Note: return "note";
  case Severity::Warning: return "warning";
  case Severity::Error: return "error";
  }
  IMBREX_UNREACHABLE("severity");
}

namespace {

constinit std::array<std::atomic<std::size_t>, kDiagnostics.size()> reported{};

void countReport(Diag kind) {
  if (reported[static_cast<std::size_t>(kind)].fetch_add(1) != 0) return;
  // Not by environment(), which reports what is wrong with the environment.
  if (const char *file = secure_getenv("IMBREX_REPORTED"))
    std::ofstream(file, std::ios::app) << std::string(info(kind).name) + "\n";
}

} // namespace

std::size_t timesReported(Diag kind) { return reported[static_cast<std::size_t>(kind)].load(); }

Diagnostic makeDiagnostic(Diag kind, Location where, std::span<const std::string> arguments) {
  const DiagInfo &row = info(kind);
  const auto wanted = std::max(countFillers(row.message), countFillers(row.hint));
  IMBREX_CHECK(std::ssize(arguments) == wanted, "diagnostic '{0}' wants {1} arguments, not {2}",
               row.name, wanted, arguments.size());
  countReport(kind);
  return {.kind = kind,
          .where = where,
          .message = fill(row.message, arguments),
          .hint = fill(row.hint, arguments)};
}

std::string render(const Diagnostic &diagnostic) {
  std::string text = withReadPlace(diagnostic.where) + ": ";
  text += toText(info(diagnostic.kind).severity);
  text += ": " + diagnostic.message + "\n";
  if (!diagnostic.hint.empty()) text += "  hint: " + diagnostic.hint + "\n";
  return text;
}

void Diagnostics::add(Diagnostic diagnostic) {
  if (info(diagnostic.kind).severity == Severity::Error) ++errors_;
  all_.push_back(std::move(diagnostic));
}

std::string Diagnostics::render() const {
  std::string text;
  for (const Diagnostic &diagnostic : all_) text += imbrex::render(diagnostic);
  return text;
}

} // namespace imbrex
