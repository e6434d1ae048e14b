#include "backend/lower/shared_memory.h"

#include "llvm/IR/Constants.h"

#include <algorithm>

namespace imbrex::lower {

SharedMemory::SharedMemory(llvm::Module &module, unsigned addressSpace, std::size_t regions)
    : module_(module), addressSpace_(addressSpace), count_(regions) {}

llvm::GlobalVariable *SharedMemory::newArray(std::int64_t bytes, const llvm::Twine &name) {
  llvm::Type *type = llvm::ArrayType::get(llvm::Type::getInt8Ty(module_.getContext()),
                                          static_cast<std::uint64_t>(bytes));
  constexpr bool kConstant = false;
  auto *array = new llvm::GlobalVariable(
      module_, type, kConstant, llvm::GlobalValue::InternalLinkage, llvm::PoisonValue::get(type),
      name, nullptr, llvm::GlobalValue::NotThreadLocal, addressSpace_);
  array->setAlignment(llvm::Align(kAlignment));
  return array;
}

llvm::GlobalVariable *SharedMemory::reserve(std::int64_t bytes, const llvm::Twine &name,
                                            std::int64_t alignment) {
  const llvm::Align at(static_cast<std::uint64_t>(alignment));
  reserved_ =
      static_cast<std::int64_t>(llvm::alignTo(static_cast<std::uint64_t>(reserved_), at)) + bytes;
  llvm::GlobalVariable *array = newArray(bytes, name);
  array->setAlignment(at);
  return array;
}

SharedMemory::Use SharedMemory::begin(std::int64_t bytes) {
  current_ = (current_ + 1) % count_;
  Region &region = regions_[current_];
  if (!region.array) region.array = newArray(0, "");
  region.bytes = std::max(region.bytes, (bytes + kAlignment - 1) / kAlignment * kAlignment);
  return {region.array, region.isRead};
}

void SharedMemory::onBarrier() {
  for (Region &region : regions_) region.isRead = false;
}

void SharedMemory::setReaders(Readers readers) {
  for (std::size_t i = 0; i < regions_.size(); ++i) regions_[i].isRead = readers[i];
}

void SharedMemory::addReaders(Readers readers) {
  for (std::size_t i = 0; i < regions_.size(); ++i) regions_[i].isRead |= readers[i];
}

void SharedMemory::finish() {
  for (std::size_t i = 0; i < regions_.size(); ++i) {
    Region &region = regions_[i];
    if (!region.array) continue;
    llvm::GlobalVariable *sized = newArray(region.bytes, "scratch" + llvm::Twine(i));
    region.array->replaceAllUsesWith(sized);
    region.array->eraseFromParent();
    region.array = sized;
  }
}

} // namespace imbrex::lower
