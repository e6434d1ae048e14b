#include "tests/support/golden.h"

#include <algorithm>
#include <fstream>
#include <iterator>
#include <utility>

namespace imbrex::testing {
namespace {

constexpr std::string_view kNextCase = "====\n";
constexpr std::string_view kOutput = "---\n";
constexpr std::string_view kTarget = " for ";

/// What stands before the separator, a line of its own; `text` goes on behind it.
std::string_view cutBefore(std::string_view &text, std::string_view separator) {
  std::size_t at = text.starts_with(separator) ? 0 : text.find("\n" + std::string(separator));
  if (at != 0 && at != std::string_view::npos) ++at; // behind the end of the line before
  const std::string_view before = text.substr(0, at);
  text.remove_prefix(at == std::string_view::npos ? text.size() : at + separator.size());
  return before;
}

} // namespace

std::vector<std::string> GoldenCase::passes() const {
  std::vector<std::string> names;
  const std::size_t colon = header.find(':');
  if (colon == std::string::npos) return names;
  std::string name;
  for (const char c : header.substr(0, header.find(kTarget)).substr(colon + 1) + ",") {
    if (c == ',') {
      if (!name.empty()) names.push_back(std::exchange(name, {}));
    } else if (c != ' ') {
      name += c;
    }
  }
  return names;
}

std::string GoldenCase::target() const {
  const std::size_t at = header.find(kTarget);
  return at == std::string::npos ? "host" : header.substr(at + kTarget.size());
}

std::vector<GoldenCase> goldenCases(std::string_view text) {
  std::vector<GoldenCase> cases;
  while (!text.empty()) {
    std::string_view one = cutBefore(text, kNextCase);
    GoldenCase &next = cases.emplace_back();
    next.input = cutBefore(one, kOutput);
    next.header = next.input.substr(0, next.input.find('\n'));
    next.expected = one;
  }
  return cases;
}

std::string goldenText(const std::vector<GoldenCase> &cases) {
  std::string text;
  for (const GoldenCase &one : cases) {
    if (!text.empty()) text += kNextCase;
    text += one.input;
    text += kOutput;
    text += one.expected;
  }
  return text;
}

std::vector<std::filesystem::path> goldenFiles(const std::filesystem::path &folder) {
  std::vector<std::filesystem::path> files;
  for (const auto &entry : std::filesystem::recursive_directory_iterator(folder))
    if (entry.path().extension() == ".imx") files.push_back(entry.path());
  std::ranges::sort(files);
  return files;
}

std::string readFile(const std::filesystem::path &path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

} // namespace imbrex::testing
