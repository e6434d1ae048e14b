#include "backend/lower/memory/shared_memory.h"

#include "backend/support/check.h"
#include "llvm/IR/Constants.h"
#include "llvm/IR/Metadata.h"

#include <algorithm>

namespace imbrex::lower {
namespace {

std::int64_t roundUp(std::int64_t bytes, std::int64_t alignment = SharedMemory::kAlignment) {
  return static_cast<std::int64_t>(
      llvm::alignTo(static_cast<std::uint64_t>(bytes), static_cast<std::uint64_t>(alignment)));
}

/// Where a module says which arrays are regions.
constexpr llvm::StringRef kRegions = "exchange.regions";
/// Where it says which the launch is to give: an array, and where it begins.
constexpr llvm::StringRef kAtLaunch = "shared.at.launch";
/// Where it says that one of these lies among the bytes of another array: both.
constexpr llvm::StringRef kOverlaid = "shared.overlaid";

/// Null where nothing is left of it.
llvm::GlobalVariable *arrayOf(const llvm::MDNode &node, unsigned operand = 0) {
  return llvm::mdconst::dyn_extract_or_null<llvm::GlobalVariable>(node.getOperand(operand));
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

llvm::GlobalVariable *SharedMemory::unread(std::int64_t bytes) {
  if (!unread_) unread_ = reserve(bytes, "unread");
  const auto size = unread_->getValueType()->getArrayNumElements();
  IMBREX_CHECK(static_cast<std::int64_t>(size) >= bytes, "copies of warps have one size");
  return unread_;
}

void SharedMemory::addRegion(llvm::GlobalVariable &array) {
  module_.getOrInsertNamedMetadata(kRegions)->addOperand(
      llvm::MDNode::get(module_.getContext(), {llvm::ConstantAsMetadata::get(&array)}));
}

SharedMemory::Use SharedMemory::begin(std::int64_t bytes) {
  current_ = arePassed_ ? kBehindRings : (current_ + 1) % count_;
  Region &region = regions_[current_];
  if (!region.array) region.array = newArray(0, "");
  region.bytes = std::max(region.bytes, roundUp(bytes));
  return {region.array, current_, region.readers};
}

void SharedMemory::passRings() {
  arePassed_ = true;
  regions_[kBehindRings].readers = Readers::Some;
}

void SharedMemory::onMeeting() {
  for (Region &region : regions_) region.readers = Readers::None;
}

SharedMemory::AllReaders SharedMemory::everywhere(Readers readers) {
  AllReaders all;
  all.fill(readers);
  return all;
}

SharedMemory::AllReaders SharedMemory::readers() const {
  AllReaders readers;
  for (std::size_t i = 0; i < regions_.size(); ++i) readers[i] = regions_[i].readers;
  return readers;
}

void SharedMemory::setReaders(AllReaders readers) {
  for (std::size_t i = 0; i < regions_.size(); ++i) regions_[i].readers = readers[i];
}

SharedMemory::AllReaders SharedMemory::either(AllReaders some, const AllReaders &others) {
  for (std::size_t i = 0; i < some.size(); ++i) some[i] = std::max(some[i], others[i]);
  return some;
}

std::int64_t SharedMemory::finish(std::int64_t staticBytes, std::int64_t mostBytes) {
  for (std::size_t i = 0; i < regions_.size(); ++i) {
    Region &region = regions_[i];
    if (!region.array) continue;
    llvm::GlobalVariable *sized = newArray(region.bytes, "scratch" + llvm::Twine(i));
    region.array->replaceAllUsesWith(sized);
    region.array->eraseFromParent();
    region.array = arrays_.emplace_back(sized);
    addRegion(*sized);
  }
  const std::int64_t apart = beforeLast() + regions_[kBehindRings].bytes;
  // Where a block has all without asking, more blocks fit on a core with less.
  const bool saves = staticBytes == mostBytes && bytes() < apart;
  if (apart <= staticBytes && !saves) return bytes_ = apart, 0;
  return bytes_ = layOutForLaunch();
}

/// Notes that an array lies at the beginning, where others are.
void SharedMemory::overlay(llvm::GlobalVariable &array) {
  llvm::NamedMDNode *const overlaid = module_.getOrInsertNamedMetadata(kOverlaid);
  for (llvm::GlobalVariable *other : arrays_)
    if (other != &array)
      overlaid->addOperand(
          llvm::MDNode::get(module_.getContext(), {llvm::ConstantAsMetadata::get(&array),
                                                   llvm::ConstantAsMetadata::get(other)}));
}

/// Notes where each array will be in the one that the launch gives.
std::int64_t SharedMemory::layOutForLaunch() {
  llvm::LLVMContext &context = module_.getContext();
  llvm::NamedMDNode *const places = module_.getOrInsertNamedMetadata(kAtLaunch);
  std::int64_t end = 0;
  for (llvm::GlobalVariable *array : arrays_) {
    const bool isBehind = array == regions_[kBehindRings].array;
    if (isBehind) overlay(*array);
    const std::int64_t begin =
        isBehind ? 0
                 : roundUp(end, static_cast<std::int64_t>(array->getAlign().valueOrOne().value()));
    auto *at =
        llvm::ConstantInt::get(llvm::Type::getInt32Ty(context), static_cast<std::uint64_t>(begin));
    places->addOperand(llvm::MDNode::get(
        context, {llvm::ConstantAsMetadata::get(array), llvm::ConstantAsMetadata::get(at)}));
    end = std::max(end,
                   begin + static_cast<std::int64_t>(array->getValueType()->getArrayNumElements()));
  }
  return end;
}

void SharedMemory::placeAtLaunch(llvm::Module &module) {
  llvm::NamedMDNode *const places = module.getNamedMetadata(kAtLaunch);
  if (places == nullptr) return;
  llvm::Type *const byte = llvm::Type::getInt8Ty(module.getContext());
  constexpr bool kConstant = false;
  constexpr std::uint64_t kNoSize = 0;
  llvm::GlobalVariable *whole = nullptr;
  for (const llvm::MDNode *place : places->operands()) {
    auto *array = arrayOf(*place);
    if (array == nullptr) continue; // nothing is left of it
    if (whole == nullptr)
      whole =
          new llvm::GlobalVariable(module, llvm::ArrayType::get(byte, kNoSize), kConstant,
                                   llvm::GlobalValue::ExternalLinkage, nullptr, "shared", nullptr,
                                   llvm::GlobalValue::NotThreadLocal, array->getAddressSpace());
    auto *begin = llvm::mdconst::extract<llvm::ConstantInt>(place->getOperand(1));
    const llvm::Align its = array->getAlign().valueOrOne();
    IMBREX_CHECK(llvm::isAligned(its, begin->getZExtValue()), "the optimiser aligned '{0}' to {1}",
                 array->getName(), its.value());
    whole->setAlignment(std::max(whole->getAlign().valueOrOne(), its));
    array->replaceAllUsesWith(llvm::ConstantExpr::getGetElementPtr(byte, whole, begin));
    array->eraseFromParent();
  }
  places->eraseFromParent();
  if (llvm::NamedMDNode *const overlaid = module.getNamedMetadata(kOverlaid))
    overlaid->eraseFromParent();
}

std::vector<const llvm::GlobalVariable *>
SharedMemory::arraysUnder(const llvm::Module &module, const llvm::GlobalVariable &region) {
  std::vector<const llvm::GlobalVariable *> arrays;
  if (const llvm::NamedMDNode *overlaid = module.getNamedMetadata(kOverlaid))
    for (const llvm::MDNode *pair : overlaid->operands())
      if (arrayOf(*pair) == &region)
        if (const llvm::GlobalVariable *array = arrayOf(*pair, 1)) arrays.push_back(array);
  return arrays;
}

std::vector<const llvm::GlobalVariable *> SharedMemory::regionsOf(const llvm::Module &module) {
  std::vector<const llvm::GlobalVariable *> regions;
  if (const llvm::NamedMDNode *named = module.getNamedMetadata(kRegions))
    for (const llvm::MDNode *region : named->operands())
      if (const llvm::GlobalVariable *array = arrayOf(*region)) regions.push_back(array);
  return regions;
}

} // namespace imbrex::lower
