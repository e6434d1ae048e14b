#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace imbrex::launching {
struct ObservationSite;
}

/// What a library of kernels consists of besides code: constants, which backend/package/archive
/// writes into object files, and runtime/aot reads. Both sides count on this very layout, so that a
/// change of it changes kLaunchSymbol, which every library refers to, and libraries of another
/// version no longer link.
namespace imbrex::aot {

/// `int (const KernelRow *, const imbrex_stream *, const imbrex_grid *, const void *const *)`: the
/// last are the arguments.
inline constexpr const char *kLaunchSymbol = "imbrex_aot_launch_4";
/// The same, with the words of the arguments (`givenWords`) in their place. None is missing.
inline constexpr const char *kWordsLaunchSymbol = "imbrex_aot_launch_words_4";
/// As the first, of a kernel that prints or asserts, or a configuration of which does.
inline constexpr const char *kObservingLaunchSymbol = "imbrex_aot_launch_observing_4";
/// The same of either, where all that has memory comes as an imbrex_dltensor.
inline constexpr const char *kDlpackLaunchSymbol = "imbrex_aot_launch_dlpack_4";

/// `int (const KernelRow *const *, std::int64_t count, const imbrex_stream *)`
inline constexpr const char *kLoadSymbol = "imbrex_aot_load_4";

inline constexpr std::size_t kMostAxes = 5;

/// What a launch has room for: of bytes, what the machines that take the fewest do
/// (backend/machine/targets.def).
inline constexpr std::size_t kMostParameters = 32, kMostWords = 512, kMostArgumentBytes = 4352;

/// What is passed for one parameter of a GPU's kernel (lower::WordKind).
enum class WordKind : std::uint8_t { Scalar, Pointer, Extent, Stride, BoxMap, Observations };

struct WordRow {
  WordKind kind;
  std::uint8_t parameter;
  std::uint8_t axis; ///< Of the view, 0 of a table; of a BoxMap: its number among the code's.
  std::uint8_t bytes;
  std::uint32_t place; ///< In the argument list.
};
static_assert(sizeof(WordRow) == 8);

/// lower::BoxMap
struct BoxMapRow {
  std::int32_t parameter;
  std::int32_t elementBytes;
  std::int32_t swizzleBytes;
  std::int32_t rank;
  std::int64_t box[kMostAxes];
};
static_assert(sizeof(BoxMapRow) == 56);

/// imbrex_device (imbrex/aot.h), whose numbers these are.
enum Device : std::uint8_t { kHost, kCuda, kHip };

enum class Form : std::uint8_t { Scalar, Truth, Pointer, View, Table };

struct ParameterRow {
  const char *name;
  const char *type; ///< For people: "view<const bf16, 2>".
  Form form;
  std::uint8_t rank; ///< Of a view.
  bool isConst;
  bool isInteger;           ///< A scalar of which it may matter what divides it.
  std::int16_t storageBits; ///< Of a scalar or an element.
  std::uint8_t dlpackCode;  ///< The same as DLPack has it.
  bool isTuned;             ///< A scalar that a configuration of the kernel may follow from.
};
static_assert(sizeof(ParameterRow) == 24);

/// Whole bytes, of which elements may share one.
inline std::uint8_t storageBytes(const ParameterRow &parameter) {
  return static_cast<std::uint8_t>((parameter.storageBits + 7) / 8);
}
inline bool hasMemory(const ParameterRow &parameter) {
  return parameter.form == Form::Pointer || parameter.form == Form::View ||
         parameter.form == Form::Table;
}

/// How many words of 64 bits an argument is: a scalar its bits, behind which are zeros, a bool 0 or
/// 1; else the members of an imbrex_memory, of an imbrex_table, or of an imbrex_array by its rank.
constexpr std::size_t givenWords(Form form, std::size_t rank) {
  switch (form) {
  case Form::Scalar:
  case Form::Truth: return 1;
  case Form::Pointer: return 2;
  case Form::Table: return 3;
  case Form::View: return 1 + 2 * rank;
  }
  return 0;
}
inline std::size_t givenWords(const ParameterRow &parameter) {
  return givenWords(parameter.form, parameter.rank);
}
/// Where these are in an imbrex_memory, an imbrex_table and an imbrex_array (imbrex/aot.h), in
/// bytes. The address comes first in each; all are of 64 bits but the promises, of 32.
inline constexpr std::size_t kWordBytes = 8;
inline constexpr std::size_t kMemoryBytesPlace = kWordBytes;
inline constexpr std::size_t kTableCountPlace = kWordBytes, kTablePromisesPlace = 2 * kWordBytes;
inline constexpr std::size_t kArrayExtentsPlace = kWordBytes,
                             kArrayStridesPlace = kArrayExtentsPlace + kWordBytes * kMostAxes;
/// The words of all arguments are one behind the other, and zeros behind them: two are compared,
/// and then four in each step.
constexpr std::size_t paddedWords(std::size_t count) {
  constexpr std::size_t kFirst = 2, kStep = 4;
  return kFirst + (count <= kFirst ? 0 : (count - kFirst + kStep - 1) / kStep * kStep);
}
inline constexpr std::size_t kWordsAlignment = 16;
inline constexpr std::size_t kMostGivenWords =
    paddedWords(kMostParameters * givenWords(Form::View, kMostAxes));

/// launching::ParameterAssumptions
struct Assumed {
  bool isDivisible, hasUnitStride, hasDivisibleRows, hasSmallExtents, hasSmallSpan, hasBoxes;
  std::uint8_t sharedRowBytes;
};
static_assert(sizeof(Assumed) == 7);

/// analysis::EqualExtents
struct EqualExtentsRow {
  std::uint8_t parameter, axis, first, firstAxis;
};
static_assert(sizeof(EqualExtentsRow) == 4);

/// Runs blocks on the processor (host::EntryFunction).
using HostEntry = void(const std::uint64_t *words, const std::int32_t *grid, std::int64_t first,
                       std::int64_t last, std::byte *scratch, void *launch);

/// Code of a kernel for one machine and for launches of which all that is assumed holds.
struct CodeRow {
  const char *machine; ///< "sm_90a", "gfx942", "x86-64-v3"
  const void *image;   ///< What the driver loads; assembly ends with a zero. Null on the host.
  const char *symbol;  ///< Of the kernel in the image.
  const WordRow *words;
  const BoxMapRow *maps;
  HostEntry *entry;              ///< Null on GPUs.
  std::int64_t scratchBytes;     ///< Of each call of it.
  const Assumed *assumed;        ///< Of each parameter.
  const EqualExtentsRow *equals; ///< That are assumed.
  std::int32_t wordCount, mapCount, equalCount;
  std::int32_t threads;       ///< Of a block.
  std::int32_t sharedBytes;   ///< That the launch gives a block.
  std::int32_t argumentBytes; ///< Of the argument list.
  std::uint8_t device;        ///< A Device.
  bool isAssembly;
  bool areDisjoint; ///< It is assumed that no two arguments' memory overlaps.
  // What its launches on a GPU ask for (ir::KernelAttrs):
  bool isCooperative, isProgrammatic;
  std::uint8_t cluster[3]; ///< Blocks along x, y, z.
};
static_assert(sizeof(CodeRow) == 104);

/// A scalar, an extent or a stride of a launch, which a requirement or a tuning table is about.
struct Given {
  enum Kind : std::int16_t { Signed, Unsigned, F32, F64 };
  const char *name;  ///< "a.extent(1)"
  std::int32_t word; ///< Among the launch's for the processor.
  Kind kind;
  std::int16_t bits;
};
static_assert(sizeof(Given) == 16);

/// Of a signed one: the bits, shifted to the top and back, so that the sign fills what was not
/// there.
inline std::int64_t signedValue(const Given &of, std::uint64_t bits) {
  const int unused = 64 - of.bits;
  return static_cast<std::int64_t>(bits << unused) >> unused;
}

/// What a kernel requires of its launches.
struct RequirementRow {
  const char *condition; ///< "a.extent(1) == b.extent(0)"
  const char *text;      ///< The author's, of what it is for.
  const Given *given;
  std::int64_t givenCount;
};
static_assert(sizeof(RequirementRow) == 32);

/// What a whole number of a launch may be.
struct RangeRow {
  Given of;
  std::int64_t least, most;
};
static_assert(sizeof(RangeRow) == 32);

struct KernelRow;

/// A row of a tuning table: which configuration launches run whose numbers are in the ranges, on
/// devices where they would run code for the machine.
struct TunedRow {
  const char *machine;
  const RangeRow *ranges;
  const KernelRow *config;
  std::int32_t rangeCount;
  std::uint8_t device; ///< A Device.
  bool isAssembly;
};
static_assert(sizeof(TunedRow) == 32);

/// The GPUs of a vendor that can be used; a launch names one by its number.
inline constexpr std::size_t kMostGpus = 32;
/// Two vendors'.
inline constexpr std::size_t kGpuPlaces = 2 * kMostGpus;

/// What was loaded of a kernel, by device; the only part that is written to. Zeros to begin with.
struct Loaded {
  std::atomic<void *> places[kGpuPlaces];
  std::atomic<std::uint64_t>
      ranOnHost; ///< A bit for each of the codes; of more than 64 not of all.
};

/// A kernel of a library, or another configuration of one. Of codes, those of one machine stand
/// together, those that assume more first, and the last of them assumes nothing.
struct KernelRow {
  const char *library;
  const char *name;
  const char *config;    ///< Its name; null of the kernel itself.
  const TunedRow *tuned; ///< The first that fits a launch counts. Of the kernel itself.
  const ParameterRow *parameters;
  const CodeRow *codes;
  Loaded *loaded;
  const RequirementRow *requirements;
  /// Run with the kernel's arguments and behind them a view of one i64, its only block writes the
  /// number of the first requirement that they do not keep there, or -1. Null where nothing is
  /// required.
  HostEntry *check;
  std::int64_t checkScratchBytes;
  /// The same with a view of three i64, where it writes the grid. Null where the launch brings
  /// that.
  HostEntry *blocks;
  std::int64_t blocksScratchBytes;
  std::int32_t parameterCount;
  std::int32_t codeCount;
  std::int32_t tunedCount;
  bool isObserving; ///< It is the first member of an ObservingKernelRow.
};
static_assert(sizeof(KernelRow) == 112);

/// Where code prints and asserts.
struct SitesRow {
  const launching::ObservationSite *sites; ///< By the numbers that the code has for them.
  std::int32_t count;
  std::int32_t room; ///< Words that a launch on a GPU gives to records of prints.
};
static_assert(sizeof(SitesRow) == 16);

/// A kernel that prints or asserts.
struct ObservingKernelRow {
  KernelRow kernel;
  const SitesRow *sites; ///< Of each of its codes.
};
static_assert(sizeof(ObservingKernelRow) == 120);

/// Null where the code prints and asserts nothing.
inline const SitesRow *sitesOf(const KernelRow &kernel, const CodeRow &code) {
  if (!kernel.isObserving) return nullptr;
  const SitesRow *const all = reinterpret_cast<const ObservingKernelRow &>(kernel).sites;
  const SitesRow &sites = all[&code - kernel.codes];
  return sites.count > 0 ? &sites : nullptr;
}

} // namespace imbrex::aot
