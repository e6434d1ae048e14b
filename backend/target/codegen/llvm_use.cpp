#include "backend/target/codegen/llvm_use.h"

#include "llvm/ADT/STLExtras.h"

#include <array>
#include <atomic>
#include <cstdlib>

namespace imbrex::target {
namespace {

using machine::Family;

/// Of the statics that the code generators of a family make.
enum class Statics : std::uint8_t { None, Made, Destroyed };

template <Family F>
void destroy();

/// What atexit is given, by the family.
constexpr std::array<void (*)(), 3> kDestroy{destroy<Family::Cpu>, destroy<Family::Nvptx>,
                                             destroy<Family::Amdgpu>};

std::atomic<Statics> &staticsOf(Family family) {
  constinit static std::array<std::atomic<Statics>, kDestroy.size()> statics{};
  return statics[static_cast<std::size_t>(family)];
}

template <Family F>
void destroy() {
  staticsOf(F) = Statics::Destroyed;
}

} // namespace

LlvmUse::~LlvmUse() {
  for (const Family family : families_)
    if (Statics none = Statics::None;
        staticsOf(family).compare_exchange_strong(none, Statics::Made))
      std::atexit(kDestroy[static_cast<std::size_t>(family)]);
}

bool LlvmUse::isPossible(std::string_view kernel, Diagnostics &diagnostics) const {
  const bool isTooLate = llvm::any_of(
      families_, [](Family family) { return staticsOf(family) == Statics::Destroyed; });
  if (isTooLate) diagnostics.report(Diag::CompiledTooLate, {}, kernel);
  return !isTooLate;
}

} // namespace imbrex::target
