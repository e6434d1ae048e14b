#include "runtime/devices.h"
#include "tests/run/shell.h"
#include "tests/support/sanitizers.h"
#include "tools/imbrex/npy.h"

#include <doctest/doctest.h>

#include <cstring>
#include <filesystem>
#include <string>
#include <unistd.h>
#include <vector>

TEST_CASE("the command without a subcommand explains itself") {
  for (const char *line : {"imbrex", "imbrex help", "imbrex --help"}) {
    CAPTURE(line);
    const Outcome outcome = shell(line);
    CHECK(outcome.status == 0);
    CHECK(contains(outcome.output, " - Run passes on a file of IR"));
  }
  CHECK(shell("imbrex --version").output == "imbrex 0.1.0\n");
}

TEST_CASE("a misspelt subcommand or option is answered with what was meant") {
  const Outcome subcommand = shell("imbrex tragets");
  CHECK(subcommand.status == 2);
  CHECK(subcommand.output == "imbrex: error: there is no subcommand 'tragets'\n"
                             "  hint: did you mean 'targets'?\n");
  CHECK(shell("imbrex frob").output ==
        "imbrex: error: there is no subcommand 'frob'\n"
        "  hint: there are help, targets, opt, compile, run, layout, check, plan, timeline, "
        "cache\n");
  const Outcome option = shell("imbrex opt --pases dce -");
  CHECK(option.status == 2);
  CHECK(contains(option.output, "Did you mean '--passes'?"));
}

TEST_CASE("opt and run ask for the file that is not named") {
  for (const std::string subcommand : {"opt", "run --grid 1", "run"}) {
    CAPTURE(subcommand);
    const Outcome outcome = shell("imbrex " + subcommand);
    CHECK(outcome.status == 2);
    CHECK(outcome.output == "imbrex: error: 'imbrex " + subcommand.substr(0, 3) +
                                "' needs a file with a kernel in the text form of the IR\n"
                                "  hint: name it, or - for standard input\n");
  }
}

TEST_CASE("a kernel that is emulated is dumped to one folder, beside its LLVM IR") {
  const Outcome listed =
      shell("folder=$(mktemp -d); IMBREX_DUMP=$folder imbrex run scale.imx --grid 1 "
            "--arg x=zeros:64 --arg factor=2 --arg y=zeros:64 "
            "--device emulated:sm_90a; ls -d $folder/scale* | sed 's=.*/==' | "
            "tr '\\n' ' '; ls $folder/scale; rm -r $folder");
  CHECK(contains(listed.output, "scale scale.ll scale.s "));
  CHECK(contains(listed.output, "-place-slots.imx\n"));
}

TEST_CASE("opt's help names the passes") {
  const Outcome outcome = shell("imbrex opt --help");
  CHECK(outcome.status == 0);
  CHECK(contains(outcome.output, "construct-ssa"));
  CHECK(contains(outcome.output, "\n  --stop-after"));
}

TEST_CASE("opt lays a kernel out for a target, and knows no other targets") {
  const Outcome laid = shell("imbrex opt scale.imx --target sm_90a");
  CHECK(laid.status == 0);
  CHECK(contains(laid.output,
                 ") stage scheduled lanes 32 warps 1 {\n  layout #0 = register [[1]] lane "));
  const Outcome unsure = shell("imbrex opt scale.imx --target sm_90a --no-assumptions");
  CHECK(contains(unsure.output, "layout #0 = register [[32]] lane [[1],"));
  const Outcome unknown = shell("imbrex opt scale.imx --target sm90a");
  CHECK(unknown.status == 2);
  CHECK(unknown.output == "imbrex: error: there is no target 'sm90a'\n"
                          "  hint: did you mean 'sm_90a'?\n");
  const Outcome foreign = shell("imbrex opt scale.imx --target cpu");
  CHECK(foreign.status == 2);
  CHECK(foreign.output.starts_with("imbrex: error: there is no target 'cpu'\n"
                                   "  hint: there are host, "));
}

