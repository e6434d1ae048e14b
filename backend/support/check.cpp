#include "backend/support/check.h"

#include <cstdio>
#include <cstdlib>

namespace imbrex {

namespace {
constinit thread_local CrashNote *innermost = nullptr;
} // namespace

CrashNote::CrashNote(std::function<std::string()> describe)
    : describe_(std::move(describe)), outer_(innermost) {
  innermost = this;
}

CrashNote::~CrashNote() { innermost = outer_; }

void printCrashNotes() {
  // A note is unlinked before it is asked: should its own check fail, the others are still printed
  // and nothing recurs for ever.
  while (CrashNote *note = innermost) {
    innermost = note->outer_;
    std::fprintf(stderr, "%s\n", note->describe_().c_str());
  }
}

void failCheck(std::string_view file, int line, std::string_view condition,
               std::string_view message, std::span<const std::string> arguments) {
  const std::string text = std::string(file) + ":" + std::to_string(line) +
                           ": internal error: " + fill(message, arguments) + " (" +
                           std::string(condition) + ")\n";
  std::fputs(text.c_str(), stderr);
  printCrashNotes();
  std::fputs("this is a bug in imbrex; please report it with the text above\n", stderr);
  std::abort();
}

} // namespace imbrex
