#include "backend/package/archive/launch_function.h"

#include "backend/package/choice/tables.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/MDBuilder.h"

namespace imbrex::archive {
namespace {

using aot::kWordBytes;

/// As C passes a scalar: small floats by their bits, a bool as a byte.
llvm::Type *passedAs(llvm::LLVMContext &context, const ir::Type &type) {
  if (type.hasMemory()) return llvm::PointerType::getUnqual(context);
  if (type.element() == ir::ElementKind::F32) return llvm::Type::getFloatTy(context);
  if (type.element() == ir::ElementKind::F64) return llvm::Type::getDoubleTy(context);
  return llvm::Type::getIntNTy(context,
                               static_cast<unsigned>(std::max(8, ir::storageBits(type.element()))));
}

/// Where the words of 64 bits of an argument that has memory lie in what C passes for it, in bytes.
llvm::SmallVector<std::uint64_t, 11> placesOf(const ir::Type &type) {
  if (!type.isView()) return {0, type.isTable() ? aot::kTableCountPlace : aot::kMemoryBytesPlace};
  const auto rank = static_cast<std::size_t>(type.rank());
  llvm::SmallVector<std::uint64_t, 11> places{0};
  for (const std::uint64_t first : {aot::kArrayExtentsPlace, aot::kArrayStridesPlace})
    for (std::size_t axis = 0; axis < rank; ++axis) places.push_back(first + axis * kWordBytes);
  return places;
}

class LaunchFunction {
public:
  LaunchFunction(llvm::Module &module, const LibraryKernel &of, llvm::Constant *table)
      : module_(module), of_(of), table_(table), builder_(module.getContext()) {}

  /// Which hands pointers to all that it is given to the launch.
  void emitWithPointers(const std::string &symbol, const char *launch) {
    begin(symbol);
    makePointerPlaces();
    returnLaunch(launch, pointers());
  }
  /// Which hands the words of all that it is given to one launch, and pointers to the other where
  /// something is missing.
  void emitWithWords(const std::string &symbol, const char *launch, const char *ifMissing) {
    begin(symbol);
    makePointerPlaces();
    llvm::Value *const list = builder_.CreateAlloca(
        llvm::ArrayType::get(builder_.getInt64Ty(), aot::paddedWords(wordCount())));
    llvm::cast<llvm::AllocaInst>(list)->setAlignment(llvm::Align(aot::kWordsAlignment));
    llvm::BasicBlock *const missing = checkMissing();
    writeWords(list);
    returnLaunch(launch, list);
    if (missing == nullptr) return;
    builder_.SetInsertPoint(missing);
    returnLaunch(ifMissing, pointers());
  }

private:
  const ir::Type &typeOf(std::size_t i) const { return of_.kernel.parameterType(i); }
  llvm::Argument *argument(std::size_t i) {
    return function_->getArg(static_cast<unsigned>(first_ + i));
  }
  llvm::Type *pointer() { return builder_.getPtrTy(); }

  void begin(const std::string &symbol) {
    llvm::SmallVector<llvm::Type *, 16> types{pointer()}; // to the stream
    if (!of_.blocks) types.push_back(pointer());          // to the grid
    first_ = types.size();
    for (std::size_t i = 0; i < of_.kernel.parameterCount(); ++i)
      types.push_back(passedAs(module_.getContext(), typeOf(i)));
    function_ = llvm::Function::Create(llvm::FunctionType::get(builder_.getInt32Ty(), types, false),
                                       llvm::Function::ExternalLinkage, symbol, module_);
    builder_.SetInsertPoint(block());
  }
  llvm::BasicBlock *block() {
    return llvm::BasicBlock::Create(module_.getContext(), "", function_);
  }

  void returnLaunch(const char *symbol, llvm::Value *list) {
    const llvm::FunctionCallee launch = module_.getOrInsertFunction(
        symbol, llvm::FunctionType::get(builder_.getInt32Ty(),
                                        {pointer(), pointer(), pointer(), pointer()}, false));
    llvm::Value *grid = llvm::ConstantPointerNull::get(builder_.getPtrTy());
    if (!of_.blocks) grid = function_->getArg(1);
    builder_.CreateRet(builder_.CreateCall(launch, {table_, function_->getArg(0), grid, list}));
  }

  /// In the function's first block, where they are part of its frame.
  void makePointerPlaces() {
    const std::size_t count = of_.kernel.parameterCount();
    pointers_ =
        builder_.CreateAlloca(llvm::ArrayType::get(pointer(), std::max<std::size_t>(count, 1)));
    for (std::size_t i = 0; i < count; ++i)
      numbers_.push_back(typeOf(i).hasMemory() ? nullptr
                                               : builder_.CreateAlloca(argument(i)->getType()));
  }
  llvm::Value *pointers() {
    for (std::size_t i = 0; i < of_.kernel.parameterCount(); ++i) {
      if (numbers_[i] != nullptr) builder_.CreateStore(argument(i), numbers_[i]);
      builder_.CreateStore(numbers_[i] != nullptr ? numbers_[i] : argument(i),
                           builder_.CreateConstGEP1_64(pointer(), pointers_, i));
    }
    return pointers_;
  }