TEST_CASE("where a GPU is wanted, no target is suggested that is none, and the host is refused") {
  for (const char *line : {"compile scale.imx", "plan scale.imx", "check scale.imx",
                           "check sequence.imx", "timeline sequence.imx --trips k=4"}) {
    CAPTURE(line);
    const auto answerTo = [&](const std::string &target) {
      const Outcome outcome = shell("imbrex " + std::string(line) + " --target " + target);
      CHECK(outcome.status == 2);
      return outcome.output;
    };
    CHECK(answerTo("cpu").starts_with("imbrex: error: there is no target 'cpu'\n"
                                      "  hint: there are sm_75, "));
    CHECK(answerTo("hots").starts_with("imbrex: error: there is no target 'hots'\n"
                                       "  hint: there are sm_75, "));
    CHECK(answerTo("host") == "imbrex: error: host is no GPU that code can be made for\n"
                              "  hint: `imbrex targets` lists those that this build knows\n");
  }
}

TEST_CASE("an option that has one value is not given two") {
  for (const auto &[line, option] :
       {std::pair{"run scale.imx --grid 1 --grid 2", "--grid"},
        {"run scale.imx --grid 1 --time --time", "--time"},
        {"run scale.imx --grid 1 --device host --device=interpreter", "--device"},
        {"timeline sequence.imx -o a -o b", "-o"},
        {"opt scale.imx --target sm_80 --target sm_80", "--target"}}) {
    CAPTURE(line);
    const Outcome outcome = shell("imbrex " + std::string(line));
    CHECK(outcome.status == 2);
    CHECK(outcome.output == "imbrex: error: the option " + std::string(option) +
                                " is given twice\n"
                                "  hint: it has one value; leave one of them out\n");
  }
  // Of these, each time counts.
  CHECK(shell("imbrex opt variable.imx --passes construct-ssa --passes dce").status == 0);
}

TEST_CASE("what opt explains is a comment, so that the output is still a kernel") {
  const Outcome explained = shell("imbrex opt scale.imx --target sm_90a --explain");
  CHECK(explained.output.starts_with(
      "# a block is 1 warp of 32 lanes\n# layout #0 for tiles of [64], as 'view.load' at "
      "scale.imx:4 asks: view.load, mul, view.store\n#   'view.load'"));
  const Outcome again = shell("imbrex opt scale.imx --target sm_90a --explain | "
                              "imbrex opt - --target sm_90a --passes assign-layouts");
  CHECK(again.status == 0);
  CHECK(again.output == shell("imbrex opt scale.imx --target sm_90a").output);
}

TEST_CASE("the layouts that opt explains are those of the kernel behind it") {
  const Outcome explained = shell("imbrex opt product.imx --target sm_80 --explain");
  CHECK(contains(explained.output, "# layout #2 for tiles of [64x64], as 'dot' at product.imx:13"));
  CHECK(contains(explained.output, ", warps = [2, 2]] : f32[64x64] #2\n"));
}

TEST_CASE("accesses of one line that are alike, as a loop of C++ makes them, are explained once") {
  const Outcome explained =
      shell("imbrex opt repeated.imx --target sm_90a --explain | grep '#   '");
  CHECK(
      explained.output ==
      "#   'view.load' at rows.cpp:7 accesses 2 elements at once, 8 bytes: a thread holds no more "
      "neighbours; a warp touches 8 sectors (3 times)\n"
      "#   'view.store' at rows.cpp:9 accesses 2 elements at once, 8 bytes: a thread holds no "
      "more neighbours; a warp touches 8 sectors\n");
}

TEST_CASE("what docs/scheduling.md shows of a pipelined loop is what opt explains") {
  const Outcome explained = shell("imbrex opt product.imx --target sm_90a --explain | "
                                  "sed -n '/^# pipelined/,/^# roles/p'");
  CHECK(explained.output.starts_with("# pipelined 'for' at product.imx:10: 3 slots\n"));
  CHECK(contains(explained.output, "\n# roles: 1 warp loads"));
  CHECK(contains(shell("cat ../../docs/scheduling.md").output, explained.output));
}

