#include "backend/lower/shared_memory.h"

#include "llvm/IR/Constants.h"
#include "llvm/IR/Metadata.h"
#include "llvm/IR/Operator.h"

#include <algorithm>

namespace imbrex::lower {
namespace {

std::int64_t roundUp(std::int64_t bytes, std::int64_t alignment = SharedMemory::kAlignment) {
  return static_cast<std::int64_t>(
      llvm::alignTo(static_cast<std::uint64_t>(bytes), static_cast<std::uint64_t>(alignment)));
}

/// Where a module says which bytes are regions: an address, and how many.
constexpr llvm::StringRef kRegions = "exchange.regions";

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
  return {region.array, current_, region.readers};
}

void SharedMemory::onBarrier() {
  for (Region &region : regions_) region.readers = Readers::None;
}

void SharedMemory::setReaders(AllReaders readers) {
  for (std::size_t i = 0; i < regions_.size(); ++i) regions_[i].readers = readers[i];
}

SharedMemory::AllReaders SharedMemory::either(AllReaders some, const AllReaders &others) {
  for (std::size_t i = 0; i < some.size(); ++i) some[i] = std::max(some[i], others[i]);
  return some;
}

std::int64_t SharedMemory::finish(std::int64_t staticBytes) {
  for (std::size_t i = 0; i < regions_.size(); ++i) {
    Region &region = regions_[i];
    if (!region.array) continue;
    llvm::GlobalVariable *sized = newArray(region.bytes, "scratch" + llvm::Twine(i));
    region.array->replaceAllUsesWith(sized);
    region.array->eraseFromParent();
    region.array = arrays_.emplace_back(sized);
    llvm::LLVMContext &context = module_.getContext();
    auto *bytes = llvm::ConstantInt::get(llvm::Type::getInt64Ty(context),
                                         static_cast<std::uint64_t>(region.bytes));
    module_.getOrInsertNamedMetadata(kRegions)->addOperand(llvm::MDNode::get(
        context, {llvm::ConstantAsMetadata::get(sized), llvm::ConstantAsMetadata::get(bytes)}));
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

std::vector<SharedMemory::Place> SharedMemory::regionsOf(const llvm::Module &module) {
  std::vector<Place> regions;
  const llvm::NamedMDNode *named = module.getNamedMetadata(kRegions);
  if (named == nullptr) return regions;
  for (const llvm::MDNode *region : named->operands()) {
    const auto *address = llvm::mdconst::dyn_extract_or_null<llvm::Constant>(region->getOperand(0));
    if (address == nullptr) continue; // nothing is left of it
    const auto *bytes = llvm::mdconst::extract<llvm::ConstantInt>(region->getOperand(1));
    const llvm::DataLayout &layout = module.getDataLayout();
    llvm::APInt begin(layout.getIndexTypeSizeInBits(address->getType()), 0);
    const auto *array = llvm::dyn_cast<llvm::GlobalVariable>(
        address->stripAndAccumulateConstantOffsets(layout, begin, true));
    if (array == nullptr) continue;
    regions.push_back({array, begin.getSExtValue(), begin.getSExtValue() + bytes->getSExtValue()});
  }
  return regions;
}

} // namespace imbrex::lower
