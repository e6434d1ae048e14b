#include "backend/launching/scratch.h"

#include "backend/support/lifetime.h"

#include <new>
#include <utility>

namespace imbrex::launching {
namespace {

constexpr std::align_val_t kAlignment{64};

/// What the thread had for its last launch, if nobody uses it now.
struct SpareScratch {
  std::byte *data = nullptr;
  std::int64_t bytes = 0;

  ~SpareScratch() { ::operator delete(data, kAlignment); }
};

} // namespace

Scratch::Scratch(std::int64_t bytes) {
  auto &spare = threadOwned<SpareScratch>();
  data_ = std::exchange(spare.data, nullptr);
  bytes_ = std::exchange(spare.bytes, 0);
  if (bytes_ >= bytes) return;
  ::operator delete(data_, kAlignment);
  data_ = static_cast<std::byte *>(::operator new(static_cast<std::size_t>(bytes), kAlignment));
  bytes_ = bytes;
}

Scratch::~Scratch() {
  auto &spare = threadOwned<SpareScratch>();
  ::operator delete(std::exchange(spare.data, data_), kAlignment);
  spare.bytes = bytes_;
}

} // namespace imbrex::launching