TEST_CASE("what docs/matrix-units.md shows of a product is what opt explains") {
  const Outcome explained = shell("imbrex opt product.imx --target sm_80 --explain | "
                                  "sed -n \"/^# 'dot'/,/^# registers/s/^#/   /p\"");
  CHECK(explained.output.starts_with("    'dot' at product.imx:13: "));
  CHECK(contains(explained.output, "\n      next best: "));
  CHECK(contains(explained.output, "\n    registers of a thread for products: "));
  CHECK(contains(shell("cat ../../docs/matrix-units.md").output, explained.output));
}

TEST_CASE("what docs/imbrex-command.md shows of an explanation is what opt says") {
  const Outcome explained =
      shell("imbrex opt product.imx --target sm_80 --explain | sed -n 's/^#/    #/p'");
  CHECK(contains(explained.output, "    # on sm_80 "));
  CHECK(contains(shell("cat ../../docs/imbrex-command.md").output, explained.output));
}

TEST_CASE("opt has nothing to explain without a GPU, and says so") {
  for (const std::string line : {"imbrex opt scale.imx --explain",
                                 "imbrex opt scale.imx --target host --passes dce --explain"}) {
    CAPTURE(line);
    const Outcome outcome = shell(line);
    CHECK(outcome.status == 2);
    CHECK(outcome.output ==
          "imbrex: for the --explain option: a GPU is needed that the passes decide "
          "for: name one by --target; `imbrex targets` lists them\n");
  }
}

