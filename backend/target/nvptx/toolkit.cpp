#include "backend/target/nvptx/toolkit.h"

#include "backend/support/environment.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Program.h"

#include <cstdlib>

namespace imbrex::target::nvptx {

std::vector<std::string> toolkitFolders() {
  if (!environment().toolkit.empty()) return {environment().toolkit};
  std::vector<std::string> folders;
  for (const char *variable : {"CUDA_HOME", "CUDA_PATH"})
    if (const char *folder = secure_getenv(variable)) folders.emplace_back(folder);
  folders.emplace_back("/usr/local/cuda");
  return folders;
}

std::string findTool(std::string_view name) {
  const llvm::StringRef tool(name.data(), name.size());
  if (environment().toolkit.empty() && !hasOthersRights()) // whose PATH is the user's
    if (const auto found = llvm::sys::findProgramByName(tool)) return *found;
  const std::vector<std::string> folders = toolkitFolders();
  std::vector<std::string> binaries;
  for (const std::string &folder : folders) binaries.push_back(folder + "/bin");
  const llvm::SmallVector<llvm::StringRef> paths(binaries.begin(), binaries.end());
  const auto found = llvm::sys::findProgramByName(tool, paths);
  return found ? *found : std::string();
}

std::optional<std::string> nameOfVersion(const std::string &program) {
  llvm::sys::fs::file_status status;
  llvm::SmallString<128> path;
  if (llvm::sys::fs::real_path(program, path) || llvm::sys::fs::status(path, status))
    return std::nullopt;
  const auto time = status.getLastModificationTime().time_since_epoch().count();
  return path.str().str() + " of " + std::to_string(status.getSize()) + " bytes, " +
         std::to_string(time);
}

} // namespace imbrex::target::nvptx
