#pragma once

#include "backend/emulate/emulate.h"
#include "llvm/AsmParser/Parser.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Verifier.h"
#include "llvm/Support/SourceMgr.h"
#include "llvm/Support/raw_ostream.h"

#include <doctest/doctest.h>

#include <map>
#include <sstream>
#include <string>
#include <vector>

namespace imbrex {

/// LLVM IR in which each instruction has its line of the text as its place, and a comment `;
/// <name>` gives a line a name.
class LocatedText {
public:
  explicit LocatedText(const std::string &text) {
    std::istringstream lines(text);
    std::string line;
    for (int number = 1; std::getline(lines, line); ++number) {
      const std::size_t comment = line.find(';');
      if (comment != std::string::npos) {
        if (line.compare(comment, 3, "; <") == 0)
          lines_[line.substr(comment + 3, line.find('>', comment) - comment - 3)] = number;
        line.erase(comment);
        line.erase(line.find_last_not_of(' ') + 1);
      }
      const bool isInstruction = line.starts_with("  ") && !line.ends_with(",");
      if (isInstruction)
        line += ", !dbg !DILocation(line: " + std::to_string(number) + ", scope: !900)";
      if (line.starts_with("define") && line.ends_with("{"))
        line.insert(line.size() - 1, "!dbg !900 ");
      located_ += line + "\n";
    }
    located_ += "!llvm.dbg.cu = !{!901}\n!llvm.module.flags = !{!904}\n"
                "!900 = distinct !DISubprogram(name: \"k\", file: !902, line: 1, type: !903, "
                "unit: !901, spFlags: DISPFlagDefinition)\n"
                "!901 = distinct !DICompileUnit(language: DW_LANG_C, file: !902)\n"
                "!902 = !DIFile(filename: \"k.ll\", directory: \"\")\n"
                "!903 = !DISubroutineType(types: !905)\n"
                "!904 = !{i32 2, !\"Debug Info Version\", i32 3}\n!905 = !{}\n";
  }

  const std::string &text() const { return located_; }
  /// `k.ll:7`
  std::string at(const std::string &name) const {
    REQUIRE(lines_.contains(name));
    return "k.ll:" + std::to_string(lines_.at(name));
  }

private:
  std::string located_;
  std::map<std::string, int> lines_;
};

/// A kernel `@k` in LLVM IR, its parameters all pointers, and the launch of it.
class Emulation {
public:
  Emulation(const std::string &machineName, const std::string &text)
      : text_(text), machine_(machine::findMachine(machineName)) {
    REQUIRE(machine_ != nullptr);
    interface_.name = "k";
    interface_.threads = 2 * machine_->warpSize;
  }

  Emulation &threads(std::int32_t count) {
    interface_.threads = count;
    return *this;
  }
  Emulation &bytesAtLaunch(std::int32_t bytes) {
    interface_.bytesAtLaunch = bytes;
    return *this;
  }
  Emulation &blocks(std::int32_t count) {
    grid_.extents[0] = count;
    return *this;
  }
  Emulation &delivery(emulate::Delivery when) {
    delivery_ = when;
    return *this;
  }
  Emulation &numerics(emulate::Numerics how) {
    numerics_ = how;
    return *this;
  }
  Emulation &warpsMeetAnywhere() {
    warpsMeetAnywhere_ = true;
    return *this;
  }
  /// The next parameter.
  template <class T>
  Emulation &array(std::vector<T> &elements) {
    ir::Argument argument;
    argument.data = reinterpret_cast<std::byte *>(elements.data());
    argument.bytes = static_cast<std::int64_t>(elements.size() * sizeof(T));
    return add(argument, lower::WordKind::Pointer);
  }
  Emulation &scalar(std::uint64_t bits) { return add({.scalar = bits}, lower::WordKind::Scalar); }
  Emulation &argument(const ir::Argument &argument) {
    return add(argument, lower::WordKind::Pointer);
  }

  /// All that is reported under one seed; empty when all went well.
  std::string report(std::uint64_t seed = 0, emulate::Counters *counters = nullptr) {
    Diagnostics diagnostics;
    if (!program_) program_ = compile(diagnostics);
    if (program_) {
      emulate::EmulatorOptions options;
      options.seed = seed;
      options.delivery = delivery_;
      options.numerics = numerics_;
      options.counters = counters;
      options.mostTurns = 100'000;
      options.warpsMeetAnywhere = warpsMeetAnywhere_;
      const bool ok = program_->run(grid_, arguments_, options, diagnostics);
      CHECK(ok != diagnostics.hasErrors());
    }
    return diagnostics.render();
  }
  std::string at(const std::string &name) const { return text_.at(name); }

private:
  Emulation &add(const ir::Argument &argument, lower::WordKind kind) {
    interface_.words.push_back({kind, static_cast<std::int32_t>(arguments_.size())});
    arguments_.push_back(argument);
    return *this;
  }

  std::unique_ptr<emulate::EmulatedProgram> compile(Diagnostics &diagnostics) {
    llvm::LLVMContext context;
    llvm::SMDiagnostic problem;
    const auto module = llvm::parseAssemblyString(text_.text(), problem, context);
    std::string text;
    llvm::raw_string_ostream stream(text);
    if (!module) problem.print("k.ll", stream);
    REQUIRE_MESSAGE(module != nullptr, text);
    REQUIRE_MESSAGE(!llvm::verifyModule(*module, &stream), text);
    return emulate::EmulatedProgram::compile(*module, *machine_, interface_, diagnostics);
  }

  LocatedText text_;
  const machine::Machine *machine_;
  lower::KernelInterface interface_;
  ir::Grid grid_;
  emulate::Delivery delivery_ = emulate::Delivery::Late;
  emulate::Numerics numerics_ = emulate::Numerics::Exact;
  bool warpsMeetAnywhere_ = false;
  std::vector<ir::Argument> arguments_;
  std::unique_ptr<emulate::EmulatedProgram> program_;
};

/// Whether a report names all of these.
inline bool names(const std::string &report, std::initializer_list<std::string> parts) {
  for (const std::string &part : parts)
    if (report.find(part) == std::string::npos) return false;
  return true;
}

} // namespace imbrex
