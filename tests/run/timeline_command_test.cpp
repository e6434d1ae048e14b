#include "tests/run/shell.h"

#include <doctest/doctest.h>

#include <string>

TEST_CASE("imbrex timeline says what limits a schedule and how long its loops take") {
  const Outcome outcome = shell("imbrex timeline gemm.imx --trips tiles=2,k=8");
  CHECK(outcome.status == 0);
  CHECK(contains(outcome.output, "schedule gemm: 6152 cycles\n"
                                 "no resource is the limit, but a cycle of 728 cycles: copy A, B "
                                 "(600), wait full, issue products A, B (128), drain products, "
                                 "wait empty\n"));
  CHECK(contains(outcome.output,
                 "364.0 cycles for each trip of 'k', 728 for 2; no fewer than 128.0, by tensor\n"));
  CHECK(shell("imbrex timeline - --trips tiles=2,k=8 < gemm.imx").output == outcome.output);
}

TEST_CASE("imbrex timeline writes drawings, traces and diagrams that others can read") {
  const std::string line = "imbrex timeline gemm.imx --trips tiles=2 --trips k=8 --format ";
  const Outcome svg = shell(line + "svg | python3 -c 'import sys, xml.etree.ElementTree as tree\n"
                                   "root = tree.parse(sys.stdin).getroot()\n"
                                   "print(root.tag, len(root.findall(\"{*}rect\")) > 60)'");
  CHECK(svg.output == "{http://www.w3.org/2000/svg}svg True\n");
  const Outcome trace = shell(line + "perfetto | python3 -c 'import sys, json\n"
                                     "events = json.load(sys.stdin)[\"traceEvents\"]\n"
                                     "print(sum(event[\"ph\"] == \"s\" for event in events))'");
  CHECK(trace.output == "16\n");
  const Outcome diagram = shell(line + "mermaid | head -3");
  CHECK(diagram.output == "sequenceDiagram\n    participant R0 as load\n"
                          "    participant B0_0 as full 0\n");
}

TEST_CASE("a drawing is XML whatever the schedule and its resources are called") {
  const Outcome odd = shell(R"(sed -e 's/@gemm/@"<a> \& b"/' -e 's/on bus/on "<bus>"/' gemm.imx |
imbrex timeline - --trips tiles=1,k=3 --format svg |
python3 -c 'import sys, xml.etree.ElementTree as tree
print(tree.parse(sys.stdin).getroot().find("{*}title").text)')");
  CHECK(odd.output == "<a> & b\n");
}

TEST_CASE("imbrex timeline writes a file") {
  CHECK(
      shell("imbrex timeline gemm.imx --trips tiles=1,k=2 --format mermaid -o /dev/null").output ==
      "");
  const Outcome nowhere = shell("imbrex timeline gemm.imx --trips tiles=1,k=2 -o /nowhere/a.svg");
  CHECK(nowhere.status == 1);
  CHECK(contains(nowhere.output, "error: cannot write '/nowhere/a.svg'"));
}

TEST_CASE("imbrex timeline says what it needs") {
  const Outcome none = shell("imbrex timeline");
  CHECK(none.status == 2);
  CHECK(none.output == "imbrex: error: 'imbrex timeline' needs a file with a schedule in its text "
                       "form\n  hint: name it, or - for standard input\n");
  const Outcome unsaid = shell("imbrex timeline gemm.imx --trips k=8");
  CHECK(unsaid.status == 1);
  CHECK(unsaid.output == "imbrex: error: how many trips of 'tiles' there are is not said\n"
                         "  hint: such as --trips tiles=8\n");
  CHECK(contains(shell("imbrex timeline gemm.imx --trips tiles=1,m=8").output,
                 "error: schedule 'gemm' has no trips 'm'\n  hint: it has 'tiles', 'k'\n"));
  // No run shows what is wrong with so many, and none is announced.
  CHECK(shell("imbrex timeline gemm.imx --trips tiles=1,k=10000000").output ==
        "gemm.imx:2: error: schedule 'gemm' is too large to be proven: this run has more than "
        "2000000 "
        "steps\n  hint: take fewer trips\n");
  for (const std::string count : {"-1", "x", "1.5", "9999999999", ""}) {
    CAPTURE(count);
    CHECK(contains(shell("imbrex timeline gemm.imx --trips tiles=1,k=" + count).output,
                   "error: '" + count + "' is no number of trips of 'k'\n"));
  }
  CHECK(contains(shell("imbrex timeline gemm.imx --trips tiles").output,
                 "error: --trips wants name=value, not 'tiles'\n"));
  const Outcome format = shell("imbrex timeline gemm.imx --trips tiles=1,k=1 --format png");
  CHECK(format.status == 2);
  CHECK(format.output == "imbrex: for the --format option: there is no 'png'; there are text, svg, "
                         "perfetto, mermaid\n");
  CHECK(contains(shell("imbrex timeline nowhere.imx").output, "error: cannot read 'nowhere.imx'"));
  CHECK(contains(shell("imbrex timeline scale.imx").output, "scale.imx:"));
}

TEST_CASE(
    "imbrex timeline tells at which other trips a schedule stops, and all of those asked for") {
  const Outcome other = shell(R"(imbrex timeline - --trips a=3,b=3 << 'END'
schedule @step {
  trips %a
  trips %b
  barrier %full arrivals 3
  role %one { for %a { arrive %full } }
  role %two { for %b { access takes 7 } if count %a > 3 { wait %full wait %full flipped } }
}
END)");
  CHECK(other.status == 1);
  CHECK(contains(other.output, "schedule step: 21 cycles\n"));
  CHECK(contains(other.output, "7.0 cycles for each trip of 'b'"));
  CHECK(
      contains(other.output,
               "error: the timeline of schedule 'step' with a = 64, b = 3 (run to tell how long a "
               "trip of 'a' takes) stops for ever at cycle 21: 'two' in wait 'full'\n"
               "  hint: a timeline proves nothing: let the schedule be proven for all numbers of "
               "trips\n"));
}

TEST_CASE("imbrex timeline checks the schedule before") {
  const Outcome unsafe =
      shell("grep -v 'drain' gemm.imx | imbrex timeline - --trips tiles=1,k=8 --format svg");
  CHECK(unsafe.status == 1);
  CHECK(contains(unsafe.output, "stdin:"));
  CHECK(contains(unsafe.output, "overwrites what"));
  CHECK_FALSE(contains(unsafe.output, "<svg"));
  const Outcome dead =
      shell("grep -v 'arrive %empty' gemm.imx | imbrex timeline - --trips tiles=1,k=8");
  CHECK(dead.status == 1);
  CHECK(contains(dead.output, "error: the schedule stops for ever: "));
}