TEST_CASE("imbrex targets lists the devices") {
  const Outcome outcome = shell("imbrex targets");
  CHECK(outcome.status == 0);
  CHECK(contains(outcome.output, "host             native code on this machine's processor\n"));
  CHECK(contains(outcome.output, "\ninterpreter      the reference semantics"));
  CHECK(contains(outcome.output, "\ncompile --target, or emulated:TARGET as a device:\n"));
  CHECK(contains(outcome.output, "\nthis machine: host-"));
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
  CHECK(pass.status == 2);
  CHECK(pass.output == "imbrex: error: there is no pass 'construct-ssb' here\n"
                       "  hint: did you mean 'construct-ssa'?\n"
                       "imbrex: error: there is no pass 'dec' here\n"
                       "  hint: did you mean 'dce'?\n");
  CHECK(shell("imbrex opt variable.imx --stop-after nothing").status == 2);
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

TEST_CASE("a file that is no text of ours is called what it is") {
  const auto errorOf = [](const std::string &line) {
    const Outcome outcome = shell("imbrex " + line);
    CHECK(outcome.status == 1);
    return outcome.output;
  };
  CHECK(errorOf("opt command_test.cpp") ==
        "imbrex: error: 'command_test.cpp' is C++ source, not the text of a kernel\n"
        "  hint: run the program with IMBREX_DUMP=folder, which writes the .imx files of its "
        "kernels there\n");
  CHECK(errorOf("run codegen --grid 1") ==
        "imbrex: error: 'codegen' is a folder, not the text of a kernel\n"
        "  hint: name a file in it\n");
  CHECK(errorOf("check - < /proc/self/exe") ==
        "imbrex: error: 'stdin' is a binary file, not the text of a schedule or kernel\n"
        "  hint: name the .imx file that it was made of; what `imbrex compile` makes is taken by "
        "`imbrex run --image`\n");
}

namespace {

/// A folder for files, which goes with the test.
class Folder {
public:
  Folder() { std::filesystem::create_directories(path_); }
  ~Folder() { std::filesystem::remove_all(path_); }
  std::string file(const std::string &name) const { return (path_ / name).string(); }

private:
  std::filesystem::path path_ = std::filesystem::temp_directory_path() / "imbrex_command_test";
};

std::vector<float> floatsOf(const std::string &path) {
  const auto array = imbrex::tool::readNpy(path);
  REQUIRE(array.ok());
  REQUIRE(array->element == imbrex::tool::NpyElement{'f', 4});
  std::vector<float> values(array->data.size() / sizeof(float));
  std::memcpy(values.data(), array->data.data(), array->data.size());
  return values;
}

const std::string kRun = "imbrex run scale.imx --grid 2 --arg factor=0.5 ";

} // namespace

TEST_CASE("imbrex run runs a kernel on NumPy's files, on every device") {
  const Folder folder;
  imbrex::tool::NpyArray input{
      .element = {'f', 4}, .fortranOrder = false, .shape = {100}, .data = {}};
  std::vector<float> values(100);
  for (int i = 0; i < 100; ++i) values[static_cast<std::size_t>(i)] = static_cast<float>(i);
  input.data.resize(400);
  std::memcpy(input.data.data(), values.data(), 400);
  REQUIRE(imbrex::tool::writeNpy(folder.file("x.npy"), input).ok());
  for (const std::string device : {"host", "interpreter"}) {
    CAPTURE(device);
    const Outcome outcome =
        shell(kRun + "--arg x=@" + folder.file("x.npy") + " --arg y=zeros:f32:100 --out y=@" +
              folder.file("y.npy") + " --device " + device);
    CHECK(outcome.output.empty());
    REQUIRE(outcome.status == 0);
    const std::vector<float> scaled = floatsOf(folder.file("y.npy"));
    REQUIRE(scaled.size() == 100);
    for (std::size_t i = 0; i < 100; ++i) CHECK(scaled[i] == values[i] / 2);
  }
}

TEST_CASE(
    "imbrex run launches nothing that the kernel does not take, and reports say what it does") {
  const std::string file = "requiring.imx";
  for (const std::string device : {"host", "interpreter"}) {
    const std::string command = "imbrex run " + file + " --grid 1 --device " + device;
    CHECK(shell(command + " --arg n=4 --arg y=zeros:i32:4").status == 0);
    const Outcome refused = shell(command + " --arg n=5 --arg y=zeros:i32:4");
    CHECK(refused.status == 1);
    CHECK(contains(refused.output, file +
                                       ":6: error: kernel 'k' requires: y has n elements; it "
                                       "asks for y.extent(0) == n, and y.extent(0) is 4, n is 5"));
  }
  const Outcome report = shell("imbrex compile " + file + " --target sm_90a --emit report --json");
  CHECK(contains(report.output, R"("required":[{"condition":"y.extent(0) == n",)"));
}

TEST_CASE("imbrex run runs no block of an empty grid, and tells times when asked") {
  const Outcome outcome =
      shell("imbrex run scale.imx --grid 0 --arg factor=1 --arg x=ones:1 --arg y=empty:1 --time "
            "--device interpreter");
  CHECK(outcome.status == 0);
  CHECK(outcome.output.starts_with("compile_ms="));
  CHECK(contains(outcome.output, " run_ms="));
}

TEST_CASE("imbrex run takes arrays for the pointers of a table, and writes them one by one") {
  const Folder folder;
  const std::string run = "imbrex run groups.imx --grid 2 --arg x=ones:4,arange:4 "
                          "--arg y=zeros:4,zeros:5 ";
  for (const char *device : {"host", "interpreter", "emulated:sm_90a"}) {
    CAPTURE(device);
    const Outcome outcome =
        shell(run + "--out 'y[1]=@" + folder.file("y.npy") + "' --device " + device);
    CHECK(outcome.output == "");
    REQUIRE(outcome.status == 0);
    CHECK(floatsOf(folder.file("y.npy")) == std::vector<float>{0, 2, 4, 6, 0});
  }
  CHECK(shell(run + "--out y=@a.npy").output ==
        "imbrex: error: 'y' names no array, as 'y' is a table of 2 arrays\n"
        "  hint: write one of them, as in --out y[0]=@file.npy\n");
  CHECK(contains(shell(run + "--out 'y[2]=@a.npy'").output, "'y[2]' names no array"));
  CHECK(contains(shell(run + "--out 'y[0=@a.npy'").output, "'y[0' names no array"));
  CHECK(contains(shell("imbrex run groups.imx --grid 2 --arg x=ones:4").output,
                 "--arg y=@first.npy,@second.npy"));
}

TEST_CASE("imbrex run compiles once, for the launch that it makes") {
  // 99 elements divide by nothing that code for most launches takes for granted.
  const Folder folder;
  const Outcome outcome = shell("IMBREX_DUMP=" + folder.file("dump") + " " + kRun +
                                "--arg x=ones:99 --arg y=zeros:99 --device emulated:sm_90a");
  CHECK(outcome.output.empty());
  CHECK(std::filesystem::exists(folder.file("dump/scale.ll")));
  CHECK_FALSE(std::filesystem::exists(folder.file("dump/scale-2.ll")));
}

TEST_CASE("imbrex run emulates a GPU, and counts what the run has cost") {
  const std::string launch = "imbrex run scale.imx --grid 2 --arg factor=2 --arg x=ones:100 "
                             "--arg y=zeros:100 --device emulated:sm_90a --seed 3";
  CHECK(shell(launch).output.empty());
  CHECK(shell(launch + " --delivery=random").output.empty());
  CHECK(shell(launch + " --numerics=adversarial").output.empty());
  const Outcome table = shell(launch + " --profile");
  CHECK(table.status == 0);
  CHECK(contains(table.output, "2 blocks of "));
  CHECK(contains(table.output, "scale.imx:"));
  CHECK(contains(table.output, "sectors each"));
  const Outcome json = shell(launch + " --profile=json");
  CHECK(contains(json.output, "\"bank_conflicts\": 0"));
}

TEST_CASE(
    "instructions that no emulator knows are named once, however many elements they are for") {
  const Outcome outcome =
      shell("imbrex run - --device emulated:sm_90a --grid 1 --arg x=zeros:1024 <<'END'\n"
            "kernel @k(%x: view<i32, 1>) stage tiles {\n"
            "  %z = constant 0 : i32\n"
            "  %a = view.load %x, %z : i32[1024]\n"
            "  %b = inline_asm %a [text = \"what $0, $1;\", constraints = \"=r,r\", "
            "target = \"sm_90a\"] : i32[1024]\n"
            "  view.store %x, %b, %z\n"
            "}\nEND");
  CHECK(outcome.status == 1);
  CHECK(outcome.output ==
        "stdin:4: error: the emulator has no model of the inline assembly 'what $0, $1;' in "
        "kernel 'k'\n"
        "  hint: run the kernel on a device, or write what it does without assembly\n");
}

TEST_CASE("a command that runs out of memory says so" *
          doctest::skip(imbrex::testing::kHasAddressSanitizer)) {
  const Outcome outcome = shell("ulimit -v 4000000; imbrex run huge.imx --grid 1 --arg x=zeros:1 "
                                "--device interpreter");
  CHECK(outcome.status == 1);
  CHECK(outcome.output == "error: this machine has not enough memory for the command\n");
}

TEST_CASE("a command takes no more memory than the machine has" *
          doctest::skip(imbrex::testing::kHasAddressSanitizer)) {
  const std::int64_t bytes = std::int64_t{sysconf(_SC_PHYS_PAGES)} * sysconf(_SC_PAGESIZE);
  // The pipe opens once the command reads its file.
  const Outcome outcome =
      shell("pipe=$(mktemp -u); mkfifo $pipe; " IMBREX_COMMAND " opt $pipe >/dev/null & "
            "exec 3>$pipe; grep 'Max data size' /proc/$!/limits; "
            "echo 'kernel @k() stage tiles {}' >&3; exec 3>&-; "
            "wait $!; code=$?; rm $pipe; exit $code");
  CHECK(outcome.status == 0);
  CHECK(contains(outcome.output, " " + std::to_string(bytes) + " "));
}

TEST_CASE("imbrex run names what is wrong with its command line") {
  const auto errorOf = [](const std::string &rest, int status = 2) {
    const Outcome outcome = shell("imbrex run scale.imx " + rest);
    CHECK(outcome.status == status);
    return outcome.output;
  };
  // What the kernel has to do with it, and what only the run shows, is no mistake of usage.
  constexpr int kFailed = 1;
  const std::string arrays = "--arg x=ones:64 --arg y=zeros:64 ";
  std::string kinds;
  for (const imbrex::DeviceKindInfo &kind : imbrex::kDeviceKinds)
    kinds += (kinds.empty() ? "" : ", ") + std::string(kind.name);
  CHECK(errorOf("--grid 1 --device hots") ==
        "imbrex: error: there is no device 'hots'; there are auto, " + kinds +
            "\n"
            "  hint: did you mean 'host'?\n");
  CHECK(contains(errorOf("--grid 1 --device emulated:sm90"), "did you mean 'emulated:sm_90a'?"));
  const Outcome environment = shell("IMBREX_DEVICE=abacus imbrex run scale.imx --grid 1");
  CHECK(environment.status == 1);
  CHECK(environment.output ==
        "IMBREX_DEVICE: error: there is no device 'abacus'\n  hint: there are auto, " + kinds +
            "\n");
  CHECK(errorOf("--grid 1 " + arrays, kFailed) ==
        "imbrex: error: the parameter 'factor' (f32) of kernel 'scale' has no argument\n"
        "  hint: give it with --arg factor=1.5\n");
  for (const std::string option : {"profile", "seed=1", "delivery=late", "numerics=exact"}) {
    CAPTURE(option);
    CHECK(
        errorOf("--grid 1 --device host --" + option) ==
        "imbrex: error: --" + option.substr(0, option.find('=')) +
            " is for an emulated device alone, and the device is 'host'\n"
            "  hint: choose one by --device emulated:TARGET; `imbrex targets` lists the targets\n");
  }
  CHECK(shell("imbrex run scale.imx --grid 1 --delivery=soon").output ==
        "imbrex: for the --delivery option: there is no 'soon'; there are late, random\n");
  CHECK(shell("imbrex run scale.imx --grid 1 --numerics=fast").output ==
        "imbrex: for the --numerics option: there is no 'fast'; there are exact, adversarial\n");
  CHECK(shell("imbrex run scale.imx --grid 1 --profile=xml").output ==
        "imbrex: for the --profile option: there is no 'xml'; there are text, json\n");
  for (const std::string seed : {"-1", "x", "''", "1.5", "18446744073709551616"}) {
    CAPTURE(seed);
    CHECK(errorOf("--grid 1 --device emulated:sm_90a --seed " + seed) ==
          "imbrex: error: --seed wants a number from 0 to 18446744073709551615, not " +
              (seed == "''" ? "" : seed) + "\n  hint: one number is one order of the warps\n");
  }
  CHECK(contains(errorOf("--grid 1 --device interpreter --image scale.image"),
                 "--image is for a GPU's driver alone, and the device is 'interpreter'"));
  CHECK(errorOf("--grid 1 --arg z=1", kFailed) ==
        "imbrex: error: kernel 'scale' has no parameter 'z'\n"
        "  hint: its parameters are 'x', 'factor', 'y'\n");
  CHECK(contains(errorOf("--grid 1 --arg z"), "--arg wants name=value, not 'z'"));
  CHECK(errorOf("--grid 1 --arg x=ones:1 --arg x=ones:1", kFailed) ==
        "imbrex: error: the argument 'x' is given twice\n  hint: leave one of them out\n");
  CHECK(errorOf("--grid 1 --arg factor=1 " + arrays + "--out factor=@a.npy", kFailed) ==
        "imbrex: error: the parameter 'factor' is a scalar and can't be written to a file\n"
        "  hint: a kernel changes no scalar; let it store to an array\n");
  CHECK(errorOf("--grid 1 --arg factor=1 " + arrays + "--out y=a.npy") ==
        "imbrex: error: --out wants name=@file.npy, not 'y=a.npy'\n");
  CHECK(contains(errorOf("--grid 1 --arg factor=1 " + arrays + "--out y=@/nowhere/a.npy", kFailed),
                 "cannot write '/nowhere/a.npy'"));
  for (const char *grid : {"''", "x", "-1", "1,2,3,4", "1,", "2147483648", "'1;2'"}) {
    CAPTURE(grid);
    CHECK(contains(errorOf("--grid " + std::string(grid)), "--grid wants one to three numbers"));
  }
  CHECK(contains(errorOf("--grid 2147483647,2147483647,2147483647"), "more blocks than"));
  const Outcome withoutGrid = shell("imbrex run scale.imx");
  CHECK(withoutGrid.status == 2);
  CHECK(withoutGrid.output == "imbrex: error: 'imbrex run' needs a grid: how many blocks to run\n"
                              "  hint: such as --grid 64, or --grid 16,4\n");
}

TEST_CASE("print writes the same line for each block on every device") {
  const std::string kernel = R"(kernel @k() stage tiles {
  %b = program_id : i32
  %f = constant -0.0 : f16[2]
  %n = constant nan : f32
  %m = constant 300 : u16[2x1]
  %t = constant true : bool
  print %b, %f, %n, %m, %t [text = "all"]
})";
  for (const std::string device : {"host", "interpreter"}) {
    CAPTURE(device);
    const Outcome outcome =
        shell("echo '" + kernel + "' | imbrex run - --grid 2 --device " + device + " | sort");
    CHECK(outcome.output == "[pid 0,0,0] all: 0, [-0, -0], nan, [[300], [300]], true\n"
                            "[pid 1,0,0] all: 1, [-0, -0], nan, [[300], [300]], true\n");
  }
}

