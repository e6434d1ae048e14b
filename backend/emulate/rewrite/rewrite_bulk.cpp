#include "backend/emulate/model/tensor_map.h"
#include "backend/emulate/rewrite/rewrite_calls.h"
#include "backend/emulate/run/calls.h"
#include "llvm/IR/IntrinsicsNVPTX.h"

namespace imbrex::emulate {
namespace {

using llvm::Value;

bool isZero(const MachineCall &c, unsigned operand) {
  const auto *value = llvm::dyn_cast<llvm::ConstantInt>(c.operand(operand));
  return value != nullptr && value->isZero();
}

/// Zeros for the axes that there are not.
void addCoordinates(MachineCall &c, unsigned first, std::uint32_t axes,
                    std::vector<Value *> &words) {
  for (std::uint32_t axis = 0; axis < kMostAxes; ++axis)
    words.push_back(axis < axes ? c.operand(first + axis) : c.b.getInt32(0));
}

/// Whose memory the box may go to.
enum class Destination : std::uint8_t { Block, Cluster };

Value *loadBox(MachineCall &c, std::uint32_t axes, Destination destination) {
  constexpr unsigned kFirst = 3; // behind the destination, the barrier and the map
  // Behind the coordinates: mask, cache hint, whether there is a mask, a hint, the group of blocks.
  if (destination == Destination::Cluster &&
      !(isZero(c, kFirst + axes + 2) && isZero(c, kFirst + axes + 4)))
    return nullptr;
  std::vector<Value *> words{c.site("asynchronous copy of a box", BoxSite{axes}), c.word(0),
                             c.word(1), c.word(2)};
  addCoordinates(c, kFirst, axes, words);
  return createCall(c.b, calls::loadBox, words);
}

Value *storeBox(MachineCall &c, std::uint32_t axes) {
  std::vector<Value *> words{c.site("asynchronous store of a box", BoxSite{axes}), c.word(0),
                             c.word(1)};
  addCoordinates(c, 2, axes, words);
  return createCall(c.b, calls::storeBox, words);
}

Value *loadBulk(MachineCall &c, int flag) {
  if (flag >= 0 && !isZero(c, static_cast<unsigned>(flag))) return nullptr;
  return createCall(
      c.b, calls::loadBulk,
      {c.site("asynchronous copy of bytes"), c.word(0), c.word(1), c.word(2), c.operand(3)});
}

Value *storeBulk(MachineCall &c) {
  return createCall(c.b, calls::storeBulk,
                    {c.site("asynchronous store of bytes"), c.word(0), c.word(1), c.operand(2)});
}

Value *commitStores(MachineCall &c) { return createCall(c.b, calls::commitStores, {}); }

enum class Awaited : std::uint8_t { Landed, Taken };

Value *await(MachineCall &c, Awaited what) {
  return createCall(
      c.b, calls::awaitStores,
      {c.site("wait for stores"), c.word(0), c.b.getInt32(what == Awaited::Taken ? 1 : 0)});
}

enum class Fenced : std::uint8_t { All, Making };

Value *fence(MachineCall &c, Fenced what) {
  return createCall(c.b, what == Fenced::All ? calls::fenceProxy : calls::fenceMaking, {});
}

} // namespace

RewriteTable bulkRewrites() {
  return {
#define IMBREX_BOX_LOAD_CALL(intrinsic, axes, destination)                                         \
  {llvm::Intrinsic::intrinsic,                                                                     \
   [](MachineCall &c) { return loadBox(c, axes, Destination::destination); }},
#define IMBREX_BOX_STORE_CALL(intrinsic, axes)                                                     \
  {llvm::Intrinsic::intrinsic, [](MachineCall &c) { return storeBox(c, axes); }},
#define IMBREX_BULK_LOAD_CALL(intrinsic, flag)                                                     \
  {llvm::Intrinsic::intrinsic, [](MachineCall &c) { return loadBulk(c, flag); }},
#define IMBREX_BULK_STORE_CALL(intrinsic) {llvm::Intrinsic::intrinsic, storeBulk},
#define IMBREX_BULK_COMMIT_CALL(intrinsic) {llvm::Intrinsic::intrinsic, commitStores},
#define IMBREX_BULK_AWAIT_CALL(intrinsic, what)                                                    \
  {llvm::Intrinsic::intrinsic, [](MachineCall &c) { return await(c, Awaited::what); }},
#define IMBREX_PROXY_FENCE_CALL(intrinsic, what)                                                   \
  {llvm::Intrinsic::intrinsic, [](MachineCall &c) { return fence(c, Fenced::what); }},
#include "backend/emulate/rewrite/bulk_calls.def"
  };
}

} // namespace imbrex::emulate
