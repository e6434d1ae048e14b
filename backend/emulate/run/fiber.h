#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <vector>

namespace imbrex::emulate {

/// Stacks for fibers, each with a guard page below it; what is given back is used again.
class StackPool {
public:
  /// The pool of this thread of the host, with stacks of at least so many bytes. It is kept: to map
  /// and to clear stacks takes longer than a small kernel.
  static std::shared_ptr<StackPool> ofThisThread(std::size_t bytes);

  explicit StackPool(std::size_t bytes);
  ~StackPool();
  StackPool(const StackPool &) = delete;
  StackPool &operator=(const StackPool &) = delete;

  /// The lowest usable byte of a stack.
  std::byte *take();
  void giveBack(std::byte *stack);
  std::size_t bytes() const { return bytes_; }

private:
  std::size_t bytes_;
  std::vector<std::byte *> free_, all_;
};

/// A function with a stack of its own, which can stop in the middle.
///
/// It stands on the layer below Boost.Context's `fiber`, because that one unwinds an unfinished
/// fiber by an exception, which can't pass the frames of JIT-compiled code. Here an unfinished
/// fiber is simply never resumed: the compiled code owns nothing that needs a destructor.
class Fiber {
public:
  Fiber(StackPool &stacks, void (*function)(void *), void *argument);
  ~Fiber();
  Fiber(const Fiber &) = delete;
  Fiber &operator=(const Fiber &) = delete;

  /// Run the function from where it stopped, until it stops or ends. From outside of fibers.
  void resume();
  /// Let `resume` return. From within the function.
  void stop();
  std::span<const std::byte> stack() const { return {stack_, stacks_.bytes()}; }

private:
  StackPool &stacks_;
  std::byte *stack_;
  void (*function_)(void *);
  void *argument_;
  void *inside_;            ///< Where the function goes on.
  void *outside_ = nullptr; ///< Where who resumed it goes on.
  /// What the thread sanitizer calls the two; null without it.
  void *sanitizedInside_ = nullptr, *sanitizedOutside_ = nullptr;
};

} // namespace imbrex::emulate