TEST_CASE("a mistake of the kernel is found by the interpreter, with its line") {
  const Outcome outcome = shell("imbrex run scale.imx --grid 1 --device interpreter "
                                "--arg factor=1 --arg x=empty:64 --arg y=zeros:64");
  CHECK(outcome.status == 1);
  CHECK(contains(outcome.output, "scale.imx:4: error: "));
}

TEST_CASE("imbrex layout shows a layout that is written or dealt out") {
  const std::string table = "register [[0,1],[0,2]] lane [[0,4],[1,0]] warp [[2,0]] of [4x8]\n"
                            "each element: thread:register, thread = lane + 4 * warp\n"
                            "    0   1   2   3   4   5   6   7\n"
                            "0 0:0 0:1 0:2 0:3 1:0 1:1 1:2 1:3\n"
                            "1 2:0 2:1 2:2 2:3 3:0 3:1 3:2 3:3\n"
                            "2 4:0 4:1 4:2 4:3 5:0 5:1 5:2 5:3\n"
                            "3 6:0 6:1 6:2 6:3 7:0 7:1 7:2 7:3\n";
  CHECK(shell("imbrex layout 'register [[0,1],[0,2]] lane [[0,4],[1,0]] warp [[2,0]] of [4x8]'")
            .output == table);
  CHECK(shell("imbrex layout --blocked 4x8 --per-thread 4 --lanes 4 --warps 2").output == table);
  const Outcome padded = shell("imbrex layout --blocked 3 --lanes 2 --warps 1");
  CHECK(padded.output == "register [[2]] lane [[1]] warp [] of [4]\n"
                         "each element: thread:register, thread = lane + 2 * warp\n"
                         "    0   1   2\n"
                         "0 0:0 1:0 0:1\n");
  const Outcome columns = shell("imbrex layout --blocked 2x2 --lanes 2 --warps 2 --order 0,1");
  CHECK(contains(columns.output, "lane [[1,0]] warp [[0,1]]"));
}

