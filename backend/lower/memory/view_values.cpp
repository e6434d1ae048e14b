#include "backend/lower/memory/view_values.h"

#include "llvm/ADT/STLExtras.h"

namespace imbrex::lower {

ViewValues viewOfBytes(llvm::IRBuilder<> &builder, ViewValues view) {
  view.extents.back() = builder.CreateLShr(view.extents.back(), 1);
  for (llvm::Value *&stride : llvm::drop_end(view.strides)) stride = builder.CreateAShr(stride, 1);
  return view;
}

llvm::Value *tablePointer(llvm::IRBuilder<> &builder, const ViewValues &table, llvm::Value *index,
                          llvm::Type *pointer) {
  constexpr std::uint64_t kBytes = 8;
  // A negative number is large as an unsigned one.
  llvm::Value *place =
      builder.CreateBinaryIntrinsic(llvm::Intrinsic::umin, index, table.extents[0]);
  llvm::Value *address = builder.CreateGEP(builder.getInt64Ty(), table.data, place);
  llvm::LoadInst *load = builder.CreateAlignedLoad(pointer, address, llvm::Align(kBytes));
  // The runtime made the table for the launch alone.
  load->setMetadata(llvm::LLVMContext::MD_invariant_load,
                    llvm::MDNode::get(builder.getContext(), {}));
  return load;
}

} // namespace imbrex::lower
