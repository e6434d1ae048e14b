#pragma once

#include <array>
#include <cstdio>
#include <string>
#include <unistd.h>
#include <utility>

namespace imbrex::testing {

/// What is written to stdout while this lives.
class CapturedOutput {
public:
  CapturedOutput() : file_(std::tmpfile()), stdout_(dup(STDOUT_FILENO)) {
    std::fflush(stdout);
    dup2(fileno(file_), STDOUT_FILENO);
  }
  ~CapturedOutput() { finish(); }
  std::string finish() {
    if (file_ == nullptr) return "";
    std::fflush(stdout);
    dup2(stdout_, STDOUT_FILENO);
    close(stdout_);
    std::rewind(file_);
    std::string text;
    std::array<char, 4096> part;
    while (const std::size_t read = std::fread(part.data(), 1, part.size(), file_))
      text.append(part.data(), read);
    std::fclose(std::exchange(file_, nullptr));
    return text;
  }

private:
  std::FILE *file_;
  int stdout_;
};

} // namespace imbrex::testing