TEST_CASE("imbrex layout says how a tile is converted") {
  const std::string from = "'register [[0,1]] lane [[1,0]] warp [] of [2x2]'";
  const auto to = [&](const std::string &layout) {
    return shell("imbrex layout " + from + " --to '" + layout + "'").output;
  };
  CHECK(
      contains(to("register [[0,1]] lane [[1,0]] warp [] of [2x2]"), "conversion: nothing to do"));
  CHECK(contains(to("register [[1,0]] lane [[0,1]] warp [] of [2x2]"),
                 "conversion: 1 shuffles, 4 selects\n"));
  CHECK(contains(shell("imbrex layout 'register [] lane [[1]] warp [[2]] of [4]' "
                       "--to 'register [] lane [[2]] warp [[1]] of [4]'")
                     .output,
                 "conversion: through shared memory\n"
                 "  offset [[1],[2]] of [4]\n"
                 "  each warp: 1 writes of 1 element in 1 cycles, 0 of them by conflicts\n"
                 "             1 reads of 1 element in 1 cycles, 0 of them by conflicts\n"));
  CHECK(contains(to("register [[1]] lane [[2]] warp [] of [4]"),
                 "error: there is no conversion from"));
  // Nobody holds rows 2 and 3.
  CHECK(contains(to("register [[0,1]] lane [[1,0]] warp [] of [4x2]"),
                 "error: there is no conversion from"));
  const std::string half = "'register [] lane [[1,0]] warp [] of [4x2]'";
  CHECK(contains(shell("imbrex layout " + half + " --to " + half).output,
                 "of which some thread holds each element"));
  CHECK(contains(to("lane [[2]"), "error: 'lane [[2]' is no layout: expected"));
  CHECK(contains(shell("imbrex layout " + from + " --element-bytes 3 --to " + from).output,
                 "error: --element-bytes is 3, which is no power of two from 1 to 16"));
}

