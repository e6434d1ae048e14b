#include "backend/lower/memory/global_access.h"

#include "backend/layout/column_loads.h"
#include "llvm/ADT/STLExtras.h"

namespace imbrex::lower {

using llvm::Value;

namespace {

llvm::Type *accessType(llvm::Type *element, std::size_t width) {
  if (width == 1) return element;
  return llvm::FixedVectorType::get(element, static_cast<unsigned>(width));
}

} // namespace

Value *toMemory(Emitter &e, Value *element) {
  return element->getType()->isIntegerTy(1) ? e.b.CreateZExt(element, e.b.getInt8Ty()) : element;
}

Value *fromMemory(Emitter &e, const ir::Type &type, Value *stored) {
  if (type.isTile() && type.element() == ir::ElementKind::Bool)
    return e.b.CreateICmpNE(stored, llvm::Constant::getNullValue(stored->getType()));
  return stored;
}

Registers emitRead(Emitter &e, const ir::Type &type, const GlobalAccess &access, std::size_t width,
                   llvm::ArrayRef<Value *> others, Hints hints) {
  llvm::Type *const memory = accessType(e.memoryType(type), width);
  Value *otherwise = others.empty() ? static_cast<Value *>(llvm::Constant::getNullValue(memory))
                                    : llvm::PoisonValue::get(memory);
  for (std::size_t i = 0; i < others.size(); ++i) {
    Value *other = toMemory(e, others[i]);
    otherwise = width == 1 ? other : e.b.CreateInsertElement(otherwise, other, i);
  }
  const auto isNothing = [](const Value *other) {
    const auto *constant = llvm::dyn_cast<llvm::Constant>(other);
    return constant && (constant->isNullValue() || llvm::isa<llvm::UndefValue>(constant));
  };
  const bool fromBuffer = access.inBuffer && llvm::all_of(others, isNothing) && hints == Hints();
  Value *loaded = fromBuffer ? e.words.loadFromBuffer(e.b, memory, *access.inBuffer)
                             : e.where(access.mask, otherwise, [&]() -> Value * {
                                 llvm::LoadInst *load = e.b.CreateAlignedLoad(
                                     memory, access.address,
                                     llvm::Align(static_cast<std::uint64_t>(access.alignment)));
                                 e.words.applyHints(*load, hints.cache, hints.eviction);
                                 return load;
                               });
  Registers elements;
  for (std::size_t i = 0; i < width; ++i)
    elements.push_back(
        fromMemory(e, type, width == 1 ? loaded : e.b.CreateExtractElement(loaded, i)));
  return elements;
}

// All lanes take part: those whose mask is off name zeros that are there for it.
Registers emitReadColumns(Emitter &e, const ir::Type &type, const GlobalAccess &access) {
  Value *row = access.address;
  if (access.mask) row = e.b.CreateSelect(access.mask, row, e.zeros(layout::kMaxAccessBytes));
  llvm::Type *const column = accessType(e.memoryType(type), layout::kElementsOfColumn);
  Value *loaded = e.words.loadGlobalColumns(e.b, column, row);
  Registers elements;
  for (std::size_t i = 0; i < layout::kElementsOfColumn; ++i)
    elements.push_back(e.b.CreateExtractElement(loaded, i));
  return elements;
}

void emitWrite(Emitter &e, const ir::Type &type, const GlobalAccess &access,
               llvm::ArrayRef<Value *> values, Hints hints) {
  Value *stored = llvm::PoisonValue::get(accessType(e.memoryType(type), values.size()));
  for (std::size_t i = 0; i < values.size(); ++i) {
    Value *element = toMemory(e, values[i]);
    stored = values.size() == 1 ? element : e.b.CreateInsertElement(stored, element, i);
  }
  e.where(access.mask, [&] {
    llvm::StoreInst *store = e.b.CreateAlignedStore(
        stored, access.address, llvm::Align(static_cast<std::uint64_t>(access.alignment)));
    e.words.applyHints(*store, hints.cache, hints.eviction);
  });
}

Registers picked(const Registers &registers, llvm::ArrayRef<std::int32_t> numbers) {
  Registers chosen;
  for (const std::int32_t r : numbers) chosen.push_back(registers[static_cast<std::size_t>(r)]);
  return chosen;
}

} // namespace imbrex::lower
