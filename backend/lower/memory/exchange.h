#pragma once

#include "backend/lower/emitter.h"

namespace imbrex::lower {

/// A tile in registers.
struct RegisterTile {
  const ir::Type &type;
  const layout::LinearLayout &layout;
  Registers registers;
};

/// Give every thread the elements of a tile that it asks for, by packed coordinates (i32; as the
/// layout's outputs, so that padding has room too): through shared memory, in as many rounds as it
/// takes. All threads of the block ask for equally many.
Registers exchange(Emitter &emitter, const RegisterTile &tile,
                   llvm::ArrayRef<llvm::Value *> indices);

/// The same by a layout: `wanted` gives the coordinates of what each register of a thread is to be,
/// each of them moved (xor) by `offset`.
Registers exchange(Emitter &emitter, const RegisterTile &tile, const layout::LinearLayout &wanted,
                   layout::Bits offset);

/// The same without an offset, by the cheapest way: registers renamed, shuffles, or shared memory
/// without bank conflicts.
Registers convert(Emitter &emitter, const RegisterTile &tile, const layout::LinearLayout &wanted);

/// A tile in shared memory, and what of it a thread accesses.
struct SharedTile {
  llvm::Value *base;
  const layout::LinearLayout &offsets; ///< From register, lane, warp to the offset in elements.
  const layout::RegisterVectors &vectors;
  layout::Bits first = 0; ///< Moves the offsets (xor): of a part of a tile.
};
Registers readShared(Emitter &emitter, const ir::Type &type, const SharedTile &tile);
void writeShared(Emitter &emitter, const ir::Type &type, const Registers &registers,
                 const SharedTile &tile);

/// Give every thread what other threads hold: of each value, the one of every thread in `threads`
/// (i32, numbers in the block). Through shared memory. The result: per value, per asked thread.
std::vector<Registers> fetchFromThreads(Emitter &emitter, llvm::ArrayRef<llvm::Value *> values,
                                        llvm::ArrayRef<llvm::Value *> threads);

/// The same of whole warps, all lanes of which hold one number of each value: of each, those of the
/// warps whose numbers differ from this one's in `bits` (one bit each, the first counts fastest).
std::vector<Registers> fetchFromWarps(Emitter &emitter, llvm::ArrayRef<llvm::Value *> values,
                                      llvm::ArrayRef<std::uint32_t> bits);

/// The value of a lane that a constant mask away, or of any lane (i32); of every type.
llvm::Value *shuffleXor(Emitter &emitter, llvm::Value *value, std::uint32_t mask);
llvm::Value *shuffle(Emitter &emitter, llvm::Value *value, llvm::Value *lane);

/// Whether a condition holds in any thread of the block.
llvm::Value *anyInBlock(Emitter &emitter, llvm::Value *condition);

/// i32: the packed coordinates of the element in register `r`.
llvm::Value *packedIndex(Emitter &emitter, const layout::LinearLayout &layout, std::size_t r);

} // namespace imbrex::lower
