// products DEVICE [NAME]: products of matrices and attention on arrays that are in the device's
// memory, each of the problems whose names have NAME: the result is compared with a reference in
// float64, then the best of some tiles is timed. One line each, as
//   product: name=gemm_bf16_4096x4096x4096_ab tiles=128x256x64 max_error=2e-03 ms=0.21 tflops=650
//
// products DEVICE --serve FOLDER: the same for a peer who times both sides in turns. It reads
// commands and answers each with a line:
//   list          the problems, one object of JSON each, then an empty line
//   make NAME     as above, and the arrays as files 0, 1, … in FOLDER
//   time NUMBER   what a launch of the problem at hand takes, of so many: ms=0.21

#include "backend/machine/mma.h"
#include "dsl/traced_kernel.h"
#include "llvm/ADT/STLExtras.h"
#include "runtime/devices.h"
#include "runtime/executable.h"
#include "runtime/gpus.h"
#include "tests/bundle/product_problems.hpp"

#include <chrono>
#include <cstdio>
#include <fstream>
#include <iostream>
#include <optional>
#include <sstream>

namespace {

using namespace imbrex;
using bench::ProductArray;
using bench::ProductProblem;

template <class T>
T valueOf(Result<T> result) {
  if (result) return std::move(*result);
  std::fputs(render(result.error()).c_str(), stderr);
  std::exit(1);
}
void expectOk(const Result<void> &result) {
  if (result) return;
  std::fputs(render(result.error()).c_str(), stderr);
  std::exit(1);
}

// --- the problems ---

template <class T>
ProductProblem halfGemm(bench::GemmShape shape) {
  return bench::GemmProblem<T, f32, T>(shape)
      .template tiles<128, 128, 32>(4)
      .template tiles<128, 128, 64>(8)
      .template tiles<128, 256, 64>(8)
      .problem();
}

template <class T, class Sum, class Out>
ProductProblem byteGemm(bench::GemmShape shape) {
  return bench::GemmProblem<T, Sum, Out>(shape)
      .template tiles<128, 128, 64>(4)
      .template tiles<128, 256, 64>(8)
      .problem();
}

template <int D>
ProductProblem attention(bench::AttentionShape shape) {
  return bench::AttentionProblem<bf16, D>(shape)
      .template tiles<128, 64>(4)
      .template tiles<128, 64>(8)
      .template tiles<128, 128>(8)
      .problem();
}

bool multiplies(const machine::Machine &machine, machine::MatrixElement element) {
  return llvm::any_of(machine::mmaInstructionsOf(machine),
                      [&](const auto *row) { return row->a == element && row->b == element; });
}

/// In f8 only where the machine has units for it.
std::vector<ProductProblem> problemsFor(const machine::Machine &machine) {
  using machine::MatrixElement;
  std::vector<ProductProblem> problems;
  for (const bench::GemmShape shape : {bench::GemmShape{4096, 4096, 4096},
                                       {6144, 6144, 6144},
                                       {8192, 8192, 8192},
                                       {8192, 8192, 1024},
                                       {65536, 1024, 1024},
                                       {4096, 4096, 4096, true}})
    problems.push_back(halfGemm<bf16>(shape));
  problems.push_back(halfGemm<f16>({4096, 4096, 4096}));
  const bench::GemmShape bytes{8192, 8192, 8192, true};
  if (multiplies(machine, MatrixElement::F8E4M3FN))
    problems.push_back(byteGemm<f8e4m3fn, f32, bf16>(bytes));
  problems.push_back(byteGemm<i8, i32, i32>(bytes));
  for (const bool isCausal : {false, true})
    for (const std::int64_t length : {1024, 4096, 16384}) {
      constexpr std::int64_t kTokens = 16384, kHidden = 2048;
      problems.push_back(attention<64>({kTokens / length * kHidden / 64, length, isCausal}));
      problems.push_back(attention<128>({kTokens / length * kHidden / 128, length, isCausal}));
    }
  return problems;
}

/// What a processor or an emulator computes in a moment.
std::vector<ProductProblem> smallProblems() {
  std::vector<ProductProblem> problems;
  problems.push_back(halfGemm<bf16>({256, 384, 192}));
  problems.push_back(halfGemm<f16>({128, 128, 128, true}));
  problems.push_back(byteGemm<f8e4m3fn, f32, bf16>({128, 128, 128, true}));
  problems.push_back(byteGemm<i8, i32, i32>({128, 256, 256}));
  problems.push_back(attention<64>({2, 256}));
  problems.push_back(attention<128>({1, 256, true}));
  return problems;
}

// --- what is measured ---

/// The arrays of a problem where the device has its memory.
class DeviceArrays {
public:
  DeviceArrays(const gpu::SupportedGpu *gpu, ProductProblem &problem)
      : gpu_(gpu), problem_(problem) {
    problem.fill(problem.arrays);
    for (ProductArray &array : problem.arrays) {
      if (gpu == nullptr) continue;
      onDevice_.push_back(valueOf(gpu->allocate(array.bytes())));
      expectOk(gpu->copyIn(onDevice_.back().address(), array.content.data(), array.bytes()));
    }
  }

