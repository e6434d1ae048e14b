#include "tests/run/shell.h"
#include "tests/support/sanitizers.h"

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
  CHECK(none.output == "imbrex: error: 'imbrex timeline' needs a file with a schedule, or with a "
                       "kernel, in its text form\n  hint: name it, or - for standard input\n");
  const Outcome unsaid = shell("imbrex timeline gemm.imx --trips k=8");
  CHECK(unsaid.status == 1);
  CHECK(unsaid.output == "gemm.imx:3: error: how many trips of 'tiles' there are is not said\n"
                         "  hint: such as --trips tiles=8\n");
  CHECK(contains(shell("imbrex timeline gemm.imx --trips tiles=1,m=8").output,
                 "error: schedule 'gemm' has no trips 'm'\n  hint: it has 'tiles', 'k'\n"));
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
  CHECK(contains(shell("imbrex timeline scale.imx --trips k=1").output,
                 "scale.imx:2: error: 'scale' is a kernel, whose schedule differs from machine to "
                 "machine\n  hint: name one by --target; `imbrex targets` lists them\n"));
}

TEST_CASE("imbrex timeline lets blocks of a core fill each other's gaps") {
  const auto of = [](const std::string &blocks) {
    return shell("imbrex timeline gemm.imx --trips tiles=2,k=8 --blocks " + blocks);
  };
  CHECK(of("1").output == shell("imbrex timeline gemm.imx --trips tiles=2,k=8").output);
  CHECK(contains(of("4").output, "\nrole compute.3: works "));
  CHECK(contains(of("4").output, " no fewer than 512.0, by tensor\n")); // 128 of each
  for (const std::string blocks : {"0", "65", "-1"}) {
    const Outcome refused = of(blocks);
    CHECK(refused.status == 2);
    CHECK(refused.output == "imbrex: error: --blocks wants a number from 1 to 64, not " + blocks +
                                "\n  hint: no core holds more\n");
  }
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

TEST_CASE("a timeline of any number of trips is told, for what repeats itself need not be run") {
  const Outcome many = shell("imbrex timeline gemm.imx --trips tiles=1000000,k=2000000");
  CHECK(many.status == 0);
  CHECK(contains(many.output,
                 "schedule gemm: 728000000000328 cycles\n"
                 "in 'k', 100 % of the time, no resource is the limit, but a cycle of 728 cycles: "
                 "copy A, B (600), wait full, issue products A, B (128), drain products, wait "
                 "empty\n"));
  CHECK(contains(many.output, "wait empty  727999999999400 cycles  held up 1999999999998 of "
                              "2000000000000 times\n"));
  // Few trips are told by the loop's stride.
  CHECK(contains(shell("imbrex timeline gemm.imx --trips tiles=1,k=3").output,
                 "no resource is the limit, but a cycle of 728 cycles: copy A, B (600), "));
}

namespace {

/// Little memory for what the shell runs next.
const std::string kLimit = imbrex::testing::kHasAddressSanitizer ? "" : "ulimit -v 1500000; ";

} // namespace

TEST_CASE("a deep ring costs what is under way in it") {
  const std::string deep = "sed 's/depth 2/depth 65536/' gemm.imx | ";
  const Outcome few = shell(deep + "( " + kLimit + "imbrex timeline - --trips tiles=1,k=32 )");
  CHECK(few.status == 0);
  CHECK(contains(few.output, "schedule gemm: 4896 cycles\n'tensor' is the limit"));
  CHECK(contains(few.output, "128.0 cycles for each trip of 'k'; no fewer than 128.0, by tensor"));
  const Outcome check = shell(deep + "( " + kLimit + "imbrex check - )");
  CHECK(check.status == 1);
  CHECK(contains(check.output,
                 "error: schedule 'gemm' is too large to be proven: its runs together "
                 "take more than 256 MB of memory; ring 'AB' has 65536 slots\n"
                 "  hint: give its rings fewer slots\n"));
}

TEST_CASE("a schedule that is too large to be proven has a timeline, and a warning") {
  const Outcome warned = shell("sed 's/depth 2/depth 65536/; s/trips %k in %tiles/&/' gemm.imx | "
                               "imbrex timeline - --trips tiles=1,k=100000");
  CHECK(warned.status == 0);
  CHECK(contains(warned.output, "warning: the timeline of schedule 'gemm' is of one that was not "
                                "proven: "));
  CHECK(contains(warned.output, "schedule gemm: 12800800 cycles\n"));
}

TEST_CASE("numbers beyond all reason are refused in time") {
  const std::string big = R"(schedule @big {
  trips %k
  ring %R depth 65536 { buffer %A 2147483647 parts 2147483647 barrier %full arrivals 2147483647 }
  role %a warps 1024 { cursor %p in %R for %k from 2147483647 less 2147483647 {
    arrive %full(%p, 2147483647) count 2147483647 access reads %A(%p, own) advance %p } }
}
END)";
  const Outcome check = shell(kLimit + "imbrex check - << 'END'\n" + big);
  CHECK(contains(check.output,
                 "it has 140737488355328 slots and parts of slots that 2 warps may come "
                 "to; ring 'R' has 65536 slots\n"));
  CHECK(contains(shell(kLimit + "imbrex timeline - --trips k=2147483647 << 'END'\n" + big).output,
                 "schedule big: 0 cycles\n"));
}

