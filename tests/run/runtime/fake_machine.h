#pragma once

#include "tests/run/runtime/fake_driver.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <list>
#include <mutex>
#include <string>
#include <type_traits>

/// What the functions of a fake driver do their work with. Memory of the device is the host's,
/// filled with rubbish at first; an address from elsewhere is an error, and so is a launch from
/// which the test's device comes back with one.
namespace imbrex::fake {

#ifndef FAKE_IS_QUIET
#define FAKE_IS_QUIET 0
#endif

struct NoLock {
  explicit NoLock(std::recursive_mutex &) {}
};
using Lock = std::conditional_t<FAKE_IS_QUIET != 0, NoLock, std::lock_guard<std::recursive_mutex>>;
extern std::recursive_mutex inDriver; ///< The test that plays the device is called from within.

State &state();

inline constexpr int kInvalidValue = 1, kInvalidImage = 200, kNoContext = 201, kInvalidHandle = 400,
                     kNotFound = 500, kTooLarge = 720, kNotSupported = 801;

struct Kernel {
  const struct Module *module;
  std::string name;
  /// That a launch may bring: all of AMD's LDS, of NVIDIA's what was asked for.
  unsigned mostSharedBytes = FAKE_IS_CUDA ? 0 : 64 * 1024;
  unsigned mostClusterBlocks = 8; ///< The same.
};
struct Module {
  std::string image;
  std::list<Kernel> kernels = {};
};

/// Where it was recorded: how many launches and copies there had been.
struct Event {
  std::int64_t done = 0;
  void *stream = nullptr;
  std::int64_t copies = 0; ///< From and to pinned memory.
};

/// Notes a call; the error that it is to give instead of doing its work.
int enter(const char *member);

/// Of whichever context is current; CUDA's have numbers, too (cuda.h: CU_STREAM_LEGACY, …).
bool isDefault(void *stream);
bool isStream(void *stream);
/// Whether what was made in some context may be used in the one that is current.
bool isOfHere(const void *made);
bool isStreamOfHere(void *stream);

inline constexpr int kRubbish = 0xcd;
bool isReachable(std::uint64_t address, std::size_t bytes);
int allocate(std::uint64_t *address, std::size_t bytes);
int release(std::uint64_t address);

/// Do what is pending and known to be done when a stream has come to the copy of this number.
void deliver(void *stream, std::int64_t number = INT64_MAX);
/// A copy in a stream: of plain memory at once, which drivers may do, of pinned memory later.
int startCopy(void *to, const void *from, const void *ofHost, std::size_t bytes, void *stream);
int copyIn(std::uint64_t to, const void *from, std::size_t bytes);
int copyOut(void *to, std::uint64_t from, std::size_t bytes);

SeenLaunch askedFor(const std::array<unsigned, 3> &grid, unsigned threads, unsigned sharedBytes,
                    void *stream, void **each);
int launch(const Kernel &of, SeenLaunch seen, void **extra);

} // namespace imbrex::fake
