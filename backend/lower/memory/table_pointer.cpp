#include "backend/lower/memory/table_pointer.h"

namespace imbrex::lower {

llvm::Value *tablePointer(llvm::IRBuilder<> &builder, const TableValues &table, llvm::Value *index,
                          llvm::Type *pointer) {
  constexpr std::uint64_t kBytes = 8;
  // A negative number is large as an unsigned one.
  llvm::Value *place = builder.CreateBinaryIntrinsic(llvm::Intrinsic::umin, index, table.size);
  llvm::Value *address = builder.CreateGEP(builder.getInt64Ty(), table.data, place);
  llvm::LoadInst *load = builder.CreateAlignedLoad(pointer, address, llvm::Align(kBytes));
  // The runtime made the table for the launch alone.
  load->setMetadata(llvm::LLVMContext::MD_invariant_load,
                    llvm::MDNode::get(builder.getContext(), {}));
  return load;
}

} // namespace imbrex::lower
