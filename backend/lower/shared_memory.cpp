#include "backend/lower/shared_memory.h"

#include "llvm/IR/Constants.h"

#include <algorithm>

namespace imbrex::lower {
namespace {

std::int64_t roundUp(std::int64_t bytes, std::int64_t alignment = SharedMemory::kAlignment) {
  return static_cast<std::int64_t>(
      llvm::alignTo(static_cast<std::uint64_t>(bytes), static_cast<std::uint64_t>(alignment)));
}

} // namespace

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
  reserved_ = roundUp(reserved_, alignment) + roundUp(bytes);
  llvm::GlobalVariable *array = arrays_.emplace_back(newArray(bytes, name));
  array->setAlignment(llvm::Align(static_cast<std::uint64_t>(alignment)));
  return array;
}

SharedMemory::Use SharedMemory::begin(std::int64_t bytes) {
  current_ = (current_ + 1) % count_;
  Region &region = regions_[current_];
  if (!region.array) region.array = newArray(0, "");
  region.bytes = std::max(region.bytes, roundUp(bytes));
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

std::int64_t SharedMemory::finish(std::int64_t staticBytes) {
  for (std::size_t i = 0; i < regions_.size(); ++i) {
    Region &region = regions_[i];
    if (!region.array) continue;
    llvm::GlobalVariable *sized = newArray(region.bytes, "scratch" + llvm::Twine(i));
    region.array->replaceAllUsesWith(sized);
    region.array->eraseFromParent();
    region.array = arrays_.emplace_back(sized);
  }
  return bytes() > staticBytes ? moveToLaunch() : 0;
}

/// All arrays as places in one, which has no size of its own.
std::int64_t SharedMemory::moveToLaunch() {
  llvm::LLVMContext &context = module_.getContext();
  llvm::Type *const byte = llvm::Type::getInt8Ty(context);
  constexpr bool kConstant = false;
  constexpr std::uint64_t kNoSize = 0;
  auto *whole = new llvm::GlobalVariable(module_, llvm::ArrayType::get(byte, kNoSize), kConstant,
                                         llvm::GlobalValue::ExternalLinkage, nullptr, "shared",
                                         nullptr, llvm::GlobalValue::NotThreadLocal, addressSpace_);
  llvm::Align alignment;
  std::uint64_t end = 0;
  for (llvm::GlobalVariable *array : arrays_) {
    const llvm::Align its = array->getAlign().valueOrOne();
    const std::uint64_t begin = llvm::alignTo(end, its);
    alignment = std::max(alignment, its);
    end = begin + array->getValueType()->getArrayNumElements();
    llvm::Constant *at = llvm::ConstantInt::get(llvm::Type::getInt32Ty(context), begin);
    array->replaceAllUsesWith(llvm::ConstantExpr::getGetElementPtr(byte, whole, at));
    array->eraseFromParent();
  }
  arrays_ = {whole};
  whole->setAlignment(alignment);
  return static_cast<std::int64_t>(end);
}

} // namespace imbrex::lower
