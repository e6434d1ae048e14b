#pragma once

#include "backend/support/location.h"
#include "backend/support/text.h"

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace imbrex {

enum class Severity : std::uint8_t { Note, Warning, Error };
std::string_view toText(Severity severity);

enum class Diag : std::uint16_t {
#define IMBREX_DIAG(Name, ...) Name,
#include "backend/support/diagnostics.def"
};

/// A row of diagnostics.def.
struct DiagInfo {
  std::string_view name;
  Severity severity;
  std::string_view message;
  std::string_view hint;
};

inline constexpr auto kDiagnostics = std::to_array<DiagInfo>({
#define IMBREX_DIAG(Name, severity, message, hint) {#Name, Severity::severity, message, hint},
#include "backend/support/diagnostics.def"
});

constexpr const DiagInfo &info(Diag diag) { return kDiagnostics[static_cast<std::size_t>(diag)]; }

/// Something that the user is told, its text complete.
struct Diagnostic {
  Diag kind;
  Location where;
  std::string message;
  std::string hint;

  friend bool operator==(const Diagnostic &, const Diagnostic &) = default;
};

/// A row filled with arguments; aborts when their number is not the row's.
Diagnostic makeDiagnostic(Diag kind, Location where, std::span<const std::string> arguments);

template <class... Args>
Diagnostic diagnostic(Diag kind, Location where, const Args &...arguments) {
  const std::array<std::string, sizeof...(Args)> texts{std::string(toText(arguments))...};
  return makeDiagnostic(kind, where, texts);
}

/// `gemm.cpp:41: error: …` and, where there is one, a second line `  hint: …`; each ends its line.
std::string render(const Diagnostic &diagnostic);

/// What one compilation tells, in order. A pass reports as many errors as it finds; the pipeline
/// stops at the next border between stages.
class Diagnostics {
public:
  template <class... Args>
  void report(Diag kind, Location where, const Args &...arguments) {
    add(diagnostic(kind, where, arguments...));
  }
  void add(Diagnostic diagnostic);

  bool hasErrors() const { return errors_ != 0; }
  const std::vector<Diagnostic> &all() const { return all_; }
  std::string render() const;

private:
  std::vector<Diagnostic> all_;
  std::size_t errors_ = 0;
};

/// How often the process made a diagnostic of this row. With IMBREX_REPORTED=FILE the name of each
/// row is also appended to the file when it is first made, so that the tests together can prove
/// that they provoke every row.
std::size_t timesReported(Diag kind);

} // namespace imbrex
