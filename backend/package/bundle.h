#pragma once

#include "backend/package/member.h"
#include "backend/support/result.h"

namespace imbrex::package {

/// HIP's offload bundle: what hipModuleLoadData takes in place of a code object, and chooses from.
/// The same members give the same bytes. Compressed it is zstd behind a header `CCOB` (clang,
/// ClangOffloadBundler, "Compressed Offload Bundle Format").
///
///   0   __CLANG_OFFLOAD_BUNDLE__   u64 entries
///   32  for each: u64 where its content stands, u64 bytes, u64 bytes of its name, the name
///       the contents, each at a multiple of 4096
///
/// The first entry is the host's and empty; the others are named hipv4-amdgcn-amd-amdhsa--gfx942.
std::string writeBundle(llvm::ArrayRef<Member> members, bool compressed);
Result<std::vector<Member>> readBundle(llvm::StringRef package);
/// Whether it begins as one, compressed or not.
bool isBundle(llvm::StringRef package);

} // namespace imbrex::package
