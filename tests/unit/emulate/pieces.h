#pragma once

#include <string>

/// Pieces of kernels' bodies (kernelText): each thread writes its own word of shared memory, reads
/// the one at the other end, and stores what it has read.
namespace imbrex {

inline const std::string kWriteOwn = R"(
  %own = getelementptr i32, ptr addrspace(3) @sh, i32 %t
  store i32 %t, ptr addrspace(3) %own, align 4 ; <write>
)";
inline const std::string kReadMirrored = R"(
  %m = sub i32 {N-1}, %t
  %mirrored = getelementptr i32, ptr addrspace(3) @sh, i32 %m
  %w = load i32, ptr addrspace(3) %mirrored, align 4 ; <read>
)";
inline const std::string kReadOwn = "  %w = load i32, ptr addrspace(3) %own, align 4 ; <read>\n";
inline const std::string kResult = R"(
  %o = getelementptr i32, ptr addrspace(1) %out, i32 %t
  store i32 %w, ptr addrspace(1) %o, align 4
  ret void
)";
inline const std::string kEnd = "  ret void\n";

} // namespace imbrex
