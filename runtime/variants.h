#pragma once

#include "backend/analysis/assumptions.h"
#include "backend/ir/kernel.h"
#include "llvm/ADT/STLFunctionalExtras.h"

#include <algorithm>
#include <list>
#include <memory>
#include <mutex>

namespace imbrex::runtime {

/// The code of a kernel for launches that keep different assumptions, each made when a launch first
/// needs it. Any number of threads may ask at once.
template <class Code>
class Variants {
public:
  /// Of a kernel of any stage.
  explicit Variants(ir::Kernel kernel)
      : kernel_(std::move(kernel)), usual_(analysis::usualAssumptions(kernel_)) {}

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
    const std::scoped_lock lock(mutex_);
    const auto found = std::ranges::find_if(
        variants_, [&](const Variant &variant) { return kept.cover(variant.assumptions); });
    if (found != variants_.end()) return found->code.get();
    Variant variant{.assumptions = kept, .kernel = kernel_.clone(), .code = {}};
    variant.code = make(variant.kernel, kept);
    if (variant.code == nullptr) return nullptr;
    return variants_.emplace_back(std::move(variant)).code.get();
  }

private:
  struct Variant {
    analysis::Assumptions assumptions;
    ir::Kernel kernel;
    std::unique_ptr<Code> code;
  };

  ir::Kernel kernel_;
  analysis::Assumptions usual_;
  std::mutex mutex_; // of `variants_`
  std::list<Variant> variants_;
};

} // namespace imbrex::runtime
