#include <array>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <string>

#include <sys/wait.h>

#include <doctest/doctest.h>

namespace {

struct Outcome {
  int status;
  std::string output; // both streams, as they came
};

/// Run a shell line in which `imbrex` is the command that this build made.
Outcome shell(const std::string &line) {
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

bool contains(const std::string &text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

} // namespace

TEST_CASE("the command without a subcommand explains itself") {
  for (const char *line : {"imbrex", "imbrex help", "imbrex --help"}) {
    CAPTURE(line);
    const Outcome outcome = shell(line);
    CHECK(outcome.status == 0);
    CHECK(contains(outcome.output, "opt     - Run passes on a file of IR"));
  }
  CHECK(shell("imbrex --version").output == "imbrex 0.1.0\n");
}

TEST_CASE("a misspelt subcommand or option is answered with what was meant") {
  const Outcome subcommand = shell("imbrex tragets");
  CHECK(subcommand.status == 2);
  CHECK(subcommand.output == "imbrex: error: there is no subcommand 'tragets'\n"
                             "  hint: did you mean 'targets'\n");
  const Outcome option = shell("imbrex opt --pases dce -");
  CHECK(option.status == 2);
  CHECK(contains(option.output, "Did you mean '--passes'?"));
  CHECK(shell("imbrex opt").status == 2);
}

TEST_CASE("imbrex targets lists the devices") {
  const Outcome outcome = shell("imbrex targets");
  CHECK(outcome.status == 0);
  CHECK(contains(outcome.output, "host         native code on this machine's processor\n"));
  CHECK(contains(outcome.output, "\ninterpreter  the reference semantics"));
}

TEST_CASE("imbrex opt runs passes") {
  const Outcome whole = shell("imbrex opt variable.imx");
  CHECK(whole.status == 0);
  CHECK(contains(whole.output, "kernel @variable(%x: ptr<f32>) stage tiles {"));
  CHECK_FALSE(contains(whole.output, "var."));
  CHECK(shell("imbrex opt - < variable.imx").output == whole.output);

  const Outcome one = shell("imbrex opt variable.imx --passes construct-ssa");
  CHECK(one.status == 0);
  CHECK_FALSE(contains(one.output, "var."));
  CHECK(contains(shell("imbrex opt variable.imx --stop-after construct-ssa --locations").output,
                 "@ \"variable.imx\":"));
}

TEST_CASE("imbrex opt says what is wrong with its input") {
  const Outcome pass = shell("imbrex opt variable.imx --passes construct-ssb,dec");
  CHECK(pass.status == 1);
  CHECK(pass.output == "imbrex: error: there is no pass 'construct-ssb' here\n"
                       "  hint: did you mean 'construct-ssa'\n"
                       "imbrex: error: there is no pass 'dec' here\n"
                       "  hint: did you mean 'dce'\n");
  CHECK(shell("imbrex opt variable.imx --stop-after nothing").status == 1);
  CHECK(shell("imbrex opt variable.imx --passes dce").status == 1);
  for (const char *line :
       {"imbrex opt nowhere.imx", "imbrex opt /", "echo kernel | imbrex opt -",
        "imbrex opt - < /dev/null", "head -c 9999 /dev/urandom | imbrex opt -"}) {
    CAPTURE(line);
    const Outcome outcome = shell(line);
    CHECK(outcome.status == 1);
    CHECK(contains(outcome.output, "error: "));
  }
}
