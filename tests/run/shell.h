#pragma once

#include <doctest/doctest.h>

#include <array>
#include <cstdio>
#include <string>
#include <string_view>
#include <sys/wait.h>

struct Outcome {
  int status;
  std::string output; // both streams, as they came
};

/// Run a shell line in which `imbrex` is the command that this build made.
inline Outcome shell(const std::string &line) {
  const std::string script = "imbrex() { " IMBREX_COMMAND " \"$@\"; }; { " + line + "\n} 2>&1";
  std::FILE *pipe = popen(script.c_str(), "r");
  REQUIRE(pipe != nullptr);
  Outcome outcome{};
  std::array<char, 4096> part;
  while (const std::size_t count = std::fread(part.data(), 1, part.size(), pipe))
    outcome.output.append(part.data(), count);
  const int status = pclose(pipe);
  outcome.status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  return outcome;
}

inline bool contains(const std::string &text, std::string_view part) {
  return text.find(part) != std::string::npos;
}
