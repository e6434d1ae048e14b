#pragma once

#include "backend/lower/emitter.h"

#include <optional>

/// One access of a thread to global memory: `width` neighbours at once, all of them or none.
namespace imbrex::lower {

struct GlobalAccess {
  llvm::Value *address;        // of the first
  llvm::Value *mask = nullptr; // null: always
  std::int64_t alignment = 1;  // of the address, in bytes
  // The same place, outside where the mask is off; of a machine that has buffers, and of views that
  // these can reach.
  std::optional<Vocabulary::BufferPlace> inBuffer = {};
};

/// How an op wants its accesses treated.
struct Hints {
  ir::Cache cache = ir::Cache::Default;
  ir::Eviction eviction = ir::Eviction::Normal;
  bool operator==(const Hints &) const = default;
};
/// Those of a pointer's op or of a view's, from its attributes.
inline Hints hintsOf(const auto &attributes) { return {attributes.cache, attributes.eviction}; }

/// Read neighbours of a type; `others` (one each, or none for zeros) where the mask is off.
Registers emitRead(Emitter &emitter, const ir::Type &type, const GlobalAccess &access,
                   std::size_t width, llvm::ArrayRef<llvm::Value *> others, Hints hints);
/// The same, but that each lane gets a column of what eight lanes read (layout/column_loads.h), and
/// zeros for what is masked.
Registers emitReadColumns(Emitter &emitter, const ir::Type &type, const GlobalAccess &access);
void emitWrite(Emitter &emitter, const ir::Type &type, const GlobalAccess &access,
               llvm::ArrayRef<llvm::Value *> values, Hints hints);

/// Some of a tile's registers, by their numbers: those of a vector, in its order.
Registers picked(const Registers &registers, llvm::ArrayRef<std::int32_t> numbers);

/// Elements between registers and memory, where a bool takes a byte.
llvm::Value *toMemory(Emitter &emitter, llvm::Value *element);
llvm::Value *fromMemory(Emitter &emitter, const ir::Type &type, llvm::Value *stored);

} // namespace imbrex::lower
