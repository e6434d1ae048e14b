#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

/// Golden files: what goes in, what comes out, one beside the other.
///
///   # passes: cse, dce
///   kernel @k() stage tiles { … }
///   ---
///   kernel @k() stage tiles { … }
///
/// The passes may be for a target: `# passes: assign-layouts for sm_90a`. Without passes the input
/// is parsed and printed. A case that begins with `# error` (and, behind a
/// colon, passes) must report an error, and its output is the diagnostics' text, whose lines count
/// from the header of the case. Further cases follow behind a line of `====`.
namespace imbrex::testing {

struct GoldenCase {
  std::string header;
  std::string input; ///< With the header as its first line, which is a comment in the text form.
  std::string expected;

  bool wantsError() const { return header.starts_with("# error"); }
  std::vector<std::string> passes() const;
  std::string target() const;
};

std::vector<GoldenCase> goldenCases(std::string_view text);
/// The inverse.
std::string goldenText(const std::vector<GoldenCase> &cases);

/// Every golden file below a folder, sorted.
std::vector<std::filesystem::path> goldenFiles(const std::filesystem::path &folder);
std::string readFile(const std::filesystem::path &path);

} // namespace imbrex::testing
