// nvJitLink: the assembler as a library (nvJitLink.h of CUDA 12 and 13). It is opened at run time,
// so that nothing of ours is linked with it; its few declarations are repeated here for that
// reason.

#include "backend/target/codegen/loc_lines.h"
#include "backend/target/nvptx/assembler.h"
#include "backend/target/nvptx/refusal.h"
#include "backend/target/nvptx/toolkit.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <dlfcn.h>
#include <vector>

namespace imbrex::target::nvptx {
namespace {

constexpr int kSuccess = 0;
constexpr int kInputPtx = 2;
using Handle = struct OpaqueLink *;

/// The functions of the library that we call.
struct JitLink {
  int (*create)(Handle *, std::uint32_t, const char *const *) = nullptr;
  int (*destroy)(Handle *) = nullptr;
  int (*addData)(Handle, int, const void *, std::size_t, const char *) = nullptr;
  int (*complete)(Handle) = nullptr;
  int (*cubinSize)(Handle, std::size_t *) = nullptr;
  int (*cubin)(Handle, void *) = nullptr;
  int (*errorSize)(Handle, std::size_t *) = nullptr;
  int (*error)(Handle, char *) = nullptr;
  int (*infoSize)(Handle, std::size_t *) = nullptr;
  int (*info)(Handle, char *) = nullptr;
};

// A release of the toolkit adds its number to the names of the functions that it brings.
template <class F>
bool find(void *library, const std::string &name, F &function) {
  for (const char *suffix : {"_13_0", "_12_0"})
    if (void *symbol = dlsym(library, ("__nvJitLink" + name + suffix).c_str())) {
      function = reinterpret_cast<F>(symbol);
      return true;
    }
  return false;
}

bool findAll(void *library, JitLink &link) {
  return find(library, "Create", link.create) && find(library, "Destroy", link.destroy) &&
         find(library, "AddData", link.addData) && find(library, "Complete", link.complete) &&
         find(library, "GetLinkedCubinSize", link.cubinSize) &&
         find(library, "GetLinkedCubin", link.cubin) &&
         find(library, "GetErrorLogSize", link.errorSize) &&
         find(library, "GetErrorLog", link.error) &&
         find(library, "GetInfoLogSize", link.infoSize) && find(library, "GetInfoLog", link.info);
}

std::vector<std::string> candidates() {
  constexpr std::array<const char *, 2> kNames{"libnvJitLink.so.13", "libnvJitLink.so.12"};
  std::vector<std::string> paths;
  for (const std::string &folder : toolkitFolders())
    for (const char *name : kNames) paths.push_back(folder + "/lib64/" + name);
  return paths;
}

/// The library stays open until the process ends: what it allocated may outlive a compilation.
std::optional<JitLink> openLibrary() {
  for (const std::string &path : candidates()) {
    void *library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    JitLink link;
    if (library != nullptr && findAll(library, link)) return link;
  }
  return std::nullopt;
}

std::string readLog(Handle handle, int (*size)(Handle, std::size_t *),
                    int (*read)(Handle, char *)) {
  std::size_t length = 0;
  if (size(handle, &length) != kSuccess || length == 0) return {};
  std::string text(length, '\0');
  if (read(handle, text.data()) != kSuccess) return {};
  return text.c_str(); // the length counts the zero at the end
}

bool assembleInto(const JitLink &link, Handle handle, const std::string &ptx, ObjectCode &object) {
  if (link.addData(handle, kInputPtx, ptx.c_str(), ptx.size() + 1, "kernel") != kSuccess)
    return false;
  if (link.complete(handle) != kSuccess) return false;
  std::size_t size = 0;
  if (link.cubinSize(handle, &size) != kSuccess) return false;
  object.image.resize(size);
  return link.cubin(handle, object.image.data()) == kSuccess;
}

} // namespace

std::optional<Result<ObjectCode>> assembleInProcess(const std::string &ptx,
                                                    const machine::Machine &machine) {
  static const std::optional<JitLink> link = openLibrary();
  if (!link) return std::nullopt;
  const std::string arch = "-arch=" + std::string(machine.name);
  llvm::SmallVector<const char *, 3> options{arch.c_str(), "-verbose"};
  if (namesLines(ptx)) options.push_back("-lineinfo");
  Handle handle = nullptr;
  // A library that does not know the machine yet; the program may.
  if (link->create(&handle, static_cast<std::uint32_t>(options.size()), options.data()) != kSuccess)
    return std::nullopt;
  ObjectCode object;
  const bool done = assembleInto(*link, handle, ptx, object);
  const std::string error = readLog(handle, link->errorSize, link->error);
  object.remarks = readLog(handle, link->infoSize, link->info);
  link->destroy(&handle);
  if (!done)
    return Result<ObjectCode>(
        refusalOf({.assembler = "nvJitLink", .machine = machine, .said = error}, ptx));
  return Result<ObjectCode>(std::move(object));
}

} // namespace imbrex::target::nvptx
