#include "backend/ir/text.h"
#include "backend/ir/verify.h"
#include "backend/schedule/program/program_text.h"
#include "backend/support/diagnostics.h"
#include "backend/support/float_state.h"
#include "backend/support/lexer.h"
#include "backend/support/text.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/Compiler.h"
#include "llvm/Support/ErrorHandling.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/raw_ostream.h"
#include "tools/imbrex/command.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <limits>
#include <new>
#include <sys/resource.h>
#include <unistd.h>
#include <vector>

namespace imbrex::tool {

llvm::cl::OptionCategory &ownOptions() {
  static llvm::cl::OptionCategory only("Options");
  return only;
}

int reportUsage(const Diagnostic &problem) {
  std::fputs(render(problem).c_str(), stderr);
  return kUsage;
}

int reportMissingFile(std::string_view subcommand) {
  return reportUsage(diagnostic(Diag::MissingFile, {}, subcommand));
}

int reportMissingSchedule(std::string_view subcommand) {
  return reportUsage(diagnostic(Diag::MissingSchedule, {}, subcommand));
}

namespace {

std::string dashed(llvm::StringRef option) {
  return (option.size() == 1 ? "-" : "--") + option.str();
}

} // namespace

bool NumberParser::parse(const llvm::cl::Option & /*option*/, llvm::StringRef argument,
                         llvm::StringRef text, std::int32_t &value) {
  if (!text.getAsInteger(10, value)) return false;
  reportUsage(diagnostic(Diag::NoOptionNumber, {}, dashed(argument),
                         std::numeric_limits<std::int32_t>::max(), text.str()));
  return true;
}

namespace {

/// Mistakes in the words of the command line; of those, none has a place.
constexpr auto kUsageMistakes = std::to_array<Diag>(
    {Diag::UnknownTarget,   Diag::MisspeltTarget, Diag::NoGpuCode,       Diag::NoSuchFormat,
     Diag::OneTargetOnly,   Diag::MisspeltDevice, Diag::UnknownDevice,   Diag::EmulationOption,
     Diag::ImageDevice,     Diag::UnknownPass,    Diag::MisspeltPass,    Diag::BadGridText,
     Diag::TooManyBlocks,   Diag::BadAssignment,  Diag::BadOutput,       Diag::LonelyOption,
     Diag::BadOptionNumber, Diag::BadTripCount,   Diag::BadLayoutText,   Diag::BadExtents,
     Diag::NoPowerOfTwo,    Diag::BadAxisOrder,   Diag::PictureTooLarge, Diag::LayoutsDoNotMatch,
     Diag::NoCache,         Diag::CacheAction,    Diag::BadClusterText});

bool isUsage(const Diagnostic &problem) {
  return !problem.where.known() && llvm::is_contained(kUsageMistakes, problem.kind);
}

} // namespace

int conclude(bool ok, const Diagnostics &diagnostics) {
  std::fputs(diagnostics.render().c_str(), stderr);
  if (ok) return kSuccess;
  return llvm::any_of(diagnostics.all(), isUsage) ? kUsage : kFailure;
}

namespace {

/// What a file is that is taken for text of ours, and what to do.
struct ForeignText {
  std::string_view what, hint;
};
constexpr ForeignText kFolder{"a folder", "name a file in it"};
constexpr ForeignText kBinary{"a binary file",
                              "name the .imx file that it was made of; what `imbrex "
                              "compile` makes is taken by `imbrex run --image`"};
constexpr ForeignText kSource{"C++ source",
                              "run the program with IMBREX_DUMP=folder, which writes the "
                              ".imx files of its kernels there"};

std::optional<ForeignText> foreignKindOf(llvm::StringRef path, llvm::StringRef text) {
  constexpr std::size_t kBeginning = 4096;
  if (text.take_front(kBeginning).contains('\0')) return kBinary;
  for (const llvm::StringRef ending : {".cpp", ".cc", ".cxx", ".cu", ".hpp", ".h"})
    if (path.ends_with(ending)) return kSource;
  return std::nullopt;
}

/// Parses a file by `parse(text, name, diagnostics)` and verifies what comes out.
template <class Parse, class Verify>
auto readFile(const std::string &path, std::string_view kind, Diagnostics &diagnostics, Parse parse,
              Verify verify) {
  using Parsed = decltype(parse(std::string_view(), std::string_view(), diagnostics));
  const auto text = llvm::MemoryBuffer::getFileOrSTDIN(path);
  const bool isFolder = llvm::sys::fs::is_directory(path);
  if (!text && !isFolder) return diagnostics.report(Diag::UnreadableFile, {}, path), Parsed();
  const std::string_view name = path == "-" ? "stdin" : std::string_view(path);
  const auto foreign =
      isFolder ? std::optional(kFolder) : foreignKindOf(path, (*text)->getBuffer());
  if (foreign) {
    diagnostics.report(Diag::ForeignFile, {}, name, foreign->what, kind, foreign->hint);
    return Parsed();
  }
  Parsed parsed = parse(std::string_view((*text)->getBuffer()), name, diagnostics);
  return parsed && verify(*parsed, diagnostics) ? std::move(parsed) : Parsed();
}

} // namespace

std::optional<ir::Kernel> readKernel(const std::string &path, Diagnostics &diagnostics) {
  return readFile(path, "kernel", diagnostics, ir::parse, ir::verify);
}

std::optional<KernelOrSchedule> readKernelOrSchedule(const std::string &path,
                                                     Diagnostics &diagnostics,
                                                     schedule::Completeness form) {
  const auto parse = [](std::string_view text, std::string_view name, Diagnostics &found) {
    std::optional<KernelOrSchedule> read(std::in_place);
    if (Lexer(text).peek().is("kernel"))
      read->kernel = ir::parse(text, name, found);
    else
      read->schedule = schedule::parse(text, name, found);
    if (!read->kernel && !read->schedule) read.reset();
    return read;
  };
  const auto verify = [form](const KernelOrSchedule &read, Diagnostics &found) {
    return read.kernel ? ir::verify(*read.kernel, found)
                       : schedule::verify(*read.schedule, found, form);
  };
  return readFile(path, "schedule or kernel", diagnostics, parse, verify);
}

std::string asComments(std::string_view mark, std::string_view lines) {
  std::string text;
  for (llvm::StringRef rest = lines; !rest.empty();) {
    const auto [line, behind] = rest.split('\n');
    text.append(mark).append(line).append("\n");
    rest = behind;
  }
  return text;
}

bool writeOutput(const std::string &path, const std::string &content, Diagnostics &diagnostics) {
  std::error_code error;
  llvm::raw_fd_ostream out(path, error);
  if (!error) {
    out << content;
    out.close();
    error = out.error();
    out.clear_error();
  }
  if (error) diagnostics.report(Diag::UnwritableFile, {}, path);
  return !error;
}

namespace {

const std::array<const Subcommand *, 9> kSubcommands{
    &kTargets, &kOpt, &kCompile, &kRun, &kLayout, &kCheck, &kPlan, &kTimeline, &kCache};

/// Whether the first word is a subcommand or an option; else says what it could have meant.
bool isKnown(std::string_view word) {
  std::vector<std::string_view> names{"help"};
  for (const Subcommand *subcommand : kSubcommands) {
    const llvm::StringRef name = subcommand->options->getName();
    names.emplace_back(name.data(), name.size());
    if (name == llvm::StringRef(word)) return true;
  }
  if (word.starts_with('-')) return true;
  const std::string_view meant = nearest(word, names);
  reportUsage(meant.empty() ? diagnostic(Diag::ForeignSubcommand, {}, word, joined(names))
                            : diagnostic(Diag::UnknownSubcommand, {}, word, meant));
  return false;
}

/// Of an option that has one value the last would count, in silence.
bool noOptionTwice(const llvm::cl::SubCommand &options) {
  for (const auto &[name, option] : options.OptionsMap)
    if (option->getNumOccurrencesFlag() == llvm::cl::Optional && option->getNumOccurrences() > 1)
      return reportUsage(diagnostic(Diag::RepeatedOption, {}, dashed(name))), false;
  return true;
}

int runCommand(int count, const char *const *words) {
  const std::vector<const char *> help{words[0], "--help"};
  if (count < 2 || std::string_view(words[1]) == "help") {
    words = help.data();
    count = 2;
  }
  if (!isKnown(words[1])) return kUsage;
  for (const Subcommand *subcommand : kSubcommands)
    llvm::cl::HideUnrelatedOptions(ownOptions(), *subcommand->options);
  llvm::cl::HideUnrelatedOptions(ownOptions());
  llvm::cl::SetVersionPrinter([](llvm::raw_ostream &out) { out << "imbrex " IMBREX_VERSION "\n"; });
  if (!llvm::cl::ParseCommandLineOptions(
          count, words, "The compiler of tile kernels, and what is needed to try them out.\n",
          &llvm::errs()))
    return kUsage;
  for (const Subcommand *subcommand : kSubcommands)
    if (*subcommand->options)
      return noOptionTwice(*subcommand->options) ? subcommand->run() : kUsage;
  return kUsage;
}

/// A kernel can ask for tiles that are larger than this machine.
[[noreturn]] void giveUp() {
  constexpr std::string_view kWords = "error: this machine has not enough memory for the command\n";
  static_cast<void>(::write(STDERR_FILENO, kWords.data(), kWords.size()));
  ::_exit(kFailure);
}

/// Have no more memory than the machine has: Linux promises more, and ends some program when it
/// runs out.
void limitMemory() {
#if !LLVM_ADDRESS_SANITIZER_BUILD && !LLVM_THREAD_SANITIZER_BUILD // which reserve far more
  const auto all =
      static_cast<rlim_t>(::sysconf(_SC_PHYS_PAGES)) * static_cast<rlim_t>(::sysconf(_SC_PAGESIZE));
  rlimit limit{};
  if (::getrlimit(RLIMIT_DATA, &limit) != 0) return;
  limit.rlim_cur = std::min(limit.rlim_cur, all);
  static_cast<void>(::setrlimit(RLIMIT_DATA, &limit));
#endif
}

} // namespace
} // namespace imbrex::tool

int main(int count, char **words) {
  const imbrex::DefaultFloatState state; // a library that is loaded may have set another
  imbrex::tool::limitMemory();
  std::set_new_handler(imbrex::tool::giveUp);
  llvm::install_bad_alloc_error_handler([](void *, const char *, bool) { imbrex::tool::giveUp(); });
  return imbrex::tool::runCommand(count, words);
}
