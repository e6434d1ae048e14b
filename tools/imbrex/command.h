#pragma once

#include "backend/ir/kernel.h"
#include "backend/schedule/program/well_formed.h"
#include "backend/support/diagnostics.h"
#include "llvm/Support/CommandLine.h"

#include <optional>
#include <string>

namespace imbrex::tool {

/// How the command ends; docs/imbrex-command.md lists them too.
enum ExitCode : int {
  kSuccess = 0,
  kFailure = 1, ///< An error was reported: the file, the kernel, the arguments, the run.
  kUsage = 2,   ///< The command line itself makes no sense.
};

/// A subcommand: its options are static objects beside `run`, which is called after they were read.
struct Subcommand {
  llvm::cl::SubCommand *options;
  int (*run)();
};

extern const Subcommand kTargets, kOpt, kCompile, kRun, kLayout, kCheck, kPlan, kTimeline, kCache;

/// The category that our own options are in, so that --help hides LLVM's.
llvm::cl::OptionCategory &ownOptions();

/// Says of an option that it is one of this subcommand, and our own.
struct Of {
  llvm::cl::SubCommand &subcommand;

  template <class Option>
  void apply(Option &option) const {
    option.addSubCommand(subcommand);
    option.addCategory(ownOptions());
  }
};

/// Reads the value of an option that has names for its values, and lists these for another.
template <class Value>
class NamedValueParser : public llvm::cl::parser<Value> {
public:
  using llvm::cl::parser<Value>::parser;

  bool parse(llvm::cl::Option &option, llvm::StringRef argument, llvm::StringRef text,
             Value &value) {
    std::string names;
    for (unsigned i = 0; i < this->getNumOptions(); ++i) {
      const llvm::StringRef name = this->getOption(i);
      if (name == text) return llvm::cl::parser<Value>::parse(option, argument, text, value);
      if (!name.empty()) names += (names.empty() ? "" : ", ") + name.str();
    }
    return option.error("there is no '" + text + "'; there are " + names);
  }
};

/// Reads the number of an option, and says as any other error what is none, or too large.
class NumberParser : public llvm::cl::parser<std::int32_t> {
public:
  using llvm::cl::parser<std::int32_t>::parser;

  // NOLINTNEXTLINE(bugprone-derived-method-shadowing-base-method): as LLVM's own parsers are made
  bool parse(const llvm::cl::Option &option, llvm::StringRef argument, llvm::StringRef text,
             std::int32_t &value);
};
using Number = llvm::cl::opt<std::int32_t, false, NumberParser>;

/// Says what the command line lacks; the exit code.
int reportUsage(const Diagnostic &problem);
/// Says what was found, and how the command ends with it: a mistake that the words of the command
/// line show by themselves is one of usage, wherever it was noticed.
int conclude(bool ok, const Diagnostics &diagnostics);
/// Says that this subcommand was given no file; the exit code.
int reportMissingFile(std::string_view subcommand);
/// The same for one that wants a schedule.
int reportMissingSchedule(std::string_view subcommand);

/// The kernel of a file, or of standard input for `-`, if it is a valid one; else why not is
/// reported.
std::optional<ir::Kernel> readKernel(const std::string &path, Diagnostics &diagnostics);
/// What a file holds: one of the two.
struct KernelOrSchedule {
  std::optional<ir::Kernel> kernel;
  std::optional<schedule::Program> schedule;
};
/// The same for a file that may hold either.
std::optional<KernelOrSchedule>
readKernelOrSchedule(const std::string &path, Diagnostics &diagnostics,
                     schedule::Completeness form = schedule::Completeness::Complete);

/// Each line behind a comment's mark, so that what is printed stays a file of its kind.
std::string asComments(std::string_view mark, std::string_view lines);

/// To a file, or to standard output for `-`; reports where that cannot be.
bool writeOutput(const std::string &path, const std::string &content, Diagnostics &diagnostics);

} // namespace imbrex::tool