  std::vector<ir::Argument> arguments() {
    std::vector<ir::Argument> arguments;
    for (std::size_t i = 0; i < problem_.arrays.size(); ++i) {
      ProductArray &array = problem_.arrays[i];
      ir::Argument &argument = arguments.emplace_back();
      argument.data = gpu_ != nullptr ? reinterpret_cast<std::byte *>(onDevice_[i].address())
                                      : array.content.data();
      argument.bytes = array.bytes();
      argument.extents = {array.rows, array.columns};
      argument.strides = {array.columns, 1};
    }
    for (const std::uint64_t scalar : problem_.scalars) arguments.emplace_back().scalar = scalar;
    return arguments;
  }

  void bringResult() {
    ProductArray &result = problem_.arrays.back();
    if (gpu_ != nullptr)
      expectOk(gpu_->copyOut(result.content.data(), onDevice_.back().address(), result.bytes()));
  }
  void poisonResult() {
    ProductArray &result = problem_.arrays.back();
    bench::detail::poison(result);
    if (gpu_ != nullptr)
      expectOk(gpu_->copyIn(onDevice_.back().address(), result.content.data(), result.bytes()));
  }

private:
  const gpu::SupportedGpu *gpu_; // null: the memory is the host's
  ProductProblem &problem_;
  std::vector<gpu::DeviceMemory> onDevice_;
};

/// A problem on a device, with the best of its tiles.
class Trial {
public:
  Trial(device on, const gpu::SupportedGpu *gpu, ProductProblem problem)
      : on_(on), gpu_(gpu), problem_(std::move(problem)), arrays_(gpu, problem_) {
    for (const bench::ProductVariant &variant : problem_.variants) consider(variant);
    arrays_.bringResult();
  }
  const ProductProblem &problem() const { return problem_; }
  bool isRight() const { return best_ != nullptr && largestError_ <= problem_.allowedError; }

  double milliseconds(std::int32_t launches) {
    Diagnostics diagnostics;
    const double taken = time(*best_, tiles_->grid, launches, diagnostics);
    std::fputs(diagnostics.render().c_str(), stdout);
    return taken;
  }

  std::string line() const {
    if (best_ == nullptr) return "product: name=" + problem_.name + " none WRONG";
    char text[256];
    std::snprintf(text, sizeof(text), "tiles=%s max_error=%.2g ms=%.4g tflops=%.4g%s",
                  tiles_->name.c_str(), largestError_, bestMilliseconds_,
                  1e-9 * problem_.flops / bestMilliseconds_, isRight() ? "" : " WRONG");
    return "product: name=" + problem_.name + " " + text;
  }

private:
  /// Every one has to be right; the quickest is kept, and its result.
  void consider(const bench::ProductVariant &variant) {
    Diagnostics diagnostics;
    auto executable = runtime::makeExecutable(irOf(variant.record()), on_, diagnostics);
    arrays_.poisonResult();
    if (!executable || !executable->run(variant.grid, arrays_.arguments(), diagnostics)) {
      std::fprintf(stderr, "%s of %s: %s\n", variant.name.c_str(), problem_.name.c_str(),
                   diagnostics.render().c_str());
      return;
    }
    arrays_.bringResult();
    largestError_ = std::fmax(largestError_, problem_.error(problem_.arrays));
    constexpr std::int32_t kLaunches = 5;
    const double taken = time(*executable, variant.grid, kLaunches, diagnostics);
    if (taken >= bestMilliseconds_) return;
    bestMilliseconds_ = taken;
    best_ = std::move(executable);
    tiles_ = &variant;
  }

