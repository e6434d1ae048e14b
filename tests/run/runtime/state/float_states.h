#pragma once

#include "backend/support/check.h"

#include <array>
#include <cfenv>
#include <cstdint>
#include <string_view>

/// The floating-point states that processes set, and what this thread has.
namespace imbrex::testing {

/// Whether this thread's own arithmetic flushes subnormals, by trying it.
inline bool flushesSubnormals() {
  volatile float small = 0x1p-126f;
  const volatile float half = small * 0.5f;
  return half == 0;
}

/// Sets a state, and puts back what there was.
class FloatState {
public:
  enum class Kind : std::uint8_t { OfProcess, Flushing, Upward, Downward, TowardZero, Trapping };

  explicit FloatState(Kind kind) {
    std::fegetenv(&before_);
    switch (kind) {
    case Kind::OfProcess: return;
    case Kind::Flushing: flush(); return;
    case Kind::Upward: std::fesetround(FE_UPWARD); return;
    case Kind::Downward: std::fesetround(FE_DOWNWARD); return;
    case Kind::TowardZero: std::fesetround(FE_TOWARDZERO); return;
    case Kind::Trapping: trap(); return;
    }
    IMBREX_UNREACHABLE("state");
  }
  ~FloatState() { std::fesetenv(&before_); }
  FloatState(const FloatState &) = delete;
  FloatState &operator=(const FloatState &) = delete;

  /// All that a thread's results depend on.
  static std::uint64_t word() {
#if defined(__x86_64__)
    return __builtin_ia32_stmxcsr();
#elif defined(__aarch64__)
    return __builtin_aarch64_get_fpcr();
#else
    return static_cast<std::uint64_t>(std::fegetround());
#endif
  }

private:
  static void flush() {
#if defined(__x86_64__)
    __builtin_ia32_ldmxcsr(__builtin_ia32_stmxcsr() | 0x8040); // FTZ, DAZ
#elif defined(__aarch64__)
    __builtin_aarch64_set_fpcr(__builtin_aarch64_get_fpcr() | 1U << 24); // FZ
#endif
  }
  /// Every inexact result would end the process.
  static void trap() {
#if defined(__x86_64__)
    __builtin_ia32_ldmxcsr(__builtin_ia32_stmxcsr() & ~0x1f80U);
#endif
  }

  std::fenv_t before_{};
};

struct NamedState {
  std::string_view name;
  FloatState::Kind kind;
};
inline constexpr auto kStates = std::to_array<NamedState>({
    {"of a process linked with -ffast-math", FloatState::Kind::OfProcess},
    {"flushing", FloatState::Kind::Flushing},
    {"upward", FloatState::Kind::Upward},
    {"downward", FloatState::Kind::Downward},
    {"toward zero", FloatState::Kind::TowardZero},
    {"trapping", FloatState::Kind::Trapping},
});

} // namespace imbrex::testing
