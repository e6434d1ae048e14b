#include "backend/emulate/run/fiber.h"

#include "backend/support/check.h"
#include "backend/support/lifetime.h"
#include "llvm/Support/Compiler.h"

#include <boost/context/detail/fcontext.hpp>

#include <bit>
#include <cstdint>
#include <sys/mman.h>
#include <unistd.h>
#if LLVM_THREAD_SANITIZER_BUILD
#include <sanitizer/tsan_interface.h>
#endif

namespace imbrex::emulate {

using boost::context::detail::fcontext_t;
using boost::context::detail::jump_fcontext;
using boost::context::detail::make_fcontext;
using boost::context::detail::transfer_t;

namespace {

constexpr int kFresh = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;

// The thread sanitizer follows the stack of each thread, and has to be told where it changes.
#if LLVM_THREAD_SANITIZER_BUILD
void *sanitizedFiber() { return __tsan_create_fiber(0); }
void *sanitizedNow() { return __tsan_get_current_fiber(); }
void switchSanitized(void *to) { __tsan_switch_to_fiber(to, 0); }
void endSanitized(void *fiber) { __tsan_destroy_fiber(fiber); }
#else
void *sanitizedFiber() { return nullptr; }
void *sanitizedNow() { return nullptr; }
void switchSanitized(void * /*to*/) {}
void endSanitized(void * /*fiber*/) {}
#endif

} // namespace

std::shared_ptr<StackPool> StackPool::ofThisThread(std::size_t bytes) {
  auto &pool = threadOwned<std::shared_ptr<StackPool>>();
  if (pool == nullptr || pool->bytes() < bytes)
    pool = std::make_shared<StackPool>(std::bit_ceil(bytes));
  return pool;
}

StackPool::StackPool(std::size_t bytes) {
  const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  bytes_ = (bytes + page - 1) / page * page;
}

StackPool::~StackPool() {
  const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  for (std::byte *stack : all_) munmap(stack - page, bytes_ + page);
}

std::byte *StackPool::take() {
  if (free_.empty()) {
    const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
    void *memory = mmap(nullptr, bytes_ + page, PROT_READ | PROT_WRITE, kFresh, -1, 0);
    IMBREX_CHECK(memory != MAP_FAILED, "no memory for the stack of an emulated thread");
    mprotect(memory, page, PROT_NONE);
    all_.push_back(static_cast<std::byte *>(memory) + page);
    free_.push_back(all_.back());
  }
  std::byte *stack = free_.back();
  free_.pop_back();
  return stack;
}

void StackPool::giveBack(std::byte *stack) {
  // A fiber that was never resumed leaves frames, which the address sanitizer would find in the
  // next one's. It forgets them where memory is mapped anew, whatever it is told of users' poison.
#if LLVM_ADDRESS_SANITIZER_BUILD
  mmap(stack, bytes_, PROT_READ | PROT_WRITE, kFresh | MAP_FIXED, -1, 0);
#endif
  free_.push_back(stack);
}

Fiber::Fiber(StackPool &stacks, void (*function)(void *), void *argument)
    : stacks_(stacks), stack_(stacks.take()), function_(function), argument_(argument),
      sanitizedInside_(sanitizedFiber()) {
  inside_ = make_fcontext(stack_ + stacks.bytes(), stacks.bytes(), [](transfer_t from) {
    Fiber &self = *static_cast<Fiber *>(from.data);
    self.outside_ = from.fctx;
    self.function_(self.argument_);
    self.stop();
    IMBREX_UNREACHABLE("a fiber that had ended was resumed");
  });
}

Fiber::~Fiber() {
  endSanitized(sanitizedInside_);
  stacks_.giveBack(stack_);
}

void Fiber::resume() {
  sanitizedOutside_ = sanitizedNow();
  switchSanitized(sanitizedInside_);
  inside_ = jump_fcontext(static_cast<fcontext_t>(inside_), this).fctx;
}

void Fiber::stop() {
  switchSanitized(sanitizedOutside_);
  outside_ = jump_fcontext(static_cast<fcontext_t>(outside_), nullptr).fctx;
}

} // namespace imbrex::emulate
