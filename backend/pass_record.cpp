#include "backend/pass_record.h"

#include "backend/ir/text.h"
#include "backend/support/file_name.h"
#include "backend/support/lifetime.h"
#include "llvm/ADT/STLExtras.h"

#include <filesystem>
#include <map>
#include <mutex>

namespace imbrex {
namespace {

/// The folder for one more kernel of this name.
std::string newFolder(const std::string &parent, std::string_view kernel) {
  static std::mutex mutex;
  static auto &count = permanent(std::map<std::string, int>());
  const std::string folder = parent + "/" + fileNameFor(kernel);
  const std::lock_guard lock(mutex);
  const int number = ++count[folder];
  return number == 1 ? folder : folder + "-" + std::to_string(number);
}

/// Said to whoever set the variable, not to the kernel's author: on stderr, once a process.
void warnOnce(std::once_flag &said, Diag kind, const std::string &about) {
  std::call_once(said, [&] {
    Diagnostics diagnostics;
    diagnostics.report(kind, {}, about);
    std::fputs(diagnostics.render().c_str(), stderr);
  });
}

void warnUnwritable(const std::string &path) {
  static std::once_flag said;
  warnOnce(said, Diag::DumpNotWritten, path);
}

void warnUnlessKnown(const std::string &pass, llvm::ArrayRef<Pass> passes) {
  const auto isIt = [&](const Pass &known) { return known.name == pass; };
  if (pass.empty() || pass == "all" || llvm::any_of(passes, isIt)) return;
  static std::once_flag said;
  warnOnce(said, Diag::NoPassToPrintAfter, pass);
}

std::string twoDigits(int number) { return (number < 10 ? "0" : "") + std::to_string(number); }

} // namespace

PassRecord::PassRecord(const ir::Kernel &kernel, PassRecordOptions options)
    : options_(std::move(options)) {
  if (!isActive()) return;
  warnUnlessKnown(options_.printAfter, options_.passes);
  before_ = ir::print(kernel);
  if (options_.dumpFolder.empty()) return;
  folder_ = newFolder(options_.dumpFolder, kernel.name());
  std::error_code error;
  std::filesystem::create_directories(folder_, error);
  write("passes.txt",
        "kernel '" + kernel.name() + "' at " + toText(kernel.where()) + " for " + options_.machine +
            "\n",
        "w");
  dump(kernel.stage() == ir::Stage::Traced ? "traced" : "tiles", kernel);
}

void PassRecord::after(std::string_view pass, const ir::Kernel &kernel,
                       std::chrono::nanoseconds took) {
  if (!isActive()) return;
  std::string text = ir::print(kernel);
  print(pass, kernel, text);
  if (!folder_.empty()) {
    const double milliseconds = std::chrono::duration<double, std::milli>(took).count();
    write("passes.txt",
          twoDigits(step_) + " " + std::string(pass) + ": " + toText(milliseconds) + " ms" +
              (text == before_ ? ", unchanged\n" : "\n"),
          "a");
    dump(pass, kernel);
  }
  before_ = std::move(text);
}

void PassRecord::print(std::string_view pass, const ir::Kernel &kernel, const std::string &text) {
  if (options_.printAfter != "all" && options_.printAfter != pass) return;
  const bool isChanged = text != before_;
  const std::string title = "// kernel '" + kernel.name() + "' after " + std::string(pass) +
                            (isChanged ? ":\n" : ": unchanged\n");
  std::fputs((title + (isChanged ? text : "")).c_str(), options_.printTo);
}

void PassRecord::dump(std::string_view step, const ir::Kernel &kernel) {
  write(twoDigits(step_++) + "-" + std::string(step) + ".imx",
        ir::print(kernel, {.locations = true}), "w");
}

void PassRecord::write(const std::string &file, const std::string &text, const char *mode) {
  const std::string path = folder_ + "/" + file;
  std::FILE *out = std::fopen(path.c_str(), mode);
  if (!out) return warnUnwritable(path);
  const bool isWritten = std::fputs(text.c_str(), out) >= 0;
  if (std::fclose(out) != 0 || !isWritten) warnUnwritable(path);
}

} // namespace imbrex
