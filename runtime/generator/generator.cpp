#include "imbrex/generator.hpp"

#include "backend/package/archive/headers.h"
#include "backend/package/archive/library.h"
#include "backend/package/archive/make_archive.h"
#include "backend/package/archive/names.h"
#include "backend/package/archive/tuning.h"
#include "backend/support/float_state.h"
#include "backend/support/lifetime.h"
#include "dsl/traced_kernel.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/raw_ostream.h"
#include "llvm/TargetParser/Host.h"

#include <cstdio>
#include <exception>

/// The program that a file with IMBREX_KERNEL becomes.
namespace imbrex::generator {
namespace {

namespace cl = llvm::cl;

cl::OptionCategory category("Options");
cl::opt<std::string> nameOption("name", cl::Required, cl::desc("Of the library, an identifier"),
                                cl::value_desc("N"), cl::cat(category));
cl::opt<std::string> nameSpaceOption("namespace",
                                     cl::desc("Of its functions (the name, unless said)"),
                                     cl::value_desc("N"), cl::cat(category));
cl::list<std::string> targetsOption("targets", cl::CommaSeparated, cl::OneOrMore,
                                    cl::desc("What to make code for: sm_90a, ptx:sm_80, gfx942, "
                                             "host:x86-64-v3, …"),
                                    cl::value_desc("T"), cl::cat(category));
cl::opt<std::string> folderOption("out", cl::desc("The folder to write to (this one, unless said)"),
                                  cl::init("."), cl::value_desc("DIR"), cl::cat(category));
cl::opt<std::string>
    tripleOption("processor", cl::desc("LLVM's triple of the processor that the library is for"),
                 cl::value_desc("T"), cl::cat(category));
cl::opt<bool> isCompressedOption("compress", cl::desc("Compress the GPUs' code"),
                                 cl::cat(category));
cl::opt<bool>
    keepsLinesOption("line-info",
                     cl::desc("Let GPUs' code say which lines of the sources it is made from"),
                     cl::cat(category));
cl::opt<bool> withoutAssumptionsOption("no-assumptions",
                                       cl::desc("Make one code for each target, which takes "
                                                "nothing for granted of the launches"),
                                       cl::cat(category));
cl::opt<bool>
    onlyAssemblyOption("ptx-only",
                       cl::desc("Make PTX in place of images, where no toolkit is installed"),
                       cl::cat(category));

cl::opt<std::string> tunedOption("tuned",
                                 cl::desc("Which configurations of kernels launches run: a table "
                                          "in JSON (docs/aot.md)"),
                                 cl::value_desc("FILE"), cl::cat(category));

/// The command line as it was: lld, which is a library here, sets LLVM's options back.
struct LibraryRequest {
  std::string name, nameSpace, folder, tuned;
  llvm::Triple processor;
  std::vector<std::string> targets;
  bool isCompressed, onlyAssembly, keepsLines, assumesNothing;
};

LibraryRequest requestNow() {
  return {.name = nameOption,
          .nameSpace = nameSpaceOption.empty() ? nameOption : nameSpaceOption,
          .folder = folderOption,
          .tuned = tunedOption,
          .processor =
              llvm::Triple(tripleOption.empty() ? llvm::sys::getProcessTriple() : tripleOption),
          .targets = targetsOption,
          .isCompressed = isCompressedOption,
          .onlyAssembly = onlyAssemblyOption,
          .keepsLines = keepsLinesOption,
          .assumesNothing = withoutAssumptionsOption};
}

std::vector<detail::library_kernel> &kernels() {
  static auto &all = permanent(std::vector<detail::library_kernel>());
  return all;
}

std::vector<archive::LibraryTarget> targetsOf(const LibraryRequest &request,
                                              Diagnostics &diagnostics) {
  std::vector<archive::LibraryTarget> targets;
  for (const std::string &text : request.targets) {
    auto target = archive::parseTarget(text, request.processor, request.onlyAssembly);
    if (!target) {
      diagnostics.add(target.error());
      continue;
    }
    const auto isSame = [&](const archive::LibraryTarget &other) {
      return toText(other) == toText(*target);
    };
    if (llvm::none_of(targets, isSame)) targets.push_back(std::move(*target));
  }
  return targets;
}

archive::LibraryKernel traced(const detail::library_kernel &one) {
  const detail::library_trace made = one.trace();
  archive::LibraryKernel kernel{.name = one.name,
                                .config = one.config != nullptr ? one.config : "",
                                .kernel = irOf(made.kernel).clone()};
  if (made.blocks) kernel.blocks = irOf(*made.blocks).clone();
  return kernel;
}

/// What its functions are called.
std::vector<std::string> functionsOf(const archive::LibraryKernel &kernel) {
  std::vector<std::string> names{kernel.name};
  if (kernel.takesArrays()) names.push_back(kernel.name + archive::kDlpackSuffix);
  return names;
}

/// Which of its functions is called as the library's loader; empty where none is.
std::string loaderAmong(const archive::Library &library, const archive::LibraryKernel &added) {
  for (const std::string &name : functionsOf(added))
    if (library.nameSpace + "_" + name == library.loaderSymbol()) return name;
  return "";
}

/// The first name that functions of two kernels would have; empty where there is none.
std::string commonName(const archive::Library &library, const archive::LibraryKernel &added) {
  for (const archive::LibraryKernel &other : library.kernels)
    for (const std::string &name : functionsOf(other))
      if (llvm::is_contained(functionsOf(added), name)) return name;
  return "";
}

/// Where a configuration is launched otherwise than its kernel: what it does, and what that does.
struct Difference {
  std::string ofConfig, ofKernel;
};
std::optional<Difference> differenceOf(const archive::LibraryKernel &config,
                                       const archive::LibraryKernel &kernel) {
  const ir::Kernel &one = config.kernel, &other = kernel.kernel;
  if (one.parameterCount() != other.parameterCount())
    return Difference{"takes " + std::to_string(one.parameterCount()) + " parameters",
                      std::to_string(other.parameterCount())};
  for (std::size_t i = 0; i < one.parameterCount(); ++i)
    if (one.parameterType(i) != other.parameterType(i))
      return Difference{"takes " + ir::toString(one.parameterType(i)) + " as parameter " +
                            std::to_string(i),
                        ir::toString(other.parameterType(i))};
  const auto grid = [](const archive::LibraryKernel &of) {
    return std::string(of.blocks ? "computes its grid" : "is launched with a grid");
  };
  if (config.blocks.has_value() != kernel.blocks.has_value())
    return Difference{grid(config), grid(kernel)};
  return std::nullopt;
}

void addKernel(const detail::library_kernel &one, archive::Library &library,
               Diagnostics &diagnostics) {
  archive::LibraryKernel made = traced(one);
  if (const std::string loader = loaderAmong(library, made); !loader.empty())
    diagnostics.report(Diag::LoaderOfLibrary, locate(one.where), loader, library.loaderSymbol());
  else if (const std::string name = commonName(library, made); !name.empty())
    diagnostics.report(Diag::TwiceInLibrary, locate(one.where), name);
  else
    library.kernels.push_back(std::move(made));
}

void addConfig(const detail::library_kernel &one, archive::Library &library,
               Diagnostics &diagnostics) {
  const auto of =
      llvm::find_if(library.kernels, [&](const auto &kernel) { return kernel.name == one.name; });
  if (of == library.kernels.end())
    return diagnostics.report(Diag::ConfigOfNoKernel, locate(one.where), one.name, one.config);
  if (llvm::any_of(of->configs, [&](const auto &other) { return other.config == one.config; }))
    return diagnostics.report(Diag::TwiceInKernel, locate(one.where), one.name, one.config);
  archive::LibraryKernel made = traced(one);
  if (const auto found = differenceOf(made, *of))
    return diagnostics.report(Diag::ConfigDiffers, locate(one.where), one.name, one.config,
                              found->ofConfig, found->ofKernel);
  of->configs.push_back(std::move(made));
}

/// Kernels first: a configuration may be named in a file before its kernel's.
bool traceAll(archive::Library &library, Diagnostics &diagnostics) {
  for (const bool isConfig : {false, true})
    for (const detail::library_kernel &one : kernels()) {
      if ((one.config != nullptr) != isConfig) continue;
      const char *const name = isConfig ? one.config : one.name;
      if (!archive::isName(name))
        diagnostics.report(Diag::NoIdentifier, locate(one.where), name);
      else
        (isConfig ? addConfig : addKernel)(one, library, diagnostics);
    }
  // Of what is left out for another error that is said.
  if (library.kernels.empty() && !diagnostics.hasErrors())
    diagnostics.report(Diag::EmptyLibrary, {}, library.name);
  return !diagnostics.hasErrors();
}

/// The library's tuning table, if it has one.
bool tune(archive::Library &library, const std::string &file,
          const archive::LibraryOptions &options, Diagnostics &diagnostics) {
  if (file.empty()) return true;
  const auto read = llvm::MemoryBuffer::getFile(file, /*IsText=*/true);
  if (!read) return diagnostics.report(Diag::UnreadableFile, {}, file), false;
  return archive::readTuning(file, std::string_view((*read)->getBuffer()), options, library,
                             diagnostics);
}

/// The whole file or none.
bool writeFile(const std::string &path, llvm::StringRef content, Diagnostics &diagnostics) {
  llvm::Error failed = llvm::writeToOutput(path, [&](llvm::raw_ostream &out) {
    auto &file = static_cast<llvm::raw_fd_ostream &>(out);
    file << content;
    file.flush();
    const std::error_code problem = file.error();
    file.clear_error(); // or the program ends
    return llvm::errorCodeToError(problem);
  });
  if (!failed) return true;
  llvm::consumeError(std::move(failed));
  diagnostics.report(Diag::UnwritableFile, {}, path);
  return false;
}

/// A file that has this text already keeps its time, so that nothing is rebuilt for it.
bool writeText(const std::string &path, llvm::StringRef text, Diagnostics &diagnostics) {
  const auto there = llvm::MemoryBuffer::getFile(path);
  return (there && (*there)->getBuffer() == text) || writeFile(path, text, diagnostics);
}

/// The library comes last, which is what builds look at.
bool writeAll(const archive::Library &library, const std::string &folder,
              Diagnostics &diagnostics) {
  const std::string stem = folder + "/" + library.name;
  const auto made = archive::makeArchive(library);
  if (!made) return diagnostics.add(made.error()), false;
  if (llvm::sys::fs::create_directories(folder, /*IgnoreExisting=*/true, llvm::sys::fs::all_all))
    return diagnostics.report(Diag::UnwritableFile, {}, folder), false;
  return writeText(stem + ".h", archive::headerForC(library), diagnostics) &&
         writeText(stem + ".hpp", archive::headerForCpp(library, library.name + ".h"),
                   diagnostics) &&
         writeText(stem + ".json", archive::manifest(library), diagnostics) &&
         writeFile(folder + "/lib" + library.name + ".a", (*made)->getBuffer(), diagnostics);
}

bool run(const LibraryRequest &request, Diagnostics &diagnostics) {
  archive::Library library{
      .name = request.name, .nameSpace = request.nameSpace, .triple = request.processor};
  for (const std::string &one : {library.name, library.nameSpace})
    if (!archive::isName(one)) diagnostics.report(Diag::NoIdentifier, {}, one);
  const archive::LibraryOptions options{.targets = targetsOf(request, diagnostics),
                                        .isCompressed = request.isCompressed,
                                        .onlyAssembly = request.onlyAssembly,
                                        .keepsLines = request.keepsLines,
                                        .assumesNothing = request.assumesNothing};
  if (diagnostics.hasErrors()) return false;
  return traceAll(library, diagnostics) && tune(library, request.tuned, options, diagnostics) &&
         archive::compileLibrary(library, options, diagnostics) &&
         writeAll(library, request.folder, diagnostics);
}

int main(int argc, char **argv) {
  const DefaultFloatState state;
  cl::HideUnrelatedOptions(category);
  cl::ParseCommandLineOptions(argc, argv, "Write a library of kernels compiled ahead of time\n");
  Diagnostics diagnostics;
  bool isDone = false;
  try {
    isDone = run(requestNow(), diagnostics);
  } catch (const std::exception &mistake) { // of a kernel, when it is traced
    std::fprintf(stderr, "%s\n", mistake.what());
  }
  std::fputs(diagnostics.render().c_str(), stderr);
  return isDone ? 0 : 1;
}

} // namespace
} // namespace imbrex::generator

int imbrex::detail::add_to_library(const library_kernel &kernel) {
  imbrex::generator::kernels().push_back(kernel);
  return 0;
}

int main(int argc, char **argv) { return imbrex::generator::main(argc, argv); }
