#include "backend/emulate/model/tensor_map.h"
#include "backend/emulate/rewrite/rewrite_calls.h"
#include "backend/emulate/run/calls.h"
#include "llvm/IR/IntrinsicsNVPTX.h"

namespace imbrex::emulate {
namespace {

using llvm::CallInst;
using llvm::Value;

bool isZero(const CallInst &call, unsigned operand) {
  const auto *value = llvm::dyn_cast<llvm::ConstantInt>(call.getArgOperand(operand));
  return value != nullptr && value->isZero();
}

Value *word(Rewriting &rewriting, Builder &b, const CallInst &call, unsigned operand) {
  return toWord(rewriting, b, call.getArgOperand(operand));
}

/// Zeros for the axes that there are not.
void addCoordinates(Builder &b, const CallInst &call, unsigned first, std::uint32_t axes,
                    std::vector<Value *> &words) {
  for (std::uint32_t axis = 0; axis < kMostAxes; ++axis)
    words.push_back(axis < axes ? call.getArgOperand(first + axis) : b.getInt32(0));
}

/// Whose memory the box may go to.
enum class Destination : std::uint8_t { Block, Cluster };

bool loadBox(Rewriting &rewriting, Builder &b, CallInst &call, std::uint32_t axes,
             Destination destination) {
  constexpr unsigned kFirst = 3; // behind the destination, the barrier and the map
  // Behind the coordinates: mask, cache hint, whether there is a mask, a hint, the group of blocks.
  if (destination == Destination::Cluster &&
      !(isZero(call, kFirst + axes + 2) && isZero(call, kFirst + axes + 4)))
    return false;
  std::vector<Value *> words{addSite(rewriting, call, "asynchronous copy of a box", BoxSite{axes}),
                             word(rewriting, b, call, 0), word(rewriting, b, call, 1),
                             word(rewriting, b, call, 2)};
  addCoordinates(b, call, kFirst, axes, words);
  createCall(b, calls::loadBox, words);
  return true;
}

bool storeBox(Rewriting &rewriting, Builder &b, CallInst &call, std::uint32_t axes) {
  std::vector<Value *> words{addSite(rewriting, call, "asynchronous store of a box", BoxSite{axes}),
                             word(rewriting, b, call, 0), word(rewriting, b, call, 1)};
  addCoordinates(b, call, 2, axes, words);
  createCall(b, calls::storeBox, words);
  return true;
}

Value *plainSite(Rewriting &rewriting, const CallInst &call, const char *what) {
  return addSite(rewriting, call, what, ControlSite{});
}

bool loadBulk(Rewriting &rewriting, Builder &b, CallInst &call, int flag) {
  if (flag >= 0 && !isZero(call, static_cast<unsigned>(flag))) return false;
  createCall(b, calls::loadBulk,
             {plainSite(rewriting, call, "asynchronous copy of bytes"), word(rewriting, b, call, 0),
              word(rewriting, b, call, 1), word(rewriting, b, call, 2), call.getArgOperand(3)});
  return true;
}

bool storeBulk(Rewriting &rewriting, Builder &b, CallInst &call) {
  createCall(b, calls::storeBulk,
             {plainSite(rewriting, call, "asynchronous store of bytes"),
              word(rewriting, b, call, 0), word(rewriting, b, call, 1), call.getArgOperand(2)});
  return true;
}

bool commitStores(Builder &b) {
  createCall(b, calls::commitStores, {});
  return true;
}

enum class Awaited : std::uint8_t { Landed, Taken };

bool await(Rewriting &rewriting, Builder &b, CallInst &call, Awaited what) {
  createCall(b, calls::awaitStores,
             {plainSite(rewriting, call, "wait for stores"), word(rewriting, b, call, 0),
              b.getInt32(what == Awaited::Taken ? 1 : 0)});
  return true;
}

enum class Fenced : std::uint8_t { All, Making };

bool fence(Builder &b, Fenced what) {
  createCall(b, what == Fenced::All ? calls::fenceProxy : calls::fenceMaking, {});
  return true;
}

} // namespace

RewriteTable bulkRewrites() {
  return {
#define IMBREX_BOX_LOAD_CALL(intrinsic, axes, destination)                                         \
  {llvm::Intrinsic::intrinsic, [](Rewriting &r, Builder &b, CallInst &c) {                         \
     return loadBox(r, b, c, axes, Destination::destination);                                      \
   }},
#define IMBREX_BOX_STORE_CALL(intrinsic, axes)                                                     \
  {llvm::Intrinsic::intrinsic,                                                                     \
   [](Rewriting &r, Builder &b, CallInst &c) { return storeBox(r, b, c, axes); }},
#define IMBREX_BULK_LOAD_CALL(intrinsic, flag)                                                     \
  {llvm::Intrinsic::intrinsic,                                                                     \
   [](Rewriting &r, Builder &b, CallInst &c) { return loadBulk(r, b, c, flag); }},
#define IMBREX_BULK_STORE_CALL(intrinsic) {llvm::Intrinsic::intrinsic, storeBulk},
#define IMBREX_BULK_COMMIT_CALL(intrinsic)                                                         \
  {llvm::Intrinsic::intrinsic, [](Rewriting &, Builder &b, CallInst &) { return commitStores(b); }},
#define IMBREX_BULK_AWAIT_CALL(intrinsic, what)                                                    \
  {llvm::Intrinsic::intrinsic,                                                                     \
   [](Rewriting &r, Builder &b, CallInst &c) { return await(r, b, c, Awaited::what); }},
#define IMBREX_PROXY_FENCE_CALL(intrinsic, what)                                                   \
  {llvm::Intrinsic::intrinsic,                                                                     \
   [](Rewriting &, Builder &b, CallInst &) { return fence(b, Fenced::what); }},
#include "backend/emulate/rewrite/bulk_calls.def"
  };
}

} // namespace imbrex::emulate
