// The fuzz tests' main where there is no libFuzzer: runs every file of the folders named, then
// seeded random mutations of them, for the seconds of -max_total_time=. An input that crashes is
// written to crash-input.

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <string_view>
#include <unistd.h>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t *data, std::size_t size);

namespace {

std::string current;

// Only calls that a signal handler may make.
extern "C" void keepInput(int signal) {
  const int file = ::open("crash-input", O_CREAT | O_TRUNC | O_WRONLY, 0644);
  [[maybe_unused]] const auto written = ::write(file, current.data(), current.size());
  std::signal(signal, SIG_DFL);
  std::raise(signal);
}

void tryInput(std::string input) {
  current = std::move(input);
  LLVMFuzzerTestOneInput(reinterpret_cast<const std::uint8_t *>(current.data()), current.size());
}

std::vector<std::string> readCorpus(const std::filesystem::path &folder) {
  std::vector<std::string> inputs;
  for (const auto &entry : std::filesystem::recursive_directory_iterator(folder)) {
    if (!entry.is_regular_file()) continue;
    std::ifstream file(entry.path(), std::ios::binary);
    inputs.emplace_back(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
  }
  return inputs;
}

class Mutator {
public:
  explicit Mutator(std::vector<std::string> corpus) : corpus_(std::move(corpus)) {}

  std::string next() {
    std::string input = corpus_[below(corpus_.size())];
    for (std::size_t edits = 1 + below(4); edits > 0; --edits) edit(input);
    return input;
  }

private:
  std::size_t below(std::size_t bound) { return bound == 0 ? 0 : rng_() % bound; }

  void edit(std::string &input) {
    const std::size_t at = below(input.size() + 1);
    const std::size_t length = below(std::min<std::size_t>(input.size() - at + 1, 24));
    switch (below(5)) {
    case 0: input.insert(at, 1, static_cast<char>(below(256))); break;
    case 1: input.erase(at, length); break;
    case 2: input.insert(below(input.size() + 1), input.substr(at, length)); break;
    case 3:
      if (at < input.size()) input[at] = static_cast<char>(input[at] ^ (1 << below(8)));
      break;
    default: {
      const std::string &other = corpus_[below(corpus_.size())];
      const std::size_t from = below(other.size() + 1);
      input.insert(at, other, from, below(64));
    }
    }
  }

  std::vector<std::string> corpus_;
  std::mt19937 rng_{20240607};
};

} // namespace

int main(int argc, char **argv) {
  double seconds = 5;
  std::vector<std::string> corpus;
  for (int i = 1; i < argc; ++i) {
    const std::string_view argument = argv[i];
    if (constexpr std::string_view flag = "-max_total_time="; argument.starts_with(flag))
      seconds = std::stod(std::string(argument.substr(flag.size())));
    else if (!argument.starts_with('-'))
      for (std::string &input : readCorpus(argument)) corpus.push_back(std::move(input));
  }

  for (int signal : {SIGABRT, SIGSEGV, SIGILL, SIGFPE, SIGBUS}) std::signal(signal, keepInput);
  for (const std::string &input : corpus) tryInput(input);
  corpus.emplace_back();
  Mutator mutator(std::move(corpus));
  const auto end = std::chrono::steady_clock::now() + std::chrono::duration<double>(seconds);
  std::size_t runs = 0;
  for (; std::chrono::steady_clock::now() < end; ++runs) tryInput(mutator.next());
  std::printf("%zu inputs survived\n", runs);
}