  double time(const runtime::Executable &executable, const ir::Grid &grid, std::int32_t launches,
              Diagnostics &diagnostics) {
    const std::vector<ir::Argument> arguments = arrays_.arguments();
    if (gpu_ != nullptr) {
      runtime::DeviceTime time{.launches = launches};
      executable.run(grid, arguments, diagnostics, {.time = &time});
      return time.milliseconds;
    }
    const auto start = std::chrono::steady_clock::now();
    executable.run(grid, arguments, diagnostics);
    return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start)
        .count();
  }

  device on_;
  const gpu::SupportedGpu *gpu_;
  ProductProblem problem_;
  DeviceArrays arrays_;
  std::shared_ptr<const runtime::Executable> best_;
  const bench::ProductVariant *tiles_ = nullptr;
  double bestMilliseconds_ = INFINITY;
  double largestError_ = 0;
};

void writeArrays(const ProductProblem &problem, const std::string &folder) {
  for (std::size_t i = 0; i < problem.arrays.size(); ++i)
    std::ofstream(folder + "/" + std::to_string(i), std::ios::binary)
        .write(reinterpret_cast<const char *>(problem.arrays[i].content.data()),
               problem.arrays[i].bytes());
}

class Server {
public:
  Server(device on, const gpu::SupportedGpu *gpu, std::vector<ProductProblem> problems,
         std::string folder)
      : on_(on), gpu_(gpu), problems_(std::move(problems)), folder_(std::move(folder)) {}

  /// Until there are no more commands.
  void run() {
    for (std::string line; std::getline(std::cin, line);) {
      std::istringstream words(line);
      std::string command, argument;
      words >> command >> argument;
      if (command == "list")
        list();
      else if (command == "make")
        make(argument);
      else if (command == "time" && trial_)
        std::printf("ms=%.6g\n", trial_->milliseconds(std::atoi(argument.c_str())));
      else
        std::printf("error: '%s' is no command here\n", line.c_str());
      std::fflush(stdout);
    }
  }

private:
  void list() const {
    for (const ProductProblem &problem : problems_)
      std::printf("{\"name\": \"%s\", %s, \"flops\": %.17g, \"allowed_error\": %g}\n",
                  problem.name.c_str(), problem.description.c_str(), problem.flops,
                  problem.allowedError);
    std::puts("");
  }
  void make(const std::string &name) {
    trial_.reset(); // its arrays are given back before others are made
    for (const ProductProblem &problem : problems_)
      if (problem.name == name) trial_.emplace(on_, gpu_, problem);
    if (!trial_) {
      std::printf("error: there is no problem '%s'\n", name.c_str());
      return;
    }
    if (trial_->isRight()) writeArrays(trial_->problem(), folder_);
    std::puts(trial_->line().c_str());
    if (!trial_->isRight()) trial_.reset();
  }

  device on_;
  const gpu::SupportedGpu *gpu_;
  std::vector<ProductProblem> problems_;
  std::string folder_;
  std::optional<Trial> trial_;
};

bool measureAll(device on, const gpu::SupportedGpu *gpu,
                const std::vector<ProductProblem> &problems, const std::string &part) {
  bool isRight = true;
  for (const ProductProblem &problem : problems) {
    if (problem.name.find(part) == std::string::npos) continue;
    const Trial trial(on, gpu, problem);
    std::puts(trial.line().c_str());
    std::fflush(stdout);
    isRight &= trial.isRight();
  }
  return isRight;
}

} // namespace

int main(int count, char **words) {
  const bool serves = count == 4 && std::string(words[2]) == "--serve";
  if (count != 2 && count != 3 && !serves)
    return std::fputs("usage: products DEVICE [NAME | --serve FOLDER]\n", stderr), 2;
  const auto on = imbrex::runtime::findDevice(words[1], {});
  if (!on) {
    std::fputs(render(on.error()).c_str(), stderr);
    return 1;
  }
  const imbrex::DeviceInfo &info = imbrex::runtime::infoOf(*on);
  const imbrex::gpu::SupportedGpu *gpu =
      imbrex::runtime::isGpu(info.kind) ? valueOf(imbrex::runtime::gpuOf(info)) : nullptr;
  auto problems = gpu != nullptr ? problemsFor(*gpu->code().machine) : smallProblems();
  if (serves) return Server(*on, gpu, std::move(problems), words[3]).run(), 0;
  return measureAll(*on, gpu, problems, count == 3 ? words[2] : "") ? 0 : 1;
}
