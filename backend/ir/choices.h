#pragma once

#include <cstdint>
#include <string_view>

/// What an attribute may choose from: enums with their names, which are the text form.
namespace imbrex::ir {

enum class Rounding : std::uint8_t { NearestEven, TowardZero };
enum class Accuracy : std::uint8_t { Default, Fast };
enum class Cache : std::uint8_t { Default, All, Global, Streaming, Bypass };
enum class Eviction : std::uint8_t { Normal, First, Last };
enum class BoxUnit : std::uint8_t { Tiles, Elements };
enum class Padding : std::uint8_t { Zero, Nan, Value };
enum class AtomicKind : std::uint8_t { Add, Min, Max, And, Or, Xor, Exchange };
enum class MemoryOrder : std::uint8_t { Relaxed, Acquire, Release, AcquireRelease };
enum class Scope : std::uint8_t { Block, Device, System };
enum class Combine : std::uint8_t {
  Sum,
  Prod,
  Min,
  Max,
  MinNan,
  MaxNan,
  ArgMin,
  ArgMax,
  And,
  Or,
  Xor,
  Region
};
enum class Precision : std::uint8_t { Ieee, Tf32, Tf32x3, Bf16x3 };
enum class Contraction : std::uint8_t { On, Off };
/// Of a block's warps, by their numbers.
enum class Half : std::uint8_t { Both, First, Second };
/// What starts a load of a pipelined loop trips before the one that needs it.
enum class Ahead : std::uint8_t {
  No,        ///< Nothing: it stays where it is.
  Registers, ///< An ordinary load, into registers.
  Stores,    ///< The same, whose registers are then stored into shared memory.
  Copies,    ///< Asynchronous copies of the threads' own, into shared memory.
  Boxes,     ///< The machine's engine.
};

/// Each enum's names in order.
template <class Enum>
inline constexpr std::string_view kNames[] = {""};
template <>
inline constexpr std::string_view kNames<Rounding>[] = {"nearest", "toward_zero"};
template <>
inline constexpr std::string_view kNames<Accuracy>[] = {"default", "fast"};
template <>
inline constexpr std::string_view kNames<Cache>[] = {"default", "all", "global", "streaming",
                                                     "bypass"};
template <>
inline constexpr std::string_view kNames<Eviction>[] = {"normal", "first", "last"};
template <>
inline constexpr std::string_view kNames<BoxUnit>[] = {"tiles", "elements"};
template <>
inline constexpr std::string_view kNames<Padding>[] = {"zero", "nan", "value"};
template <>
inline constexpr std::string_view kNames<AtomicKind>[] = {"add", "min", "max",     "and",
                                                          "or",  "xor", "exchange"};
template <>
inline constexpr std::string_view kNames<MemoryOrder>[] = {"relaxed", "acquire", "release",
                                                           "acq_rel"};
template <>
inline constexpr std::string_view kNames<Scope>[] = {"block", "device", "system"};
template <>
inline constexpr std::string_view kNames<Combine>[] = {"sum",     "prod",    "min",    "max",
                                                       "min.nan", "max.nan", "argmin", "argmax",
                                                       "and",     "or",      "xor",    "region"};
template <>
inline constexpr std::string_view kNames<Precision>[] = {"ieee", "tf32", "tf32x3", "bf16x3"};
template <>
inline constexpr std::string_view kNames<Contraction>[] = {"on", "off"};
template <>
inline constexpr std::string_view kNames<Half>[] = {"both", "first", "second"};
template <>
inline constexpr std::string_view kNames<Ahead>[] = {"no", "registers", "stores", "copies",
                                                     "boxes"};

} // namespace imbrex::ir
