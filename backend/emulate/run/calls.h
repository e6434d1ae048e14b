#pragma once

#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/Module.h"

#include <cstdint>

/// The C++ functions that compiled code calls. Their addresses are written into the code, so that
/// there is nothing to link.
namespace imbrex::emulate {

using Builder = llvm::IRBuilder<>;

/// What a thread can ask about itself and the launch.
enum class Register : std::uint32_t {
  ThreadIndex,
  BlockIndexX,
  BlockIndexY,
  BlockIndexZ,
  GridExtentX,
  GridExtentY,
  GridExtentZ,
  BlockThreads,
  Lane,
  Warp,
  WarpSize,
  LanesEqual,
  LanesLess,
  LanesLessEqual,
  LanesGreater,
  LanesGreaterEqual,
  Zero, ///< The thread's index along y and z.
  One,  ///< The block's extent along y and z.
};

namespace calls {

std::byte *access(std::uint64_t address, std::uint32_t site);
std::byte *accessPrivate(std::byte *variable, std::byte *address, std::uint32_t site);
void didCompareExchange(std::uint64_t address, std::uint32_t site, std::uint32_t didExchange);
void fence(std::uint32_t site);
std::uint64_t meetWarp(std::uint32_t site, std::uint64_t a, std::uint64_t b, std::uint64_t c,
                       std::uint64_t d, std::uint64_t e, std::uint64_t f);
std::uint64_t secondResult();
/// Of the thread: what it brings to an exchange of registers, and takes from it.
std::uint32_t *words();
/// Of a thread whose lane is one of the first so many.
void loadWords(std::uint32_t site, std::uint64_t address, std::uint32_t lanes);
void storeWords(std::uint32_t site, std::uint64_t address, std::uint32_t lanes);
/// Between a buffer and the thread's words.
void loadBuffer(std::uint32_t site, std::uint64_t buffer, std::uint32_t offset,
                std::uint32_t scalarOffset);
void storeBuffer(std::uint32_t site, std::uint64_t buffer, std::uint32_t offset,
                 std::uint32_t scalarOffset);
void meetBlock(std::uint32_t site, std::uint64_t number, std::uint64_t count);
void startCopy(std::uint32_t site, std::uint64_t to, std::uint64_t from, std::uint32_t bytes);
void startBufferCopy(std::uint32_t site, std::uint64_t to, std::uint64_t buffer,
                     std::uint32_t offset, std::uint32_t scalarOffset);
std::uint64_t makeBuffer(std::uint64_t base, std::uint64_t records, std::int32_t parameter);
void commitCopies();
void awaitCopies(std::uint32_t site, std::uint64_t groups);
void makeBarrier(std::uint32_t site, std::uint64_t address, std::uint32_t arrivals);
void unmakeBarrier(std::uint32_t site, std::uint64_t address);
std::uint64_t arriveAtPhase(std::uint32_t site, std::uint64_t address, std::uint32_t count,
                            std::int32_t bytes);
void signalPhase(std::uint32_t site, std::uint64_t address, std::uint32_t more);
std::uint32_t awaitPhase(std::uint32_t site, std::uint64_t address, std::uint64_t what);
void fenceProxy();
void fenceMaking();
void loadBulk(std::uint32_t site, std::uint64_t to, std::uint64_t barrier, std::uint64_t from,
              std::uint32_t bytes);
void loadBox(std::uint32_t site, std::uint64_t to, std::uint64_t barrier, std::uint64_t map,
             std::int32_t x0, std::int32_t x1, std::int32_t x2, std::int32_t x3, std::int32_t x4);
void storeBulk(std::uint32_t site, std::uint64_t to, std::uint64_t from, std::uint32_t bytes);
void storeBox(std::uint32_t site, std::uint64_t from, std::uint64_t map, std::int32_t x0,
              std::int32_t x1, std::int32_t x2, std::int32_t x3, std::int32_t x4);
void commitStores();
void awaitStores(std::uint32_t site, std::uint64_t groups, std::uint32_t onlyTaken);
void countTurn(std::uint32_t site);
void trap(std::uint32_t site);
void exit(std::uint32_t site);
/// Of this run: how often each basic block was entered.
std::uint64_t *blockCounts();
std::uint32_t readRegister(std::uint32_t which);
/// AMD: `base` and how many lanes before this one, of the low or the high half, the mask names.
std::uint32_t countLanesLow(std::uint32_t mask, std::uint32_t base);
std::uint32_t countLanesHigh(std::uint32_t mask, std::uint32_t base);
/// AMD: what the driver puts behind the arguments, and into the dispatch packet.
const std::byte *implicitArguments();
const std::byte *dispatchPacket();

} // namespace calls

template <class T>
llvm::Type *typeOf(llvm::LLVMContext &context) {
  if constexpr (std::is_void_v<T>)
    return llvm::Type::getVoidTy(context);
  else if constexpr (std::is_pointer_v<T>)
    return llvm::PointerType::get(context, 0);
  else if constexpr (std::is_same_v<T, float>)
    return llvm::Type::getFloatTy(context);
  else if constexpr (std::is_same_v<T, double>)
    return llvm::Type::getDoubleTy(context);
  else
    return llvm::Type::getIntNTy(context, 8 * sizeof(T));
}

/// A call of a C++ function. Integers are of 32 or 64 bits, so that no ABI extends them.
template <class R, class... Parameters>
llvm::CallInst *createCall(Builder &b, R (*function)(Parameters...),
                           llvm::ArrayRef<llvm::Value *> arguments) {
  static_assert(((sizeof(Parameters) >= 4) && ...));
  llvm::LLVMContext &context = b.getContext();
  auto *type = llvm::FunctionType::get(typeOf<R>(context), {typeOf<Parameters>(context)...}, false);
  auto *address = b.getInt64(reinterpret_cast<std::uintptr_t>(function));
  return b.CreateCall(type, b.CreateIntToPtr(address, b.getPtrTy()), arguments);
}

} // namespace imbrex::emulate
