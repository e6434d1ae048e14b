#define DOCTEST_CONFIG_IMPLEMENT
#include "backend/assembly.h"
#include "backend/compile.h"
#include "backend/interpret/interpret.h"
#include "backend/lower/observations.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/MathExtras.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/raw_ostream.h"
#include "tests/codegen/pipelined_kernels.h"
#include "tests/codegen/table_launch.h"
#include "tests/codegen/turn_kernels.h"
#include "tests/support/made_object.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstring>
#include <string>
#include <vector>

/// Writes the launches of kernels on a GPU into files, for whatever can run its code
/// (scripts/run_amd_code.py):
///
///   write_launches MACHINE FOLDER [KERNEL …]
///
/// and in the folder of each kernel NAME.elf, the code that a driver would load; NAME.json, how it
/// is launched; and NAME.I.before and .after, what array I (of a parameter, or behind a pointer of
/// a table) holds at first, and what the interpreter leaves there.
namespace imbrex::testing {
namespace {

/// What comes behind the arguments, which code asks for the grid: at the next multiple of eight
/// bytes, so many blocks along x, y, z (target/amdgpu/amdgpu_vocabulary.cpp, gridExtent).
constexpr std::uint64_t kHiddenAlignment = 8;
constexpr std::int64_t kHiddenBytes = 256;

class Writer {
public:
  Writer(const target::GpuTarget &target, llvm::StringRef folder)
      : target_(target), folder_(folder) {}

  void write(TableKernel &one) {
    const TableLaunch before(one);
    TableLaunch after(one);
    ir::Kernel compiled = one.kernel.clone();
    Diagnostics diagnostics;
    const auto assumptions =
        analysis::assumptionsOf(compiled, before.arguments(), analysis::usualAssumptions(compiled));
    const auto code = compileForGpu(compiled, target_, assumptions, diagnostics);
    IMBREX_CHECK(code.has_value(), "{0}", diagnostics.render());
    const auto object = makeObject(*code, target_);
    IMBREX_CHECK(object.ok(), "{0}", render(object.error()));
    const bool ran = interpret::run(one.kernel, one.grid, after.arguments(), diagnostics, {});
    IMBREX_CHECK(ran, "{0}", diagnostics.render());
    file(one.name + ".elf", {object->image.data(), object->image.size()});
    file(one.name + ".json", textOf(launchOf(one, code->interface, before, after)));
  }

private:
  void file(const std::string &name, llvm::StringRef content) const {
    llvm::SmallString<128> path(folder_);
    llvm::sys::path::append(path, name);
    std::error_code problem;
    llvm::raw_fd_ostream stream(path, problem);
    IMBREX_CHECK(!problem, "{0}: {1}", path.str().str(), problem.message());
    stream << content;
  }

  static std::string textOf(llvm::json::Value value) {
    return llvm::formatv("{0:2}\n", value).str();
  }

  llvm::json::Object launchOf(const TableKernel &one, const lower::KernelInterface &interface,
                              const TableLaunch &before, const TableLaunch &after) const {
    const std::vector<std::int64_t> places = lower::placesOf(interface.words);
    const auto hidden = static_cast<std::int64_t>(
        llvm::alignTo(static_cast<std::uint64_t>(places.back()), kHiddenAlignment));
    llvm::json::Array words, buffers;
    for (std::size_t i = 0; i < interface.words.size(); ++i)
      words.push_back(wordAt(places[i], interface.words[i], before));
    for (std::int64_t axis = 0; axis < 3; ++axis)
      words.push_back(
          llvm::json::Object{{"at", hidden + axis * 4},
                             {"bytes", 4},
                             {"value", one.grid.extents.at(static_cast<std::size_t>(axis))}});
    const auto first = before.pieces(), last = after.pieces();
    for (std::size_t i = 0; i < first.size(); ++i) {
      if (first[i].argument.data == nullptr) continue;
      const std::string name = one.name + "." + std::to_string(i);
      file(name + ".before", bytesOf(first[i].argument));
      file(name + ".after", bytesOf(last[i].argument));
      buffers.push_back(
          llvm::json::Object{{"array", static_cast<std::int64_t>(i)},
                             {"name", first[i].name},
                             {"element", llvm::StringRef(ir::info(first[i].element).name)}});
    }
    const auto [x, y, z] = one.grid.extents;
    return llvm::json::Object{
        {"kernel", interface.name},           {"threads", interface.threads},
        {"grid", llvm::json::Array{x, y, z}}, {"bytes", hidden + kHiddenBytes},
        {"words", std::move(words)},          {"buffers", std::move(buffers)}};
  }

