#pragma once

#include <cstdint>
#if !defined(__x86_64__) && !defined(__aarch64__)
#include <cfenv>
#endif

#ifdef __FAST_MATH__
#error                                                                                             \
    "imbrex gives every number the bits that docs/semantics.md says: build it without -ffast-math"
#endif

namespace imbrex {

/// While one lives, its thread computes as docs/semantics.md says: to nearest even, subnormals
/// kept, no exception trapped. Then the caller has back what it had, its sticky flags as well.
///
/// A process may have set something else: a program that is linked with -ffast-math flushes
/// subnormals from before main on, and threads inherit it. So one stands at every door through
/// which a caller comes to where numbers are computed: a compilation and a run
/// (runtime/executable.h), what a kernel requires of a launch, the text of a kernel, the command,
/// and the threads of the pool.
class DefaultFloatState {
public:
  DefaultFloatState() : callers_(read()) { write(usual()); }
  ~DefaultFloatState() { write(callers_); }
  DefaultFloatState(const DefaultFloatState &) = delete;
  DefaultFloatState &operator=(const DefaultFloatState &) = delete;

private:
  // The clobbers keep what is loaded, computed and stored on its side of the switch.
#if defined(__x86_64__)
  // Intel SDM 1, 10.2.3, MXCSR: no flag, and all exceptions masked. The x87 unit has a word of its
  // own, but code for x86-64 computes in it with long double alone, and nothing here does.
  using Word = std::uint32_t;
  static Word usual() { return 0x1f80; }
  static Word read() {
    Word word = 0;
    asm volatile("stmxcsr %0" : "=m"(word) : : "memory");
    return word;
  }
  static void write(Word word) { asm volatile("ldmxcsr %0" : : "m"(word) : "memory"); }
#elif defined(__aarch64__)
  // Arm ARM, FPCR: 0 is no trap, no flush, no default NaN, to nearest even. FPSR has the flags.
  struct Word {
    std::uint64_t control, flags;
  };
  static Word usual() { return {0, 0}; }
  static Word read() {
    Word word{};
    asm volatile("mrs %0, fpcr\n\tmrs %1, fpsr"
                 : "=r"(word.control), "=r"(word.flags)
                 :
                 : "memory");
    return word;
  }
  static void write(Word word) {
    asm volatile("msr fpcr, %0\n\tmsr fpsr, %1" : : "r"(word.control), "r"(word.flags) : "memory");
  }
#else
  using Word = std::fenv_t;
  static Word usual() {
    const Word before = read();
    std::fesetenv(FE_DFL_ENV); // which may be no address
    const Word word = read();
    write(before);
    return word;
  }
  static Word read() {
    Word word{};
    std::fegetenv(&word);
    return word;
  }
  static void write(const Word &word) { std::fesetenv(&word); }
#endif

  const Word callers_;
};

} // namespace imbrex
