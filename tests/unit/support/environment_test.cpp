#include "backend/support/environment.h"

#include <doctest/doctest.h>

#include <fstream>
#include <iterator>
#include <string>
#include <type_traits>
#include <vector>

using namespace imbrex;

namespace {

Environment parse(std::vector<const char *> block, std::string &warnings) {
  block.push_back(nullptr);
  Diagnostics diagnostics;
  Environment environment = parseEnvironment(block.data(), diagnostics);
  warnings = diagnostics.render();
  return environment;
}

} // namespace

TEST_CASE("variables are read by their type, and those of others are left alone") {
  std::string warnings;
  const auto environment = parse({"HOME=/home/a", "IMBREX_DUMP=out=1", "IMBREX_NUM_THREADS=8",
                                  "IMBREX_UPDATE_GOLDEN=1", "IMBREX_LOG=info", "NOT_IMBREX_X=1"},
                                 warnings);
  CHECK(warnings.empty());
  CHECK(environment.dump == "out=1");
  CHECK(environment.numThreads == 8);
  CHECK(environment.updateGolden);
  CHECK(environment.log == "info");
  CHECK(environment.device.empty());
}

TEST_CASE("an unknown variable is warned about, with the one that was meant if one is near") {
  std::string warnings;
  parse({"IMBREX_NUM_THREAD=8", "IMBREX_SOMETHING_THAT_NOBODY_READS=1"}, warnings);
  CHECK(warnings ==
        "imbrex: warning: there is no environment variable 'IMBREX_NUM_THREAD'\n"
        "  hint: did you mean 'IMBREX_NUM_THREADS'?\n"
        "imbrex: warning: there is no environment variable 'IMBREX_SOMETHING_THAT_NOBODY_READS'\n"
        "  hint: the variables are listed in docs/environment.md\n");
}

TEST_CASE("a value that a variable cannot have is warned about and ignored") {
  for (const char *entry : {"IMBREX_NUM_THREADS=0", "IMBREX_NUM_THREADS=-1",
                            "IMBREX_NUM_THREADS=", "IMBREX_NUM_THREADS=8x",
                            "IMBREX_NUM_THREADS=1025", "IMBREX_NUM_THREADS=99999999999999999999"}) {
    CAPTURE(entry);
    std::string warnings;
    CHECK(parse({entry}, warnings).numThreads == std::nullopt);
    CHECK(warnings.find("which is not a whole number from 1 to 1024\n  hint: it is ignored\n") !=
          std::string::npos);
  }
  std::string warnings;
  CHECK(parse({"IMBREX_NUM_THREADS=1024"}, warnings).numThreads == 1024);
  CHECK(warnings.empty());
  CHECK_FALSE(parse({"IMBREX_UPDATE_GOLDEN=yes"}, warnings).updateGolden);
  CHECK(warnings == "imbrex: warning: the environment variable 'IMBREX_UPDATE_GOLDEN' is 'yes', "
                    "which is not 0 or 1\n  hint: it is ignored\n");
}

TEST_CASE("without paths what names a file or a folder is not there") {
  std::string warnings;
  std::vector<std::string> kept;
  int forgotten = 0;
  const auto ask = [&]<class T>(const char *name, T Environment::*member) {
    if constexpr (std::is_same_v<T, EnvironmentText>) {
      const Environment one = parse({(std::string(name) + "=x").c_str()}, warnings);
      CHECK(one.*member == "x");
      if ((withoutPaths(one).*member).empty())
        ++forgotten;
      else
        kept.emplace_back(name);
    }
  };
#define IMBREX_VARIABLE(member, name, type, meaning) ask(name, &Environment::member);
#include "backend/support/environment.def"
  CHECK(kept == std::vector<std::string>{"IMBREX_DEVICE", "IMBREX_PRINT_AFTER", "IMBREX_LOG"});
  CHECK(forgotten == 6);
  CHECK(withoutPaths(parse({"IMBREX_NUM_THREADS=3"}, warnings)).numThreads == 3);
}

TEST_CASE("docs/environment.md has the table that the variables make") {
  std::ifstream file("../../../docs/environment.md");
  const std::string page{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  INFO("the table should be:\n", environmentAsMarkdown());
  CHECK(page.find(environmentAsMarkdown()) != std::string::npos);
}
