#pragma once

#include "backend/analysis/assumptions.h"
#include "backend/ir/kernel.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "runtime/log.h"

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

namespace imbrex::runtime {

/// The code of a kernel for launches that keep different assumptions: for each its own, made when a
/// launch first keeps just these, so that no launch runs code for less because another came first.
/// Beyond kMost of them a launch takes the strongest code that it may, or such as assumes nothing.
/// Any number of threads may ask at once: what is there is found without a lock, different code is
/// made side by side, and each once.
template <class Code>
class Variants {
public:
  static constexpr std::int32_t kMost = 8;

  /// Of a kernel of any stage; `device`: for the log.
  Variants(ir::Kernel kernel, std::string device)
      : kernel_(std::move(kernel)), usual_(analysis::usualAssumptions(kernel_)),
        device_(std::move(device)) {}
  Variants(const Variants &) = delete;
  Variants &operator=(const Variants &) = delete;
  ~Variants() {
    for (const Variant *next = newest_.load(std::memory_order_relaxed); next != nullptr;)
      delete std::exchange(next, next->older);
  }

  const ir::Kernel &kernel() const { return kernel_; }
  /// What most launches keep, and what one with these arguments does.
  const analysis::Assumptions &usual() const { return usual_; }
  analysis::Assumptions assumptionsOf(llvm::ArrayRef<ir::Argument> arguments) const {
    return analysis::assumptionsOf(kernel_, arguments, usual_);
  }

  using Make =
      llvm::function_ref<std::unique_ptr<Code>(ir::Kernel &, const analysis::Assumptions &)>;
  /// Code for launches of which this holds. `make` makes some, and may name ops of the kernel that
  /// it is given; it gives null, and so does this, where it reported an error.
  const Code *find(const analysis::Assumptions &kept, Make make) {
    Variant *variant = withAll(kept);
    if (variant == nullptr) variant = &variantFor(kept);
    if (const Code *code = variant->code.load(std::memory_order_acquire)) return code;
    const std::scoped_lock lock(variant->mutex);
    if (!variant->owned) {
      const auto start = std::chrono::steady_clock::now();
      variant->owned = make(variant->kernel, variant->assumptions);
      if (variant->owned) tell(variant->assumptions, std::chrono::steady_clock::now() - start);
      variant->code.store(variant->owned.get(), std::memory_order_release);
    }
    return variant->owned.get();
  }

private:
  /// Of the usual code `compile` tells with the kernel; other code makes a launch wait, too.
  void tell(const analysis::Assumptions &assumptions,
            std::chrono::duration<double, std::milli> taken) const {
    const log_level level = assumptions == usual_ ? log_level::debug : log_level::info;
    log(level, "variant", "kernel={0} device={1} ms={2} assumed={3} usual={4}", kernel_.name(),
        device_, taken.count(), assumptions.count(), usual_.count());
  }

  struct Variant {
    const analysis::Assumptions assumptions;
    Variant *older;
    ir::Kernel kernel;
    std::mutex mutex = {}; // of what follows
    std::unique_ptr<Code> owned = {};
    std::atomic<const Code *> code = nullptr; // what is owned, once it is there
  };

  Variant *withAll(const analysis::Assumptions &kept) const {
    Variant *variant = newest_.load(std::memory_order_acquire);
    while (variant != nullptr && !(variant->assumptions == kept)) variant = variant->older;
    return variant;
  }

  /// Of those that a launch may run, the one that says most.
  Variant *strongestFor(const analysis::Assumptions &kept) const {
    Variant *strongest = nullptr;
    for (Variant *one = newest_.load(std::memory_order_acquire); one != nullptr; one = one->older)
      if (kept.cover(one->assumptions) &&
          (strongest == nullptr || one->assumptions.count() > strongest->assumptions.count()))
        strongest = one;
    return strongest;
  }

  Variant &variantFor(const analysis::Assumptions &kept) {
    const std::scoped_lock lock(mutex_);
    if (Variant *found = withAll(kept)) return *found;
    if (count_ < kMost) return add(kept);
    Variant *strongest = strongestFor(kept);
    return strongest != nullptr ? *strongest : add({});
  }

  Variant &add(const analysis::Assumptions &assumptions) {
    auto *variant = new Variant{.assumptions = assumptions,
                                .older = newest_.load(std::memory_order_relaxed),
                                .kernel = kernel_.clone()};
    newest_.store(variant, std::memory_order_release);
    ++count_;
    return *variant;
  }

  ir::Kernel kernel_;
  analysis::Assumptions usual_;
  std::string device_;
  std::mutex mutex_; // of adding
  std::int32_t count_ = 0;
  std::atomic<Variant *> newest_ = nullptr; // none is taken away
};

} // namespace imbrex::runtime
