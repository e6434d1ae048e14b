#pragma once

#include "backend/package/member.h"
#include "backend/support/result.h"

namespace imbrex::package {

/// NVIDIA's fat binary: what cuModuleLoadData and cuLibraryLoadData take in place of an image, and
/// choose from. The same members give the same bytes.
///
///   0   u32 magic ba55ed50   u16 version 1   u16 16, the length of this header   u64 bytes behind
///   it
///
/// and then for each member, padded with zeros to a multiple of 8:
///
///   0   u16 kind: 1 PTX, 2 ELF        u16 version 0101         u32 length of this header
///   8   u64 bytes of the padded payload
///   16  u32 bytes of the payload, if it is compressed          u32 where options stand: 64, if any
///   24  u16, u16 version: of an ELF its ABI version and 1, of PTX minor and major
///   28  u32 machine, as 90
///   40  u64 flags: 1 64 bits, 10 Linux, 8000 zstd, 100000 specific to the machine (`a`), 200000 to
///       its family (`f`), 1000000 compatibility follows
///   56  u64 bytes before compression, if it is compressed
///   64  of PTX and of images for compute capability 10 and later: u32 72, where the assembler's
///       options stand as text, here none and so a zero; u32 the bytes behind that text, of images:
///       a copy of the section .nv.compat
///
/// NVIDIA documents none of it; this is what the program fatbinary of CUDA 13.0 writes, and a test
/// compares with it byte by byte.
std::string writeFatbin(llvm::ArrayRef<Member> members, bool compressed);
Result<std::vector<Member>> readFatbin(llvm::StringRef package);
/// Whether an image uses what its machine alone has, as far as it says; up to compute capability 9
/// it says nothing.
bool isForMachineAlone(llvm::StringRef image);

/// Whether it begins as one.
bool isFatbin(llvm::StringRef package);

} // namespace imbrex::package
