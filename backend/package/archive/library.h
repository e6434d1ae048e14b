#pragma once

#include "backend/analysis/assumptions.h"
#include "backend/ir/kernel.h"
#include "backend/launching/print_line.h"
#include "backend/lower/kernel_interface.h"
#include "backend/machine/machine.h"
#include "backend/package/archive/launch_program.h"
#include "backend/support/result.h"
#include "backend/target/gpu_target.h"
#include "llvm/Support/MemoryBuffer.h"

#include <limits>
#include <memory>
#include <string>
#include <vector>

/// Kernels compiled ahead of time: what there is in a library of them, before it is written.
namespace imbrex::archive {

/// What a library has code for: "sm_90a", "ptx:sm_80", "gfx942", "host:x86-64-v3".
struct LibraryTarget {
  const machine::Machine *machine; ///< Of a GPU's; of the host the processor.
  std::string name;                ///< "sm_90a", "x86-64-v3"
  bool isAssembly = false;         ///< PTX, for devices that come later.

  bool isHost() const { return machine->family == machine::Family::Cpu; }
};
/// `triple`: of the processor that the library is for; `onlyAssembly`: PTX is meant where an image
/// is named. The error says which targets there are.
Result<LibraryTarget> parseTarget(std::string_view text, const llvm::Triple &triple,
                                  bool onlyAssembly = false);

/// "ptx:sm_80"
std::string toText(const LibraryTarget &target);

/// Where code prints or asserts: launching::ObservationSite.
struct CodeSite {
  std::string text;
  std::string place; ///< "kernels.h:41"
  std::vector<launching::ObservedTile> tiles;

  friend bool operator==(const CodeSite &, const CodeSite &) = default;
};

/// How code is launched.
struct CodeOnGpu {
  std::string image = {}; ///< What the driver loads.
  std::string symbol = {};
  std::vector<lower::Word> words = {};
  std::vector<lower::BoxMap> maps = {};
  std::int32_t threads = 0;
  std::int32_t bytesAtLaunch = 0;
  std::int32_t sharedMemoryBytes = 0;
  std::vector<CodeSite> sites = {};
  std::optional<target::Resources> resources = {}; ///< Of an image.
  std::optional<Diagnostic> spills = {};           ///< What is to be told of them.
};
struct CodeOnHost {
  std::unique_ptr<llvm::MemoryBuffer> object = {};
  std::string entry = {}; ///< Its symbol.
  std::int64_t scratchBytes = 0;
  std::vector<CodeSite> sites = {};
};

/// Code of a kernel for one target, and for launches that keep the assumptions.
struct LibraryCode {
  LibraryTarget target;
  analysis::Assumptions assumptions;
  CodeOnGpu gpu = {};
  CodeOnHost host = {};

  llvm::ArrayRef<CodeSite> sites() const { return target.isHost() ? host.sites : gpu.sites; }
};

/// A whole number of a launch, and what it may be.
struct TunedRange {
  GivenWord of;
  std::int64_t least = std::numeric_limits<std::int64_t>::min();
  std::int64_t most = std::numeric_limits<std::int64_t>::max();
};

/// A row of a kernel's tuning table: which of its configurations launches run that are in all the
/// ranges, on devices where they would run code for one of the targets.
struct TuningRule {
  std::vector<LibraryTarget> targets;
  std::vector<TunedRange> ranges;
  std::size_t config;
};

struct LibraryKernel {
  std::string name;        ///< In the library; the traced one's may be another.
  std::string config = {}; ///< Which other configuration of that kernel this is.
  ir::Kernel kernel;
  /// Takes the same parameters and behind them a view of three i64, where it writes how many blocks
  /// such a launch has; none where the launch says so itself.
  std::optional<ir::Kernel> blocks = {};
  /// Of each target together; those that assume more first, the last of them nothing.
  std::vector<LibraryCode> codes = {};
  CodeOnHost blocksCode = {};
  CodeOnHost checkCode = {}; ///< Of what it requires of its launches, if that is anything.
  std::vector<LibraryTarget> targets = {}; ///< That it is compiled for.
  std::vector<LibraryKernel> configs = {};
  std::vector<TuningRule> tuned = {}; ///< The first that fits counts.

  /// Whether code of it prints or asserts.
  bool isObserving() const {
    return llvm::any_of(codes, [](const LibraryCode &code) { return !code.sites().empty(); });
  }
  /// Or of one of its configurations.
  bool mayObserve() const {
    return isObserving() ||
           llvm::any_of(configs, [](const LibraryKernel &one) { return one.isObserving(); });
  }

  /// Whether arrays are passed to it, so that a function whose name ends with kDlpackSuffix takes
  /// them as DLPack's tensors.
  bool takesArrays() const {
    return llvm::any_of(kernel.body().arguments, [&](ir::ValueId parameter) {
      return kernel.type(parameter).hasMemory() && !kernel.type(parameter).isTable();
    });
  }
};

inline constexpr const char *kDlpackSuffix = "_dlpack";
/// What the function is called that loads all of a library's code for a device.
inline constexpr const char *kLoaderName = "load";

struct Library {
  std::string name;      ///< An identifier of C.
  std::string nameSpace; ///< Of the functions in C++; in C what their names begin with.
  llvm::Triple triple;   ///< Of the processor that it is for.
  std::vector<LibraryKernel> kernels = {};

  /// Of the function in C: "app_gemm".
  std::string symbolOf(const LibraryKernel &kernel) const { return nameSpace + "_" + kernel.name; }
  /// Of the library itself, for several may share a namespace.
  std::string loaderSymbol() const { return name + "_" + kLoaderName; }
  /// What the symbols of its code begin with; no function in C has a dot.
  std::string codeSymbolOf(const LibraryKernel &kernel) const {
    return symbolOf(kernel) + (kernel.config.empty() ? "" : "." + kernel.config);
  }
};

struct LibraryOptions {
  std::vector<LibraryTarget> targets;
  bool isCompressed = false;
  bool onlyAssembly = false;   ///< As targets were parsed.
  bool keepsLines = false;     ///< GPUs' code says which lines of the sources it is made from.
  bool assumesNothing = false; ///< One code for each target, which any launch can run.
};

/// Compile each kernel for each target, several at once. False where an error was reported.
bool compileLibrary(Library &library, const LibraryOptions &options, Diagnostics &diagnostics);

} // namespace imbrex::archive