  /// The block where something is missing; null where nothing can be.
  llvm::BasicBlock *checkMissing() {
    llvm::BasicBlock *missing = nullptr;
    for (std::size_t i = 0; i < of_.kernel.parameterCount(); ++i) {
      if (!typeOf(i).hasMemory()) continue;
      if (missing == nullptr) missing = block();
      llvm::BasicBlock *const next = block();
      builder_.CreateCondBr(builder_.CreateIsNull(argument(i)), missing, next,
                            llvm::MDBuilder(module_.getContext()).createUnlikelyBranchWeights());
      builder_.SetInsertPoint(next);
    }
    return missing;
  }

  std::size_t wordCount() const {
    std::size_t count = 0;
    for (std::size_t i = 0; i < of_.kernel.parameterCount(); ++i) count += wordsOf(typeOf(i));
    return count;
  }
  static std::size_t wordsOf(const ir::Type &type) {
    if (!type.hasMemory()) return aot::givenWords(aot::Form::Scalar, 0);
    if (type.isTable()) return aot::givenWords(aot::Form::Table, 0);
    return type.isView() ? aot::givenWords(aot::Form::View, static_cast<std::size_t>(type.rank()))
                         : aot::givenWords(aot::Form::Pointer, 0);
  }

  void writeWords(llvm::Value *list) {
    list_ = list;
    written_ = 0;
    for (std::size_t i = 0; i < of_.kernel.parameterCount(); ++i)
      if (typeOf(i).hasMemory())
        writeMemory(typeOf(i), argument(i));
      else
        write(bitsOf(typeOf(i), argument(i)));
    for (const std::size_t all = aot::paddedWords(written_); written_ < all;)
      write(builder_.getInt64(0));
  }

  /// Words that lie side by side, two at a time.
  void writeMemory(const ir::Type &type, llvm::Value *from) {
    const auto places = placesOf(type);
    for (std::size_t i = 0; i < places.size();) {
      const bool areTwo = i + 1 < places.size() && places[i + 1] == places[i] + kWordBytes;
      llvm::Type *one = builder_.getInt64Ty();
      llvm::Type *read = areTwo ? llvm::FixedVectorType::get(one, 2) : one;
      write(load(read, from, places[i]), areTwo ? 2 : 1);
      i += areTwo ? 2 : 1;
    }
    if (!type.isTable()) return;
    write(builder_.CreateZExt(load(builder_.getInt32Ty(), from, aot::kTablePromisesPlace),
                              builder_.getInt64Ty()));
  }
  llvm::Value *load(llvm::Type *type, llvm::Value *from, std::uint64_t place) {
    return builder_.CreateAlignedLoad(
        type, builder_.CreateConstGEP1_64(builder_.getInt8Ty(), from, place),
        llvm::Align(kWordBytes));
  }

  /// As bind.cpp reads them: of a bool whatever is not 0 is true.
  llvm::Value *bitsOf(const ir::Type &type, llvm::Value *scalar) {
    if (type.element() == ir::ElementKind::Bool)
      scalar = builder_.CreateICmpNE(scalar, llvm::ConstantInt::get(scalar->getType(), 0));
    const auto bits =
        static_cast<unsigned>(scalar->getType()->getPrimitiveSizeInBits().getFixedValue());
    return builder_.CreateZExt(builder_.CreateBitCast(scalar, builder_.getIntNTy(bits)),
                               builder_.getInt64Ty());
  }

  void write(llvm::Value *words, std::size_t count = 1) {
    builder_.CreateAlignedStore(words,
                                builder_.CreateConstGEP1_64(builder_.getInt64Ty(), list_, written_),
                                llvm::Align(kWordBytes));
    written_ += count;
  }

  llvm::Module &module_;
  const LibraryKernel &of_;
  llvm::Constant *table_;
  llvm::IRBuilder<> builder_;
  llvm::Function *function_ = nullptr;
  std::size_t first_ = 0; ///< Of its arguments that is a kernel's.
  llvm::Value *pointers_ = nullptr;
  llvm::SmallVector<llvm::Value *, 16> numbers_ = {}; ///< Where they are; null of what has memory.
  llvm::Value *list_ = nullptr;
  std::size_t written_ = 0; ///< Words.
};

} // namespace

void emitLaunchFunctions(llvm::Module &module, const std::string &symbol, const LibraryKernel &of,
                         llvm::Constant *table) {
  if (of.mayObserve())
    LaunchFunction(module, of, table).emitWithPointers(symbol, aot::kObservingLaunchSymbol);
  else
    LaunchFunction(module, of, table)
        .emitWithWords(symbol, aot::kWordsLaunchSymbol, aot::kLaunchSymbol);
  if (of.takesArrays())
    LaunchFunction(module, of, table)
        .emitWithPointers(symbol + kDlpackSuffix, aot::kDlpackLaunchSymbol);
}

} // namespace imbrex::archive