TEST_CASE("imbrex timeline shows a kernel's schedule") {
  const Outcome shown = shell("imbrex timeline product.imx --target sm_90a --trips k0=32");
  CHECK(shown.status == 0);
  CHECK(shown.output.starts_with(
      "kernel 'product' on sm_90a\n"
      "the two warps of 'compute' stand for all: what any two do to each other, these do\n"
      "k0: the trips of the loop at product.imx:10\n"
      "schedule product: 10753 cycles\n"
      "no resource is the limit, but a cycle of 864 cycles: copy ring1.tile (586), wait "
      "barriers0.phase, issue fragments ring0.tile, ring1.tile (192), "));
  CHECK(contains(shown.output, "288.0 cycles for each trip of 'k0', 864 for 3; no fewer than "
                               "192.0, by shared memory\n"));
  const Outcome unsaid = shell("imbrex timeline product.imx --target sm_90a");
  CHECK(contains(unsaid.output, "product.imx:10: error: how many trips of 'k0' there are is not "
                                "said\n"));
}

TEST_CASE("a timeline counts matrix instructions, and the reading of what they multiply") {
  // 128 x 128 x 32 by four warps, one in each partition: 64 instructions of 2048 products at 256 a
  // cycle. Shared memory gets 16 KB, of which each warp reads half of either tile: 48 KB at 128
  // bytes a cycle.
  const std::string wide = "sed -e 's/64x32/128x32/; s/32x64/32x128/; s/64x64/128x128/' "
                           "product.imx | imbrex timeline - --trips k0=32 --target ";
  // In the first trip half of them have nothing to multiply yet.
  const Outcome ampere = shell(wide + "sm_80");
  CHECK(contains(ampere.output, "'matrix units' is the limit, busy 100 % of the steady time\n"));
  CHECK(contains(ampere.output, "  shared memory  12288  "));
  CHECK(contains(ampere.output, "  matrix units   16640  ")); // half of them once more, behind
  CHECK(contains(ampere.output,
                 "512.0 cycles for each trip of 'k0'; no fewer than 512.0, by matrix units\n"));
  // Half as many a cycle.
  CHECK(contains(shell(wide + "sm_89").output,
                 "1024.0 cycles for each trip of 'k0'; no fewer than 1024.0, by matrix units\n"));
}

TEST_CASE("a run of an unsafe schedule tells how far its drains go") {
  const Outcome shown = shell(R"(imbrex check - << 'END'
schedule @s {
  trips %k
  buffer %A 64
  role %a { queue %q
    for %k { issue %q writes %A drain %q to 1 access reads %A drain %q }
  }
}
END)");
  CHECK(contains(shown.output, "a: drain 'q' to 1 (stdin:"));
}
