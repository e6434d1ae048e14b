#pragma once

#include <algorithm>
#include <map>
#include <string>

namespace imbrex {

/// The words by which one text of a kernel becomes code for either vendor.
struct Vendor {
  std::string machine;
  int threads; ///< Of a block: two warps.
  std::map<std::string, std::string> words;
};

inline Vendor nvidia() {
  return {"sm_90a",
          64,
          {{"triple", "nvptx64-nvidia-cuda"},
           {"kernel", "ptx_kernel"},
           {"thread", "call i32 @llvm.nvvm.read.ptx.sreg.tid.x()"},
           {"block", "call i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()"},
           {"barrier", "  call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)"},
           {"warp barrier", "  call void @llvm.nvvm.bar.warp.sync(i32 -1)"},
           {"exchange", "call i32 @llvm.nvvm.shfl.sync.bfly.i32(i32 -1, i32 %v, i32 1, i32 31)"},
           {"fetch", "call i32 @llvm.nvvm.shfl.sync.idx.i32(i32 -1, i32 %v, i32 %from, i32 31)"},
           {"of block", "syncscope(\"block\")"},
           {"of device", "syncscope(\"device\")"},
           {"N", "64"},
           {"N-1", "63"},
           {"half", "32"}}};
}

inline Vendor amd() {
  return {"gfx942",
          128,
          {{"triple", "amdgcn-amd-amdhsa"},
           {"kernel", "amdgpu_kernel"},
           {"thread", "call i32 @llvm.amdgcn.workitem.id.x()"},
           {"block", "call i32 @llvm.amdgcn.workgroup.id.x()"},
           {"barrier", "  fence syncscope(\"workgroup\") release\n"
                       "  call void @llvm.amdgcn.s.barrier()\n"
                       "  fence syncscope(\"workgroup\") acquire"},
           {"warp barrier", "  fence syncscope(\"wavefront\") release\n"
                            "  call void @llvm.amdgcn.wave.barrier()\n"
                            "  fence syncscope(\"wavefront\") acquire"},
           {"exchange", "call i32 @llvm.amdgcn.ds.swizzle(i32 %v, i32 1055)"},
           {"fetch", "call i32 @llvm.amdgcn.readlane.i32(i32 %v, i32 %from)"},
           {"of block", "syncscope(\"workgroup\")"},
           {"of device", "syncscope(\"agent\")"},
           {"N", "128"},
           {"N-1", "127"},
           {"half", "64"}}};
}

/// The vendor's words in place of `{word}`.
inline std::string inWordsOf(const Vendor &vendor, std::string text) {
  for (const auto &[name, word] : vendor.words) {
    const std::string pattern = "{" + name + "}";
    for (std::size_t at = 0; (at = text.find(pattern, at)) != std::string::npos; at += word.size())
      text.replace(at, pattern.size(), word);
  }
  return text;
}

/// A kernel of arrays of i32, of which `none` is a null pointer and `fresh` has not been written,
/// and of an array of N i32 in shared memory, whose body is `body` with the vendor's words in place
/// of `{word}`. %t is the thread's number.
inline std::string kernelText(const Vendor &vendor, std::string body) {
  // `{barrier <name>}` is the word, and its line has the name.
  for (std::size_t at; (at = body.find("{barrier <")) != std::string::npos;) {
    const std::size_t end = body.find(">}", at);
    const std::string name = body.substr(at + 9, end + 1 - (at + 9));
    std::string word = vendor.words.at("barrier");
    word.insert(std::min(word.find('\n', word.find("barrier")), word.size()), " ; " + name);
    body.replace(at, end + 2 - at, word);
  }
  std::string text = "target triple = \"{triple}\"\n"
                     "@sh = internal addrspace(3) global [{N} x i32] poison, align 16\n"
                     "define {kernel} void @k(ptr addrspace(1) %in, ptr addrspace(1) %out, "
                     "ptr addrspace(1) %none, ptr addrspace(1) %fresh) {\n"
                     "  %t = {thread}\n" +
                     body + "}\n";
  return inWordsOf(vendor, text);
}

} // namespace imbrex
