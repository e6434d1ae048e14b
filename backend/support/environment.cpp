#include "backend/support/environment.h"

#include "backend/launching/whole_number.h"
#include "backend/support/lifetime.h"

#include <cstdio>
#include <sys/auxv.h>
#include <unistd.h>
#include <utility>

namespace imbrex {

namespace {

constexpr auto kNames = std::to_array<std::string_view>({
#define IMBREX_VARIABLE(member, name, type, meaning) name,
#include "backend/support/environment.def"
});

// Each reads one type of value and says in words what it wanted instead.
const char *read(std::string_view value, EnvironmentText &text) {
  text = value;
  return nullptr;
}

/// From 1 to so many.
template <std::int64_t Most>
const char *readNumber(std::string_view value, std::optional<std::int64_t> &read) {
  const auto number = launching::wholeNumber(value, Most);
  if (!number) {
    static const auto &wanted = permanent("a whole number from 1 to " + std::to_string(Most));
    return wanted.c_str();
  }
  read = number;
  return nullptr;
}

const char *read(std::string_view value, EnvironmentThreads &threads) {
  return readNumber<launching::kMostThreads>(value, threads);
}

const char *read(std::string_view value, EnvironmentMebibytes &limit) {
  return readNumber<EnvironmentMebibytes::kMost>(value, limit.number);
}

const char *read(std::string_view value, EnvironmentFlag &flag) {
  if (value != "0" && value != "1") return "0 or 1";
  flag = value == "1";
  return nullptr;
}

void readVariable(std::string_view name, std::string_view value, Environment &environment,
                  Diagnostics &diagnostics) {
#define IMBREX_VARIABLE(member, variable, type, meaning)                                           \
  if (name == variable) {                                                                          \
    if (const char *wanted = read(value, environment.member))                                      \
      diagnostics.report(Diag::BadVariableValue, {}, name, value, wanted);                         \
    return;                                                                                        \
  }
#include "backend/support/environment.def"

  if (const std::string_view meant = nearest(name, kNames); !meant.empty())
    diagnostics.report(Diag::MisspeltVariable, {}, name, meant);
  else
    diagnostics.report(Diag::UnknownVariable, {}, name);
}

} // namespace

Environment parseEnvironment(const char *const *block, Diagnostics &diagnostics) {
  Environment environment;
  for (; *block != nullptr; ++block) {
    const std::string_view entry = *block;
    const auto equals = entry.find('=');
    if (!entry.starts_with("IMBREX_") || equals == std::string_view::npos) continue;
    readVariable(entry.substr(0, equals), entry.substr(equals + 1), environment, diagnostics);
  }
  return environment;
}

Environment withoutPaths(Environment environment) {
#define IMBREX_VARIABLE(member, name, type, meaning)                                               \
  if (std::string_view(#type) == "Path") environment.member = {};
#include "backend/support/environment.def"
  return environment;
}

bool hasOthersRights() { return getauxval(AT_SECURE) != 0; }

const Environment &environment() {
  static const auto &parsed = permanent([] {
    Diagnostics diagnostics;
    Environment environment = parseEnvironment(environ, diagnostics);
    std::fputs(diagnostics.render().c_str(), stderr);
    return hasOthersRights() ? withoutPaths(std::move(environment)) : environment;
  }());
  return parsed;
}

std::string environmentAsMarkdown() {
  std::string table = "| variable | meaning |\n|---|---|\n";
#define IMBREX_VARIABLE(member, name, type, meaning) table += "| `" name "` | " meaning " |\n";
#include "backend/support/environment.def"
  return table;
}

} // namespace imbrex