  static llvm::StringRef bytesOf(const ir::Argument &argument) {
    return {reinterpret_cast<const char *>(argument.data),
            static_cast<std::size_t>(argument.bytes)};
  }

  /// The numbers of a parameter's arrays.
  static llvm::json::Array arraysOf(std::int32_t parameter, const TableLaunch &launch) {
    llvm::json::Array numbers;
    for (const auto &[number, piece] : llvm::enumerate(launch.pieces()))
      if (piece.parameter == parameter) numbers.push_back(static_cast<std::int64_t>(number));
    return numbers;
  }

  static llvm::json::Object wordAt(std::int64_t at, const lower::Word &word,
                                   const TableLaunch &launch) {
    llvm::json::Object text{{"at", at}, {"bytes", word.bytes}};
    switch (word.kind) {
    case lower::WordKind::Pointer: text["array"] = arraysOf(word.parameter, launch).front(); break;
    case lower::WordKind::Table: text["table"] = arraysOf(word.parameter, launch); break;
    case lower::WordKind::Scalar:
    case lower::WordKind::Extent:
    case lower::WordKind::Stride:
      text["value"] = static_cast<std::int64_t>(lower::wordOf(word, launch.arguments()));
      break;
    case lower::WordKind::Observations:
      text["room"] = std::int64_t{lower::observations::kUsualRoom};
      break;
    case lower::WordKind::BoxMap: IMBREX_UNREACHABLE("no engine of AMD's loads boxes");
    }
    return text;
  }

  const target::GpuTarget &target_;
  llvm::StringRef folder_;
};

using Names = std::vector<std::string>;

/// The table's; loops that copy or load ahead, and products whose halves take turns where they do.
std::vector<TableKernel> kernelsOn(const machine::Machine &machine) {
  std::vector<TableKernel> kernels = kernelTable(machine);
  const auto add = [&](std::vector<TableKernel> more) {
    std::ranges::move(more, std::back_inserter(kernels));
  };
  for (const int slots : {2, 3}) add(pipelinedKernels(slots));
  add(largeProducts());
  add(oddProducts());
  if (!machine::mayBeApart(machine)) return kernels;
  for (const auto &[name, of] :
       {std::pair{"turns_f16", TurnCase{.depth = 320}},
        std::pair{"turns_bf16", TurnCase{.element = "bf16", .isBTransposed = false, .depth = 200}},
        std::pair{"turns_odd", TurnCase{.depth = 400, .m = 48, .n = 80, .k = 128}}}) {
    kernels.push_back(turnKernel(of));
    kernels.back().name = name;
  }
  return kernels;
}

/// The kernels of these names; without any, all.
int writeAll(const std::string &name, llvm::StringRef folder, const Names &kernels) {
  const machine::Machine *machine = machine::findMachine(name);
  const target::GpuTarget *target = machine != nullptr ? target::findGpuTarget(*machine) : nullptr;
  if (target == nullptr) {
    llvm::errs() << "there is no code for " << name << " in this build\n";
    return 1;
  }
  Writer writer(*target, folder);
  for (TableKernel &one : kernelsOn(*machine))
    if (one.isEmulated && (kernels.empty() || std::ranges::count(kernels, one.name) > 0))
      writer.write(one); // the interpreter knows no instructions of the author's
  return 0;
}

} // namespace
} // namespace imbrex::testing

int main(int count, char **words) {
  doctest::Context context; // kernels are made by what tests call
  context.setAsDefaultForAssertsOutOfTestCases();
  if (count >= 3) return imbrex::testing::writeAll(words[1], words[2], {words + 3, words + count});
  llvm::errs() << "usage: write_launches MACHINE FOLDER [KERNEL ...]\n";
  return 2;
}
