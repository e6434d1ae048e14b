#include "backend/target/amdgpu/gcn_mix.h"

#include "backend/target/amdgpu/gcn_instruction.h"
#include "backend/target/codegen/assembly_text.h"

namespace imbrex::target::amdgpu {
namespace {

using Class = InstructionClass;

struct Prefix {
  llvm::StringRef text;
  Class kind;
};

// The first that fits decides.
constexpr Prefix kPrefixes[] = {
    {"global_load_async_to_lds", Class::AsyncCopy},
    {"global_store_async_from_lds", Class::AsyncCopy},
    {"cluster_load_async_to_lds", Class::AsyncCopy},
    {"tensor_load_to_lds", Class::AsyncCopy},
    {"tensor_store_from_lds", Class::AsyncCopy},
    {"global_load", Class::GlobalLoad},
    {"global_store", Class::GlobalStore},
    {"global_atomic", Class::Atomic},
    {"global_inv", Class::Wait},
    {"global_wb", Class::Wait},
    {"buffer_load", Class::GlobalLoad},
    {"buffer_store", Class::GlobalStore},
    {"buffer_atomic", Class::Atomic},
    {"buffer_", Class::Wait}, // cache control
    {"flat_load", Class::GlobalLoad},
    {"flat_store", Class::GlobalStore},
    {"flat_atomic", Class::Atomic},
    {"scratch_load", Class::StackLoad},
    {"scratch_store", Class::StackStore},
    {"ds_read", Class::SharedLoad},
    {"ds_load", Class::SharedLoad},
    {"ds_write", Class::SharedStore},
    {"ds_store", Class::SharedStore},
    {"ds_bpermute", Class::Shuffle},
    {"ds_permute", Class::Shuffle},
    {"ds_swizzle", Class::Shuffle},
    {"ds_", Class::Atomic},
    {"s_load", Class::ConstantLoad},
    {"s_buffer_load", Class::ConstantLoad},
    {"s_barrier", Class::Barrier},
    {"s_wait", Class::Wait},
    {"s_branch", Class::Branch},
    {"s_cbranch", Class::Branch},
    {"s_endpgm", Class::Branch},
    {"s_setpc", Class::Branch},
    {"s_swappc", Class::Branch},
    {"s_mov", Class::Move},
    {"s_nop", Class::Other},
    {"s_delay_alu", Class::Other},
    {"s_clause", Class::Other},
    {"s_code_end", Class::Other},
    {"s_sendmsg", Class::Other},
    {"s_set", Class::Other},
    {"s_sleep", Class::Other},
    {"s_", Class::Integer},
    {"v_mfma", Class::Matrix},
    {"v_smfma", Class::Matrix},
    {"v_wmma", Class::Matrix},
    {"v_swmma", Class::Matrix},
    {"v_dot", Class::Matrix},
    {"v_cvt", Class::Convert},
    {"v_mov", Class::Move},
    {"v_accvgpr", Class::Move},
    {"v_swap", Class::Move},
    {"v_permlane", Class::Shuffle},
    {"v_readlane", Class::Shuffle},
    {"v_readfirstlane", Class::Shuffle},
    {"v_writelane", Class::Shuffle},
    {"v_nop", Class::Other},
};

struct Width {
  llvm::StringRef text;
  std::int32_t bytes;
};

// At the end of an opcode: dwords until gfx10, bits from gfx11 on. Longer ones first.
constexpr Width kWidths[] = {
    {"dwordx4", 16}, {"dwordx3", 12}, {"dwordx2", 8}, {"dword", 4}, {"b128", 16},
    {"b96", 12},     {"b64", 8},      {"b32", 4},     {"b16", 2},   {"b8", 1},
    {"short", 2},    {"ushort", 2},   {"byte", 1},    {"u16", 2},   {"i16", 2},
    {"u8", 1},       {"i8", 1},       {"d16_hi", 2},  {"d16", 2},
};

bool movesMemory(Class kind) { return kind <= Class::AsyncCopy; }

/// `ds_read2_b32` and `ds_load_2addr_b32` fetch from two places.
std::int32_t placesOf(llvm::StringRef opcode) {
  for (const llvm::StringRef pair : {"read2", "write2", "_2addr"})
    if (opcode.contains(pair)) return 2;
  return 1;
}

Class classOf(const GcnInstruction &instruction, llvm::StringRef opcode) {
  if (isLoadToLds(instruction)) return Class::AsyncCopy;
  const Prefix *known =
      llvm::find_if(kPrefixes, [&](const Prefix &row) { return opcode.starts_with(row.text); });
  if (known != std::end(kPrefixes)) return known->kind;
  const bool isFloat = opcode.contains("_f16") || opcode.contains("_f32") ||
                       opcode.contains("_f64") || opcode.contains("_bf16");
  return isFloat ? Class::Float : Class::Integer;
}

/// The suffixes that say how an instruction is encoded.
llvm::StringRef withoutEncoding(llvm::StringRef opcode) {
  for (const llvm::StringRef encoding : {"_e32", "_e64", "_dpp", "_sdwa"})
    opcode.consume_back(encoding);
  return opcode;
}

bool isInstruction(llvm::StringRef word) {
  for (const llvm::StringRef start :
       {"v_", "s_", "ds_", "global_", "buffer_", "flat_", "scratch_", "tensor_", "cluster_"})
    if (word.starts_with(start)) return true;
  return false;
}

} // namespace

std::int32_t bytesMovedBy(llvm::StringRef opcode) {
  // gfx950: `ds_read_b64_tr_b16` says what is transposed behind what is read.
  if (opcode.starts_with("ds_read_b")) opcode = opcode.split("_tr_").first;
  const Width *width =
      llvm::find_if(kWidths, [&](const Width &row) { return opcode.ends_with(row.text); });
  return width == std::end(kWidths) ? 0 : width->bytes * placesOf(opcode);
}

InstructionMix mixOfAssembly(llvm::StringRef assembly) {
  InstructionMix mix;
  for (const llvm::StringRef line : linesOf(assembly, ";")) {
    const GcnInstruction instruction(line);
    if (!isInstruction(instruction.opcode) || line.ends_with(":")) continue;
    const llvm::StringRef opcode = withoutEncoding(instruction.opcode);
    const Class kind = classOf(instruction, opcode);
    mix.add(kind, movesMemory(kind) ? bytesMovedBy(opcode) : 0);
  }
  return mix;
}

} // namespace imbrex::target::amdgpu