TEST_CASE("imbrex layout draws a picture") {
  const std::string path = std::filesystem::temp_directory_path() / "imbrex_layout_test.svg";
  std::filesystem::remove(path);
  CHECK(shell("imbrex layout --blocked 2x2 --lanes 2 --warps 1 --svg " + path).status == 0);
  CHECK(contains(shell("cat " + path).output, "<svg xmlns="));
  std::filesystem::remove(path);
  const Outcome outcome = shell("imbrex layout --blocked 2 --svg /nowhere/a.svg");
  CHECK(outcome.status == 1);
  CHECK(contains(outcome.output, "cannot write '/nowhere/a.svg'"));
}

TEST_CASE("imbrex layout explains what it cannot show") {
  const auto errorOf = [](const std::string &options) {
    const Outcome outcome = shell("imbrex layout " + options);
    CHECK(outcome.status == 2);
    return outcome.output;
  };
  CHECK(
      contains(errorOf("'lane [[1]] of [3]'"), "is no layout: the extent 3 is no power of two\n"));
  CHECK(contains(errorOf("--blocked 4x"), "needs 1 to 5 extents of at least 1, not '4x'"));
  CHECK(contains(errorOf("--blocked 0"), "not '0'\n  hint: with an x between them: 64x32\n"));
  CHECK(contains(errorOf("--blocked 2x2x2x2x2x2"), "needs 1 to 5 extents"));
  CHECK(contains(errorOf("--blocked 4 --lanes 12"), "--lanes is 12, which is no power of two"));
  CHECK(contains(errorOf("--blocked 4 --warps 0"), "--warps is 0, which is no power of two"));
  CHECK(contains(errorOf("--blocked 4x4 --order 0,0"), "must name each of the 2 axes once"));
  CHECK(contains(errorOf("--blocked 1000000x1000000"), "a picture has at most 16384 elements"));
  CHECK(contains(errorOf("'register [] lane [] warp [] of [65536]'"), "at most 16384 elements"));
  for (const char *options : {"", "--blocked 4 'of [4]'"}) {
    const Outcome outcome = shell("imbrex layout " + std::string(options));
    CHECK(outcome.status == 2);
    CHECK(contains(outcome.output, "error: 'imbrex layout' needs one layout"));
  }
}
